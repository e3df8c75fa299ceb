// SPDX-License-Identifier: Apache-2.0

import Basics
import Matroska
import Testing
import Timeline

@testable import Recording

@Suite struct StallWatchTests {
    private static let second: Int64 = 1_000_000_000

    @Test func tellsAMinuteInWhichNothingWasTaken() {
        var watch = StallWatch(at: 0, suspended: 0)
        for now in stride(from: Int64(0), to: 10 * Self.second, by: 100_000_000) {
            #expect(watch.seen(at: now) == nil)
        }
        #expect(watch.seen(at: 70 * Self.second) == .nanoseconds(60_100_000_000))
        #expect(watch.seen(at: 70 * Self.second + 1) == nil, "it is told once")
    }

    /// The thread waited for the disk; packets that arrived in that time are taken now.
    @Test func aDiskThatStopsUsIsNoStall() {
        var watch = StallWatch(at: 0, suspended: 0)
        for arrival in stride(from: Int64(0), to: 60 * Self.second, by: 20_000_000) {
            #expect(watch.seen(at: arrival) == nil)
        }
        #expect(watch.seen(at: 61 * Self.second) == nil)
    }

    /// All are muted, and a line of the journal waits for the disk.
    @Test func aDiskThatStopsUsWhileNothingComesIsNoStall() {
        var watch = StallWatch(at: 0, suspended: 0)
        #expect(watch.seen(at: Self.second) == nil)
        watch.wasAwake(at: 20 * Self.second)
        #expect(watch.seen(at: 20 * Self.second + 100_000_000) == nil)
        // Packets that arrived in that time and are taken now.
        #expect(watch.seen(at: 10 * Self.second) == nil)
        #expect(watch.seen(at: 26 * Self.second) == .nanoseconds(5_900_000_000))
    }

    /// The monotonic clock shows nothing of it.
    @Test func aSuspendedMachineIsToldOnce() {
        var watch = StallWatch(at: 0, suspended: 100 * Self.second)
        #expect(watch.seen(at: Self.second) == nil && watch.suspended(for: 100 * Self.second + 20) == nil)
        #expect(watch.suspended(for: 160 * Self.second) == .seconds(60))
        #expect(watch.seen(at: Self.second + 100_000_000) == nil)
        #expect(watch.suspended(for: 160 * Self.second) == nil)
        // Short ones add up.
        #expect((161...164).allSatisfy { watch.suspended(for: $0 * Self.second) == nil })
        #expect(watch.suspended(for: 165 * Self.second) == .seconds(5))
        // Clocks that cannot be read.
        #expect(watch.suspended(for: 0) == nil)
    }

    @Test func survivesNonsense() {
        var watch = StallWatch(at: .max, suspended: .max)
        #expect(watch.seen(at: .min) == nil)
        #expect(watch.seen(at: 0) == nil)
        watch = StallWatch(at: .min, suspended: .min)
        #expect(watch.seen(at: .max) == nil)
        #expect(watch.suspended(for: .max) == nil)
    }

    @Test func aStallIsInTheJournalAndTold() throws {
        let feed = RecordingFeed()
        let sound = feed.open(.opus)
        feed.tell { $0.stoodStill(for: .seconds(9)) }
        #expect(feed.folders.isEmpty, "nothing was recorded yet")
        feed.push(sound, FedUnit.opus, at: 0, rateHz: 48_000)
        feed.go(to: 61_500)
        feed.tell { $0.stoodStill(for: .milliseconds(61_460)) }
        feed.push(sound, FedUnit.opus, at: 61_500, rateHz: 48_000)
        feed.tell { $0.stoodStill(for: .seconds(3600), isSuspended: true) }
        #expect(feed.tell { $0.pauseOrdered() } == .done)
        feed.tell { $0.stoodStill(for: .seconds(20)) }
        feed.end()
        let told = feed.actions.compactMap { action -> String? in
            if case .tellDegraded(_, part: 1, let reason, byDisk: false) = action { reason } else { nil }
        }
        #expect(
            told == [
                "the recorder stood still for 61.5 s: media of that time are missing",
                "the machine was suspended for 3600.0 s: media of that time are missing",
            ]
        )
        let recording = try ReadRecording(try #require(feed.folders.first))
        let markers = recording.entries.compactMap { entry -> (Marker, Int64)? in
            if case .marker(let marker) = entry.record { (marker, entry.monotonicNanoseconds) } else { nil }
        }
        let (marker, at) = try #require(markers.first)
        #expect(marker == Marker(name: "stalled", lastedNanoseconds: 61_460_000_000))
        #expect(at == feed.start + 61_500_000_000)
        #expect(markers.map(\.0.name) == ["stalled", "stalled", "paused"])
        #expect(markers.map(\.0.isSuspension) == [false, true, false])
    }
}
