// SPDX-License-Identifier: Apache-2.0

public import Basics

/// The history of a recording: its room, participants, tracks and end, by the records of its journal.
///
/// The fold takes one record after the other, also while the journal is still written. Times are those of the records; behind
/// `JournalParts` they are on the clock of the first part. The journals of a series, one behind the other, are one history:
/// the first segment's beginning counts. Numbers may be any: nothing here traps.
public struct RecordingHistory: Sendable {
    /// A part of the recording: what one process recorded.
    public struct Part: Sendable, Hashable {
        /// Its number, from 1.
        public var number: Int
        /// The host that recorded it.
        public var host: String
        /// When it began, by its host.
        public var utc: UTCTime
        /// The same on the clock of the records, and no earlier than the records of the parts before.
        public var monotonicNanoseconds: Int64
    }

    /// A track that the journal opened.
    public struct Track: Sendable, Hashable {
        /// The record that opened it.
        public var record: TrackOpened
        /// When its first unit came.
        public var monotonicNanoseconds: Int64
        /// The part of the recording, from 1.
        public var part: Int
    }

    /// A stretch in which nothing is expected.
    public struct Pause: Sendable, Hashable {
        /// The media that were muted or switched off; `nil` if the recording was paused.
        public var media: MediaKind?
        /// The only track that it concerns, if it is one.
        public var track: Int?
        /// The only participant that it concerns, if it is one.
        public var participant: String?
        /// When it began.
        public var startNanoseconds: Int64
        /// When it ended; `.max` if it never did.
        public var endNanoseconds = Int64.max

        /// Whether it explains that nothing came of a track.
        public func concerns(_ track: Int?, of participant: String, _ media: MediaKind) -> Bool {
            (self.media == nil || self.media == media) && (self.track == nil || self.track == track)
                && (self.participant == nil || self.participant == participant)
        }
    }

    /// A stretch in which the recorder's process stood still.
    public struct Stall: Sendable, Hashable {
        /// When it ended.
        public var endNanoseconds: Int64
        /// How long it lasted.
        public var nanoseconds: Int64
        /// Whether the machine was suspended, and the clock of the recording stood still as well.
        public var isSuspension: Bool
    }

    /// How it began, by the first record of a beginning.
    public private(set) var started: RecordingStarted?
    /// Its parts, oldest first; none without a record of its beginning.
    public private(set) var parts: [Part] = []
    /// The number of the newest part, from 1; each is higher than the one before, whatever the journal says.
    public private(set) var part = 1
    /// The host of the newest part.
    public private(set) var host: String?
    /// The participants, in order of appearance.
    public private(set) var roster = ParticipantRoster()
    /// Stays that are over, by participant, in the order in which they ended.
    public private(set) var stays: [String: [Range<Int64>]] = [:]
    /// When those came that did not leave, by participant.
    public private(set) var arrivals: [String: Int64] = [:]
    /// Words to find it by.
    public private(set) var tags: [String] = []
    /// Notes about the recording.
    public private(set) var notes: String?
    /// In the order of the journal; the same number twice if the journal says so.
    public private(set) var tracks: [Track] = []
    /// How the files of tracks were finished, by number.
    public private(set) var closed: [Int: TrackClosed] = [:]
    /// When nothing came or was recorded because a participant or an operator wanted it so.
    public private(set) var pauses: [Pause] = []
    /// When the recorder's process stood still.
    public private(set) var stalls: [Stall] = []
    /// Whether it is over.
    public private(set) var isFinished = false
    /// Why it ended, the last time it did.
    public private(set) var endReason: String?
    /// Whether a repair ended it.
    public private(set) var isRepaired = false
    /// UTC of the latest record, by the clock of the host that made it; `nil` without a record of a beginning or a part.
    public private(set) var end: UTCTime?
    /// The latest time of a record; `nil` if there is none.
    public private(set) var latestNanoseconds: Int64?
    /// The time of the last record; `nil` if there is none.
    public private(set) var lastNanoseconds: Int64?
    /// Both clocks at the beginning of the newest part.
    private var anchor: (utc: UTCTime, monotonicNanoseconds: Int64)?
    private var stayCount = 0

    private static let maximumStays = 10_000
    private static let maximumPauses = 10_000
    private static let maximumStalls = 1_000

    /// The history of a journal without a record.
    public init() {}

    /// Takes the next record.
    public mutating func take(_ entry: JournalEntry) {
        let now = entry.monotonicNanoseconds
        switch entry.record {
        case .recordingStarted(let record):
            self.begins(record.host, record.utc, now)
            guard self.started == nil else { break }
            self.started = record
            self.tags = record.tags ?? []
            self.notes = record.notes
            self.parts = [Part(number: 1, host: record.host, utc: record.utc, monotonicNanoseconds: now)]
        case .partStarted(let record):
            self.begins(record.host, record.utc, now)
            self.part = max(record.part, self.part < .max ? self.part + 1 : .max)
            guard self.started != nil else { break }
            let start = max(now, self.latestNanoseconds ?? now)
            self.parts.append(
                Part(number: record.part, host: record.host, utc: record.utc, monotonicNanoseconds: start)
            )
        case .participantJoined(let record):
            self.roster.note(record.participant, name: record.name)
            // One that is here already only has a name now, or met another process.
            self.arrivals[record.participant] = self.arrivals[record.participant] ?? now
        case .participantLeft(let record):
            // It may come again with its microphone on.
            for index in self.pauses.indices
            where self.pauses[index].participant == record.participant && self.pauses[index].endNanoseconds == .max {
                self.pauses[index].endNanoseconds = now
            }
            guard let arrival = self.arrivals.removeValue(forKey: record.participant), arrival < now,
                self.stayCount < Self.maximumStays
            else { break }
            self.stayCount += 1
            self.stays[record.participant, default: []].append(arrival..<now)
        case .trackOpened(let record):
            self.roster.note(record.participant, name: nil)
            self.tracks.append(Track(record: record, monotonicNanoseconds: now, part: self.part))
        case .trackClosed(let record): self.closed[record.track] = record
        case .detailsChanged(let record): record.apply(to: &self.tags, &self.notes)
        case .marker(let record): self.marked(record, now)
        case .recordingFinished(let record):
            self.isFinished = true
            self.endReason = record.reason
            self.isRepaired = self.isRepaired || record.reason == RecordingFinished.repaired
        case .senderReport, .clockAnchor, .formatChanged, .packetsCounted, .sourceCounted, .mediaRefused, .trackDamaged,
            .trackMended, .chatMessage:
            break
        }
        self.noteTime(of: entry)
    }

    /// Whether nothing came of a track because nothing was to come, but for the wait for a keyframe.
    ///
    /// - Parameters:
    ///   - start: when it began, on the clock of the records, in nanoseconds.
    ///   - length: how long nothing came, in nanoseconds.
    ///   - track: the track's number; `nil` for any.
    public func isPause(
        from start: Int64,
        lasting length: Int64,
        track: Int?,
        of participant: String,
        _ media: MediaKind
    ) -> Bool {
        let end = start &+ length
        return self.pauses.contains { pause in
            guard pause.concerns(track, of: participant, media) else { return false }
            let overlap = min(end, pause.endNanoseconds).subtractingReportingOverflow(
                max(start, pause.startNanoseconds)
            )
            return !overlap.overflow && overlap.partialValue > 0
                && length - overlap.partialValue <= Self.longestWaitForKeyframe
        }
    }

    /// Nothing can be decoded before the first keyframe after a pause.
    private static let longestWaitForKeyframe: Int64 = 5_000_000_000

    /// Takes the time of a record, and nothing else of it.
    public mutating func noteTime(of entry: JournalEntry) {
        let now = entry.monotonicNanoseconds
        self.lastNanoseconds = now
        self.latestNanoseconds = max(now, self.latestNanoseconds ?? now)
        guard let anchor = self.anchor else { return }
        let passed = now.subtractingReportingOverflow(anchor.monotonicNanoseconds)
        let instant = anchor.utc.nanosecondsSince1970.addingReportingOverflow(passed.partialValue)
        guard !passed.overflow, !instant.overflow else { return }
        self.end = max(self.end ?? anchor.utc, UTCTime(nanosecondsSince1970: instant.partialValue))
    }

    private mutating func begins(_ host: String, _ utc: UTCTime, _ now: Int64) {
        self.host = host
        self.anchor = (utc, now)
        self.isFinished = false
    }

    /// The markers that begin and end a pause, and of what it is.
    private static let pauseMarkers: [String: (media: MediaKind?, begins: Bool)] = [
        "paused": (nil, true), "muted": (.audio, true), "camera-off": (.video, true),
        "resumed": (nil, false), "unmuted": (.audio, false), "camera-on": (.video, false),
    ]

    private mutating func marked(_ record: Marker, _ now: Int64) {
        if record.name == "stalled", let lasted = record.lastedNanoseconds, lasted > 0,
            self.stalls.count < Self.maximumStalls
        {
            self.stalls.append(Stall(endNanoseconds: now, nanoseconds: lasted, isSuspension: record.isSuspension))
        }
        guard let (media, begins) = Self.pauseMarkers[record.name] else { return }
        let open = self.pauses.lastIndex {
            $0.media == media && $0.track == record.track && $0.participant == record.participant
                && $0.endNanoseconds == .max
        }
        if let open {
            if !begins { self.pauses[open].endNanoseconds = now }
        } else if begins, self.pauses.count < Self.maximumPauses {
            self.pauses.append(
                Pause(media: media, track: record.track, participant: record.participant, startNanoseconds: now)
            )
        }
    }
}
