// SPDX-License-Identifier: Apache-2.0

internal import Basics
import Matroska
import Model
public import Storage
public import Timeline

/// Makes the certificate of a recording: reads every file of it once, unless an export read it just now; decodes
/// nothing, writes nothing.
public struct RecordingExamination {
    private let folder: RecordingFolder
    private let contents: RecordingContents
    private let earlier: Manifest?
    private let digests: [String: Certificate.FileDigest]
    private let readings: [String: TrackReading]
    private var certificate: Certificate
    /// Track files that are not, or may not be, what was recorded.
    private var damagedFiles: Set<String> = []

    /// The certificate of a recording's folder, whatever is in it.
    ///
    /// - Throws: `ExportError` with code `storage` if the folder or its journal cannot be read.
    public static func certificate(of folder: RecordingFolder) throws(ExportError) -> Certificate {
        let contents = try RecordingContents(folder)
        var earlier: Manifest?
        var finding: Certificate.Finding?
        do throws(StorageError) {
            earlier = try Manifest.read(folder)
            if earlier == nil {
                finding = .init(.note, .noManifest, "there is no manifest: changes of files cannot be noticed")
            } else if earlier?.files == nil {
                finding = .init(.note, .noManifest, "the manifest is of an older version and knows no hashes")
            }
        } catch {
            finding = .init(.damage, .manifestUnreadable, file: "manifest.json", error.message)
        }
        return Self.certificate(contents, folder, earlier: earlier, finding: finding)
    }

    /// - Parameters:
    ///   - earlier: what the folder held when it was looked at before.
    ///   - finding: the first finding.
    ///   - readings: what an export gathered of the track files that it read just now.
    ///   - export: a file that was made, and read back, just now.
    static func certificate(
        _ contents: RecordingContents,
        _ folder: RecordingFolder,
        earlier: Manifest?,
        finding: Certificate.Finding? = nil,
        readings: [String: TrackReading] = [:],
        export: Certificate.FileDigest? = nil
    ) -> Certificate {
        var examination = RecordingExamination(
            folder: folder,
            contents: contents,
            earlier: earlier,
            digests: Dictionary((earlier?.files ?? []).map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first }),
            readings: readings,
            certificate: Certificate(
                recording: folder.id.rawValue,
                room: contents.room,
                start: contents.started?.utc
            )
        )
        if let finding { examination.certificate.note(finding) }
        examination.lookAtJournal()
        examination.lookAtEnds()
        examination.lookAtTracks()
        examination.lookAtCodecs()
        examination.lookBetweenConnections()
        examination.lookAtAccounts()
        examination.lookAtFiles()
        examination.align()
        examination.lookAtExports(fresh: export)
        return examination.certificate
    }

    private mutating func note(
        _ severity: Certificate.Severity,
        _ kind: Certificate.Finding.Kind,
        file: String? = nil,
        _ text: String
    ) {
        self.certificate.note(Certificate.Finding(severity, kind, file: file, text))
    }
}

extension RecordingExamination {
    private static let journalName = "journal.jsonl"

    private mutating func lookAtJournal() {
        let (journal, history) = (self.contents.journal, self.contents.history)
        guard let digest = journal.digest else {
            self.note(.damage, .noJournal, file: Self.journalName, "there is no journal")
            return
        }
        self.certificate.files.append(digest)
        self.certificate.journal = Certificate.Journal(
            lines: self.contents.journal.records,
            skippedLines: journal.skippedLines,
            chainedLines: journal.chain.chainedLines,
            chainBreak: journal.chain.firstBreak,
            chainEnd: journal.chain.chainedLines > 0 ? journal.chain.value : nil
        )
        guard self.contents.journal.records > 0 else {
            self.note(.damage, .noJournal, file: Self.journalName, "it has no line that can be read")
            return
        }
        if let line = journal.chain.firstBreak {
            self.note(
                .damage,
                .journalChanged,
                file: Self.journalName,
                "line \(line) does not follow from the one before: lines were changed, taken out or moved"
            )
        }
        if journal.chain.chainedLines == 0 {
            self.note(
                .note,
                .notChained,
                file: Self.journalName,
                "its lines are not chained: it is of an older version"
            )
        }
        self.lookAtTornLines()
        if let earlier = self.digests[Self.journalName], earlier.sha256 != digest.sha256 {
            // It may have gone on since; what it held then must still be there.
            let path = self.folder.journalPath
            let kept = (try? HashingFile.sha256(path, first: earlier.bytes)) ?? nil
            if kept != earlier.sha256 {
                self.note(
                    .damage,
                    .fileChanged,
                    file: Self.journalName,
                    "it was changed since the manifest was written"
                )
            }
        }
        if let id = history.started?.id, id != self.folder.id.rawValue {
            self.note(
                .damage,
                .journalUnreadable,
                file: Self.journalName,
                "it is of another recording: \(id.prefix(64))"
            )
        }
        if self.contents.started == nil {
            self.note(.damage, .journalContradicts, file: Self.journalName, "it does not say how the recording began")
        }
        if let entry = self.contents.facts.backwardsEntry {
            self.note(
                .damage,
                .journalContradicts,
                file: Self.journalName,
                "its times step back at record \(entry)"
            )
        }
        if let start = self.contents.started?.monotonicNanoseconds, let end = history.latestNanoseconds {
            let length = end.subtractingReportingOverflow(start)
            self.certificate.wallClockNanoseconds = length.overflow ? nil : length.partialValue
        }
    }

    /// Each process that died may have left one torn line; more than that were torn by something else.
    private mutating func lookAtTornLines() {
        let (journal, history) = (self.contents.journal, self.contents.history)
        guard journal.skippedLines > 0 else { return }
        let deaths =
            max(0, self.contents.history.parts.count - 1) + (history.isRepaired ? 1 : 0)
            + (history.isFinished ? 0 : 1)
        let isChained = journal.chain.chainedLines > 0
        let torn = isChained ? journal.chain.tornLines.count : journal.skippedLines
        if torn > deaths {
            let place = journal.chain.tornLines.first.map { ", the first of them line \($0)" } ?? ""
            self.note(.damage, .journalUnreadable, file: Self.journalName, "\(torn) lines cannot be read\(place)")
        } else {
            let text =
                torn == 0
                ? "\(journal.skippedLines) lines are of a newer version"
                : "\(torn) lines are torn, as a crash leaves them"
            self.note(.note, .journalUnreadable, file: Self.journalName, text)
        }
    }

    /// How the recording and its parts ended.
    private mutating func lookAtEnds() {
        if self.contents.goesOn {
            self.note(.note, .notClosed, "the recording is in progress")
        } else if !self.contents.history.isFinished {
            self.note(.damage, .notClosed, "the recording was cut off, and is not closed: tapedeck repair closes it")
        }
        if self.contents.history.isRepaired {
            self.note(.gap, .cutOff, "the recording was cut off, and repaired: what came after its end is not known")
        }
        if let code = self.contents.history.endReason.flatMap(StorageError.Code.init(rawValue:)) {
            self.note(.gap, .diskFailed, "the recording ended because of its disk: \(code.rawValue)")
        }
        for part in self.contents.history.parts.dropFirst().prefix(Certificate.maximumFindings) {
            let after = part.monotonicNanoseconds.subtractingReportingOverflow(
                self.contents.started?.monotonicNanoseconds ?? 0
            )
            let place = after.overflow ? "" : ", \(after.partialValue / 1_000_000) ms after the beginning"
            self.note(.gap, .cutOff, "the recorder died, and another one continued with part \(part.number)\(place)")
        }
        for stall in self.contents.history.stalls {
            let after = stall.endNanoseconds.subtractingReportingOverflow(
                self.contents.started?.monotonicNanoseconds ?? 0
            )
            let until = stall.isSuspension ? "" : "until "
            let place = after.overflow ? "" : ", \(until)\(after.partialValue / 1_000_000) ms after the beginning"
            let what = stall.isSuspension ? "the machine was suspended" : "the recorder stood still"
            let length = "\(stall.nanoseconds / 1_000_000) ms"
            self.note(.gap, .stalled, "\(what) for \(length)\(place): what was sent then is missing")
        }
    }

    private mutating func lookAtTracks() {
        var numbers: Set<Int> = []
        var end: Int64 = 0
        for opened in self.contents.history.tracks {
            let record = opened.record
            let isNew = numbers.insert(record.track).inserted
            if !isNew || record.track < 1 {
                self.note(
                    .damage,
                    .journalContradicts,
                    file: Self.journalName,
                    "it opens track \(record.track) \(isNew ? "" : "twice")"
                )
            }
            if isNew { self.lookForFile(of: record) }
        }
        for source in self.contents.sources {
            let setting = TrackExamination.Setting(
                folder: self.folder,
                contents: self.contents,
                isRunning: self.contents.goesOn,
                earlier: self.digests[source.file],
                reading: self.readings[source.file]
            )
            let examination = TrackExamination(source, setting)
            self.certificate.tracks.append(examination.track)
            if let digest = examination.digest { self.certificate.files.append(digest) }
            for finding in examination.findings { self.certificate.note(finding) }
            if examination.findings.contains(where: { $0.severity == .damage }) {
                self.damagedFiles.insert(source.file)
            }
            end = max(end, examination.endNanoseconds)
        }
        self.certificate.durationNanoseconds = end
    }

    /// Senders that changed the codec of a camera or microphone in mid-call: each codec is a track.
    private mutating func lookAtCodecs() {
        var before: [String: TrackOpened] = [:]
        for track in self.contents.history.tracks {
            let record = track.record
            let line = record.mid ?? record.ssrc.map { String($0) }
            guard let connection = record.connection, let line else { continue }
            let key = "\(track.part) \(connection) \(record.media) \(line)"
            let earlier = before.updateValue(record, forKey: key)
            guard let earlier, earlier.codec != record.codec else { continue }
            let codecs = [earlier, record].map { MediaCodec(rawValue: $0.codec)?.title ?? printableName($0.codec) }
            let what = "\(record.media.rawValue) of \(self.contents.shown[record.participant])"
            let change = "changed from \(codecs[0]) to \(codecs[1]) in the call"
            self.note(.note, .codecChanged, "\(what) \(change): track \(record.track) continues track \(earlier.track)")
        }
    }

    /// Participants who stayed, and of whom nothing came from one connection to the next.
    private mutating func lookBetweenConnections() {
        let opened = Dictionary(
            self.contents.history.tracks.map { ($0.record.track, $0) },
            uniquingKeysWith: { first, _ in first }
        )
        // Of each stay, by connection.
        var stays: [Stay: [UInt64: Stretch]] = [:]
        var tracks: [Stay: [Int]] = [:]
        for (index, track) in self.certificate.tracks.enumerated() where track.units > 0 {
            guard let found = track.number.flatMap({ opened[$0] }), let connection = found.record.connection else {
                continue
            }
            let stay = Stay(participant: track.participant, part: found.part)
            stays[stay, default: [:]][connection, default: Stretch()].add(track)
            tracks[stay, default: []].append(index)
        }
        for (stay, connections) in stays.sorted(by: {
            ($0.key.participant, $0.key.part) < ($1.key.participant, $1.key.part)
        }) {
            let stretches = connections.values.sorted { $0.start < $1.start }
            for media in [MediaKind.audio, .video] { self.lookBetween(stretches, media, of: stay.participant) }
            if !self.contents.goesOn { self.lookBehind(tracks[stay] ?? []) }
        }
    }

    /// Audio that ended before the video of its participant did, or video before the audio, and whose files were open until
    /// the others were closed.
    private mutating func lookBehind(_ tracks: [Int]) {
        let (found, closed) = (self.certificate.tracks, self.contents.history.closed)
        func end(_ index: Int) -> Int64 { found[index].startNanoseconds &+ found[index].durationNanoseconds }
        func reason(_ index: Int) -> String? { found[index].number.flatMap { closed[$0]?.reason } }
        // Video goes over to the next segment later than audio does.
        guard let last = tracks.max(by: { end($0) < end($1) }), reason(last) != "segment" else { return }
        let others = tracks.filter { found[$0].media != found[last].media }
        guard let index = others.max(by: { end($0) < end($1) }), reason(index) == reason(last) else { return }
        let (track, length) = (found[index], end(last) &- end(index))
        let gap = Certificate.Span(startNanoseconds: end(index), durationNanoseconds: length)
        // One who left in the last moment left with the media that came until then.
        let most = Certificate.Span(startNanoseconds: end(index), durationNanoseconds: length &- Self.longestLead)
        guard length > Self.longestLead, !self.isExplained(most, track.participant, track.media) else { return }
        self.certificate.tracks[index].gaps.note(gap)
        let text = "nothing came for \(length / 1_000_000) ms at \(end(index) / 1_000_000) ms"
        let until = "until the end of the participant's \(found[last].media.rawValue)"
        self.note(.gap, .gap, file: track.file, "\(text), \(until)")
    }

    /// What a congested path, or a sender without a processor to spare, has not sent yet when a call ends, in nanoseconds.
    private static let longestLead: Int64 = 2_000_000_000

    /// The same of one kind of media; connections may overlap, and some carry none of it.
    private mutating func lookBetween(_ connections: [Stretch], _ media: MediaKind, of participant: String) {
        var before: (end: Int64, isLast: Bool)?
        for connection in connections {
            guard let reach = connection.reach[media] else { continue }
            if let before, before.isLast, reach.lowerBound &- before.end > Stretch.longest {
                let gap = Certificate.Span(
                    startNanoseconds: before.end,
                    durationNanoseconds: reach.lowerBound &- before.end
                )
                if !self.isExplained(gap, participant, media) {
                    let (start, length) = (gap.startNanoseconds / 1_000_000, gap.durationNanoseconds / 1_000_000)
                    let what = "\(media.rawValue) of \(self.contents.shown[participant])"
                    let text = "no \(what) came for \(length) ms at \(start) ms, until its next connection"
                    self.note(.gap, .notConnected, text)
                }
            }
            guard reach.upperBound > before?.end ?? .min else { continue }
            before = (reach.upperBound, connection.end &- reach.upperBound <= Stretch.longest)
        }
    }

    /// Whether the participant was away, or the recording paused.
    private func isExplained(_ gap: Certificate.Span, _ participant: String, _ media: MediaKind) -> Bool {
        let history = self.contents.history
        let start = self.contents.startNanoseconds &+ gap.startNanoseconds
        let end = start &+ gap.durationNanoseconds
        // A connection may end a little after the participant left, or before it.
        return (history.stays[participant] ?? []).contains {
            $0.upperBound >= start &- Stretch.longest && $0.upperBound <= end
        }
            || history.pauses.contains {
                $0.concerns(nil, of: participant, media) && $0.startNanoseconds <= end && $0.endNanoseconds >= start
            }
    }

    /// A participant in one part of the recording.
    private struct Stay: Hashable {
        var participant: String
        var part: Int
    }

    /// From the first to the last unit on one connection, by media.
    private struct Stretch {
        /// Longer is a gap, in nanoseconds.
        static let longest: Int64 = 1_000_000_000

        private(set) var reach: [MediaKind: ClosedRange<Int64>] = [:]

        var start: Int64 { self.reach.values.map(\.lowerBound).min() ?? 0 }
        var end: Int64 { self.reach.values.map(\.upperBound).max() ?? 0 }

        mutating func add(_ track: Certificate.Track) {
            let start = track.startNanoseconds
            let end = max(start, start &+ track.durationNanoseconds)
            let known = self.reach[track.media] ?? start...end
            self.reach[track.media] = min(known.lowerBound, start)...max(known.upperBound, end)
        }
    }

    /// Checks the outcomes of all packets that came.
    private mutating func lookAtAccounts() {
        let facts = self.contents.facts
        for refused in facts.refusedMedia {
            let what = "\(refused.media.rawValue) of \(self.contents.shown[refused.participant])"
            if let awaited = refused.awaitedNanoseconds {
                let text = "its connection did not come about in \(awaited / 1_000_000) ms: \(refused.reason)"
                self.note(.gap, .notConnected, "\(what) never came: \(text)")
            } else {
                self.note(.gap, .notNegotiated, "\(what) was refused in our answer: \(refused.reason)")
            }
        }
        guard !facts.accounts.isEmpty else { return }
        self.certificate.sources = Array(facts.accounts.prefix(Certificate.maximumFindings))
        for account in facts.accounts {
            let source = "source \(account.ssrc) of \(self.contents.shown[account.participant])"
            if account.imbalance != 0 {
                self.note(
                    .damage,
                    .unbalanced,
                    "\(source): \(account.received) packets came, and \(account.imbalance.magnitude) of them are "
                        + (account.imbalance > 0 ? "in no account" : "in two accounts")
                )
            }
            self.compareFiles(of: account, source)
            let refused = account.refusedText
            if facts.isUnrecorded(account, self.contents.history.tracks) {
                let waiting = refused.isEmpty ? "their frames never ended" : refused
                let kind = account.media ?? "media"
                self.note(.gap, .mediaRefused, "\(source): \(kind) came, and none of it is recorded; \(waiting)")
            } else if account.hasLoss {
                self.note(.gap, .mediaRefused, "\(source): not everything that came is recorded; \(refused)")
            } else if !refused.isEmpty {
                self.note(.note, .mediaRefused, "\(source): \(refused)")
            }
        }
    }

    /// The packets in the files of a source, as each file's end says, are those of its account.
    private mutating func compareFiles(of account: SourceCounted, _ source: String) {
        let packets = account.tracks.map { self.contents.history.closed[$0]?.packets }
        // A file that was not closed has no figure.
        guard account.isFinal, packets.allSatisfy({ $0 != nil }) else { return }
        let written = packets.reduce(0) { $0 &+ ($1 ?? 0) }
        guard written != account.recorded else { return }
        self.note(
            .damage,
            .unbalanced,
            "\(source): its files hold \(written) packets, its account says \(account.recorded)"
        )
    }

    /// A track whose file cannot be used.
    private mutating func lookForFile(of record: TrackOpened) {
        guard !self.contents.sources.contains(where: { $0.number == record.track }) else { return }
        guard let name = record.file.split(separator: "/").last, name != ".." else {
            self.note(
                .damage,
                .journalContradicts,
                file: Self.journalName,
                "it names no file for track \(record.track)"
            )
            return
        }
        let file = "tracks/" + name
        guard let error = self.contents.unusable[file] else {
            self.note(.damage, .journalContradicts, file: file, "two tracks are said to be in this file")
            return
        }
        guard (error.cause as? StorageError)?.code == .notFound else {
            self.note(.damage, .fileUnreadable, file: file, "it cannot be used: \(error.message)")
            return
        }
        if self.contents.facts.written.contains(record.track) {
            self.note(.damage, .fileMissing, file: file, "it is not there")
        } else {
            self.note(.gap, .fileMissing, file: file, "it never came to be, and nothing was written to it")
        }
    }

    /// Looks for files that should not be in the folder, and for missing ones.
    private mutating func lookAtFiles() {
        for file in self.contents.unknown {
            guard let error = self.contents.unusable[file] else { continue }
            self.note(.damage, .foreignFile, file: file, "the journal does not know it: \(error.message)")
        }
        let known = Set(self.contents.sources.map(\.file) + self.contents.unusable.keys)
        for file in (try? self.folder.files()) ?? [] where file.name.hasPrefix("tracks/") {
            guard !known.contains(file.name) else { continue }
            self.note(.note, .foreignFile, file: file.name, "Tapedeck did not record it")
        }
        for digest in self.earlier?.files ?? [] where digest.name.hasPrefix("tracks/") && !known.contains(digest.name) {
            self.note(.damage, .fileMissing, file: digest.name, "the manifest knows it, and it is not there")
        }
    }

    /// Measures how each participant's video is aligned with the audio.
    private mutating func align() {
        for participant in self.contents.participants {
            let tracks = self.certificate.tracks.filter {
                $0.participant == participant.id && $0.basis != nil && $0.correctionNanoseconds != nil
            }
            guard let picture = tracks.first(where: { $0.media == .video }),
                let sound = tracks.first(where: { $0.media == .audio }),
                let moved = picture.correctionNanoseconds, let against = sound.correctionNanoseconds
            else { continue }
            let isByReports = picture.basis == .senderReports && sound.basis == .senderReports
            self.certificate.alignments.append(
                Certificate.Alignment(
                    participant: participant.id,
                    pictureCorrectionNanoseconds: moved - against,
                    basis: isByReports ? .senderReports : .arrival
                )
            )
        }
    }

    private mutating func lookAtExports(fresh: Certificate.FileDigest?) {
        self.lookAtSeries(fresh: fresh)
        var exports = (self.earlier?.exports ?? []).map { (file: $0.file, layout: $0.layout) }
        let made = Set(exports.map { $0.file })
        if !exports.contains(where: { $0.file == ExportExamination.defaultName }),
            (try? self.folder.path(of: ExportExamination.defaultName)) != nil
        {
            exports.append((ExportExamination.defaultName, ExportSpec.Layout.Name.tracks.rawValue))
        }
        let expected = self.contents.goesOn ? nil : self.expectedExport()
        var seen: Set<String> = []
        for export in exports.prefix(Certificate.maximumFindings) where export.file != fresh?.name {
            guard seen.insert(export.file).inserted else { continue }
            let examination = ExportExamination(
                export.file,
                layout: export.layout,
                in: self.folder,
                earlier: self.digests[export.file],
                isOfManifest: made.contains(export.file),
                expected: expected
            )
            if let found = examination.export { self.certificate.exports.append(found) }
            if let digest = examination.digest { self.certificate.files.append(digest) }
            for finding in examination.findings { self.certificate.note(finding) }
        }
        if let fresh { self.certificate.files.append(fresh) }
    }

    /// Looks how exports of the series were joined, and whether segments came back since.
    private mutating func lookAtSeries(fresh: Certificate.FileDigest?) {
        let exports = (self.earlier?.exports ?? []).filter { $0.recordings != nil && $0.file != fresh?.name }
        guard !exports.isEmpty else { return }
        let series = try? RecordingSeries.find(self.folder)
        for export in exports.prefix(Certificate.maximumFindings) {
            if let series, series.isOfSeveralOwners {
                self.note(.note, .seriesParts, file: export.file, series.parts(of: export.recordings))
            }
            for join in export.joined ?? [] { self.note(.note, .clocksJoined, file: export.file, join.text) }
            for gap in (export.gaps ?? []).prefix(Certificate.Spans.maximumListed) {
                self.certificate.note(.ofSeries(gap, in: export.file))
            }
            let lacking = series?.segments(missingIn: export) ?? []
            guard export.isOfWhole, let first = lacking.first else { continue }
            self.note(
                .note,
                .exportOutdated,
                file: export.file,
                "segment \(first.number) of host \(printableName(first.host, limit: 48))"
                    + (lacking.count > 1 ? " and \(lacking.count - 1) more" : "")
                    + " came after it was made: export the series again"
            )
        }
    }

    /// Units that the whole recording contributes to an export.
    private func expectedExport() -> ExpectedExport {
        // The times of a damaged journal say nothing.
        let isDamaged = self.certificate.findings(.damage).contains { $0.file == Self.journalName }
        var expected = ExpectedExport(durationNanoseconds: isDamaged ? nil : self.certificate.durationNanoseconds)
        let before = Dictionary(
            (self.earlier?.tracks ?? []).map { ($0.file, $0.units) },
            uniquingKeysWith: { first, _ in first }
        )
        let opened = Dictionary(
            self.contents.history.tracks.map { ($0.record.track, $0.record) },
            uniquingKeysWith: { first, _ in first }
        )
        for track in self.certificate.tracks {
            guard self.damagedFiles.contains(track.file) else {
                expected.add(whole: track)
                continue
            }
            let codec = track.codec.rawValue
            guard let number = track.number, opened[number]?.codec == codec else {
                // It may have come after the export.
                expected.add(damaged: nil, codec: codec, written: track.units)
                continue
            }
            let written = [self.contents.history.closed[number]?.units, before[track.file]].compactMap(\.self).max()
            expected.add(damaged: track, codec: codec, written: written)
        }
        let found = Set(self.certificate.tracks.map { "\($0.number ?? 0) \($0.codec.rawValue)" })
        for (number, record) in opened where !found.contains("\(number) \(record.codec)") {
            guard self.contents.facts.written.contains(number) else { continue }
            expected.add(damaged: nil, codec: record.codec, written: self.contents.history.closed[number]?.units)
        }
        return expected
    }
}

extension Certificate {
    /// Gaps and doubts, a sentence each.
    var warnings: [String] {
        self.findings.filter { $0.severity != .note }.map { finding in
            finding.file.map { "\($0): \(finding.text)" } ?? finding.text
        }
    }
}
