// SPDX-License-Identifier: Apache-2.0

import Basics
import FoundationEssentials
public import Storage
import Timeline

/// A project of OpenTimelineIO next to an export: an editor opens every track where it belongs on one timeline.
///
/// Editors take one stream of a file, so clips refer to the track files of the recording and not to the export.
public enum ProjectFile {
    /// Times are in milliseconds.
    private static let rate = 1_000.0

    /// Writes `<export without its extension>.otio`, and returns its path.
    ///
    /// - Parameters:
    ///   - report: of an export of the whole recording in the layout `tracks`.
    ///   - folder: the recording.
    /// - Throws: `ExportError` with code `storage`.
    public static func write(_ report: ExportReport, folder: RecordingFolder) throws(ExportError) -> String {
        let components = report.output.split(separator: "/", omittingEmptySubsequences: false)
        let name = components.last.map(String.init) ?? ""
        let stem = name.split(separator: ".").dropLast().joined(separator: ".")
        let directory = components.dropLast().joined(separator: "/")
        let path = directory + "/" + (stem.isEmpty ? name : stem) + ".otio"
        // Next to the tracks, the project moves with them; elsewhere it must name their folder.
        let base = directory == folder.path ? "" : "file://" + Self.encoded(folder.path) + "/"
        let timeline = Document(
            name: report.output.split(separator: "/").last.map(String.init) ?? "call",
            tracks: Stack(
                children: report.tracks.map { Self.track($0, base: base) },
                markers: report.events.map(Self.marker)
            )
        )
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        do {
            try File.replace(path, with: Array(encoder.encode(timeline)))
        } catch {
            throw ExportError(.storage, "cannot write \(path): \(error)", cause: error)
        }
        return path
    }

    private static func track(_ track: ExportReport.Track, base: String) -> Lane {
        let name = "\(printable(track.name)) – \(track.media.rawValue)"
        let whole = ExportReport.Clip(
            file: track.file,
            startNanoseconds: track.startNanoseconds,
            durationNanoseconds: track.durationNanoseconds
        )
        var items: [Item] = []
        var end = 0.0
        for clip in track.clips ?? [whole] {
            let lead = Self.milliseconds(clip.startNanoseconds) - end
            if lead > 0 { items.append(.gap(Gap(source_range: TimeRange(start: 0, duration: lead)))) }
            let length = TimeRange(start: 0, duration: Self.milliseconds(clip.durationNanoseconds))
            items.append(.clip(Clip(name: name, range: length, url: base + Self.encoded(clip.file))))
            end += max(0, lead) + length.duration.value
        }
        return Lane(name: name, kind: track.media == .video ? "Video" : "Audio", children: items)
    }

    private static func marker(_ event: CallEvent) -> Marker {
        Marker(
            name: event.title,
            marked_range: TimeRange(
                start: Self.milliseconds(event.nanoseconds),
                duration: Self.milliseconds(event.durationNanoseconds ?? 0)
            )
        )
    }

    private static func milliseconds(_ nanoseconds: Int64) -> Double {
        (Double(nanoseconds) / 1_000_000).rounded()
    }

    /// A path as part of a URL (RFC 3986, section 3.3).
    private static func encoded(_ path: String) -> String { PercentCoding.encode(path, keeping: "/") }
}

// The members have the names of OpenTimelineIO's JSON, and `OTIO_SCHEMA` is the version of each object.
extension ProjectFile {
    private struct Instant: Encodable {
        let OTIO_SCHEMA = "RationalTime.1"
        let rate = ProjectFile.rate
        let value: Double
    }

    private struct TimeRange: Encodable {
        let OTIO_SCHEMA = "TimeRange.1"
        let start_time: Instant
        let duration: Instant

        init(start: Double, duration: Double) {
            self.start_time = Instant(value: start)
            self.duration = Instant(value: duration)
        }
    }

    private struct Document: Encodable {
        let OTIO_SCHEMA = "Timeline.1"
        let name: String
        let tracks: Stack
    }

    private struct Stack: Encodable {
        let OTIO_SCHEMA = "Stack.1"
        let name = "tracks"
        let children: [Lane]
        let markers: [Marker]
    }

    private struct Lane: Encodable {
        let OTIO_SCHEMA = "Track.1"
        let name: String
        let kind: String
        let children: [Item]
    }

    private enum Item: Encodable {
        case gap(Gap)
        case clip(Clip)

        func encode(to encoder: any Encoder) throws {
            switch self {
            case .gap(let gap): try gap.encode(to: encoder)
            case .clip(let clip): try clip.encode(to: encoder)
            }
        }
    }

    private struct Gap: Encodable {
        let OTIO_SCHEMA = "Gap.1"
        let source_range: TimeRange
    }

    private struct Clip: Encodable {
        let OTIO_SCHEMA = "Clip.1"
        let name: String
        let source_range: TimeRange
        let media_reference: Reference

        init(name: String, range: TimeRange, url: String) {
            self.name = name
            self.source_range = range
            self.media_reference = Reference(available_range: range, target_url: url)
        }
    }

    private struct Reference: Encodable {
        let OTIO_SCHEMA = "ExternalReference.1"
        let available_range: TimeRange
        let target_url: String
    }

    private struct Marker: Encodable {
        let OTIO_SCHEMA = "Marker.2"
        let name: String
        let color = "RED"
        let marked_range: TimeRange
    }
}
