// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import Storage
internal import Timeline

/// A recording in progress: its folder, its journal, and the figures of both so far.
struct ActiveRecording: Sendable {
    let folder: RecordingFolder
    let journal: JournalWriter
    /// Folders in which names were made for it: its own and those above it that were missing.
    let changedFolders: [String]
    /// Whether those are yet to be forced to the disk.
    var isNew = true
    /// From 1; each process that continues the recording adds one.
    let part: Int
    /// Where it is in its series, if it is of one.
    let place: SeriesPlace?
    /// When it began, on our monotonic clock; before our time for one that another run of the kernel began.
    let beganAt: Int64
    /// Bytes of the units in it.
    var bytes: UInt64
    private var nextNumber: Int
    /// Participants that the journal says are here.
    private(set) var joined: Set<String>
    /// All participants that the journal names.
    private(set) var people: ParticipantRoster
    /// Whether it has as many tracks as one has at most.
    var isFull: Bool { self.nextNumber > Self.maximumTracks }
    /// Whether it soon is: what begins while it is cut begins in the next one.
    var isNearlyFull: Bool { self.nextNumber > Self.maximumTracks - Self.reserve }
    /// Its export has a descriptor for each, and a text track for the chat.
    private static let maximumTracks = 125
    /// This many tracks may begin at once before the next look.
    private static let reserve = 24
    /// Whether a loss on this side was reported.
    var isDegraded = false
    /// Whether it ended, with a report, because its folder or its journal was lost; its later failures are not
    /// reported.
    var isLost = false
    /// Number of messages written in it since this process began.
    private var messages = 0
    /// How often each participant took another name since this process began.
    private var renamings: [String: Int] = [:]

    /// How old the last sender report may be that a file begins with.
    private static let oldestReport = Duration.seconds(30)
    /// As many messages as an export takes.
    private static let maximumMessages = 10_000
    /// More names of one participant are not noted.
    private static let maximumRenamings = 32

    /// Makes a new recording.
    ///
    /// - Parameters:
    ///   - now: when its first unit came.
    ///   - previous: the recording of the same series that this one continues without a gap; nil leaves it to
    ///     `settings.follows`.
    static func create(
        _ settings: RecorderSettings,
        at now: Int64,
        after previous: ActiveRecording? = nil
    ) throws(RecordingError) -> ActiveRecording {
        let start = UTCTime.at(monotonicNanoseconds: now)
        var changedFolders: [String] = []
        let folder = try RecordingError.blaming(.folder) { () throws(StorageError) in
            try RecordingFolder.create(storage: settings.storage, room: settings.room, start: start) {
                changedFolders.append($0)
            }
        }
        let place: SeriesPlace? =
            if let place = previous.map(\.place) ?? settings.follows {
                place.next
            } else if settings.segment != nil || settings.claim != nil {
                // Another host may continue it.
                SeriesPlace(series: folder.id.rawValue, segment: 1)
            } else {
                nil
            }
        let started = RecordingStarted(
            room: settings.room,
            id: folder.id.rawValue,
            host: settings.host,
            utc: start,
            boot: BootID.current,
            displayName: settings.displayName,
            series: place?.series,
            segment: place?.segment,
            tags: settings.tags.isEmpty ? nil : settings.tags,
            notes: settings.notes,
            claim: settings.claim
        )
        do throws(RecordingError) {
            let journal = try Self.hold(folder)
            try RecordingError.blaming(.journal) { () throws(StorageError) in
                try journal.append(.recordingStarted(started), monotonicNanoseconds: now)
            }
            return ActiveRecording(
                folder: folder,
                journal: journal,
                changedFolders: changedFolders,
                part: 1,
                place: place,
                beganAt: now,
                bytes: 0,
                nextNumber: 1,
                joined: [],
                people: ParticipantRoster()
            )
        } catch {
            // A disk that is full takes the folder but not the journal: each new attempt makes another.
            try? folder.delete(isDurable: false)
            throw error
        }
    }

    /// Continues a recording whose process died.
    ///
    /// Track numbers continue after those of the journal and of the files: a file may exist that the journal lost.
    static func continuing(
        _ path: String,
        _ settings: RecorderSettings,
        at now: Int64
    ) throws(RecordingError) -> ActiveRecording {
        let folder = try RecordingError.blaming(.folder) { () throws(StorageError) in
            try RecordingFolder.open(path: path)
        }
        let journal = try Self.hold(folder)
        let start = UTCTime.now()
        let numbers = try RecordingError.blaming(.folder) { () throws(StorageError) in try folder.trackNumbers() }
        let history = try RecordingError.blaming(.journal) { () throws(StorageError) in
            try Journal.history(of: folder)
        }
        guard !history.isFinished else {
            let message = "the recording \(folder.path) is finished"
            throw RecordingError(.journal, StorageError(.closed, message, path: folder.path))
        }
        let place = history.started.flatMap { started in
            started.series.map { SeriesPlace(series: $0, segment: started.segment ?? 1) }
        }
        let age = history.started.map {
            start.nanosecondsSince1970.subtractingReportingOverflow($0.utc.nanosecondsSince1970).partialValue
        }
        let highest = (numbers + history.tracks.map(\.record.track)).reduce(0, max)
        let (nextPart, partOverflow) = history.part.addingReportingOverflow(1)
        let (nextNumber, numberOverflow) = highest.addingReportingOverflow(1)
        guard !partOverflow, !numberOverflow, place.map({ (1..<Int.max).contains($0.segment) }) ?? true else {
            let message = "the journal of \(folder.path) has numbers out of range"
            throw RecordingError(.journal, StorageError(.invalid, message, path: folder.path))
        }
        let started = PartStarted(part: nextPart, host: settings.host, utc: start, boot: BootID.current)
        try RecordingError.blaming(.journal) { () throws(StorageError) in
            try journal.append(.partStarted(started), monotonicNanoseconds: now)
        }
        return ActiveRecording(
            folder: folder,
            journal: journal,
            changedFolders: [folder.path],
            part: nextPart,
            place: place,
            beganAt: now - max(0, min(age ?? 0, now)),
            bytes: try RecordingError.blaming(.folder) { () throws(StorageError) in try folder.trackBytes() },
            nextNumber: nextNumber,
            joined: Set(history.arrivals.keys),
            people: history.roster
        )
    }

    /// Opens the journal for this process alone.
    private static func hold(_ folder: RecordingFolder) throws(RecordingError) -> JournalWriter {
        try RecordingError.blaming(.journal) { () throws(StorageError) in
            let journal = try JournalWriter(folder: folder)
            guard try journal.lock() else {
                throw StorageError(.exists, "another process records into \(folder.path)", path: folder.path)
            }
            return journal
        }
    }

    /// Journals a participant, unless the journal says already that it is here.
    mutating func joins(_ participant: String, name: String?, _ now: Int64) {
        guard self.joined.insert(participant).inserted else { return }
        self.people.note(participant, name: name)
        self.journal.note(
            .participantJoined(ParticipantJoined(participant: participant, name: name)),
            monotonicNanoseconds: now
        )
    }

    /// Prepares the next file of a track; the journal learns of its participant and of its newest sender report.
    mutating func file(for track: OpenTrack, name: String?, _ now: Int64) -> TrackFileWriter {
        self.joins(track.received.participant, name: name, now)
        let shown = name.map { _ in self.people.shown[track.received.participant] }
        let description = track.description(number: self.nextNumber, name: shown)
        self.nextNumber += 1
        // A report from before a long silence would be older than the newest times in the journal.
        if let report = track.lastReport, now - report.arrivalNanoseconds < Self.oldestReport.nanoseconds {
            self.note(report, track: description.number)
        }
        return TrackFileWriter(folder: self.folder, journal: self.journal, track: description)
    }

    /// Journals a sender report of a track.
    func note(_ report: ReceivedReport, track: Int) {
        let record = SenderReport(
            track: track,
            ssrc: report.ssrc,
            rtpTimestamp: report.rtpTimestamp,
            ntpTime: report.ntpTime
        )
        self.journal.note(.senderReport(record), monotonicNanoseconds: report.arrivalNanoseconds)
    }

    /// Journals a name that came after its participant; one that was never recorded is not noted.
    mutating func named(_ participant: String, _ name: String, _ now: Int64) {
        guard self.joined.contains(participant), self.people.name(of: participant) != name,
            self.renamings[participant, default: 0] < Self.maximumRenamings
        else { return }
        self.renamings[participant, default: 0] += 1
        self.people.note(participant, name: name)
        self.journal.note(
            .participantJoined(ParticipantJoined(participant: participant, name: name)),
            monotonicNanoseconds: now
        )
    }

    /// Journals that a participant is gone; one that was never recorded is not noted.
    mutating func left(_ participant: String, reason: String, _ now: Int64) {
        guard self.joined.remove(participant) != nil else { return }
        self.journal.note(
            .participantLeft(ParticipantLeft(participant: participant, reason: reason)),
            monotonicNanoseconds: now
        )
    }

    /// Journals what a participant wrote; more than an export takes is not noted.
    mutating func wrote(_ participant: String, name: String?, _ text: String, label: String, _ now: Int64) {
        guard self.messages < Self.maximumMessages else { return }
        self.messages += 1
        self.joins(participant, name: name, now)
        let message = ChatMessage(participant: participant, text: text, label: label.isEmpty ? nil : label)
        self.journal.note(.chatMessage(message), monotonicNanoseconds: now)
    }

    /// Journals how many packets a track has had.
    func count(_ track: OpenTrack, _ now: Int64) {
        guard let number = track.writer?.track.number else { return }
        let packets = track.packets
        let record = PacketsCounted(
            track: number,
            received: packets.received,
            lost: packets.lost,
            repaired: packets.repaired
        )
        self.journal.note(.packetsCounted(record), monotonicNanoseconds: now)
    }

    /// Journals an instant worth finding again.
    func mark(_ name: String, text: String? = nil, _ now: Int64) {
        self.journal.note(.marker(Marker(name: name, text: text)), monotonicNanoseconds: now)
    }

    /// Journals that nothing could be taken for so long until now.
    func stoodStill(for duration: Duration, _ isSuspended: Bool, _ now: Int64) {
        let marker = Marker(
            name: "stalled",
            text: isSuspended ? Marker.suspended : nil,
            lastedNanoseconds: duration.nanoseconds
        )
        self.journal.note(.marker(marker), monotonicNanoseconds: now)
    }

    /// Journals what people say of the recording now.
    func describe(_ settings: RecorderSettings, _ now: Int64) {
        let details = DetailsChanged(tags: settings.tags, notes: settings.notes ?? "")
        self.journal.note(.detailsChanged(details), monotonicNanoseconds: now)
    }

    /// Journals what units of a track meant to those that came after them.
    func note(_ lines: [DamageLines.Line], track: Int) {
        for line in lines {
            let record: JournalRecord
            switch line.damage {
            case .unchanged:
                continue
            case .damaged(let lostPackets):
                record = .trackDamaged(TrackDamaged(track: track, rtpTime: line.rtpTime, lostPackets: lostPackets))
            case .mended(let units):
                record = .trackMended(TrackMended(track: track, rtpTime: line.rtpTime, units: units))
            }
            self.journal.note(record, monotonicNanoseconds: line.arrivalNanoseconds)
        }
    }

    /// Journals the end, and returns when that is on the disk; every file is closed by then.
    func finish(reason: String, _ now: Int64) throws(RecordingError) {
        try RecordingError.blaming(.journal) { () throws(StorageError) in
            try self.journal.append(.recordingFinished(RecordingFinished(reason: reason)), monotonicNanoseconds: now)
            try RecordingFolder.synchronise(folders: self.changedFolders)
            try self.journal.synchronise()
        }
    }
}
