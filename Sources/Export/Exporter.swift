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
        /// One participant's picture and sound, each one track, for a player in a browser: WebM if the codecs allow.
        case browser
    }

    private static let timestampScaleNanoseconds: UInt64 = 100_000
    /// Players in browsers expect it.
    private static let browserScaleNanoseconds: UInt64 = 1_000_000

    /// Exports a recording and notes it in its manifest.
    ///
    /// The file appears in its place whole, after it has been read back. Two runs over the same tracks give the same
    /// bytes.
    ///
    /// - Parameters:
    ///   - folder: the recording.
    ///   - layout: how the tracks are arranged.
    ///   - selection: which part of the recording.
    ///   - output: where to; if left out beside the tracks, as `call.mkv` or, for a part, as `call-part.mkv`. An older
    ///     file is replaced.
    ///   - isNoted: whether the manifest tells of it; not for a file that something else is made of.
    ///   - progress: called about every megabyte, on this thread; what it throws ends the export.
    /// - Throws: `ExportError`, or what `progress` throws.
    public static func run(
        folder: RecordingFolder,
        layout: Layout = .tracks,
        selection: ExportSelection = ExportSelection(),
        output: String? = nil,
        isNoted: Bool = true,
        progress: (ExportProgress) throws -> Void = { _ in }
    ) throws -> ExportReport {
        let contents = try RecordingContents(folder)
        var warnings: [String] = []
        let lanes = try Self.lanes(contents, layout, selection, folder, &warnings)
        guard lanes.count <= Writer.maximumTrackNumber else {
            throw ExportError(
                .tooManyTracks,
                "\(lanes.count) tracks are more than the \(Writer.maximumTrackNumber) of a file"
            )
        }
        let zero = contents.startNanoseconds
        var merge = TrackMerge(
            lanes,
            timestampScaleNanoseconds: layout == .browser
                ? Self.browserScaleNanoseconds : Self.timestampScaleNanoseconds,
            end: selection.to.map { zero &+ $0.fileNanoseconds } ?? .max
        )
        let start = contents.started.map { started in
            UTCTime(
                nanosecondsSince1970: started.utc.nanosecondsSince1970
                    &+ (merge.startNanoseconds &- started.monotonicNanoseconds)
            )
        }
        var info = SegmentInfo(
            title: contents.room,
            dateUTCNanosecondsSince2001: start?.nanosecondsSince2001,
            timestampScaleNanoseconds: layout == .browser
                ? Self.browserScaleNanoseconds : Self.timestampScaleNanoseconds,
            uid: Array(folder.id.rawValue.utf8)
        )
        if layout == .browser, lanes.allSatisfy({ $0.first.track.codec.isInWebM }) { info.documentType = .webm }
        let file = try OutputFile(
            path: output ?? (selection.isWhole ? folder.exportPath : folder.path + "/call-part.mkv")
        )
        try Self.write(&merge, entries: Self.trackEntries(lanes.map(\.first)), info, to: file, progress)
        try ExportVerification.check(file, tallies: merge.tallies)
        try file.commit()

        var report = Self.report(contents, merge, layout: layout, start: start, file: file)
        report.warnings += warnings
        if isNoted { try Self.note(report, of: contents, folder) }
        return report
    }

    /// Notes an export in the manifest of its recording.
    public static func note(_ report: ExportReport, folder: RecordingFolder) throws(ExportError) {
        try Self.note(report, of: RecordingContents(folder), folder)
    }

    private static func note(
        _ report: ExportReport,
        of contents: RecordingContents,
        _ folder: RecordingFolder
    ) throws(ExportError) {
        var manifest = try contents.manifest(folder)
        manifest.note(report, folder)
        do throws(StorageError) {
            try manifest.write(folder)
        } catch {
            throw ExportError(error)
        }
    }

    /// What is exported, as the tracks of the file.
    private static func lanes(
        _ contents: RecordingContents,
        _ layout: Layout,
        _ selection: ExportSelection,
        _ folder: RecordingFolder,
        _ warnings: inout [String]
    ) throws(ExportError) -> [TrackLane] {
        guard !contents.sources.isEmpty else {
            let reasons = contents.warnings.isEmpty ? "" : ": " + contents.warnings.joined(separator: "; ")
            throw ExportError(.nothingRecorded, "nothing was recorded in \(folder.path)\(reasons)")
        }
        var participant: String?
        if let text = selection.participant { participant = try contents.participantID(named: text) }
        let sources = contents.sources.filter { participant == nil || $0.participant == participant }
        var lanes: [TrackLane] =
            switch layout {
            case .tracks: sources.map { TrackLane($0) }
            case .browser: BrowserLanes.choose(sources, &warnings)
            }
        if let from = selection.from {
            let start = contents.startNanoseconds &+ from.fileNanoseconds
            for index in lanes.indices {
                try lanes[index].skip(to: start)
                guard let next = lanes[index].next, next.sessionNanoseconds < start else { continue }
                let milliseconds = (start &- next.sessionNanoseconds) / 1_000_000
                warnings.append(
                    "the pictures of \(lanes[index].first.name) begin \(milliseconds) ms before the range, at a keyframe"
                )
            }
        }
        let end = selection.to.map { contents.startNanoseconds &+ $0.fileNanoseconds } ?? .max
        lanes.removeAll { $0.next.map { $0.sessionNanoseconds >= end } ?? true }
        guard !lanes.isEmpty else {
            throw ExportError(.emptySelection, "nothing of \(folder.path) is in the selection")
        }
        return lanes
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
        _ info: SegmentInfo,
        to file: OutputFile,
        _ progress: (ExportProgress) throws -> Void
    ) throws {
        let total = merge.lanes.flatMap(\.sources).reduce(0) { $0 &+ $1.size }
        var state = ExportProgress(bytesDone: 0, bytesTotal: total)
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
        _ merge: TrackMerge,
        layout: Layout,
        start: UTCTime?,
        file: OutputFile
    ) -> ExportReport {
        var warnings = contents.warnings
        var tracks: [ExportReport.Track] = []
        for (index, (lane, tally)) in zip(merge.lanes, merge.tallies).enumerated() {
            let source = lane.first
            let findings = lane.sources.flatMap { contents.findings($0, UnitCount($0)) }
            warnings += findings
            var track = ExportReport.Track(
                number: index + 1,
                sourceTrack: source.number,
                file: source.file,
                participant: source.participant,
                name: source.name,
                media: source.track.codec.kind == .video ? .video : .audio,
                codec: source.track.codec.rawValue,
                isComplete: findings.isEmpty
            )
            track.width = source.track.video?.width
            track.height = source.track.video?.height
            track.take(tally)
            let packets = lane.sources.compactMap { $0.number.flatMap { contents.packets[$0] } }
            if !packets.isEmpty {
                track.packetsReceived = packets.reduce(0) { $0 &+ $1.received }
                track.packetsLost = packets.reduce(0) { $0 &+ $1.lost }
            }
            track.basis = source.basis
            tracks.append(track)
        }
        if !contents.isFinished { warnings.append("the recording was cut off: its journal has no end") }
        if contents.isRepaired { warnings.append("the recording was cut off, and repaired") }
        return ExportReport(
            output: file.path,
            layout: layout.rawValue,
            start: start,
            durationNanoseconds: merge.tallies.map(\.endNanoseconds).max() ?? 0,
            bytes: file.file.count,
            tracks: tracks,
            isComplete: contents.isWhole && tracks.allSatisfy(\.isComplete),
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
