// SPDX-License-Identifier: Apache-2.0

internal import Basics
import Storage
import Timeline

/// What a certificate takes from a journal, record by record, on the clock of the first part.
///
/// Numbers may be any: what is out of range is kept as it is, and nothing here traps.
struct JournalFacts {
    /// A track that the journal opened, and when.
    struct Opened {
        var record: TrackOpened
        var monotonicNanoseconds: Int64
        /// The part of the recording, from 1.
        var part: Int
    }

    /// A stretch in which nothing is expected.
    struct Pause {
        /// The markers' name without what they say of beginning or end.
        var kind: Kind
        var track: Int?
        var participant: String?
        var startNanoseconds: Int64
        /// `.max` if it never ended.
        var endNanoseconds = Int64.max

        enum Kind {
            case recording
            case sound
            case picture
        }

        /// Whether it explains that nothing came of a track.
        func concerns(_ track: Int?, of participant: String, _ media: MediaKind) -> Bool {
            switch self.kind {
            case .recording: break
            case .sound: if media != .audio { return false }
            case .picture: if media != .video { return false }
            }
            return (self.track == nil || self.track == track)
                && (self.participant == nil || self.participant == participant)
        }
    }

    /// A stretch in which the recorder's process stood still.
    struct Stall {
        /// When it ended.
        var endNanoseconds: Int64
        /// How long it lasted.
        var nanoseconds: Int64
        /// Whether the machine was suspended, and the clock of the recording stood still as well.
        var isSuspension: Bool
    }

    /// The recording's id, if the journal tells.
    private(set) var recordingID: String?
    private(set) var startNanoseconds: Int64?
    private(set) var endNanoseconds: Int64?
    /// Whether the last end was made by a repair.
    private(set) var isRepaired = false
    private(set) var isFinished = false
    /// Why the disk made the recording end, if it did.
    private(set) var endOfDisk: StorageError.Code?
    /// In the order of the journal; the same number twice if the journal says so.
    private(set) var opened: [Opened] = []
    /// Tracks of which at least one unit was written.
    private(set) var written: Set<Int> = []
    /// The last anchors of each track, oldest first.
    private(set) var anchors: [Int: [ClockSample]] = [:]
    /// When the newest sender report of each track came.
    private(set) var lastReports: [Int: Int64] = [:]
    /// When nothing came or was recorded because somebody wanted it so.
    private(set) var pauses: [Pause] = []
    /// When the recorder's process stood still.
    private(set) var stalls: [Stall] = []
    /// Per track, in RTP time: from the first unit that cannot be decoded up to the keyframe that mends it.
    private(set) var damage: [Int: [Range<Int64>]] = [:]
    /// The accounts of the sources, the newest of each, in the order of the journal.
    private(set) var accounts: [SourceCounted] = []
    private var accountIndex: [AccountKey: Int] = [:]
    /// What our answers refused, each once.
    private(set) var refusedMedia: [MediaRefused] = []
    /// Packets of the units in each track's file.
    private(set) var filePackets: [Int: UInt64] = [:]
    /// The entry, from 1, whose time goes back too far.
    private(set) var backwardsEntry: Int?

    /// Connections are numbered anew by each process.
    private struct AccountKey: Hashable {
        var part: Int
        var connection: UInt64
        var ssrc: UInt32
    }

    private var part = 1
    private var count = 0
    private var latestNanoseconds = Int64.min

    /// Enough to see through a second of congestion or more.
    private static let maximumAnchors = 16
    /// What a unit tells is written with it, and a disk that hangs may hold up as many as the recorder's queue takes, while
    /// the clock goes on.
    private static let greatestStepBack: UInt64 = 600_000_000_000
    private static let maximumPauses = 10_000
    private static let maximumStalls = 1_000
    private static let maximumAccounts = 10_000
    private static let maximumRefused = 100
    /// How many stretches of a track that cannot be decoded are known: those of days on a bad link.
    ///
    /// Later ones count as whole.
    static let maximumDamage = 100_000

    /// Whether a source sent media that were wanted, and none of them is in a file.
    ///
    /// An account that a crash left behind may be older than the first frame of its source that was written.
    func isUnrecorded(_ account: SourceCounted) -> Bool {
        guard account.isUnrecorded else { return false }
        return account.isFinal
            || !self.opened.contains {
                $0.record.ssrc == account.ssrc && $0.record.participant == account.participant
                    && self.written.contains($0.record.track)
            }
    }

    /// Takes the next entry.
    mutating func take(_ entry: JournalEntry) {
        let now = entry.monotonicNanoseconds
        self.count += 1
        switch entry.record {
        case .recordingStarted(let record):
            self.recordingID = self.recordingID ?? record.id
            self.startNanoseconds = self.startNanoseconds ?? now
            self.isFinished = false
        case .partStarted:
            self.isFinished = false
            self.part &+= 1
        case .recordingFinished(let record):
            self.isFinished = true
            self.endOfDisk = StorageError.Code(rawValue: record.reason)
            self.isRepaired = self.isRepaired || record.reason == RecordingFinished.repaired
        case .trackOpened(let record):
            self.opened.append(Opened(record: record, monotonicNanoseconds: now, part: self.part))
        case .clockAnchor(let record):
            self.written.insert(record.track)
            let sample = ClockSample(rtpTime: record.rtpTime, monotonicNanoseconds: now)
            Self.add(sample, to: &self.anchors[record.track, default: []])
        case .trackClosed(let record):
            if record.units > 0 { self.written.insert(record.track) }
            self.filePackets[record.track] = record.packets
        case .sourceCounted(let record): self.counted(record)
        case .mediaRefused(let record):
            if self.refusedMedia.count < Self.maximumRefused, !self.refusedMedia.contains(record) {
                self.refusedMedia.append(record)
            }
        case .trackDamaged(let record): self.damaged(record)
        case .trackMended(let record): self.mended(record)
        case .marker(let record): self.marked(record, now)
        case .senderReport(let record):
            self.lastReports[record.track] = max(now, self.lastReports[record.track] ?? now)
        case .participantJoined, .participantLeft, .formatChanged, .packetsCounted, .chatMessage, .detailsChanged:
            break
        }
        if self.latestNanoseconds > now, self.latestNanoseconds.distanceMagnitude(to: now) > Self.greatestStepBack {
            self.backwardsEntry = self.backwardsEntry ?? self.count
        }
        self.latestNanoseconds = max(self.latestNanoseconds, now)
        self.endNanoseconds = self.latestNanoseconds
    }

    /// In place: there are millions.
    private static func add(_ sample: ClockSample, to anchors: inout [ClockSample]) {
        if anchors.count == Self.maximumAnchors { anchors.removeFirst() }
        anchors.append(sample)
    }

    private static let pauseBeginnings: [String: Pause.Kind] = [
        "paused": .recording, "muted": .sound, "camera-off": .picture,
    ]
    private static let pauseEnds: [String: Pause.Kind] = [
        "resumed": .recording, "unmuted": .sound, "camera-on": .picture,
    ]

    private mutating func marked(_ record: Marker, _ now: Int64) {
        if record.name == "stalled", let lasted = record.lastedNanoseconds, lasted > 0,
            self.stalls.count < Self.maximumStalls
        {
            self.stalls.append(Stall(endNanoseconds: now, nanoseconds: lasted, isSuspension: record.isSuspension))
        }
        let kind = Self.pauseBeginnings[record.name] ?? Self.pauseEnds[record.name]
        guard let kind else { return }
        let open = self.pauses.lastIndex {
            $0.kind == kind && $0.track == record.track && $0.participant == record.participant
                && $0.endNanoseconds == .max
        }
        if let open {
            if Self.pauseEnds[record.name] != nil { self.pauses[open].endNanoseconds = now }
        } else if Self.pauseBeginnings[record.name] != nil, self.pauses.count < Self.maximumPauses {
            self.pauses.append(
                Pause(kind: kind, track: record.track, participant: record.participant, startNanoseconds: now)
            )
        }
    }

    private mutating func counted(_ record: SourceCounted) {
        let key = AccountKey(part: self.part, connection: record.connection, ssrc: record.ssrc)
        if let index = self.accountIndex[key] {
            self.accounts[index] = record
        } else if self.accounts.count < Self.maximumAccounts {
            self.accountIndex[key] = self.accounts.count
            self.accounts.append(record)
        }
    }

    private mutating func damaged(_ record: TrackDamaged) {
        let last = self.damage[record.track]?.last
        guard last?.upperBound != .max, self.damage[record.track]?.count ?? 0 < Self.maximumDamage else { return }
        guard record.rtpTime < .max else { return }
        self.damage[record.track, default: []].append(record.rtpTime..<Int64.max)
    }

    private mutating func mended(_ record: TrackMended) {
        guard let span = self.damage[record.track]?.last, span.upperBound == .max else { return }
        self.damage[record.track]?.removeLast()
        guard span.lowerBound < record.rtpTime else { return }
        self.damage[record.track]?.append(span.lowerBound..<record.rtpTime)
    }
}

extension Int64 {
    /// How far two numbers are apart, whatever they are.
    func distanceMagnitude(to other: Int64) -> UInt64 {
        self > other
            ? UInt64(bitPattern: self &- other) : UInt64(bitPattern: other &- self)
    }
}
