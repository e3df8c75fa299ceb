// SPDX-License-Identifier: Apache-2.0

import Observability
import Testing

@Suite struct SetupTimesTests {
    private func times(offer: Int64?, answer: Int64?, ice: Int64?, dtls: Int64?, packet: Int64?) -> SetupTimes {
        var times = SetupTimes()
        (times.offer, times.answer, times.ice, times.dtls, times.packet) = (offer, answer, ice, dtls, packet)
        return times
    }

    @Test func eachStepBeginsWhereTheOneBeforeEnded() throws {
        let parts = try #require(
            self.times(offer: 100, answer: 110, ice: 130, dtls: 160, packet: 200).parts(firstUnit: 250)
        )
        #expect(
            parts == [
                .answer: .nanoseconds(10), .ice: .nanoseconds(20), .dtls: .nanoseconds(30), .packet: .nanoseconds(40),
                .file: .nanoseconds(50),
            ]
        )
    }

    @Test func nothingIsKnownWithoutAnOffer() {
        #expect(self.times(offer: nil, answer: 1, ice: 2, dtls: 3, packet: 4).parts(firstUnit: 5) == nil)
    }

    /// Every step is missing, early, in place, or late; the sum stays, and nothing is negative.
    @Test func partsAddUpWhateverWasNoted() throws {
        let choices: [Int64?] = [nil, 0, 100, 130, 170, 999]
        for answer in choices {
            for ice in choices {
                for dtls in choices {
                    for packet in choices {
                        let times = self.times(offer: 100, answer: answer, ice: ice, dtls: dtls, packet: packet)
                        let parts = try #require(times.parts(firstUnit: 180))
                        #expect(parts.count == SetupPart.allCases.count)
                        #expect(parts.values.allSatisfy { $0 >= .zero }, "\(times)")
                        #expect(parts.values.reduce(.zero, +) == .nanoseconds(80), "\(times)")
                    }
                }
            }
        }
    }

    @Test func aStepThatWasNotedLateEndsWithTheNext() throws {
        // webrtcbin reports on a separate thread that it is connected: a packet may be there before.
        let parts = try #require(
            self.times(offer: 0, answer: 10, ice: nil, dtls: 500, packet: 40).parts(firstUnit: 60)
        )
        #expect(parts[.ice] == .nanoseconds(30))
        #expect(parts[.dtls] == .zero)
        #expect(parts[.packet] == .zero)
        #expect(parts[.file] == .nanoseconds(20))
    }

    @Test func aUnitBeforeItsOfferTookNoTime() throws {
        let parts = try #require(
            self.times(offer: 50, answer: 60, ice: nil, dtls: nil, packet: 70).parts(firstUnit: 40)
        )
        #expect(parts.values.allSatisfy { $0 == .zero })
    }
}
