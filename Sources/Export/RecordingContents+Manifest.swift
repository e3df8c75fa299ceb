// SPDX-License-Identifier: Apache-2.0

import Matroska
import Storage
import Timeline

extension RecordingContents {
    /// The session time of the recording's first unit: an export's time zero.
    var startNanoseconds: Int64 {
        self.sources.compactMap { $0.next?.sessionNanoseconds }.min() ?? 0
    }

    /// Whether the recording ended by itself and everything in its folder could be read.
    var isWhole: Bool { self.isFinished && !self.isRepaired && self.warnings.isEmpty }

    /// What is missing in a track file, a sentence each.
    func findings(_ source: TrackSource, _ count: UnitCount) -> [String] {
        var findings: [String] = []
        if count.isTorn { findings.append("\(source.file) is torn at its end") }
        let closed = source.number.flatMap { self.closed[$0] }
        if let closed, closed.units != count.units {
            findings.append("\(source.file) has \(count.units) of \(closed.units) units")
        } else if closed == nil, source.number != nil {
            findings.append("\(source.file) was not closed")
        }
        return findings
    }

    /// The manifest of what the folder holds, with the exports that an earlier one knows.
    func manifest(_ folder: RecordingFolder) throws(ExportError) -> Manifest {
        var isComplete = self.isWhole
        var tracks: [Manifest.Track] = []
        for source in self.sources {
            let count = UnitCount(source)
            isComplete = isComplete && self.findings(source, count).isEmpty
            tracks.append(
                Manifest.Track(
                    number: source.number,
                    participant: source.participant,
                    media: source.track.codec.kind == .video ? .video : .audio,
                    codec: source.track.codec.rawValue,
                    file: source.file,
                    units: count.units,
                    bytes: count.bytes,
                    keyframes: count.keyframes
                )
            )
        }
        var manifest = Manifest(
            room: self.room,
            id: folder.id,
            start: self.started?.utc,
            host: self.host,
            verdict: isComplete ? .complete : .incomplete
        )
        manifest.parts = self.parts.map { Manifest.Part(number: $0.number, host: $0.host, start: $0.utc) }
        manifest.participants = self.participants
        for source in self.sources where !manifest.participants.contains(where: { $0.id == source.participant }) {
            manifest.participants.append(Manifest.Participant(id: source.participant))
        }
        manifest.tracks = tracks
        // A manifest that cannot be read is rebuilt: all but older exports comes from the journal and the tracks.
        manifest.exports = ((try? Manifest.read(folder)) ?? nil)?.exports ?? []
        return manifest
    }
}

extension Manifest {
    /// Adds an export, the new one last.
    mutating func note(_ report: ExportReport, _ folder: RecordingFolder) {
        let inside = folder.path + "/"
        let file = report.output.hasPrefix(inside) ? String(report.output.dropFirst(inside.count)) : report.output
        self.exports.removeAll { $0.file == file }
        self.exports.append(
            Manifest.Export(
                file: file,
                layout: report.layout,
                durationNanoseconds: report.durationNanoseconds,
                bytes: report.bytes
            )
        )
    }
}

/// What a track file holds; only the heads of its blocks are read.
struct UnitCount {
    private(set) var units: UInt64 = 0
    private(set) var bytes: UInt64 = 0
    private(set) var keyframes: UInt64 = 0
    private(set) var lastNanoseconds: Int64 = 0
    private(set) var isTorn = false

    /// Counts from the beginning; a damaged rest counts as torn.
    init(_ source: TrackSource) {
        var reader = source.reader
        reader.rewind()
        do {
            while let head = try reader.nextHead() {
                guard head.track == source.track.number else { continue }
                self.units += 1
                self.bytes &+= UInt64(clamping: head.payloadSize)
                self.keyframes += head.isKeyframe ? 1 : 0
                self.lastNanoseconds = max(self.lastNanoseconds, head.timeNanoseconds)
            }
            self.isTorn = reader.tornTailOffset.map { $0 < source.size } ?? false
        } catch {
            self.isTorn = true
        }
    }
}
