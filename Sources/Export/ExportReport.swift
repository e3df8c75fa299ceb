// SPDX-License-Identifier: Apache-2.0

public import Basics
public import Timeline

/// Contents of an export.
public struct ExportReport: Sendable, Hashable, Codable {
    /// The most events that are listed.
    public static let maximumEvents = 10_000

    /// A stretch of a track in which nothing came, from the export's time zero.
    public typealias Gap = Certificate.Span

    /// One file of a track, on the export's clock.
    public struct Clip: Sendable, Hashable, Codable {
        /// The track file, relative to the recording's folder.
        public var file: String
        /// Its first unit, in nanoseconds from the export's time zero.
        public var startNanoseconds: Int64
        /// From its first unit to the end of its last, in nanoseconds.
        public var durationNanoseconds: Int64

        private enum CodingKeys: String, CodingKey {
            case file
            case startNanoseconds = "start_ns"
            case durationNanoseconds = "duration_ns"
        }
    }

    /// One track of the export.
    public struct Track: Sendable, Hashable, Codable {
        /// The most gaps that are listed; `gapCount` counts all.
        public static let maximumListedGaps = 100

        /// Its number in the export, from 1.
        public var number: Int
        /// Its number in the recording, as in the journal; `nil` if the journal does not know the file.
        public var sourceTrack: Int?
        /// The numbers of all that it is made of, in order of time, if there are several.
        public var sourceTracks: [Int]?
        /// The track file, relative to the recording's folder.
        public var file: String
        /// All its files, in order of time, if there are several.
        public var files: [String]?
        /// Where each of those is that has units in the export, if there are several.
        public var clips: [Clip]?
        /// The sending participant's id.
        public var participant: String
        /// The participant's name in titles.
        public var name: String
        /// Video or audio.
        public var media: MediaKind
        /// The codec's short name.
        public var codec: String
        /// Which layer of a camera it is, in words, where several were offered at once; `nil` otherwise.
        public var layer: String?
        /// Width of the first frame in pixels.
        public var width: Int?
        /// Height of the first frame in pixels.
        public var height: Int?
        /// Its first unit, in nanoseconds from the export's time zero.
        public var startNanoseconds: Int64 = 0
        /// From its first unit to the end of its last, in nanoseconds.
        public var durationNanoseconds: Int64 = 0
        /// Units.
        public var units: UInt64 = 0
        /// Bytes of payload.
        public var bytes: UInt64 = 0
        /// Units at which decoding can start.
        public var keyframes: UInt64 = 0
        /// All gaps.
        public var gapCount = 0
        /// Their lengths together, in nanoseconds.
        public var gapNanoseconds: Int64 = 0
        /// The first gaps.
        public var gaps: [Gap] = []
        /// Units that were left out because they cannot be decoded.
        public var unitsLeftOut: UInt64 = 0
        /// RTP packets received, if counted.
        public var packetsReceived: UInt64?
        /// RTP packets lost, if counted.
        public var packetsLost: Int64?
        /// RTP packets that had been lost and came again, if counted.
        public var packetsRepaired: UInt64?
        /// Basis of its position in time; `nil` for the file's date alone.
        public var basis: RTPClockMap.Basis?
        /// Whether its file is as it was written.
        public var isComplete: Bool

        private enum CodingKeys: String, CodingKey {
            case number, file, files, clips, participant, name, media, codec, layer, width, height, units, bytes,
                keyframes, gaps, basis
            case sourceTrack = "source_track"
            case sourceTracks = "source_tracks"
            case startNanoseconds = "start_ns"
            case durationNanoseconds = "duration_ns"
            case gapCount = "gap_count"
            case gapNanoseconds = "gap_ns"
            case unitsLeftOut = "units_left_out"
            case packetsReceived = "packets_received"
            case packetsLost = "packets_lost"
            case packetsRepaired = "packets_repaired"
            case isComplete = "complete"
        }
    }

    /// The exported file's path.
    public var output: String
    /// The layout's name.
    public var layout: String
    /// UTC of the export's time zero, if the recording has it.
    public var start: UTCTime?
    /// From time zero to the end of the last unit, in nanoseconds.
    public var durationNanoseconds: Int64
    /// The exported file's size.
    public var bytes: UInt64
    /// The tracks, in the order of the file.
    public var tracks: [Track]
    /// The verdict on the recording; unknown for an export that is not noted in its manifest yet.
    public var verdict: Certificate.Verdict
    /// Whether a part of the recording differs from what was written, apart from files that were not closed; not in
    /// JSON.
    public var isOfDamaged = false
    /// Whether media came that were wanted and are in no file of the recording, or in one whose times contradict their
    /// arrival; not in JSON.
    public var losesMedia = false
    /// Outcomes of the packets of each source; `nil` if no journal counts them.
    public var sources: [SourceCounted]?
    /// Whether it holds only a part of the recording, or the media that were there while the recording was in progress;
    /// not in JSON.
    public var isPart = false
    /// How the clocks of a series' hosts were joined; `nil` where one host recorded.
    public var joined: [ClockJoin]?
    /// Stretches of a series of several owners in which none of them recorded anything; not in JSON, where each track has its own.
    public var gaps: [Gap] = []
    /// The ids of the recordings of a series that it was made of; not in JSON.
    public var recordings: [String]?
    /// Events of the call, in order of time; at most `maximumEvents`.
    public var events: [CallEvent] = []
    /// Turns of speech; nil where no audio was decoded, and not in JSON.
    public var speakers: [SpeakingTurn]?
    /// The path of the project for an editor, where one was asked for; not in JSON.
    public var project: String?
    /// Gaps and doubts, a sentence each.
    public var warnings: [String]

    private enum CodingKeys: String, CodingKey {
        case output, layout, start, bytes, tracks, verdict, events, warnings, sources, joined
        case durationNanoseconds = "duration_ns"
    }

    /// Whether every file is as it was written, and all that came and was wanted is in one; what never came is missing all the
    /// same.
    public var isComplete: Bool { self.verdict != .damaged && !self.losesMedia }

    /// Packets that came for a track and are in no file; a source with several tracks has them once.
    private func refused(_ track: Track) -> String {
        let numbers = track.sourceTracks ?? [track.sourceTrack].compactMap(\.self)
        let sources = (self.sources ?? []).filter { source in numbers.contains { source.tracks.contains($0) } }
        guard !sources.isEmpty else { return "-" }
        let counted = sources.filter { $0.tracks.first.map(numbers.contains) ?? false }
        return String(counted.reduce(0) { $0 &+ $1.refusedPackets })
    }

    /// The tracks as a human-readable table, a line each, with a head line.
    public func table() -> String {
        var rows = [
            ["#", "participant", "kind", "codec", "size", "start", "duration", "units", "keyframes", "refused", "gaps"]
        ]
        for track in self.tracks {
            rows.append([
                String(track.number),
                printable(track.name),
                track.media.rawValue,
                track.codec + (track.layer.map { " (\(printable($0)))" } ?? ""),
                track.width.flatMap { width in track.height.map { "\(width)x\($0)" } } ?? "-",
                seconds(track.startNanoseconds),
                seconds(track.durationNanoseconds),
                String(track.units),
                track.media == .video ? String(track.keyframes) : "-",
                self.refused(track),
                track.gapCount == 0 ? "0" : "\(track.gapCount) (\(seconds(track.gapNanoseconds)))",
            ])
        }
        let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.map { row in
            let line = zip(row, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }
                .joined(separator: "  ")
            return String(line.reversed().drop { $0 == " " }.reversed())
        }.joined(separator: "\n")
    }
}

/// The beginning of a name that may come from anybody, as short as a line of a table wants it.
func printable(_ name: String) -> String { printableName(name, limit: 48) }

/// For example `12.345 s`.
private func seconds(_ nanoseconds: Int64) -> String {
    let milliseconds = nanoseconds / 1_000_000
    let fraction = String(milliseconds.magnitude % 1000)
    let sign = milliseconds < 0 ? "-" : ""
    return "\(sign)\(milliseconds.magnitude / 1000).\(String(repeating: "0", count: 3 - fraction.count))\(fraction) s"
}
