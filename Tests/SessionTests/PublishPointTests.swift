// SPDX-License-Identifier: Apache-2.0

import Session
import Signalling
import Testing

@Suite struct PublishPointTests {
    private static let place = PeerID("place")

    private static func joined(_ configuration: SessionConfiguration = SessionConfiguration()) -> SessionHarness {
        SessionHarness(configuration, [.room(.joined(ownID: PeerID("me")))])
    }

    /// A connection of ours to the publish point that carries media.
    private static func publishing() -> SessionHarness {
        var harness = Self.joined()
        harness.room(.publishPointArrived(Self.place))
        harness.connection(1, .offerCreated(sdp: SessionHarness.sdp(session: "901")))
        harness.room(.answerReceived(from: Self.place, sdp: SessionHarness.sdp(session: "8")))
        harness.connection(1, .connected)
        return harness
    }

    @Test func isOfferedToAsNoParticipant() {
        var harness = Self.joined()
        #expect(
            harness.room(.publishPointArrived(Self.place))
                == "publishPoint, start burst, open 1 publisher, start connect, createOffer 1"
        )
        #expect(harness.connection(1, .offerCreated(sdp: SessionHarness.sdp(session: "901"))) == "send offer")
        let answer = SessionHarness.sdp(session: "8")
        #expect(harness.room(.answerReceived(from: Self.place, sdp: answer)) == "applyAnswer 1")
        #expect(harness.room(.candidateReceived(from: Self.place, SessionHarness.candidate)) == "add 1")
        #expect(harness.connection(1, .connected) == "cancel connect, connected")
        #expect(harness.room(.answerReceived(from: Self.place, sdp: answer)) == "ignored duplicateAnswer")
    }

    @Test func leavesWithoutAParticipant() {
        var harness = Self.publishing()
        #expect(harness.room(.peerLeft(Self.place)) == "close 1 when quiet, cancel burst, publishPointLeft")
    }

    @Test func isRefusedWithNothingToSend() {
        var configuration = SessionConfiguration()
        configuration.sends = false
        var harness = Self.joined(configuration)
        #expect(harness.room(.publishPointArrived(Self.place)) == "publishingFailed")
        #expect(harness.room(.peerLeft(Self.place)) == "ignored unknownPeer")
    }

    @Test func isOfferedToAgainAfterARefusal() {
        var harness = Self.publishing()
        #expect(harness.room(.publishPointRefused(Self.place, reason: "full")) == "close 1, publishingFailed")
        #expect(harness.room(.publishPointArrived(Self.place)) == "open 2 publisher, start connect, createOffer 2")
        #expect(harness.room(.publishPointRefused(SessionHarness.peer, reason: "full")) == "ignored unknownPeer")
    }

    @Test func takesNoOffers() {
        var harness = Self.publishing()
        let offer = SessionHarness.sdp(session: "12")
        #expect(harness.room(.offerReceived(from: Self.place, sdp: offer)) == "ignored refusedDescription")
    }

    @Test func isAskedForAgainAfterAFailureAlsoBesideOtherCalls() {
        var harness = Self.publishing()
        harness.room(.offerReceived(from: SessionHarness.peer, sdp: SessionHarness.sdp()))
        #expect(
            harness.connection(1, .iceFailed) == "close 1, failed, start resets, reset, send reset, start returning"
        )
        // The room reports that the endpoint is gone before it names it again: no news.
        #expect(harness.room(.peerLeft(Self.place)) == "")
        #expect(
            harness.room(.publishPointArrived(Self.place))
                == "cancel returning, open 3 publisher, start connect, createOffer 3"
        )
    }

    @Test func aRefusedAnswerIsAFailureToo() {
        var harness = Self.joined()
        harness.room(.publishPointArrived(Self.place))
        harness.connection(1, .offerCreated(sdp: SessionHarness.sdp(session: "901")))
        harness.room(.answerReceived(from: Self.place, sdp: SessionHarness.sdp(session: "8")))
        #expect(
            harness.connection(1, .descriptionRefused(reason: "test"))
                == "cancel connect, close 1, failed, start resets, reset, send reset, start returning"
        )
    }

    @Test func isLetBeAfterThreeResetsAndAskedForAgainWhenTheWindowEnds() {
        var harness = Self.joined()
        for number in 1...4 {
            harness.room(.publishPointArrived(Self.place))
            let words = harness.connection(UInt64(number), .iceFailed)
            #expect(words.hasSuffix(number < 4 ? "send reset, start returning" : "failed, publishingFailed"))
        }
        #expect(harness.fire(.resets) == "send reset, start returning")
        #expect(harness.room(.publishPointArrived(Self.place)).contains("open 5 publisher"))
    }

    /// A Janus session that is claimed does not name the endpoint again.
    @Test func isAskedForAgainIfItEndedWhileTheServerWasAway() {
        var harness = Self.publishing()
        harness.room(.signallingLost(reason: "test"))
        #expect(harness.connection(1, .iceFailed) == "close 1, failed")
        #expect(harness.room(.joined(ownID: PeerID("me"))) == "joined, start returning")
        #expect(harness.fire(.returning) == "start resets, reset, send reset, start returning")
        #expect(
            harness.room(.publishPointArrived(Self.place))
                == "cancel returning, open 2 publisher, start connect, createOffer 2"
        )
    }

    /// A refusal means that the signaller itself comes back to it.
    @Test func isNotAskedForAgainAfterARefusalThatCameWithTheRoom() {
        var harness = Self.publishing()
        harness.room(.signallingLost(reason: "test"))
        harness.connection(1, .iceFailed)
        harness.room(.joined(ownID: PeerID("me")))
        #expect(harness.room(.publishPointRefused(Self.place, reason: "hung up")) == "publishingFailed")
        #expect(harness.fire(.returning) == "")
    }

    @Test func isAskedForAgainIfTheWindowEndedWhileTheServerWasAway() {
        var harness = Self.joined()
        for number in 1...4 {
            harness.room(.publishPointArrived(Self.place))
            harness.connection(UInt64(number), .iceFailed)
        }
        harness.room(.signallingLost(reason: "test"))
        #expect(harness.fire(.resets) == "")
        #expect(harness.room(.joined(ownID: PeerID("me"))) == "joined, start returning")
        #expect(harness.fire(.returning) == "start resets, reset, send reset, start returning")
    }

    @Test func comesAnewWithTheRoom() {
        var harness = Self.publishing()
        harness.room(.signallingLost(reason: "test"))
        harness.room(.joined(ownID: PeerID("other")))
        #expect(
            harness.room(.publishPointArrived(Self.place))
                == "close 1, rebuilt, open 2 publisher, start connect, createOffer 2"
        )
    }

    @Test func onlyTheNewestIsUsed() {
        var harness = Self.publishing()
        #expect(
            harness.room(.publishPointArrived(PeerID("elsewhere")))
                == "close 1, cancel burst, publishPointLeft, publishPoint, start burst, open 2 publisher, "
                + "start connect, createOffer 2"
        )
    }

    @Test func takesNoPlaceOfAPeerAndIsNotReplacedByOne() {
        var configuration = SessionConfiguration()
        configuration.maximumPeers = 1
        var harness = Self.joined(configuration)
        harness.room(.publishPointArrived(Self.place))
        harness.connection(1, .iceFailed)
        #expect(harness.room(.peerArrived(PeerID("a"))).hasPrefix("peerJoined"))
        #expect(harness.room(.peerArrived(PeerID("b"))) == "ignored peerLimit")
        #expect(harness.room(.publishPointArrived(Self.place)).contains("open 3 publisher"))
    }

    @Test func whoOffersBesideItIsOnlyReceived() {
        let peer = SessionHarness.peer
        let offer = RoomEvent.offerReceived(from: peer, sdp: SessionHarness.sdp())
        var mesh = Self.joined()
        #expect(mesh.room(offer).contains("open 1 answerer"))
        var harness = Self.publishing()
        #expect(harness.room(offer) == "peerJoined, start burst, open 2 subscriber, start connect, applyOffer 2")
        #expect(harness.connection(2, .answerCreated(sdp: SessionHarness.sdp(session: "902"))) == "send answer")
        #expect(
            harness.room(.answerReceived(from: peer, sdp: SessionHarness.sdp(session: "13")))
                == "ignored answerWithoutOffer"
        )
        // Also while the server takes nothing of us for a while.
        harness.room(.publishPointRefused(Self.place, reason: "full"))
        let other = SessionHarness.sdp(session: "14")
        #expect(harness.room(.offerReceived(from: PeerID("q"), sdp: other)).contains("open 3 subscriber"))
    }

    @Test func isForgottenWithTheSession() {
        var harness = Self.publishing()
        #expect(harness.stop() == "close 1, cancel burst, publishPointLeft, send leave, start stop")
    }

    @Test(arguments: [
        ("Zoë", "Zoë"), ("  a\n\t b  ", "a b"), ("\u{202E}evil\u{7}", "evil"),
        (String(repeating: "é", count: 200), nil),
    ])
    func namesAreOneShortLine(name: String, expected: String?) {
        var harness = Self.joined()
        let expected = expected ?? String(repeating: "é", count: 128)
        #expect(harness.room(.peerNamed(SessionHarness.peer, name)) == "named \(expected)")
    }

    @Test(arguments: ["", " \n ", "\u{200B}\u{2028}"])
    func namesOfNothingAreNone(name: String) {
        var harness = Self.joined()
        #expect(harness.room(.peerNamed(SessionHarness.peer, name)) == "")
        #expect(harness.room(.peerNamed(PeerID("me"), "us")) == "")
    }
}
