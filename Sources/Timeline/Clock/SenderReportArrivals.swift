// SPDX-License-Identifier: Apache-2.0

internal import Basics

/// The sender reports that came to one host: each sender's wall clock against the arrivals on the host's monotonic clock.
///
/// Memory is bounded for each sender. Journals are taken one after the other; each numbers its tracks separately.
public struct SenderReportArrivals: Sendable {
    /// A report's NTP time, and when it came on the host's monotonic clock.
    struct Arrival {
        var ntpTime: NTPTime
        var monotonicNanoseconds: Int64
    }

    /// The clock that reports carry: senders that are no browsers may have another one for each kind of media.
    struct Sender: Hashable {
        var participant: String
        var media: MediaKind
    }

    private struct Report {
        var ssrc: UInt32
        var arrival: Arrival
    }

    private var gathered: [Sender: Thinned<Arrival>] = [:]
    /// Those of the journal at hand, by track.
    private var reports: [Int: Thinned<Report>] = [:]
    private var opened: [Int: TrackOpened] = [:]
    /// Both clocks of the host at one instant, the wall clock as reports show it.
    private var anchor: (ntpTime: NTPTime, monotonicNanoseconds: Int64)?

    /// A host to which nothing came.
    public init() {}

    /// Takes the next record of a journal; a `RecordingStarted` begins another one.
    public mutating func take(_ entry: JournalEntry) {
        switch entry.record {
        case .recordingStarted(let record):
            self.gatherJournal()
            self.anchor = (NTPTime(record.utc), entry.monotonicNanoseconds)
        case .partStarted(let record): self.anchor = (NTPTime(record.utc), entry.monotonicNanoseconds)
        case .trackOpened(let record): self.opened[record.track] = self.opened[record.track] ?? record
        case .senderReport(let record):
            let ntpTime = NTPTime(rawValue: record.ntpTime)
            guard self.isWallClock(ntpTime, at: entry.monotonicNanoseconds) else { break }
            let arrival = Arrival(ntpTime: ntpTime, monotonicNanoseconds: entry.monotonicNanoseconds)
            self.reports[record.track, default: Thinned()].add(
                Report(ssrc: record.ssrc, arrival: arrival),
                Self.mostOfTrack
            )
        case .participantJoined, .participantLeft, .clockAnchor, .formatChanged, .packetsCounted, .sourceCounted,
            .mediaRefused, .trackClosed, .trackDamaged, .trackMended, .chatMessage, .detailsChanged, .marker,
            .recordingFinished:
            break
        }
    }

    /// The arrivals, by sender, each in the order of the journals.
    var bySender: [Sender: [Arrival]] {
        var whole = self
        whole.gatherJournal()
        return whole.gathered.mapValues(\.all)
    }

    /// Takes over the reports of the journal at hand, now that its tracks are known.
    private mutating func gatherJournal() {
        for (track, reports) in self.reports.sorted(by: { $0.key < $1.key }) {
            guard let opened = self.opened[track] else { continue }
            let sender = Sender(participant: opened.participant, media: opened.media)
            for report in reports.all where opened.ssrc.map({ $0 == report.ssrc }) ?? true {
                self.gathered[sender, default: Thinned()].add(report.arrival, Self.mostOfSender)
            }
        }
        (self.reports, self.opened) = ([:], [:])
    }

    /// Whether a report shows UTC: a clock that shows anything else may begin again with each connection.
    private func isWallClock(_ ntpTime: NTPTime, at now: Int64) -> Bool {
        guard let anchor = self.anchor else { return false }
        let passed = now.subtractingReportingOverflow(anchor.monotonicNanoseconds)
        let distance = ntpTime.nanoseconds(since: anchor.ntpTime).subtractingReportingOverflow(passed.partialValue)
        return !passed.overflow && !distance.overflow && distance.partialValue.magnitude < Self.farthest
    }

    private static let mostOfTrack = 1 << 12
    private static let mostOfSender = 1 << 15
    /// A wall clock, of the sender's or of the host's, may be a day off, for want of a time zone or otherwise.
    private static let farthest: UInt64 = 86_400_000_000_000
}

extension NTPTime {
    /// The wall clock of a host as a sender report would show it.
    fileprivate init(_ utc: UTCTime) {
        let (seconds, fraction) = utc.nanosecondsSince1970.quotientAndRemainder(dividingBy: nanosecondsPerSecond)
        let whole = Int64(2_208_988_800) &+ seconds
        let sign: Int64 = fraction < 0 ? 1 : 0
        let rest = UInt64(fraction + sign * nanosecondsPerSecond)
        let upper = UInt64(truncatingIfNeeded: whole &- sign) << 32
        self.init(rawValue: upper | (rest << 32) / UInt64(nanosecondsPerSecond))
    }
}
