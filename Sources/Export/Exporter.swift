// SPDX-License-Identifier: Apache-2.0

public import Basics
import Matroska
public import Model
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
/// It works on any folder, also of a recording that was cut off or is still in progress. Calls block; memory does not
/// grow with the recording but for its journal and the index of the output.
public enum Exporter {
    private static let timestampScaleNanoseconds: UInt64 = 100_000
    /// Players in browsers expect it.
    private static let browserScaleNanoseconds: UInt64 = 1_000_000

    /// Exports a recording, or its series, and notes it in its manifest; see `run(_:_:program:output:isNoted:progress:begins:)`.
    public static func run(
        folder: RecordingFolder,
        _ spec: ExportSpec = ExportSpec(),
        program: String = "tapedeck",
        output: String? = nil,
        progress: (ExportProgress) throws -> Void = { _ in }
    ) throws -> ExportReport {
        try Self.run(ExportSubject(folder, spec), spec, program: program, output: output, progress: progress)
    }

    /// Exports a recording, or a series, and notes it in its manifest.
    ///
    /// The file appears in its place whole, after it has been read back. Two runs over the same tracks give the same
    /// bytes.
    ///
    /// - Parameters:
    ///   - subject: the recordings.
    ///   - spec: of the layout `tracks`, of which no MP4 is written, or `browser`.
    ///   - program: the program and version that the file names as its maker.
    ///   - output: where to; if left out next to the tracks, under the name of the spec. An older file is replaced.
    ///   - isNoted: whether the file is noted in the manifest, and the report has the verdict on the recording; false
    ///     for an intermediate file, whose final file is noted by `note`.
    ///   - progress: called about every megabyte, on this thread; what it throws ends the export.
    ///   - begins: called once before anything is written, with the codecs of the file's tracks; what it throws ends the
    ///     export.
    /// - Throws: `ExportError`, or what `begins` or `progress` throws.
    public static func run(
        _ subject: ExportSubject,
        _ spec: ExportSpec,
        program: String,
        output: String? = nil,
        isNoted: Bool = true,
        progress: (ExportProgress) throws -> Void,
        begins: ([MediaCodec]) throws -> Void = { _ in }
    ) throws -> ExportReport {
        for folder in subject.folders { RecordingRepair.completeFiles(of: folder) }
        var warnings: [String] = []
        let options = spec.layout.tracks
        let input = try ExportInput(subject, keepsDamaged: options?.switches.contains(.keepDamaged) ?? false)
        let contents = input.contents
        let folder = subject.folder
        var lanes = try Self.lanes(contents, spec, folder, &warnings)
        guard lanes.count <= Writer.maximumTrackNumber else {
            let message = "\(lanes.count) tracks are more than the \(Writer.maximumTrackNumber) of a file"
            throw ExportError(.tooManyTracks, "\(message); export one participant, or from one time to another")
        }
        let container = options?.container ?? (lanes.allSatisfy { $0.first.track.codec.isInWebM } ? .webm : .mkv)
        if options != nil { try container.requireFit(lanes) }
        try begins(lanes.map(\.first.track.codec))
        // A part of a recording does not show all that its certificate states.
        let recording = isNoted && spec.from == nil && spec.to == nil ? input.contentsOfRecording : nil
        if let recording { for index in lanes.indices { lanes[index].beginReading(for: recording) } }
        let scale = container == .webm ? Self.browserScaleNanoseconds : Self.timestampScaleNanoseconds
        let end = spec.to.map { contents.startNanoseconds &+ $0.fileNanoseconds } ?? .max
        var merge = TrackMerge(lanes, timestampScaleNanoseconds: scale, end: end)
        let start = contents.started.map { started in
            UTCTime(
                nanosecondsSince1970: started.utc.nanosecondsSince1970
                    &+ (merge.startNanoseconds &- started.monotonicNanoseconds)
            )
        }
        var info = SegmentInfo(
            title: contents.room,
            dateUTCNanosecondsSince2001: start?.nanosecondsSince2001,
            timestampScaleNanoseconds: scale,
            writingApp: program,
            uid: input.uid
        )
        info.documentType = container == .webm ? .webm : .matroska
        var head = FileHead(info: info, tracks: Self.trackEntries(lanes))
        if options != nil {
            head.tags = ExportTags.tags(
                contents,
                folder,
                start: start,
                program: program,
                tracks: Array(zip(head.tracks, lanes))
            )
            head.addChat(Self.chat(contents, spec, merge, end), to: container, &warnings)
        }
        if spec.layout == .browser || container == .webm { head.useASCIITitles(lanes.map(\.first.name)) }
        let file = try OutputFile(path: output ?? "\(folder.path)/\(spec.stem).\(container.rawValue)")
        var events: CallEvents?
        // A program that puts the file into another container finds out about each track from its first frame.
        let beginsWithFrames = !isNoted && container != .webm
        try Self.write(&merge, head, to: file, beginsWithFrames: beginsWithFrames, progress) { merge in
            guard options != nil else { return [] }
            let found = CallEvents(contents, merge, spec)
            events = found
            return found.chapters()
        }
        let sha256 = try ExportVerification.check(file, tallies: merge.tallies)
        try file.commit()

        var report = Self.report(contents, merge, layout: spec.layout.name, start: start, file: file)
        report.warnings = input.warnings + report.warnings + warnings
        report.isPart = contents.isPart(spec)
        if case .series(let series) = subject {
            report.recordings = series.segments.map(\.folder.id.rawValue)
            report.gaps = series.isOfSeveralOwners ? report.emptyStretches : []
        }
        report.joined = contents.seriesJournal.flatMap { $0.joins.isEmpty ? nil : $0.joins }
        report.events = Array((events?.events ?? []).prefix(ExportReport.maximumEvents))
        if let warning = events?.warning { report.warnings.append(warning) }
        guard isNoted else { return report }
        let digest = Certificate.FileDigest(
            name: folder.name(ofExport: file.path),
            bytes: file.file.count,
            sha256: sha256
        )
        let readings = Dictionary(merge.lanes.flatMap(\.readings), uniquingKeysWith: { first, _ in first })
        return try Self.note(report, of: subject, contents: input.contentsOfRecording, digest, readings: readings)
    }

    /// Data that is written before the first unit, and the chat that goes between the units.
    private struct FileHead {
        var info: SegmentInfo
        var tracks: [Track]
        var tags: [Tag] = []
        var text: TextTrack?
        var chat: ChatTrack?

        mutating func addChat(_ chat: ChatTrack, to container: ExportSpec.Container, _ warnings: inout [String]) {
            guard !chat.lines.isEmpty else { return }
            guard container == .mkv, self.tracks.count < Writer.maximumTrackNumber else {
                warnings.append("the chat of \(chat.lines.count) messages is left out: this file has no room for text")
                return
            }
            self.text = TextTrack(number: self.tracks.count + 1, uid: ChatTrack.uid, name: "Chat")
            self.chat = chat
        }

        /// Media Source Extensions of Chromium refuse a file with other letters in a title (`WebMTracksParser`).
        ///
        /// The tags have the whole names.
        mutating func useASCIITitles(_ names: [String]) {
            for (index, name) in names.enumerated() {
                let shown = name.allSatisfy(\.isASCII) ? name : Sanitiser.readableComponent(name)
                let parts = [shown, self.tracks[index].codec.kind.rawValue]
                self.tracks[index].name = parts.compactMap(\.self).joined(separator: " - ")
            }
        }
    }

    private static func chat(
        _ contents: RecordingContents,
        _ spec: ExportSpec,
        _ merge: TrackMerge,
        _ end: Int64
    ) -> ChatTrack {
        let participants = spec.participant.map { _ in Set(merge.lanes.map(\.first.participant)) }
        return ChatTrack(contents, participants: participants, from: merge.startNanoseconds, to: end)
    }

    /// The source of the export, as the tracks of the file.
    private static func lanes(
        _ contents: RecordingContents,
        _ spec: ExportSpec,
        _ folder: RecordingFolder,
        _ warnings: inout [String]
    ) throws(ExportError) -> [TrackLane] {
        guard !contents.sources.isEmpty else {
            let reasons = contents.warnings.isEmpty ? "" : ": " + contents.warnings.joined(separator: "; ")
            throw ExportError(.nothingRecorded, "nothing was recorded in \(folder.path)\(reasons)")
        }
        var participant: String?
        if let text = spec.participant { participant = try contents.participantID(named: text) }
        let sources = contents.sources.filter { participant == nil || $0.participant == participant }
        var lanes =
            if let switches = spec.layout.tracks?.switches {
                try JoinedLanes.join(sources, contents, byStream: switches.contains(.separateTracks))
            } else {
                BrowserLanes.choose(sources, &warnings)
            }
        if let from = spec.from {
            let start = contents.startNanoseconds &+ from.fileNanoseconds
            for index in lanes.indices {
                try lanes[index].skip(to: start)
                guard let next = lanes[index].nextNanoseconds, next < start else { continue }
                let milliseconds = (start &- next) / 1_000_000
                warnings.append(
                    "the video of \(lanes[index].first.name) begins \(milliseconds) ms before the range, at a keyframe"
                )
            }
        }
        let end = spec.to.map { contents.startNanoseconds &+ $0.fileNanoseconds } ?? .max
        lanes.removeAll { $0.nextNanoseconds.map { $0 >= end } ?? true }
        for index in lanes.indices { lanes[index].end(at: end) }
        guard !lanes.isEmpty else {
            throw ExportError(.emptySelection, "nothing of \(folder.path) is in the selection")
        }
        return lanes
    }

    private static func trackEntries(_ lanes: [TrackLane]) -> [Track] {
        var uids: Set<UInt64> = [0]
        var kinds: Set<MediaKind> = []
        return lanes.enumerated().map { index, lane in
            let source = lane.first
            var entry = source.track
            entry.video?.rotation = lane.rotation
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
        _ head: FileHead,
        to file: OutputFile,
        beginsWithFrames: Bool,
        _ progress: (ExportProgress) throws -> Void,
        chapters: (TrackMerge) -> [Chapter]
    ) throws {
        let total = merge.lanes.flatMap(\.sources).reduce(0) { $0 &+ $1.size }
        var state = ExportProgress(bytesDone: 0, bytesTotal: total)
        do {
            var writer = try Writer(
                info: head.info,
                tracks: head.tracks,
                texts: head.text.map { [$0] } ?? [],
                tags: head.tags
            )
            var chat = head.chat
            func writeLines(until nanoseconds: Int64) throws {
                while let line = chat?.next(until: nanoseconds) {
                    let bytes = try writer.textBlock(
                        text: head.tracks.count + 1,
                        timeNanoseconds: line.nanoseconds,
                        durationNanoseconds: line.durationNanoseconds,
                        line.text
                    )
                    _ = try file.append(bytes)
                }
            }
            func write(_ index: Int, _ nanoseconds: Int64, _ block: Block) throws {
                let head = try writer.blockHead(
                    track: index + 1,
                    timeNanoseconds: nanoseconds,
                    isKeyframe: block.isKeyframe,
                    isDiscardable: block.isDiscardable,
                    payloadSize: block.payload.count
                )
                state.bytesDone &+= UInt64(head.count + block.payload.count)
                if try file.append(head, block.payload) { try progress(state) }
            }
            _ = try file.append(writer.header())
            /// Tracks whose first frame is written already.
            var begun: Set<Int> = []
            for (index, track) in head.tracks.enumerated() where beginsWithFrames && track.codec.kind == .video {
                guard let (nanoseconds, block) = try merge.first(of: index) else { continue }
                try write(index, nanoseconds, block)
                begun.insert(index)
            }
            while let (index, nanoseconds, block) = try merge.next() {
                if begun.remove(index) != nil { continue }
                try writeLines(until: nanoseconds)
                try write(index, nanoseconds, block)
            }
            // Messages after the last frame and audio packet.
            try writeLines(until: .max)
            try writer.setChapters(chapters(merge))
            let finish = writer.finish(endNanoseconds: merge.mediaEndNanoseconds)
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
        layout: ExportSpec.Layout.Name,
        start: UTCTime?,
        file: OutputFile
    ) -> ExportReport {
        var warnings: [String] = []
        var tracks: [ExportReport.Track] = []
        for (index, (lane, tally)) in zip(merge.lanes, merge.tallies).enumerated() {
            let source = lane.first
            var track = ExportReport.Track(
                number: index + 1,
                sourceTrack: source.number,
                file: source.file,
                participant: source.participant,
                name: source.name,
                media: source.track.codec.kind,
                codec: source.track.codec.rawValue,
                isComplete: true
            )
            if lane.sources.count > 1 {
                track.sourceTracks = lane.sources.compactMap(\.number)
                track.files = lane.sources.map(\.file)
                track.clips = tally.stretches.map { stretch in
                    ExportReport.Clip(
                        file: lane.sources[stretch.file].file,
                        startNanoseconds: stretch.start,
                        durationNanoseconds: stretch.end - stretch.start
                    )
                }
            }
            track.layer = source.opened?.layer?.text
            track.width = source.track.video?.width
            track.height = source.track.video?.height
            let media = track.media
            track.take(tally) { gap in
                contents.history.isPause(
                    from: merge.startNanoseconds &+ gap.startNanoseconds,
                    lasting: gap.durationNanoseconds,
                    track: nil,
                    of: source.participant,
                    media
                )
            }
            // A file of which several parts are here was counted once.
            let packets = Set(lane.sources.compactMap(\.number)).sorted().compactMap { contents.packets[$0] }
            if !packets.isEmpty {
                track.packetsReceived = packets.reduce(0) { $0 &+ $1.received }
                track.packetsLost = packets.reduce(0) { $0 &+ $1.lost }
                let repaired = packets.compactMap(\.repaired)
                track.packetsRepaired = repaired.isEmpty ? nil : repaired.reduce(0, &+)
            }
            track.basis = lane.basis
            track.unitsLeftOut = lane.sources.reduce(0) { $0 + $1.leftOut.units }
            if track.unitsLeftOut > 0 {
                warnings.append(
                    "\(track.unitsLeftOut) frames of \(printable(track.name)) are left out: "
                        + "others that they refer to never came"
                )
            }
            if lane.passedOverCount > 0 {
                warnings.append(
                    "\(lane.passedOverCount) units of \(printable(track.name))'s \(track.media.rawValue) are left out "
                        + "where one file follows another: they are no later, or no keyframe comes before them"
                )
            }
            if lane.rotations.count > 1 {
                warnings.append(
                    "\(printable(track.name)) turned the camera during the call: players show the video turned by "
                        + "\(lane.rotation.rawValue)°, as most of it is; the grid follows each turn"
                )
            }
            tracks.append(track)
        }
        return ExportReport(
            output: file.path,
            layout: layout.rawValue,
            start: start,
            durationNanoseconds: merge.mediaEndNanoseconds,
            bytes: file.file.count,
            tracks: tracks,
            verdict: .complete,
            warnings: warnings
        )
    }
}

extension ExportReport.Track {
    /// - Parameter isPause: whether nothing was to come then.
    fileprivate mutating func take(_ tally: TrackTally, isPause: (ExportReport.Gap) -> Bool) {
        self.startNanoseconds = tally.firstNanoseconds
        self.durationNanoseconds = tally.endNanoseconds - tally.firstNanoseconds
        self.units = tally.units
        self.bytes = tally.bytes
        self.keyframes = tally.keyframes
        let pauses = tally.gaps.filter(isPause)
        self.gapCount = tally.gapCount - pauses.count
        self.gapNanoseconds = pauses.reduce(tally.gapNanoseconds) { $0 - $1.durationNanoseconds }
        self.gaps = tally.gaps.filter { !pauses.contains($0) }
    }
}

extension Duration {
    /// Whole nanoseconds from a recording's beginning, within what a file can state.
    var fileNanoseconds: Int64 {
        min(max(self, .zero), .seconds(1 << 30)).nanoseconds
    }
}
