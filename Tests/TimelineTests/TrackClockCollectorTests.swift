// SPDX-License-Identifier: Apache-2.0

import Basics
import Testing
import Timeline

extension TrackClockCollector {
    /// A collector that has seen these records.
    init(limit: Int = Self.limit, taking entries: [JournalEntry]) {
        self.init(limit: limit)
        for entry in entries { self.take(entry) }
    }
}

@Suite struct TrackClockCollectorTests {
    private static let second: Int64 = 1_000_000_000

    private static func opened(_ track: Int, at second: Int64) -> JournalEntry {
        let record = TrackOpened(
            track: track,
            participant: "p",
            media: .audio,
            codec: "opus",
            clockRateHz: 48_000,
            ssrc: 7,
            file: "f\(track)",
            firstRTPTime: second * 48_000
        )
        return JournalEntry(.trackOpened(record), monotonicNanoseconds: second * Self.second)
    }

    private static func anchor(_ track: Int, at second: Int64) -> JournalEntry {
        let record = ClockAnchor(track: track, rtpTime: second * 48_000)
        return JournalEntry(.clockAnchor(record), monotonicNanoseconds: second * Self.second)
    }

    private static func report(_ track: Int, at second: Int64) -> JournalEntry {
        let record = SenderReport(
            track: track,
            ssrc: 7,
            rtpTimestamp: UInt32(truncatingIfNeeded: second * 48_000),
            ntpTime: UInt64(second) << 32
        )
        return JournalEntry(.senderReport(record), monotonicNanoseconds: second * Self.second)
    }

    @Test func keepsEverythingUpToTheLimit() throws {
        let entries =
            [Self.opened(1, at: 0)] + (1...64).flatMap { [Self.anchor(1, at: $0), Self.report(1, at: $0)] }
        let track = try #require(TrackClockCollector(limit: 64, taking: entries).tracks().first)
        #expect(track.samples.map(\.rtpTime) == (0...64).map { $0 * 48_000 })
        #expect(track.reports.map(\.monotonicNanoseconds) == (1...64).map { $0 * Self.second })
    }

    @Test(arguments: [65, 1000, 5000])
    func aLongCallIsLookedAtLessOften(seconds: Int64) throws {
        var collector = TrackClockCollector(limit: 64, taking: [Self.opened(1, at: 0)])
        for second in 1...seconds {
            collector.take(Self.anchor(1, at: second))
            collector.take(Self.report(1, at: second))
        }
        let track = try #require(collector.tracks().first)
        #expect((33...66).contains(track.samples.count) && (32...65).contains(track.reports.count))
        // From beginning to end, in order, and nowhere much less often than elsewhere.
        let times = track.samples.map { $0.monotonicNanoseconds / Self.second }
        #expect(times.first == 0 && times.last == seconds)
        #expect(zip(times, times.dropFirst()).allSatisfy { $0 < $1 && $1 - $0 <= max(2, seconds / 16) })
        // The clocks are as they were: every instant is where it belongs.
        let map = RTPClockMap([track])
        for second in [0, seconds / 3, seconds] {
            let place = try #require(map.sessionTimeNanoseconds(track: 1, rtpTime: second * 48_000))
            #expect(abs(place - second * Self.second) < 1_000_000)
        }
    }

    @Test func tracksThatFollowOneClockAreOne() throws {
        let collector = TrackClockCollector(taking: [
            Self.opened(1, at: 0), Self.anchor(1, at: 1), Self.report(1, at: 2), Self.opened(2, at: 3),
            Self.anchor(2, at: 4), Self.report(2, at: 5), Self.opened(3, at: 6), Self.anchor(3, at: 7),
        ])
        let tracks = collector.tracks(following: [2: 1])
        #expect(tracks.map(\.track) == [1, 3])
        #expect(tracks.first?.samples.map { $0.rtpTime / 48_000 } == [0, 1, 3, 4])
        #expect(tracks.first?.reports.map { $0.monotonicNanoseconds / Self.second } == [2, 5])
        #expect(tracks.last?.samples.map { $0.rtpTime / 48_000 } == [6, 7])
        // A clock that no track of the journal has is no clock.
        #expect(collector.tracks(following: [2: 9]).map(\.track) == [1, 2, 3])
    }

    /// A journal of two days of sixteen people would not fit: memory stays bounded.
    @Test func theMemoryOfATrackIsBounded() throws {
        var collector = TrackClockCollector(taking: [Self.opened(1, at: 0)])
        for second in 1...Int64(3 * TrackClockCollector.limit) { collector.take(Self.anchor(1, at: second)) }
        #expect(try #require(collector.tracks().first).samples.count <= TrackClockCollector.limit + 2)
    }
}
