// SPDX-License-Identifier: Apache-2.0

/// Gathers the clock data of all tracks that a journal opens, record by record.
///
/// Memory is bounded for each track: when the samples or reports of one would be more than `limit`, its clock is looked
/// at half as often, from its beginning on, and so on. Anchors come once a second or more rarely, so calls of up to 36
/// hours keep them all.
public struct TrackClockCollector: Sendable {
    /// The most samples, and the most reports, of a track, besides its first and its newest.
    public static let limit = 1 << 17

    private struct Gathered: Sendable {
        var samples = Thinned<ClockSample>()
        var reports = Thinned<(ssrc: UInt32, report: TrackClockData.Report)>()
    }

    private struct Opened: Sendable {
        var record: TrackOpened
        var part: Int
        var first: ClockSample
    }

    private let limit: Int
    private var opened: [Int: Opened] = [:]
    private var gathered: [Int: Gathered] = [:]
    private var part = 1

    /// A collector that has seen nothing.
    ///
    /// - Parameter limit: the most samples and the most reports of a track, at least 16.
    public init(limit: Int = Self.limit) {
        self.limit = max(16, limit)
    }

    /// Takes the next record of the journal.
    ///
    /// Reports may come before their track is opened; reports of another SSRC than the track's are left out.
    public mutating func take(_ entry: JournalEntry) {
        switch entry.record {
        case .trackOpened(let record):
            // A track is opened once; what else says so is no record of ours.
            guard self.opened[record.track] == nil else { break }
            let first = ClockSample(rtpTime: record.firstRTPTime, monotonicNanoseconds: entry.monotonicNanoseconds)
            self.opened[record.track] = Opened(record: record, part: self.part, first: first)
        case .partStarted(let record):
            self.part = record.part
        case .senderReport(let record):
            let report = TrackClockData.Report(
                rtpTimestamp: record.rtpTimestamp,
                ntpTime: NTPTime(rawValue: record.ntpTime),
                monotonicNanoseconds: entry.monotonicNanoseconds
            )
            self.gathered[record.track, default: Gathered()].reports.add((record.ssrc, report), self.limit)
        case .clockAnchor(let record):
            let sample = ClockSample(rtpTime: record.rtpTime, monotonicNanoseconds: entry.monotonicNanoseconds)
            self.gathered[record.track, default: Gathered()].samples.add(sample, self.limit)
        case .recordingStarted, .participantJoined, .participantLeft, .formatChanged, .packetsCounted, .sourceCounted,
            .mediaRefused,
            .trackClosed, .trackDamaged, .trackMended, .chatMessage, .detailsChanged, .marker, .recordingFinished:
            break
        }
    }

    /// The collected data, by track number.
    ///
    /// - Parameter clocks: numbers of tracks that continue the clock of another one, with that one's number; the data
    ///   of both belong to that clock.
    public func tracks(following clocks: [Int: Int] = [:]) -> [TrackClockData] {
        var gathered = self.gathered
        var roots: [Int: Opened] = [:]
        for (number, opened) in self.opened.sorted(by: { $0.key < $1.key }) {
            let clock = clocks[number] ?? number
            guard clock != number, self.opened[clock] != nil else {
                roots[number] = opened
                continue
            }
            let own = gathered.removeValue(forKey: number) ?? Gathered()
            gathered[clock, default: Gathered()].samples.add(opened.first, self.limit)
            for sample in own.samples.all { gathered[clock]?.samples.add(sample, self.limit) }
            for report in own.reports.all { gathered[clock]?.reports.add(report, self.limit) }
        }
        return roots.map { number, opened in
            let (record, own) = (opened.record, gathered[number] ?? Gathered())
            return TrackClockData(
                track: number,
                sender: .init(participant: record.participant, part: opened.part, connection: record.connection),
                clock: record.clock,
                reports: own.reports.all.filter { record.ssrc == nil || $0.ssrc == record.ssrc }.map(\.report),
                samples: [opened.first] + own.samples.all
            )
        }.sorted { $0.track < $1.track }
    }
}
