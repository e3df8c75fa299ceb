// SPDX-License-Identifier: Apache-2.0

import Basics
import FoundationEssentials
import Matroska
import Model
import Storage
import Timeline

/// Contents of a recording's folder, from the journal and the track files; either may be cut anywhere.
struct RecordingContents {
    /// A sender may change its size with every keyframe.
    private static let mostSizes = 16

    /// The room, by its folder if the journal has none.
    private(set) var room: String
    /// The id of the first recording of its series, and which of the series it is, if it is of one.
    private(set) var series: (id: String, segment: Int?)?
    /// The recording's history, by its journal.
    private(set) var history = RecordingHistory()
    /// One instant on both clocks, if the journal has it.
    var started: RecordingHistory.Part? { self.history.parts.first }
    /// In order of appearance; those whom the journal does not know come last.
    var participants: [Participant] { self.roster.participants }
    private var roster = ParticipantRoster()
    /// How people see the participants.
    private(set) var shown = ShownNames([])
    var packets: [Int: PacketsCounted] = [:]
    /// The sizes of a track's frames, each once, as they came; bounded.
    private(set) var sizes: [Int: [VideoSize]] = [:]
    /// How a track's frames are turned.
    private var turns: [Int: VideoTurns] = [:]
    /// Events of the call in the journal.
    var happenings = Happenings()
    private var damage: [Int: DamagedSpans] = [:]
    /// Whether units that cannot be decoded are read as well.
    private var keepsDamaged = true
    /// How the tracks of a series follow each other; `nil` for a recording.
    private(set) var seriesJournal: SeriesJournal?
    /// Facts of the journal that a certificate needs.
    var facts = JournalFacts()
    /// How far the journal can be read and trusted.
    var journal = Journal()
    var map = RTPClockMap([])
    /// Track files that cannot be used, and why.
    var unusable: [String: ExportError] = [:]
    /// Track files that the journal does not know.
    var unknown: [String] = []
    /// Usable tracks: by participant in order of appearance, video first, then by file.
    var sources: [TrackSource] = []
    var warnings: [String] = []
    /// Whether a process still recorded when this was read; always false for a series.
    private(set) var goesOn = false

    /// Reads the journal and opens every track file; what cannot be used becomes a warning.
    ///
    /// - Parameter keepsDamaged: whether units that cannot be decoded are read as well.
    init(_ folder: RecordingFolder, keepsDamaged: Bool = true) throws(ExportError) {
        self.room = folder.path.split(separator: "/").dropLast().last.map(String.init) ?? ""
        self.keepsDamaged = keepsDamaged
        // Before the journal: what is let go in between has been read as a whole.
        let isHeld = folder.isHeld
        var contents = self
        var placed = JournalParts()
        var clocks = TrackClockCollector()
        let take = { (entry: JournalEntry) in
            clocks.take(entry)
            contents.take(entry)
        }
        do throws(StorageError) {
            contents.journal = try Journal.read(folder) { placed.take($0, take) }
        } catch {
            throw ExportError(error)
        }
        placed.finish(take)
        self = contents
        self.room = self.history.started?.room ?? self.room
        self.series = self.history.started.flatMap { started in started.series.map { ($0, started.segment ?? 1) } }
        self.goesOn = isHeld && !self.history.isFinished
        if self.journal.skippedLines > 0 {
            self.warnings.append("the journal has \(self.journal.skippedLines) lines that cannot be read")
        }
        self.warn(ofDamaged: placed.damagedCount)
        self.map = RTPClockMap(clocks.tracks())
        for track in self.history.tracks { self.openKnown(track.record, folder) }
        self.openUnknown(folder)
        self.sources.sort { $0.file < $1.file }
        self.sort()
        self.showNames()
    }

    /// Reads the journals of a series, and looks at every track file; all files rest.
    ///
    /// Tracks have the numbers that `SeriesJournal` gives them; files are named as from the first segment's folder.
    init(_ series: RecordingSeries, keepsDamaged: Bool) throws(ExportError) {
        self.room = ""
        self.keepsDamaged = keepsDamaged
        var contents = self
        var clocks = TrackClockCollector()
        let journal = try SeriesJournal(series) { entry in
            clocks.take(entry)
            contents.take(entry)
        }
        self = contents
        self.room = self.history.started?.room ?? self.room
        self.seriesJournal = journal
        self.series = (series.id, nil)
        self.warn(ofDamaged: journal.damagedCount)
        self.map = RTPClockMap(clocks.tracks(following: journal.clocks))
        for (index, segment) in series.segments.enumerated() {
            let prefix = index == 0 ? "" : series.prefix(of: segment)
            let count = self.sources.count
            for track in self.history.tracks where journal.segments[track.record.track] == index {
                self.openKnown(track.record, segment, journal, prefix: prefix)
            }
            self.openUnknown(segment.folder, prefix: prefix)
            for index in count..<self.sources.count { self.sources[index].rest() }
        }
        self.sources.sort { ($0.firstNanoseconds ?? .max, $0.file) < ($1.firstNanoseconds ?? .max, $1.file) }
        self.sort()
        self.showNames()
    }

    /// Whether an export lacks something of the recording, or of what may still come.
    func isPart(_ spec: ExportSpec) -> Bool { self.goesOn || !spec.isOfWhole }

    /// Closes all files, until they are woken.
    mutating func rest() {
        for index in self.sources.indices { self.sources[index].rest() }
    }

    /// Opens a segment's file, including the frames that refer to those of the file before it, if they can be decoded
    /// after them.
    private mutating func openKnown(
        _ record: TrackOpened,
        _ segment: RecordingSeries.Segment,
        _ journal: SeriesJournal,
        prefix: String
    ) {
        let open = { (contents: inout RecordingContents) in
            contents.openKnown(record, segment.folder, prefix: prefix, key: journal.clocks[record.track])
        }
        guard let number = journal.predecessors[record.track], let damage = self.damage[record.track],
            self.damage[number]?.isOpen == false, let before = self.sources.first(where: { $0.number == number })
        else { return open(&self) }
        self.damage[record.track]?.goOn()
        let count = self.sources.count
        open(&self)
        guard self.sources.count > count, !before.canGoOn(in: self.sources[count]) else { return }
        self.sources.removeLast()
        self.damage[record.track] = damage
        open(&self)
    }

    private mutating func warn(ofDamaged count: Int) {
        guard count > 0 else { return }
        self.warnings.append("the journal has \(count) records whose times cannot be right")
    }

    /// Sorts the tracks by participant and kind, and otherwise leaves their order.
    private mutating func sort() {
        self.roster = self.history.roster
        let order = Dictionary(
            self.participants.enumerated().map { ($1.id, $0) },
            uniquingKeysWith: { first, _ in first }
        )
        let sorted = self.sources.enumerated().sorted { left, right in
            let (leftOrder, rightOrder) = (
                order[left.element.participant] ?? .max, order[right.element.participant] ?? .max
            )
            let (leftAudio, rightAudio) = (
                left.element.track.codec.kind == .audio, right.element.track.codec.kind == .audio
            )
            if leftOrder != rightOrder { return leftOrder < rightOrder }
            if leftAudio != rightAudio { return rightAudio }
            return left.offset < right.offset
        }
        self.sources = sorted.map(\.element)
    }

    /// Takes the next record of the journal.
    private mutating func take(_ entry: JournalEntry) {
        self.happenings.note(entry)
        self.facts.take(entry, part: self.history.part, latestNanoseconds: self.history.latestNanoseconds)
        self.history.take(entry)
        switch entry.record {
        case .trackOpened(let record):
            self.damage[record.track] = self.damage[record.track] ?? DamagedSpans(clockRateHz: record.clockRateHz)
            if record.media == .video { self.turns[record.track] = self.turns[record.track] ?? VideoTurns() }
        case .trackDamaged(let record) where !self.keepsDamaged:
            self.damage[record.track]?.damaged(at: record.rtpTime, lostPackets: record.lostPackets)
        case .trackMended(let record) where !self.keepsDamaged:
            self.damage[record.track]?.mended(at: record.rtpTime)
        case .trackClosed(let record): self.turns[record.track]?.reached(record.lastRTPTime)
        case .clockAnchor(let record): self.turns[record.track]?.reached(record.rtpTime)
        case .packetsCounted(let record): self.packets[record.track] = record
        case .formatChanged(let record):
            self.noteSize(record)
            if record.rotation != nil { self.turns[record.track, default: VideoTurns()].note(record) }
        case .recordingStarted, .partStarted, .participantJoined, .participantLeft, .senderReport, .sourceCounted,
            .mediaRefused, .trackDamaged, .trackMended, .chatMessage, .detailsChanged, .marker, .recordingFinished:
            break
        }
    }

    private mutating func noteSize(_ change: FormatChanged) {
        guard let width = change.width, let height = change.height else { return }
        let size = VideoSize(width: width, height: height)
        var sizes = self.sizes[change.track] ?? []
        guard sizes.count < Self.mostSizes, !sizes.contains(size) else { return }
        sizes.append(size)
        self.sizes[change.track] = sizes
    }

    /// Gives each track the name by which people see its participant, now that all of them are known.
    private mutating func showNames() {
        for source in self.sources {
            // The journal may have lost what the file says.
            let title = source.track.name == source.participant ? nil : source.track.name
            self.roster.note(source.participant, name: self.roster.name(of: source.participant) ?? title)
        }
        self.shown = self.roster.shown
        for index in self.sources.indices { self.sources[index].name = self.shown[self.sources[index].participant] }
    }

    /// Opens the file of a track that the journal names.
    ///
    /// - Parameter key: the track's number in the clock map; its own if left out.
    private mutating func openKnown(
        _ record: TrackOpened,
        _ folder: RecordingFolder,
        prefix: String = "",
        key: Int? = nil
    ) {
        // Only the last component is taken: the journal is a file, and a file can say "../".
        guard let file = record.file.split(separator: "/").last, file != "..",
            !self.sources.contains(where: { $0.file == prefix + "tracks/" + file })
        else { return }
        let map = self.map
        self.open(
            folder: folder,
            file: "tracks/" + file,
            participant: record.participant,
            damage: record.media == .video ? self.damage[record.track] : nil,
            turns: self.turns[record.track],
            prefix: prefix
        ) { _ in
            .clock(record, map, key: key ?? record.track)
        }
    }

    /// Opens the files that the journal does not name and places them by their dates.
    private mutating func openUnknown(_ folder: RecordingFolder, prefix: String = "") {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.tracksPath)) ?? []
        let known = Set(self.sources.map(\.file))
        for name in names.sorted() where name.hasSuffix(".mkv") || name.hasSuffix(".mka") {
            let file = "tracks/" + name
            guard !known.contains(prefix + file), self.unusable[prefix + file] == nil else { continue }
            self.unknown.append(prefix + file)
            let started = self.started.map { ($0.utc, $0.monotonicNanoseconds) } ?? self.datedSource()
            self.warnings.append("\(prefix)\(file) is not in the journal; it is placed by its date, about right")
            self.open(folder: folder, file: file, participant: nil, prefix: prefix) { info in
                guard let date = info.dateUTCNanosecondsSince2001 else { return nil }
                guard let started else { return .date(firstUnitNanoseconds: date) }
                return .date(
                    firstUnitNanoseconds: started.monotonicNanoseconds
                        &+ (date &- started.utc.nanosecondsSince2001)
                )
            }
        }
    }

    /// Both clocks at the first unit of a placed track: its date is on one, its place on the other.
    private func datedSource() -> (utc: UTCTime, monotonicNanoseconds: Int64)? {
        for source in self.sources {
            guard let date = source.date, let first = source.firstNanoseconds else { continue }
            return (UTCTime(nanosecondsSince2001: date), first)
        }
        return nil
    }

    private mutating func open(
        folder: RecordingFolder,
        file: String,
        participant: String?,
        damage: DamagedSpans? = nil,
        turns: VideoTurns? = nil,
        prefix: String = "",
        place: (SegmentInfo) -> TrackSource.Placement?
    ) {
        do throws(ExportError) {
            var source = try TrackSource(
                folder: folder,
                file: file,
                participant: participant,
                damage: damage ?? DamagedSpans(),
                turns: turns,
                keepsDamaged: self.keepsDamaged,
                prefix: prefix,
                place: place
            )
            // Units that this file alone cannot decode still count as present.
            guard source.next != nil || source.leftOut.units > 0 else {
                self.unusable[prefix + file] = ExportError(.storage, "\(file) has no units")
                self.warnings.append("\(prefix)\(file) has no units")
                return
            }
            if source.track.codec == .opus { source.missingPackets = source.number.flatMap(self.missingPackets) }
            self.sources.append(source)
        } catch {
            self.unusable[prefix + file] = error
            self.warnings.append("\(prefix)\(file) is left out: \(error.message)")
        }
    }

    /// How many packets of a track never came, or came and are in no file; `nil` if they were not counted to the end.
    private func missingPackets(_ track: Int) -> UInt64? {
        let accounts = self.facts.accounts.filter { $0.tracks.contains(track) }
        guard let counted = self.packets[track], !accounts.isEmpty, accounts.allSatisfy(\.isFinal) else { return nil }
        return accounts.reduce(UInt64(max(0, counted.lost))) { $0 &+ $1.refusedPackets &+ $1.waiting }
    }
}
