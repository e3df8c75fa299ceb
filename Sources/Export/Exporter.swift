// SPDX-License-Identifier: Apache-2.0

import Matroska
public import Storage
import Timeline

/// How far an export is.
public struct ExportProgress: Sendable, Hashable {
    /// Bytes of track files read.
    public var bytesDone: UInt64
    /// Bytes of track files there are.
    public var bytesTotal: UInt64

    /// 0…1.
    public var fraction: Double {
        self.bytesTotal == 0 ? 1 : min(1, Double(self.bytesDone) / Double(self.bytesTotal))
    }
}

/// Makes one file of a recording's tracks: all on one clock, without transcoding.
///
/// It works on any folder, also of a recording that was cut off or still goes on. Calls block; memory does not grow
/// with the recording but for its journal and the index of the output.
public enum Exporter {
    /// How the tracks are arranged.
    public enum Layout: String, Sendable, Hashable, Codable, CaseIterable {
        /// Every track of every participant, side by side.
        case tracks
    }

    private static let timestampScaleNanoseconds: UInt64 = 100_000

    /// Exports a recording and notes it in its manifest.
    ///
    /// The file appears in its place whole, after it has been read back. Two runs over the same tracks give the same
    /// bytes.
    ///
    /// - Parameters:
    ///   - folder: the recording.
    ///   - layout: how the tracks are arranged.
    ///   - output: where to; beside the tracks as `call.mkv` if left out. An older file is replaced.
    ///   - progress: called about every megabyte, on this thread; what it throws ends the export.
    /// - Throws: `ExportError`, or what `progress` throws.
    public static func run(
        folder: RecordingFolder,
        layout: Layout = .tracks,
        output: String? = nil,
        progress: (ExportProgress) throws -> Void = { _ in }
    ) throws -> ExportReport {
        var contents = try RecordingContents(folder)
        guard !contents.sources.isEmpty else {
            let reasons = contents.warnings.isEmpty ? "" : ": " + contents.warnings.joined(separator: "; ")
            throw ExportError(.nothingRecorded, "nothing was recorded in \(folder.path)\(reasons)")
        }
        guard contents.sources.count <= Writer.maximumTrackNumber else {
            throw ExportError(
                .tooManyTracks,
                "\(contents.sources.count) tracks are more than the \(Writer.maximumTrackNumber) of a file"
            )
        }
        var merge = TrackMerge(contents.sources, timestampScaleNanoseconds: Self.timestampScaleNanoseconds)
        let start = contents.started.map { started in
            UTCTime(
                nanosecondsSince1970: started.utc.nanosecondsSince1970
                    &+ (merge.startNanoseconds &- started.monotonicNanoseconds)
            )
        }
        let entries = Self.trackEntries(contents.sources)
        let file = try OutputFile(path: output ?? folder.exportPath)
        try Self.write(&merge, entries: entries, folder: folder, room: contents.room, start: start, to: file, progress)
        try ExportVerification.check(file, tallies: merge.tallies)
        contents.sources = merge.sources
        try file.commit()

        let report = Self.report(contents, merge.tallies, layout: layout, start: start, file: file)
        do throws(StorageError) {
            try contents.manifest(folder, report: report).write(folder)
        } catch {
            throw ExportError(error)
        }
        return report
    }

    private static func trackEntries(_ sources: [TrackSource]) -> [Track] {
        var uids: Set<UInt64> = [0]
        var kinds: Set<Codec.Kind> = []
        return sources.enumerated().map { index, source in
            var entry = source.track
            entry.number = index + 1
            if !uids.insert(entry.uid).inserted {
                // Another file has the same uid, as after a copy by hand: the next free one will do.
                entry.uid = (1...).first { !uids.contains($0) } ?? UInt64(index + 1)
                uids.insert(entry.uid)
            }
            entry.name = "\(source.name) – \(entry.codec.kind.rawValue)"
            entry.isDefault = kinds.insert(entry.codec.kind).inserted
            return entry
        }
    }

    private static func write(
        _ merge: inout TrackMerge,
        entries: [Track],
        folder: RecordingFolder,
        room: String,
        start: UTCTime?,
        to file: OutputFile,
        _ progress: (ExportProgress) throws -> Void
    ) throws {
        let info = SegmentInfo(
            title: room,
            dateUTCNanosecondsSince2001: start?.nanosecondsSince2001,
            timestampScaleNanoseconds: Self.timestampScaleNanoseconds,
            uid: Array(folder.id.rawValue.utf8)
        )
        var state = ExportProgress(bytesDone: 0, bytesTotal: merge.sources.reduce(0) { $0 &+ $1.size })
        do {
            var writer = try Writer(info: info, tracks: entries)
            _ = try file.append(writer.header())
            while let (index, nanoseconds, block) = try merge.next() {
                let head = try writer.blockHead(
                    track: index + 1,
                    timeNanoseconds: nanoseconds,
                    isKeyframe: block.isKeyframe,
                    isDiscardable: block.isDiscardable,
                    payloadSize: block.payload.count
                )
                state.bytesDone &+= UInt64(head.count + block.payload.count)
                if try file.append(head + block.payload) { try progress(state) }
            }
            let finish = writer.finish()
            _ = try file.append(finish.append)
            try file.finish(finish.patches)
        } catch let error as MatroskaError {
            throw ExportError(error, file: file.path)
        }
        state.bytesDone = state.bytesTotal
        try progress(state)
    }

    private static func report(
        _ contents: RecordingContents,
        _ tallies: [TrackTally],
        layout: Layout,
        start: UTCTime?,
        file: OutputFile
    ) -> ExportReport {
        var warnings = contents.warnings
        var tracks: [ExportReport.Track] = []
        for (index, (source, tally)) in zip(contents.sources, tallies).enumerated() {
            let closed = source.number.flatMap { contents.closed[$0] }
            let isWhole = !source.isTorn && closed?.units == tally.units
            if source.isTorn { warnings.append("\(source.file) is torn at its end") }
            if let closed, closed.units != tally.units {
                warnings.append("\(source.file) has \(tally.units) of \(closed.units) units")
            } else if closed == nil, source.number != nil {
                warnings.append("\(source.file) was not closed")
            }
            var track = ExportReport.Track(
                number: index + 1,
                sourceTrack: source.number,
                file: source.file,
                participant: source.participant,
                name: source.name,
                media: source.track.codec.kind == .video ? .video : .audio,
                codec: source.track.codec.rawValue,
                isComplete: isWhole
            )
            track.width = source.track.video?.width
            track.height = source.track.video?.height
            track.take(tally)
            track.packetsReceived = source.number.flatMap { contents.packets[$0]?.received }
            track.packetsLost = source.number.flatMap { contents.packets[$0]?.lost }
            track.basis = source.basis
            tracks.append(track)
        }
        if !contents.isFinished { warnings.append("the recording was cut off: its journal has no end") }
        return ExportReport(
            output: file.path,
            layout: layout.rawValue,
            start: start,
            durationNanoseconds: tallies.map(\.endNanoseconds).max() ?? 0,
            bytes: file.file.count,
            tracks: tracks,
            isComplete: contents.isFinished && contents.warnings.isEmpty && tracks.allSatisfy(\.isComplete),
            warnings: warnings
        )
    }
}

extension ExportReport.Track {
    fileprivate mutating func take(_ tally: TrackTally) {
        self.startNanoseconds = tally.firstNanoseconds
        self.durationNanoseconds = tally.endNanoseconds - tally.firstNanoseconds
        self.units = tally.units
        self.bytes = tally.bytes
        self.keyframes = tally.keyframes
        self.gapCount = tally.gapCount
        self.gapNanoseconds = tally.gapNanoseconds
        self.gaps = tally.gaps
    }
}
