// SPDX-License-Identifier: Apache-2.0

import Basics
import Matroska
import Testing

@testable import Recording

@Suite struct RestartLimitTests {
    private static let second: Int64 = 1_000_000_000

    @Test func fourInAMinuteAreNothing() {
        var limit = RestartLimit()
        for now in stride(from: Int64(0), to: 3600, by: 16) {
            #expect(limit.restarted(at: now * Self.second) == nil, "\(now) s")
        }
    }

    @Test func pausesGrowAsLongAsItGoesOn() {
        var limit = RestartLimit()
        var now: Int64 = 0
        var pauses: [Int64] = []
        // 50 packets a second, each with another clock; nothing comes of those in a pause.
        for _ in 0..<2000 where pauses.count < 9 {
            if let pause = limit.restarted(at: now) {
                pauses.append(pause.components.seconds)
                now += pause.components.seconds * Self.second
            }
            now += 20_000_000
        }
        #expect(pauses == [10, 20, 40, 80, 160, 320, 600, 600, 600])
    }

    @Test func aSoundClockIsForgivenWhatWas() {
        var limit = RestartLimit()
        for _ in 0..<4 { _ = limit.restarted(at: 0) }
        #expect(limit.restarted(at: 1) == .seconds(10))
        #expect(limit.restarted(at: 2) == .seconds(20))
        let later = 3000 * Self.second
        for _ in 0..<4 { #expect(limit.restarted(at: later) == nil) }
        #expect(limit.restarted(at: later) == .seconds(10))
    }

    @Test func someMayComeAtOnce() {
        var limit = RestartLimit(atOnce: 6)
        for _ in 0..<10 { #expect(limit.restarted(at: 0) == nil) }
        #expect(limit.restarted(at: 0) == .seconds(10))
        #expect(!limit.isForgotten(at: 620 * Self.second - 1))
        #expect(limit.isForgotten(at: 620 * Self.second))
        for _ in 0..<10 { #expect(limit.restarted(at: 620 * Self.second) == nil) }
        #expect(limit.restarted(at: 620 * Self.second) == .seconds(10))
    }

    @Test func aParticipantHasOnePauseForAllTracks() {
        var files = ParticipantFiles()
        for _ in 0..<(ParticipantFiles.atOnce + 4) { #expect(files.wanted(by: "mallory", at: 0) == .begins) }
        let end = 10 * Self.second
        #expect(files.wanted(by: "mallory", at: 0) == .waits(until: end, pause: .seconds(10)))
        for now in [1, 2, end - 1] { #expect(files.wanted(by: "mallory", at: now) == .waits(until: end, pause: nil)) }
        #expect(files.wanted(by: "alice", at: 1) == .begins)
        #expect(files.wanted(by: "mallory", at: end) == .waits(until: end + 20 * Self.second, pause: .seconds(20)))
    }

    @Test func whoComesAndGoesIsForgotten() {
        var files = ParticipantFiles()
        for _ in 0..<(ParticipantFiles.atOnce + 5) { _ = files.wanted(by: "mallory", at: 0) }
        for number in 0..<1000 { #expect(files.wanted(by: "\(number)", at: 5 * Self.second) == .begins) }
        // Not within the time for which the participant must be known.
        #expect(files.wanted(by: "mallory", at: 5 * Self.second) == .waits(until: 10 * Self.second, pause: nil))
        #expect(files.count == 1001)
        #expect(files.wanted(by: "bob", at: 700 * Self.second) == .begins)
        #expect(files.count == 1)
    }

    /// Each began less than the limit of a minute: none must be known for longer.
    @Test func whoBeganFewFilesIsForgottenAfterAMinute() {
        var files = ParticipantFiles()
        for number in 0..<100 {
            for _ in 0..<3 { #expect(files.wanted(by: "\(number)", at: 0) == .begins) }
        }
        for _ in 0..<5 { #expect(files.wanted(by: "mallory", at: 0) == .begins) }
        #expect(files.wanted(by: "bob", at: 60 * Self.second - 1) == .begins)
        #expect(files.count == 102)
        #expect(files.wanted(by: "carol", at: 60 * Self.second) == .begins)
        #expect(files.count == 3)
    }

    /// As many as a description may name: each is a valid track, and would take a place in the recording.
    @Test func aParticipantWithEverNewTracksFillsNoRecording() throws {
        let feed = RecordingFeed()
        let other = feed.open(.opus, ssrc: 1)
        let flood = (0..<256).map { feed.open(.opus, participant: "mallory", ssrc: UInt32(1000 + $0)) }
        for number in 0..<1500 {
            let at = Int64(number) * 20
            for track in flood.indices where track % 50 == number % 50 {
                feed.push(flood[track], FedUnit.opus, at: at, rateHz: 48_000)
            }
            feed.push(other, FedUnit.opus, at: at, rateHz: 48_000)
        }
        let files = feed.status.tracks.filter { $0.number > 0 }
        #expect(files.filter { $0.participant == "alice" }.map(\.units) == [1500])
        #expect(files.count { $0.participant == "mallory" } == ParticipantFiles.atOnce + 4)
        #expect(feed.folders.count == 1)
        let told = feed.degraded.map(\.reason)
        #expect(!feed.degraded.contains { $0.byDisk }, "the disk is fine")
        #expect(told.map { $0.contains("mallory begins too many files") } == [true, true], "\(told)")
        feed.end()
    }

    @Test func fortyScreensOneAfterAnotherAreNotTooMany() throws {
        let feed = RecordingFeed()
        let camera = feed.open(.vp8, ssrc: 1)
        feed.push(camera, FedUnit.keyframe(), at: 0)
        for number in Int64(1)...40 {
            let screen = feed.open(.vp8, ssrc: UInt32(100 + number))
            #expect(feed.push(screen, FedUnit.keyframe(), at: number * 500) != .leftOut)
        }
        #expect(feed.degraded.isEmpty)
        feed.end()
    }

    /// Little is recorded of the participant that floods, everything of the other one, in one recording.
    @Test func aClockThatStartsAnewWithEveryUnitCostsAFewFiles() throws {
        let feed = RecordingFeed()
        let (flood, other) = (feed.open(.opus, participant: "mallory", ssrc: 1), feed.open(.opus, ssrc: 2))
        for number in Int64(0)..<3000 {
            let at = number * 20
            // An hour ahead with every other unit.
            feed.push(flood, FedUnit.opus, at: at, rtpTime: (at + (number % 2) * 3_600_000) * 48)
            feed.push(other, FedUnit.opus, at: at, rateHz: 48_000)
        }
        let files = feed.status.tracks
        #expect(files.filter { $0.participant == "alice" }.map(\.units) == [3000])
        #expect(files.count { $0.participant == "mallory" } <= 12, "\(files.count)")
        #expect(feed.folders.count == 1)
        let told = feed.degraded.map(\.reason)
        #expect(!feed.degraded.contains { $0.byDisk }, "the disk is fine")
        #expect((1...5).contains(told.count) && told.allSatisfy { $0.contains("mallory") }, "\(told)")
        feed.end()
    }
}
