// SPDX-License-Identifier: Apache-2.0

import Timeline

/// The parts of a journal that a certificate needs besides the history: clocks, damage and the accounts of packets.
///
/// Numbers may be any: what is out of range is kept as it is, and nothing here traps.
struct JournalFacts {
    /// Tracks of which at least one unit was written.
    private(set) var written: Set<Int> = []
    /// The last anchors of each track, oldest first.
    private(set) var anchors: [Int: [ClockSample]] = [:]
    /// When the newest sender report of each track came.
    private(set) var lastReports: [Int: Int64] = [:]
    /// Per track, in RTP time: from the first unit that cannot be decoded up to the keyframe that mends it.
    private(set) var damage: [Int: [Range<Int64>]] = [:]
    /// The accounts of the sources, the newest of each, in the order of the journal.
    private(set) var accounts: [SourceCounted] = []
    private var accountIndex: [AccountKey: Int] = [:]
    /// Media that our answers refused, each once.
    private(set) var refusedMedia: [MediaRefused] = []
    /// The entry, from 1, whose time goes back too far.
    private(set) var backwardsEntry: Int?

    /// Each process numbers its connections from the beginning.
    private struct AccountKey: Hashable {
        var part: Int
        var connection: UInt64
        var ssrc: UInt32
    }

    private var count = 0

    /// Enough to see through a second of congestion or more.
    private static let maximumAnchors = 16
    /// A record about a unit is written together with the unit, and a disk that hangs may delay as many as the
    /// recorder's queue holds, while the clock continues.
    private static let greatestStepBack: UInt64 = 600_000_000_000
    private static let maximumAccounts = 10_000
    private static let maximumRefused = 100
    /// How many stretches of a track that cannot be decoded are known: those of days on a bad link.
    ///
    /// Later ones count as whole.
    static let maximumDamage = 100_000

    /// Whether a source sent media that were wanted, and none of them is in a file.
    ///
    /// An account that a crash left behind may be older than the first frame of its source that was written.
    func isUnrecorded(_ account: SourceCounted, _ tracks: [RecordingHistory.Track]) -> Bool {
        guard account.isUnrecorded else { return false }
        return account.isFinal
            || !tracks.contains {
                $0.record.ssrc == account.ssrc && $0.record.participant == account.participant
                    && self.written.contains($0.record.track)
            }
    }

    /// Takes the next entry.
    ///
    /// - Parameters:
    ///   - part: the part that it is of.
    ///   - latestNanoseconds: the latest time of the entries before it.
    mutating func take(_ entry: JournalEntry, part: Int, latestNanoseconds: Int64?) {
        let now = entry.monotonicNanoseconds
        self.count += 1
        switch entry.record {
        case .clockAnchor(let record):
            self.written.insert(record.track)
            let sample = ClockSample(rtpTime: record.rtpTime, monotonicNanoseconds: now)
            Self.add(sample, to: &self.anchors[record.track, default: []])
        case .trackClosed(let record):
            if record.units > 0 { self.written.insert(record.track) }
        case .sourceCounted(let record): self.counted(record, part: part)
        case .mediaRefused(let record):
            if self.refusedMedia.count < Self.maximumRefused, !self.refusedMedia.contains(record) {
                self.refusedMedia.append(record)
            }
        case .trackDamaged(let record): self.damaged(record)
        case .trackMended(let record): self.mended(record)
        case .senderReport(let record):
            self.lastReports[record.track] = max(now, self.lastReports[record.track] ?? now)
        case .recordingStarted, .partStarted, .participantJoined, .participantLeft, .trackOpened, .formatChanged,
            .packetsCounted, .chatMessage, .detailsChanged, .marker, .recordingFinished:
            break
        }
        if let latestNanoseconds, latestNanoseconds > now,
            latestNanoseconds.distanceMagnitude(to: now) > Self.greatestStepBack
        {
            self.backwardsEntry = self.backwardsEntry ?? self.count
        }
    }

    /// In place: there are millions.
    private static func add(_ sample: ClockSample, to anchors: inout [ClockSample]) {
        if anchors.count == Self.maximumAnchors { anchors.removeFirst() }
        anchors.append(sample)
    }

    private mutating func counted(_ record: SourceCounted, part: Int) {
        let key = AccountKey(part: part, connection: record.connection, ssrc: record.ssrc)
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
