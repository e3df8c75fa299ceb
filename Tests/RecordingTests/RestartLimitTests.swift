// SPDX-License-Identifier: Apache-2.0

import Codecs
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

    /// Of the participant who floods little is recorded, of the other one everything, in one recording.
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
        #expect((1...5).contains(told.count) && told.allSatisfy { $0.contains("mallory") }, "\(told)")
        feed.end()
    }
}
