// SPDX-License-Identifier: Apache-2.0

internal import GStreamer
internal import Matroska
internal import Storage
internal import Timeline

/// A recording that goes on: its folder, its journal, and what both have so far.
struct ActiveRecording {
    let folder: RecordingFolder
    let journal: JournalWriter
    /// From 1; each process that goes on with the recording adds one.
    let part: Int
    private var nextNumber: Int
    /// Participants that the journal says are here.
    private var joined: Set<String>
    /// Whether another track would be more than an export takes.
    var isFull: Bool { self.nextNumber > Writer.maximumTrackNumber }
    /// Whether a loss on this side was told.
    var isDegraded = false

    /// Makes a new recording.
    static func create(_ settings: RecorderSettings) throws(StorageError) -> ActiveRecording {
        let start = UTCTime.now()
        let now = Runtime.monotonicNanoseconds
        let folder = try RecordingFolder.create(storage: settings.storage, room: settings.room, start: start)
        let journal = try Self.hold(folder)
        let started = RecordingStarted(
            room: settings.room,
            id: folder.id.rawValue,
            host: settings.host,
            utc: start,
            boot: BootID.current
        )
        try journal.append(.recordingStarted(started), monotonicNanoseconds: now)
        return ActiveRecording(folder: folder, journal: journal, part: 1, nextNumber: 1, joined: [])
    }

    /// Goes on with a recording whose process died.
    ///
    /// Track numbers go on after those of the journal and of the files: a file may be there that the journal lost.
    static func continuing(_ path: String, _ settings: RecorderSettings) throws(StorageError) -> ActiveRecording {
        let folder = try RecordingFolder.open(path: path)
        let journal = try Self.hold(folder)
        let start = UTCTime.now()
        let now = Runtime.monotonicNanoseconds
        var part = 1
        var highest = try folder.trackNumbers().max() ?? 0
        var joined: Set<String> = []
        for entry in try Journal.read(folder).entries {
            switch entry.record {
            case .partStarted(let record): part = max(part, record.part)
            case .trackOpened(let record): highest = max(highest, record.track)
            case .participantJoined(let record): joined.insert(record.participant)
            case .participantLeft(let record): joined.remove(record.participant)
            case .recordingFinished:
                throw StorageError(.closed, "the recording \(folder.path) is finished", path: folder.path)
            case .recordingStarted, .senderReport, .clockAnchor, .formatChanged, .packetsCounted, .trackClosed, .marker:
                break
            }
        }
        let (nextPart, partOverflow) = part.addingReportingOverflow(1)
        let (nextNumber, numberOverflow) = highest.addingReportingOverflow(1)
        guard !partOverflow, !numberOverflow else {
            throw StorageError(.invalid, "the journal of \(folder.path) has numbers out of range", path: folder.path)
        }
        let started = PartStarted(part: nextPart, host: settings.host, utc: start, boot: BootID.current)
        try journal.append(.partStarted(started), monotonicNanoseconds: now)
        return ActiveRecording(
            folder: folder,
            journal: journal,
            part: nextPart,
            nextNumber: nextNumber,
            joined: joined
        )
    }

    private static func hold(_ folder: RecordingFolder) throws(StorageError) -> JournalWriter {
        let journal = try JournalWriter(folder: folder)
        guard try journal.lock() else {
            throw StorageError(.exists, "another process records into \(folder.path)", path: folder.path)
        }
        return journal
    }

    private init(folder: RecordingFolder, journal: JournalWriter, part: Int, nextNumber: Int, joined: Set<String>) {
        self.folder = folder
        self.journal = journal
        self.part = part
        self.nextNumber = nextNumber
        self.joined = joined
    }

    /// Prepares the next file of a track; the journal learns of its participant and of its newest sender report.
    mutating func file(for track: OpenTrack, _ now: Int64) throws(StorageError) -> TrackFileWriter {
        let participant = track.received.participant
        if self.joined.insert(participant).inserted {
            try self.journal.append(
                .participantJoined(ParticipantJoined(participant: participant, name: nil)),
                monotonicNanoseconds: now
            )
        }
        let description = track.description(number: self.nextNumber)
        self.nextNumber += 1
        if let report = track.lastReport { try self.note(report, track: description.number) }
        return TrackFileWriter(folder: self.folder, journal: self.journal, track: description)
    }

    /// Journals a sender report of a track.
    func note(_ report: CapturedItem.Report, track: Int) throws(StorageError) {
        let record = SenderReport(
            track: track,
            ssrc: report.ssrc,
            rtpTimestamp: report.rtpTimestamp,
            ntpTime: report.ntpTime
        )
        try self.journal.append(.senderReport(record), monotonicNanoseconds: report.arrivalNanoseconds)
    }

    /// Journals that a participant is gone; one that was never recorded is not noted.
    mutating func left(_ participant: String, reason: String, _ now: Int64) throws(StorageError) {
        guard self.joined.remove(participant) != nil else { return }
        try self.journal.append(
            .participantLeft(ParticipantLeft(participant: participant, reason: reason)),
            monotonicNanoseconds: now
        )
    }

    /// Journals how many packets a track has had.
    func count(_ track: OpenTrack, _ now: Int64) throws(StorageError) {
        guard let number = track.writer?.track.number else { return }
        let packets = track.packets
        let record = PacketsCounted(track: number, received: packets.received, lost: packets.lost)
        try self.journal.append(.packetsCounted(record), monotonicNanoseconds: now)
    }

    /// Journals an instant worth finding again.
    func mark(_ name: String, text: String? = nil, _ now: Int64) throws(StorageError) {
        try self.journal.append(.marker(Marker(name: name, text: text)), monotonicNanoseconds: now)
    }

    /// Journals the end; every file is closed by then.
    func finish(reason: String, _ now: Int64) throws(StorageError) {
        try self.journal.append(.recordingFinished(RecordingFinished(reason: reason)), monotonicNanoseconds: now)
        try self.journal.synchronise()
    }
}
