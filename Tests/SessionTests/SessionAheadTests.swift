// SPDX-License-Identifier: Apache-2.0

import Session
import Signalling
import Testing

/// Rooms whose server takes us by answering our offer: calls come before the membership.
@Suite struct SessionAheadTests {
    private typealias Harness = SessionHarness
    private let peer = SessionHarness.peer

    private static func ahead(_ arrival: RoomEvent = .peerArrived(SessionHarness.peer)) -> SessionHarness {
        var configuration = SessionConfiguration()
        configuration.sends = true
        return SessionHarness(configuration, [.room(arrival)])
    }

    @Test func theOfferGoesOutBeforeAnybodyIsReported() {
        var harness = Self.ahead()
        #expect(harness.connection(1, .localCandidate(Harness.ownCandidate)) == "")
        #expect(
            harness.connection(1, .offerCreated(sdp: Harness.sdp(session: "900")))
                == "send offer, send candidate"
        )
        #expect(harness.room(.joined(ownID: nil)) == "joined, peerJoined")
        #expect(harness.room(.answerReceived(from: self.peer, sdp: Harness.sdp())) == "applyAnswer 1")
        #expect(harness.room(.peerLeft(self.peer)) == "cancel connect, close 1 when quiet, cancel burst, peerLeft")
    }

    @Test func anEndpointThatRefusesAgainAndAgainIsNobody() {
        var harness = SessionHarness()
        for number in 1...50 {
            let arrival = harness.room(.peerArrived(self.peer))
            #expect(arrival == "start burst, open \(number) offerer, start connect, createOffer \(number)")
            #expect(harness.connection(UInt64(number), .offerCreated(sdp: Harness.sdp(session: "9"))) == "send offer")
            let failure = harness.room(.joinFailed(reason: "test"))
            #expect(failure == "cancel connect, close \(number), cancel burst, joinFailed")
            #expect(harness.connection(UInt64(number), .closed) == "")
        }
    }

    @Test func aPublishPointIsAnnouncedByTheMembership() {
        var harness = Self.ahead(.publishPointArrived(self.peer))
        #expect(harness.machine.peer(of: ConnectionID(1)) == self.peer)
        _ = harness.connection(1, .offerCreated(sdp: Harness.sdp(session: "900")))
        _ = harness.room(.joined(ownID: nil))
        #expect(harness.actions.contains(.report(.publishPointArrived(self.peer))))
        var refused = Self.ahead(.publishPointArrived(self.peer))
        _ = refused.room(.joinFailed(reason: "test"))
        #expect(!refused.actions.contains(.report(.publishPointLeft(self.peer))))
    }

    @Test func aPeerThatDoesNotTakeUsBackHasLeft() {
        var harness = Self.ahead()
        _ = harness.connection(1, .offerCreated(sdp: Harness.sdp(session: "900")))
        _ = harness.room(.joined(ownID: nil))
        _ = harness.room(.answerReceived(from: self.peer, sdp: Harness.sdp()))
        _ = harness.connection(1, .connected)
        #expect(harness.connection(1, .iceFailed).contains("send reset"))
        #expect(harness.room(.signallingLost(reason: "test")) == "lost")
        #expect(harness.room(.peerArrived(self.peer)).contains("createOffer 2"))
        #expect(harness.room(.joinFailed(reason: "test")).hasSuffix("peerLeft, joinFailed"))
    }

    @Test func itEndsInAnyStateOfTheOffer() {
        for created in [false, true] {
            var stopped = Self.ahead()
            if created { _ = stopped.connection(1, .offerCreated(sdp: Harness.sdp(session: "900"))) }
            #expect(stopped.stop() == "cancel connect, close 1, cancel burst, send leave, start stop")
            #expect(stopped.connection(1, .closed) == "")
            #expect(stopped.room(.left) == "cancel stop, finished stopped")
            var ended = Self.ahead()
            if created { _ = ended.connection(1, .offerCreated(sdp: Harness.sdp(session: "900"))) }
            _ = ended.feed(.signallerEnded(SignallingError(.refused, "test", blame: .peer)))
            #expect(ended.connection(1, .closed).hasSuffix("finished failed"))
        }
    }

    /// An answer that accepts nothing, or that is none: only we can redial, and at once it would be for ever.
    @Test(arguments: [SessionHarness.sdp(), "v=0"])
    func anAnswerThatCannotBeTakenIsAskedForAgainLater(answer: String) {
        var harness = Self.ahead()
        harness.connection(1, .offerCreated(sdp: Harness.sdp(session: "900")))
        harness.room(.joined(ownID: nil))
        for number in UInt64(1)...3 {
            let words = harness.room(.answerReceived(from: self.peer, sdp: answer))
            let refused =
                words == "applyAnswer \(number)"
                ? harness.connection(number, .descriptionRefused(reason: "nothing")) : words
            #expect(refused == "cancel connect, close \(number), failed, start returning")
            let waits = harness.actions.compactMap { action -> Duration? in
                if case .startTimer(_, let wait) = action { wait } else { nil }
            }
            #expect(waits == [.seconds(30)])
            #expect(harness.fire(.returning) == "start resets, reset, send reset, start returning")
            #expect(
                harness.room(.peerArrived(self.peer))
                    == "cancel resets, cancel returning, open \(number + 1) offerer, start connect, "
                    + "createOffer \(number + 1)"
            )
            harness.connection(number + 1, .offerCreated(sdp: Harness.sdp(session: "90\(number)")))
        }
    }

    /// The server offers instead, and gets an answer that declines everything.
    @Test func anOfferThatIsDeclinedIsAskedForAgainLater() {
        var harness = Self.ahead()
        harness.connection(1, .offerCreated(sdp: Harness.sdp(session: "900")))
        harness.room(.joined(ownID: nil))
        harness.room(.offerReceived(from: self.peer, sdp: Harness.sdp()))
        #expect(
            harness.connection(2, .offerDeclined(sdp: Harness.sdp(session: "901"), reason: "test"))
                == "send answer, cancel connect, close 2, failed, start returning"
        )
        #expect(harness.fire(.returning) == "start resets, reset, send reset, start returning")
    }

    @Test func anOfferThatIsNeverAnsweredResetsTheCall() {
        var harness = Self.ahead()
        _ = harness.connection(1, .offerCreated(sdp: Harness.sdp(session: "900")))
        #expect(harness.fire(.connect).contains("send reset"))
    }
}
