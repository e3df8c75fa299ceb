// SPDX-License-Identifier: Apache-2.0

import SDP
import Session
import Signalling
import Testing

/// Sequences of real rooms, and those that every protocol must survive as far as the session decides.
@Suite struct SessionSequenceTests {
    private typealias Harness = SessionHarness
    private let peer = SessionHarness.peer

    private func joined(_ configuration: SessionConfiguration = SessionConfiguration()) -> SessionHarness {
        SessionHarness(configuration, [.room(.joined(ownID: nil))])
    }

    /// Connection 1 answers offer 1, and is connected.
    private func connected(_ configuration: SessionConfiguration = SessionConfiguration()) -> SessionHarness {
        var harness = self.joined(configuration)
        harness.room(.offerReceived(from: self.peer, sdp: Harness.sdp()))
        harness.connection(1, .answerCreated(sdp: Harness.sdp(session: "901")))
        harness.connection(1, .connected)
        return harness
    }

    @Test func answersAPeerThatWasThereFirst() {
        var harness = self.joined()
        let offer = Harness.sdp()
        let actions = harness.feed(.room(.offerReceived(from: self.peer, sdp: offer)))
        #expect(actions.contains(.openConnection(ConnectionID(1), self.peer, .answerer)))
        #expect(actions.contains(.applyOffer(ConnectionID(1), Harness.description(offer))))
        #expect(harness.room(.candidateReceived(from: self.peer, Harness.candidate)) == "add 1")
        #expect(harness.connection(1, .localCandidate(Harness.ownCandidate)) == "")
        let sent = harness.feed(.connection(ConnectionID(1), .answerCreated(sdp: "v=0")))
        #expect(
            sent == [
                .send(.answer(to: self.peer, sdp: Harness.description("v=0").text)),
                .send(.candidate(to: self.peer, Harness.ownCandidate)),
            ]
        )
        #expect(harness.connection(1, .connected) == "cancel connect, connected")
        #expect(harness.machine.peer(of: ConnectionID(1)) == self.peer)
        #expect(harness.room(.peerLeft(self.peer)) == "close 1 when quiet, cancel burst, peerLeft")
        #expect(harness.machine.peer(of: ConnectionID(1)) == nil)
        #expect(harness.connection(1, .closed) == "")
        #expect(harness.connection(1, .connected) == "")
    }

    @Test func offersToAPeerThatComesLater() {
        var harness = self.joined()
        harness.room(.peerArrived(self.peer))
        harness.connection(1, .localCandidate(Harness.ownCandidate))
        let offer = Harness.sdp(session: "900")
        #expect(harness.connection(1, .offerCreated(sdp: offer)) == "send offer, send candidate")
        #expect(harness.room(.candidateReceived(from: self.peer, Harness.candidate)) == "")
        #expect(harness.room(.answerReceived(from: self.peer, sdp: Harness.sdp())) == "applyAnswer 1, add 1")
        #expect(harness.connection(1, .localCandidate(Harness.ownCandidate)) == "send candidate")
    }

    @Test func aStandingOfferWaitsForWhoeverComes() {
        var harness = self.joined()
        #expect(harness.room(.peerAwaited(self.peer)) == "start burst, open 1 offerer, createOffer 1")
        #expect(harness.connection(1, .offerCreated(sdp: Harness.sdp(session: "900"))) == "send offer")
        // Nothing limits the wait, and no peer is there to be announced.
        #expect(harness.fire(.connect) == "")
        #expect(harness.room(.candidateReceived(from: self.peer, Harness.candidate)) == "")
        #expect(
            harness.room(.answerReceived(from: self.peer, sdp: Harness.sdp()))
                == "peerJoined, start connect, applyAnswer 1, add 1"
        )
        #expect(harness.connection(1, .connected) == "cancel connect, connected")
        // The room forgot the peer, which is still connected.
        #expect(harness.room(.peerAwaited(self.peer)) == "")
        #expect(harness.room(.peerLeft(self.peer)) == "close 1 when quiet, cancel burst, peerLeft")
        #expect(harness.room(.peerAwaited(self.peer)) == "start burst, open 2 offerer, createOffer 2")
    }

    @Test func anAnswerToAStandingOfferHasToConnect() {
        var harness = self.joined()
        harness.room(.peerAwaited(self.peer))
        harness.connection(1, .offerCreated(sdp: Harness.sdp(session: "900")))
        harness.room(.answerReceived(from: self.peer, sdp: Harness.sdp()))
        #expect(harness.fire(.connect) == "close 1, failed, start resets, reset, send reset, start returning")
        // The peer is gone, and the room is ours again.
        #expect(harness.room(.peerAwaited(self.peer)) == "peerLeft, cancel returning, open 2 offerer, createOffer 2")
    }

    @Test func anOfferThatCannotBeMadeStaysAStandingOne() {
        var harness = self.joined()
        harness.room(.peerAwaited(self.peer))
        #expect(harness.connection(1, .negotiationFailed(reason: "test")) == "close 1, rebuilt, start backOff")
        #expect(harness.fire(.backOff) == "open 2 offerer, createOffer 2")
    }

    @Test func anEmptyCandidateIsNeverSent() {
        var harness = self.connected()
        #expect(harness.connection(1, .localCandidate(ICECandidate(line: "", mLineIndex: 0, mid: "0"))) == "")
    }

    @Test func candidatesBeforeTheOfferFollowIt() {
        var harness = self.joined()
        #expect(harness.room(.candidateReceived(from: self.peer, Harness.candidate)) == "")
        #expect(harness.room(.candidateReceived(from: self.peer, Harness.candidate)) == "")
        #expect(
            harness.room(.offerReceived(from: self.peer, sdp: Harness.sdp()))
                == "peerJoined, start burst, open 1 answerer, start connect, applyOffer 1, add 1, add 1"
        )
    }

    @Test func candidateQueuesHaveALimit() {
        var configuration = SessionConfiguration()
        configuration.maximumCandidates = 2
        var harness = self.joined(configuration)
        harness.room(.candidateReceived(from: self.peer, Harness.candidate))
        harness.room(.candidateReceived(from: self.peer, Harness.candidate))
        #expect(harness.room(.candidateReceived(from: self.peer, Harness.candidate)) == "ignored candidateOverflow")
        #expect(
            harness.room(.offerReceived(from: self.peer, sdp: Harness.sdp())).hasSuffix("applyOffer 1, add 1, add 1")
        )
        #expect(harness.room(.candidateReceived(from: self.peer, Harness.candidate)) == "ignored candidateOverflow")
        harness.connection(1, .localCandidate(Harness.ownCandidate))
        harness.connection(1, .localCandidate(Harness.ownCandidate))
        #expect(harness.connection(1, .localCandidate(Harness.ownCandidate)) == "ignored candidateOverflow")
    }

    @Test func candidatesOfAnotherICESessionWaitForTheirDescription() {
        var harness = self.connected()
        let early = ICECandidate(line: Harness.candidate.line + " ufrag u12", mLineIndex: 0, mid: "0")
        let stale = ICECandidate(line: Harness.candidate.line + " ufrag u10", mLineIndex: 0, mid: "0")
        let current = ICECandidate(line: Harness.candidate.line + " ufrag u11", mLineIndex: 0, mid: "0")
        #expect(harness.room(.candidateReceived(from: self.peer, current)) == "add 1")
        #expect(harness.room(.candidateReceived(from: self.peer, stale)) == "")
        #expect(harness.room(.candidateReceived(from: self.peer, early)) == "")
        let actions = harness.feed(.room(.offerReceived(from: self.peer, sdp: Harness.sdp(session: "12"))))
        #expect(actions.contains(.addCandidate(ConnectionID(2), early)))
        #expect(!actions.contains(.addCandidate(ConnectionID(2), stale)))
        #expect(actions.contains(.report(.ignored(.staleCandidate, peer: self.peer, detail: "1 held candidates"))))
    }

    @Test func twoOffersInARowAreAnsweredOnce() {
        var harness = self.joined()
        let second = Harness.sdp(version: 3)
        harness.room(.offerReceived(from: self.peer, sdp: Harness.sdp()))
        #expect(harness.room(.offerReceived(from: self.peer, sdp: second)) == "")
        #expect(harness.room(.candidateReceived(from: self.peer, Harness.candidate)) == "")
        let applied = harness.feed(.connection(ConnectionID(1), .answerCreated(sdp: "first")))
        #expect(applied.contains(.applyOffer(ConnectionID(1), Harness.description(second))))
        #expect(applied.contains(.addCandidate(ConnectionID(1), Harness.candidate)))
        #expect(!applied.contains(.send(.answer(to: self.peer, sdp: Harness.description("first").text))))
        let sent = harness.feed(.connection(ConnectionID(1), .answerCreated(sdp: "second")))
        #expect(sent == [.send(.answer(to: self.peer, sdp: Harness.description("second").text))])
    }

    @Test func theNewestOfThreeOffersWins() {
        var harness = self.joined()
        for version in 2...3 { harness.room(.offerReceived(from: self.peer, sdp: Harness.sdp(version: version))) }
        let newest = Harness.sdp(version: 4)
        #expect(harness.room(.offerReceived(from: self.peer, sdp: newest)) == "ignored supersededOffer")
        let actions = harness.feed(.connection(ConnectionID(1), .answerCreated(sdp: "first")))
        #expect(actions.contains(.applyOffer(ConnectionID(1), Harness.description(newest))))
    }

    @Test func answersWithoutOfferAndDuplicatesAreDropped() {
        var harness = self.joined()
        let answer = Harness.sdp()
        #expect(harness.room(.answerReceived(from: self.peer, sdp: answer)) == "ignored unknownPeer")
        harness.room(.peerArrived(self.peer))
        #expect(harness.room(.answerReceived(from: self.peer, sdp: answer)) == "ignored answerWithoutOffer")
        harness.connection(1, .offerCreated(sdp: Harness.sdp(session: "900")))
        #expect(harness.room(.answerReceived(from: self.peer, sdp: answer)) == "applyAnswer 1")
        #expect(harness.room(.answerReceived(from: self.peer, sdp: answer)) == "ignored duplicateAnswer")
        #expect(
            harness.room(.answerReceived(from: self.peer, sdp: Harness.sdp(session: "5"))) == "ignored duplicateAnswer"
        )
    }

    @Test func anOldAnswerIsNotTakenForTheNextOffer() {
        var harness = self.joined()
        harness.room(.peerArrived(self.peer))
        harness.connection(1, .offerCreated(sdp: Harness.sdp(session: "900")))
        harness.room(.answerReceived(from: self.peer, sdp: Harness.sdp()))
        harness.room(.peerArrived(self.peer))
        harness.connection(2, .offerCreated(sdp: Harness.sdp(session: "901")))
        #expect(harness.room(.answerReceived(from: self.peer, sdp: Harness.sdp())) == "ignored duplicateAnswer")
        #expect(harness.room(.answerReceived(from: self.peer, sdp: Harness.sdp(session: "12"))) == "applyAnswer 2")
    }

    @Test func weArePoliteInGlare() {
        var harness = self.joined()
        harness.room(.peerArrived(self.peer))
        harness.connection(1, .offerCreated(sdp: Harness.sdp(session: "900")))
        #expect(
            harness.room(.offerReceived(from: self.peer, sdp: Harness.sdp()))
                == "cancel connect, close 1, rebuilt, open 2 answerer, start connect, applyOffer 2"
        )
        #expect(
            harness.room(.answerReceived(from: self.peer, sdp: Harness.sdp(session: "12")))
                == "ignored answerWithoutOffer"
        )
        #expect(harness.connection(2, .answerCreated(sdp: "answer")) == "send answer")
    }

    @Test func ourOwnMessagesComingBackAreDropped() {
        var harness = self.joined()
        let offer = Harness.sdp(session: "900")
        harness.room(.peerArrived(self.peer))
        harness.connection(1, .offerCreated(sdp: offer))
        harness.connection(1, .localCandidate(Harness.ownCandidate))
        #expect(harness.room(.offerReceived(from: self.peer, sdp: offer)) == "ignored echo")
        let otherLineEnds = offer.split(whereSeparator: \.isNewline).joined(separator: "\n")
        #expect(harness.room(.offerReceived(from: self.peer, sdp: otherLineEnds)) == "ignored echo")
        #expect(harness.room(.answerReceived(from: self.peer, sdp: offer)) == "ignored echo")
        // A server that relays to the sender may change lines; our transport is ours in any session.
        let changed = Harness.sdp(session: "4", ufrag: "u900", fingerprint: "aa:900") + "a=recvonly\r\n"
        #expect(harness.room(.offerReceived(from: self.peer, sdp: changed)) == "ignored echo")
        #expect(harness.room(.candidateReceived(from: self.peer, Harness.ownCandidate)) == "ignored echo")
        #expect(harness.room(.answerReceived(from: self.peer, sdp: Harness.sdp())) == "applyAnswer 1")
    }

    @Test func messagesUnderOurOwnNameAreDropped() {
        let own = PeerID("me")
        var harness = SessionHarness(SessionConfiguration(), [.room(.joined(ownID: own))])
        #expect(harness.room(.peerArrived(own)) == "ignored echo")
        #expect(harness.room(.offerReceived(from: own, sdp: Harness.sdp())) == "ignored echo")
        #expect(harness.room(.candidateReceived(from: own, Harness.candidate)) == "ignored echo")
    }

    @Test(arguments: [
        // Another session id; the same one under another fingerprint.
        SessionHarness.sdp(session: "12"), SessionHarness.sdp(session: "11", ufrag: "x", fingerprint: "BB"),
    ])
    func anOfferFromANewPeerConnectionGetsANewOne(offer: String) {
        var harness = self.connected()
        #expect(
            harness.room(.offerReceived(from: self.peer, sdp: offer))
                == "close 1, rebuilt, open 2 answerer, start connect, applyOffer 2"
        )
        #expect(harness.connection(2, .answerCreated(sdp: "answer")) == "send answer")
    }

    @Test(arguments: [
        // A higher version; a new session id in each offer of one connection (aiortc); an ICE restart.
        SessionHarness.sdp(version: 3), SessionHarness.sdp(session: "12", ufrag: "u11", fingerprint: "aa:11"),
        SessionHarness.sdp(version: 3, ufrag: "restarted"),
    ])
    func aRenegotiationStaysOnTheConnection(offer: String) {
        var harness = self.connected()
        #expect(harness.room(.offerReceived(from: self.peer, sdp: offer)) == "applyOffer 1")
        #expect(harness.connection(1, .answerCreated(sdp: "answer")) == "send answer")
    }

    @Test func aRepeatedOfferGetsTheSameAnswer() {
        var harness = self.connected()
        let actions = harness.feed(.room(.offerReceived(from: self.peer, sdp: Harness.sdp())))
        #expect(actions.last == .send(.answer(to: self.peer, sdp: Harness.sdp(session: "901"))))
    }

    @Test func aRebuildKeepsOfferAndCandidates() {
        var harness = self.connected()
        let offer = Harness.sdp(version: 3)
        harness.room(.offerReceived(from: self.peer, sdp: offer))
        harness.room(.candidateReceived(from: self.peer, Harness.candidate))
        let actions = harness.feed(.connection(ConnectionID(1), .rebuildNeeded(reason: "recycled m-line")))
        #expect(actions.contains(.applyOffer(ConnectionID(2), Harness.description(offer))))
        #expect(actions.contains(.addCandidate(ConnectionID(2), Harness.candidate)))
    }

    @Test func aRefusedReofferLeavesTheCallAlone() {
        var harness = self.connected()
        harness.room(.offerReceived(from: self.peer, sdp: Harness.sdp(version: 3)))
        #expect(harness.connection(1, .descriptionRefused(reason: "SDES")) == "ignored refusedDescription")
        #expect(harness.room(.offerReceived(from: self.peer, sdp: Harness.sdp(version: 4))) == "applyOffer 1")
    }

    @Test func aRefusedFirstOfferIsNotTriedAgain() {
        var harness = self.joined()
        harness.room(.offerReceived(from: self.peer, sdp: Harness.sdp()))
        #expect(harness.connection(1, .descriptionRefused(reason: "SDES")) == "cancel connect, close 1, failed")
        #expect(harness.fire(.connect) == "")
        #expect(harness.room(.offerReceived(from: self.peer, sdp: Harness.sdp(version: 3))).contains("open 2"))
    }

    /// A peer that comes with a data channel alone gets an answer, no connection, and no second try of ours.
    @Test func aDeclinedOfferIsAnsweredAndEndsTheCall() {
        var harness = self.joined()
        harness.room(.offerReceived(from: self.peer, sdp: Harness.sdp()))
        let words = harness.connection(1, .offerDeclined(sdp: Harness.sdp(session: "901"), reason: "data only"))
        #expect(words == "send answer, cancel connect, close 1, failed")
        #expect(harness.fire(.connect) == "")
        // Media that it adds later come in the same session, to a new connection.
        let later = harness.room(.offerReceived(from: self.peer, sdp: Harness.sdp(version: 3)))
        #expect(later == "open 2 answerer, start connect, applyOffer 2")
    }

    @Test func failedNegotiationsAreTriedThreeTimesThenResetThenGivenUp() {
        var harness = self.joined()
        var number: UInt64 = 0
        for round in 1...4 {
            harness.room(.offerReceived(from: self.peer, sdp: Harness.sdp(session: "\(round)")))
            for attempt in 0..<3 {
                number += 1
                let actions = harness.feed(.connection(ConnectionID(number), .negotiationFailed(reason: "test")))
                let wait = actions.compactMap { action -> Duration? in
                    if case .startTimer(let timer, let wait) = action, timer.purpose == .backOff { wait } else { nil }
                }
                #expect(wait == [.milliseconds(250 << attempt)])
                #expect(harness.fire(.backOff).hasPrefix("open \(number + 1) answerer"))
            }
            number += 1
            let words = harness.connection(number, .negotiationFailed(reason: "test"))
            #expect(words.hasSuffix(round < 4 ? "reset, send reset, start returning" : "failed, givenUp"))
            harness.fire(.burst)
        }
        #expect(harness.room(.offerReceived(from: self.peer, sdp: Harness.sdp(session: "9"))) == "ignored givenUpPeer")
        harness.room(.peerLeft(self.peer))
        #expect(harness.room(.offerReceived(from: self.peer, sdp: Harness.sdp(session: "9"))).contains("peerJoined"))
    }

    @Test func aPeerGivenUpIsTakenAgainWhenTheWindowEnds() {
        var configuration = SessionConfiguration()
        configuration.maximumResets = 1
        var harness = self.connected(configuration)
        harness.connection(1, .iceFailed)
        harness.room(.offerReceived(from: self.peer, sdp: Harness.sdp(session: "12")))
        #expect(harness.connection(2, .iceFailed).hasSuffix("givenUp"))
        #expect(harness.fire(.resets) == "start resets, reset, send reset, start returning")
        #expect(harness.room(.offerReceived(from: self.peer, sdp: Harness.sdp(session: "13"))).contains("open 3"))
        // Once in each window.
        #expect(harness.connection(3, .iceFailed).hasSuffix("failed, givenUp"))
        #expect(harness.fire(.resets) == "start resets, reset, send reset, start returning")
    }

    /// A reset would be dropped in a room of many, and no one would call them again.
    @Test func whereAllAreGivenUpEachIsOffered() {
        var configuration = SessionConfiguration()
        configuration.maximumResets = 1
        var harness = self.joined(configuration)
        var number: UInt64 = 0
        for peer in [self.peer, Self.givenUp] {
            for isLast in [false, true] {
                number += 1
                harness.room(.offerReceived(from: peer, sdp: Harness.sdp(session: "\(number)")))
                // After the first failure of the second peer we wait.
                if isLast { harness.fire(.backOff) }
                let words = harness.connection(number, .iceFailed)
                #expect(words.hasSuffix("givenUp") == isLast, "\(words)")
            }
        }
        #expect(harness.fire(.resets) == "start resets, reset, start backOff")
    }

    /// Two recorders, or a recorder and a camera, that lose each other at the same instant.
    @Test func twoThatBeginAnewDoNotWaitEquallyLong() {
        let waits = [("a", "b"), ("b", "a")].map { own, other -> Duration? in
            var harness = Harness(SessionConfiguration(), [.room(.joined(ownID: PeerID(own)))])
            for peer in [other, "third"] {
                harness.room(.peerArrived(PeerID(peer)))
            }
            let actions = harness.feed(.connection(ConnectionID(1), .iceFailed))
            return actions.lazy.compactMap { action -> Duration? in
                if case .startTimer(let timer, let wait) = action, timer.purpose == .backOff { wait } else { nil }
            }.first
        }
        #expect(waits == [.seconds(1), .seconds(3)])
    }

    /// The effects of the end of a dropped peer's window.
    struct GivenUp: Sendable, CustomTestStringConvertible {
        var testDescription: String
        /// Whether we offered on the last connection; the other one is in the room too.
        var weOffered: Bool
        var meanwhile: [RoomEvent] = []
        var words: String
    }

    @Test(arguments: [
        GivenUp(testDescription: "we offered", weOffered: true, words: "open 6 offerer, start connect, createOffer 6"),
        GivenUp(testDescription: "it offered", weOffered: false, words: "start resets, reset, start backOff"),
        GivenUp(
            testDescription: "it offered and left",
            weOffered: false,
            meanwhile: [.peerLeft(Self.givenUp)],
            words: ""
        ),
        GivenUp(
            testDescription: "we are not in the room",
            weOffered: true,
            meanwhile: [.signallingLost(reason: "test")],
            words: "ignored notJoined, start returning"
        ),
        GivenUp(testDescription: "it left", weOffered: true, meanwhile: [.peerLeft(Self.givenUp)], words: ""),
    ])
    func aPeerGivenUpIsCalledAgainWhenTheWindowEnds(_ row: GivenUp) {
        var harness = self.connected()
        let peer = Self.givenUp
        harness.room(.peerArrived(peer))
        // In a room with others a call that failed begins with our offer, unless the peer comes before it.
        for number in UInt64(2)...5 {
            let isLast = number == 5
            let words = harness.connection(number, .iceFailed)
            #expect(words.hasSuffix(isLast ? "failed, givenUp" : "start backOff"), "\(number): \(words)")
            guard !isLast else { break }
            harness.fire(.burst)
            if number == 4, !row.weOffered {
                harness.room(.offerReceived(from: peer, sdp: Harness.sdp(session: "77")))
            }
            harness.fire(.backOff)
        }
        for event in row.meanwhile { harness.room(event) }
        #expect(harness.fire(.resets) == row.words)
    }

    private static let givenUp = PeerID("given up")

    @Test func aPeerThatVanishesIsStaleThenClosedThenReset() {
        var harness = self.connected()
        #expect(harness.connection(1, .mediaSilent) == "start stale, stale")
        #expect(harness.connection(1, .mediaSilent) == "")
        #expect(harness.connection(1, .mediaHeard) == "cancel stale, recovered")
        harness.connection(1, .mediaSilent)
        #expect(harness.fire(.stale) == "close 1, failed, start resets, reset, send reset, start returning")
        #expect(harness.room(.offerReceived(from: self.peer, sdp: Harness.sdp())).contains("open 2 answerer"))
    }

    @Test func silenceBeforeTheConnectionCountsOnceItIsThere() {
        var harness = self.joined()
        harness.room(.offerReceived(from: self.peer, sdp: Harness.sdp()))
        harness.connection(1, .answerCreated(sdp: "answer"))
        #expect(harness.connection(1, .mediaSilent) == "")
        #expect(harness.connection(1, .connected) == "cancel connect, connected, start stale, stale")
        #expect(harness.connection(1, .mediaHeard) == "cancel stale, recovered")
    }

    @Test func aResetCallKeepsItsCountAlthoughTheSignallerSaysThatThePeerLeft() {
        var configuration = SessionConfiguration()
        configuration.maximumResets = 1
        var harness = self.connected(configuration)
        harness.connection(1, .iceFailed)
        #expect(harness.room(.peerLeft(self.peer)) == "")
        harness.room(.joined(ownID: nil))
        #expect(
            harness.room(.offerReceived(from: self.peer, sdp: Harness.sdp(session: "12")))
                == "cancel returning, open 2 answerer, start connect, applyOffer 2"
        )
        #expect(harness.connection(2, .iceFailed).hasSuffix("failed, givenUp"))
        #expect(harness.room(.peerLeft(self.peer)).hasSuffix("peerLeft"))
    }

    @Test func aPeerThatDoesNotReturnAfterAResetIsGone() {
        var harness = self.connected()
        harness.connection(1, .iceFailed)
        harness.room(.peerLeft(self.peer))
        #expect(harness.fire(.returning) == "peerLeft")
        #expect(harness.fire(.returning) == "")
        #expect(
            harness.room(.peerArrived(self.peer))
                == "peerJoined, cancel resets, open 2 offerer, start connect, createOffer 2"
        )
    }

    @Test func inARoomWithOtherCallsAFailedCallIsOfferedAgain() {
        var harness = self.connected()
        harness.room(.peerArrived(PeerID("q")))
        #expect(harness.connection(1, .iceFailed) == "close 1, failed, start resets, reset, start backOff")
        #expect(harness.fire(.backOff) == "open 3 offerer, start connect, createOffer 3")
        #expect(harness.machine.peer(of: ConnectionID(2)) == PeerID("q"))
    }

    @Test func aPathThatComesBackKeepsTheCall() {
        var harness = self.connected()
        #expect(harness.connection(1, .iceDisconnected) == "start disconnected, disconnected")
        #expect(harness.connection(1, .connected) == "cancel disconnected, recovered")
        harness.connection(1, .iceDisconnected)
        #expect(harness.fire(.disconnected).hasPrefix("close 1, failed"))
    }

    @Test func anImpostorIsRefusedForGood() {
        var harness = self.joined()
        harness.room(.offerReceived(from: self.peer, sdp: Harness.sdp()))
        #expect(
            harness.connection(1, .authenticityFailed(reason: "test")) == "cancel connect, close 1, failed, refused"
        )
        #expect(harness.room(.offerReceived(from: self.peer, sdp: Harness.sdp())) == "ignored refusedPeer")
        let otherCase = Harness.sdp(session: "12", fingerprint: "aa:11")
        #expect(harness.room(.offerReceived(from: self.peer, sdp: otherCase)) == "ignored refusedPeer")
        harness.room(.peerLeft(self.peer))
        #expect(harness.room(.offerReceived(from: self.peer, sdp: Harness.sdp())) == "ignored refusedPeer")
        harness.room(.peerArrived(self.peer))
        harness.connection(2, .offerCreated(sdp: Harness.sdp(session: "900")))
        #expect(
            harness.room(.answerReceived(from: self.peer, sdp: Harness.sdp()))
                == "ignored refusedPeer, cancel connect, close 2, failed"
        )
        #expect(harness.room(.offerReceived(from: self.peer, sdp: Harness.sdp(session: "12"))).contains("open 3"))
        #expect(harness.room(.offerReceived(from: PeerID("q"), sdp: Harness.sdp())).contains("open 4"))
    }

    @Test func mediaSurvivesTheServer() {
        var harness = self.connected()
        #expect(harness.room(.signallingLost(reason: "restart")) == "lost")
        #expect(harness.connection(1, .localCandidate(Harness.ownCandidate)) == "")
        #expect(harness.room(.full) == "full")
        #expect(harness.room(.joined(ownID: nil)) == "joined, send candidate")
        #expect(harness.room(.offerReceived(from: self.peer, sdp: Harness.sdp(version: 3))) == "applyOffer 1")
    }

    @Test func aFullRoomIsToldOnce() {
        var harness = SessionHarness()
        #expect(harness.room(.full) == "full")
        #expect(harness.room(.full) == "")
        harness.room(.joined(ownID: nil))
        #expect(harness.room(.full) == "full")
    }

    @Test func beingPutOutEndsEveryCall() {
        let error = SignallingError(.removed, "put out", blame: .peer)
        var harness = self.connected()
        #expect(harness.room(.removed) == "close 1, cancel burst, peerLeft, removed")
        #expect(harness.feed(.signallerEnded(error)).contains(.report(.signallingLost(reason: "put out"))) == false)
        #expect(harness.connection(1, .closed) == "cancel stop, finished failed")
        // Refused instead of joined: nothing to close.
        var stranger = SessionHarness()
        #expect(stranger.room(.removed) == "removed")
        #expect(stranger.feed(.signallerEnded(error)).last == .finished(.failed(error)))
    }

    private static let recorderSDP = Harness.sdp(session: "21") + "a=tool:tapedeck\r\na=recvonly\r\n"

    private static func recorder(_ claim: RoomClaim? = nil) -> SessionHarness {
        var configuration = SessionConfiguration()
        (configuration.sends, configuration.claim) = (false, claim)
        return SessionHarness(configuration, [.room(.joined(ownID: PeerID("me")))])
    }

    @Test func twoRecordersDoNotCallEachOther() {
        // The one that came later answers, which informs the other one, and leaves.
        var later = Self.recorder()
        later.room(.offerReceived(from: self.peer, sdp: Self.recorderSDP))
        #expect(
            later.connection(1, .answerCreated(sdp: Harness.sdp(session: "22")))
                == "send answer, cancel connect, close 1, twin, send yield"
        )
        #expect(later.room(.yielded) == "cancel burst, yielded")
        // The one that was there first reads it from the answer.
        var earlier = Self.recorder()
        earlier.room(.peerArrived(self.peer))
        earlier.connection(1, .offerCreated(sdp: Harness.sdp(session: "23")))
        #expect(
            earlier.room(.answerReceived(from: self.peer, sdp: Self.recorderSDP)) == "cancel connect, close 1, twin"
        )
        // Its leaving is not reported, since its presence was not.
        #expect(earlier.room(.peerLeft(self.peer)) == "cancel burst")
        // People are called as ever.
        #expect(earlier.room(.peerArrived(PeerID("q"))).contains("open 2 offerer"))
    }

    /// The next owner of a room came later too, and stays: no other host records when a call has moved to it.
    @Test(arguments: [
        ("5f 1", "twin"), ("5f 2", "twin, send yield"), ("5f 3", "twin, send yield"), ("60 1", "twin, send yield"),
        ("5f", "twin, send yield"), (" 1", "twin, send yield"), ("5f 1 1", "twin, send yield"),
    ])
    func theNextOwnerStays(_ other: String, _ expected: String) {
        var later = Self.recorder(RoomClaim(room: "5f", epoch: 2))
        later.room(.offerReceived(from: self.peer, sdp: Self.recorderSDP + "a=tapedeck-claim:\(other)\r\n"))
        let done = later.connection(1, .answerCreated(sdp: Harness.sdp(session: "22")))
        #expect(done == "send answer, cancel connect, close 1, \(expected)")
    }

    @Test func aRecorderCallsWhoeverMaySendOrIsNotOurs() {
        for sdp in [
            Self.recorderSDP + "a=sendrecv\r\n", Self.recorderSDP + "a=sendonly\r\n",
            Self.recorderSDP.replacing("a=tool:tapedeck", with: "a=tool:other"),
        ] {
            var harness = Self.recorder()
            harness.room(.offerReceived(from: self.peer, sdp: sdp))
            #expect(harness.connection(1, .answerCreated(sdp: Harness.sdp(session: "22"))) == "send answer")
        }
        // A recorder that sends is a camera: recorders want it.
        var camera = self.joined()
        camera.room(.offerReceived(from: self.peer, sdp: Self.recorderSDP))
        #expect(camera.connection(1, .answerCreated(sdp: Harness.sdp(session: "22"))) == "send answer")
    }

    @Test func hostsOfOneRoomDoNotCallEachOtherWhateverTheySend() {
        let sdp = Self.recorderSDP + "a=sendrecv\r\na=tapedeck-claim:5f 3\r\n"
        let met = "send answer, cancel connect, close 1, twin, send yield"
        for (room, answer) in [("5f", met), ("60", "send answer"), (nil, "send answer")] {
            var configuration = SessionConfiguration()
            configuration.claim = room.map { RoomClaim(room: $0, epoch: 2) }
            var harness = SessionHarness(configuration, [.room(.joined(ownID: PeerID("me")))])
            harness.room(.offerReceived(from: self.peer, sdp: sdp))
            #expect(harness.connection(1, .answerCreated(sdp: Harness.sdp(session: "22"))) == answer)
        }
    }

    @Test func aCallThatDiesWhileTheServerIsAwayIsNotReset() {
        var harness = self.connected()
        harness.room(.signallingLost(reason: "restart"))
        #expect(harness.connection(1, .iceFailed) == "close 1, failed, start returning")
        harness.room(.joined(ownID: nil))
        #expect(harness.room(.peerArrived(self.peer)).contains("open 2 offerer"))
    }

    @Test func nothingIsOpenedWhileTheServerIsAway() {
        var harness = self.joined()
        harness.room(.offerReceived(from: self.peer, sdp: Harness.sdp()))
        harness.connection(1, .negotiationFailed(reason: "test"))
        harness.room(.signallingLost(reason: "restart"))
        #expect(harness.fire(.backOff) == "ignored notJoined, start returning")
        harness.room(.joined(ownID: nil))
        #expect(
            harness.room(.offerReceived(from: self.peer, sdp: Harness.sdp())).hasPrefix("cancel returning, open 2")
        )
    }

    /// Calls that outlive the signalling, as those of XMPP and Janus do: our re-join makes no peer offer.
    @Test(arguments: [true, false]) func aCallThatEndedWhileTheServerWasAwayIsBegunAnew(isForgotten: Bool) {
        var harness = self.connected()
        harness.room(.signallingLost(reason: "restart"))
        #expect(harness.connection(1, .iceFailed) == "close 1, failed, start returning")
        if isForgotten { #expect(harness.fire(.returning) == "peerLeft") }
        // A peer that sees us come back has the full time, however long the wait was before.
        let joined = isForgotten ? "joined, start returning" : "joined, cancel returning, start returning"
        #expect(harness.room(.joined(ownID: nil)) == joined)
        let reset = "start resets, reset, send reset, start returning"
        #expect(harness.fire(.returning) == (isForgotten ? reset : "peerLeft, " + reset))
        // The signaller says that the old call is over: no news.
        #expect(harness.room(.peerLeft(self.peer)) == "")
        #expect(harness.room(.peerAwaited(self.peer)) == "cancel returning, open 2 offerer, createOffer 2")
    }

    @Test func aCallThatEndedWhileTheServerWasAwayIsOfferedAgainBesideOthers() {
        var harness = self.connected()
        harness.room(.peerArrived(PeerID("q")))
        harness.connection(2, .connected)
        harness.room(.signallingLost(reason: "restart"))
        harness.connection(1, .iceFailed)
        harness.room(.joined(ownID: nil))
        #expect(harness.fire(.returning) == "peerLeft, start resets, reset, start backOff")
        #expect(harness.fire(.backOff) == "open 3 offerer, start connect, createOffer 3")
        // The signaller knows no peer of that name any more.
        #expect(
            harness.room(.peerLeft(self.peer)) == "cancel connect, close 3 when quiet, cancel burst, cancel resets"
        )
    }

    @Test func anOfferThatHadToBeLeftOutWhileTheServerWasAwayIsNotForgotten() {
        var harness = self.joined()
        harness.room(.peerArrived(self.peer))
        harness.connection(1, .negotiationFailed(reason: "test"))
        harness.room(.signallingLost(reason: "restart"))
        #expect(harness.fire(.backOff) == "ignored notJoined, start returning")
        harness.room(.joined(ownID: nil))
        #expect(harness.fire(.returning) == "peerLeft, start resets, reset, send reset, start returning")
        #expect(harness.fire(.returning) == "")
    }

    /// Its leaving is not reported: not while we are away, and not afterwards; then the room is asked for it once.
    @Test(arguments: [true, false]) func aPeerThatWentWhileTheServerWasAwayIsGone(weAreBack: Bool) {
        var harness = self.joined()
        harness.room(.peerArrived(self.peer))
        harness.room(.signallingLost(reason: "restart"))
        #expect(harness.fire(.connect) == "close 1, failed, start returning")
        if weAreBack { harness.room(.joined(ownID: nil)) }
        let reset = weAreBack ? ", start resets, reset, send reset, start returning" : ""
        #expect(harness.fire(.returning) == "peerLeft" + reset)
        harness.room(.joined(ownID: nil))
        #expect(harness.room(.peerArrived(self.peer)).hasPrefix("peerJoined"))
    }

    @Test func aPeerWithoutAConnectionHasSomeTimeWhenTheServerGoes() {
        var harness = self.joined()
        harness.room(.offerReceived(from: self.peer, sdp: Harness.sdp()))
        harness.connection(1, .descriptionRefused(reason: "test"))
        #expect(harness.room(.signallingLost(reason: "restart")) == "start returning, lost")
        #expect(harness.fire(.returning) == "peerLeft")
    }

    /// The signaller reports a reset itself; it does not report this.
    @Test func aPeerThatLeavesWhileItIsWaitedForIsGoneAtOnce() {
        var harness = self.connected()
        harness.room(.signallingLost(reason: "restart"))
        harness.connection(1, .iceFailed)
        harness.room(.joined(ownID: nil))
        #expect(harness.room(.peerLeft(self.peer)) == "cancel burst, cancel returning, peerLeft")
    }

    @Test func aRebuildWaitsWhileTheServerIsAway() {
        var harness = self.connected()
        harness.room(.offerReceived(from: self.peer, sdp: Harness.sdp(version: 3)))
        harness.room(.signallingLost(reason: "restart"))
        #expect(harness.connection(1, .rebuildNeeded(reason: "test")) == "ignored refusedDescription")
        #expect(harness.machine.peer(of: ConnectionID(1)) == self.peer)
    }

    @Test func aSignallerThatGivesUpEndsTheSessionWithItsLastPeer() {
        let error = Harness.down
        var harness = self.connected()
        #expect(harness.feed(.signallerEnded(error)) == [.report(.signallingLost(reason: "down"))])
        #expect(
            harness.connection(1, .iceFailed)
                == "close 1, failed, start returning, cancel burst, cancel returning, peerLeft, start stop"
        )
        #expect(harness.connection(1, .closed) == "cancel stop, finished failed")
        #expect(harness.machine.isFinished == true)
        #expect(harness.feed(.stop) == [])
    }

    @Test func spentAttemptsEndTheSessionWithItsLastPeer() {
        let error = Harness.down
        var harness = self.connected()
        harness.room(.signallingLost(reason: "restart"))
        #expect(harness.room(.attemptsSpent(error)) == "")
        #expect(harness.room(.joinFailed(reason: "down")) == "joinFailed")
        #expect(harness.room(.attemptsSpent(error)) == "")
        #expect(
            harness.connection(1, .iceFailed)
                == "close 1, failed, start returning, cancel burst, cancel returning, peerLeft, send leave, start stop"
        )
        #expect(harness.connection(1, .closed) == "")
        #expect(harness.room(.left) == "cancel stop, finished failed")
    }

    @Test func whoIsAloneEndsWithItsAttempts() {
        let error = Harness.down
        var harness = SessionHarness()
        harness.room(.joined(ownID: nil))
        harness.room(.signallingLost(reason: "restart"))
        #expect(harness.room(.attemptsSpent(error)) == "send leave, start stop")
        #expect(harness.feed(.room(.left)).last == .finished(.failed(error)))
    }

    @Test func aSignallerThatTriesOnComesBack() {
        let error = Harness.down
        var harness = self.connected()
        harness.room(.signallingLost(reason: "restart"))
        harness.room(.attemptsSpent(error))
        #expect(harness.room(.joined(ownID: nil)) == "joined")
        #expect(harness.room(.peerArrived(PeerID("new"))).hasPrefix("peerJoined"))
        #expect(harness.connection(1, .iceFailed).contains("finished") == false)
        #expect(harness.machine.isFinished == false)
    }

    @Test func aRoomThatIsNeverJoinedEndsWithTheSignaller() {
        let error = SignallingError(.full, "full", blame: .peer)
        var harness = SessionHarness()
        harness.room(.full)
        #expect(harness.feed(.signallerEnded(error)).last == .finished(.failed(error)))
    }

    @Test func stopWaitsForConnectionsAndRoom() {
        var harness = self.connected()
        #expect(harness.stop() == "close 1, cancel burst, peerLeft, send leave, start stop")
        #expect(harness.stop() == "")
        #expect(harness.room(.offerReceived(from: self.peer, sdp: Harness.sdp(session: "12"))) == "")
        #expect(harness.connection(1, .closed) == "")
        #expect(harness.room(.left) == "cancel stop, finished stopped")
        #expect(harness.room(.joined(ownID: nil)) == "")
    }

    @Test func stopWaitsForConnectionsClosedBefore() {
        var harness = self.connected()
        harness.room(.peerLeft(self.peer))
        harness.stop()
        #expect(harness.room(.left) == "")
        #expect(harness.connection(1, .closed) == "cancel stop, finished stopped")
    }

    @Test func stopHasALimit() {
        var harness = self.connected()
        let start = harness.feed(.stop).compactMap { action -> Duration? in
            if case .startTimer(_, let duration) = action { duration } else { nil }
        }
        #expect(start == [.seconds(2)])
        #expect(harness.fire(.stop) == "finished stopped")
    }

    @Test func peersBeyondTheLimitAreIgnoredUntilAPlaceIsFree() {
        var configuration = SessionConfiguration()
        configuration.maximumPeers = 2
        var harness = self.connected(configuration)
        harness.room(.peerArrived(PeerID("q")))
        #expect(harness.room(.peerArrived(PeerID("r"))) == "ignored peerLimit")
        #expect(harness.room(.candidateReceived(from: PeerID("r"), Harness.candidate)) == "ignored peerLimit")
        #expect(harness.room(.offerReceived(from: PeerID("r"), sdp: Harness.sdp(session: "3"))) == "ignored peerLimit")
        harness.connection(2, .authenticityFailed(reason: "test"))
        #expect(harness.room(.peerArrived(PeerID("r"))).contains("peerLeft, peerJoined, start burst, open 3 offerer"))
    }

    @Test func namesThatOnlySendCandidatesGoFirst() {
        var configuration = SessionConfiguration()
        configuration.maximumPeers = 2
        var harness = self.connected(configuration)
        harness.connection(1, .authenticityFailed(reason: "test"))
        harness.room(.candidateReceived(from: PeerID("q"), Harness.candidate))
        #expect(harness.room(.candidateReceived(from: PeerID("r"), Harness.candidate)) == "")
        #expect(harness.room(.peerLeft(PeerID("q"))) == "ignored unknownPeer")
        #expect(harness.room(.peerLeft(self.peer)) == "cancel burst, peerLeft")
    }

    @Test func namesThatOnlySendCandidatesHoldNoPlace() {
        var harness = self.joined()
        for number in 0..<1000 {
            harness.room(.candidateReceived(from: PeerID("\(number)"), Harness.candidate))
        }
        #expect(harness.room(.peerArrived(self.peer)).contains("open 1 offerer"))
    }

    @Test func aFloodOfNewSessionsIsSlowedDown() {
        var configuration = SessionConfiguration()
        configuration.maximumConnections = 3
        var harness = self.joined(configuration)
        for number in 1...3 {
            let words = harness.room(.offerReceived(from: self.peer, sdp: Harness.sdp(session: "\(number)")))
            #expect(words.contains("open \(number)"))
        }
        #expect(
            harness.room(.offerReceived(from: self.peer, sdp: Harness.sdp(session: "4")))
                == "cancel connect, close 3, rebuilt, start backOff"
        )
        #expect(
            harness.room(.offerReceived(from: self.peer, sdp: Harness.sdp(session: "5"))) == "ignored supersededOffer"
        )
        harness.fire(.burst)
        #expect(harness.fire(.backOff).contains("open 4 answerer"))
    }

    @Test func longDescriptionsAreDropped() {
        var configuration = SessionConfiguration()
        configuration.maximumDescriptionLength = 10
        var harness = self.joined(configuration)
        #expect(harness.room(.offerReceived(from: self.peer, sdp: Harness.sdp())) == "ignored oversizedDescription")
        #expect(harness.room(.answerReceived(from: self.peer, sdp: Harness.sdp())) == "ignored oversizedDescription")
    }

    @Test(arguments: ["", "hello", "o=", "o=- 1", "o=- 1 2 IN", "\r\n\r\n", "v=0\r\ns=-", "O=- 1 2 IN IP4 h"])
    func descriptionsWithoutOriginNeedNoConnection(sdp: String) {
        var harness = self.joined()
        #expect(harness.room(.offerReceived(from: self.peer, sdp: sdp)) == "ignored malformedDescription")
    }

    /// A description that every connection would refuse needs none.
    @Test(arguments: [
        "o=- 1 1 IN IP4 127.0.0.1", "v=0\r\no=- 2 1 IN IP4 127.0.0.1\r\nm=\r\n",
        "v=0\r\no=- 3 1 IN IP4 127.0.0.1\r\ns=a\u{0}b\r\n",
    ])
    func descriptionsThatCannotBeReadTouchNoCall(sdp: String) {
        var harness = self.joined()
        #expect(harness.room(.offerReceived(from: self.peer, sdp: sdp)) == "ignored malformedDescription")
        harness = self.connected()
        #expect(harness.room(.offerReceived(from: self.peer, sdp: sdp)) == "ignored malformedDescription")
        #expect(harness.room(.answerReceived(from: self.peer, sdp: sdp)) == "ignored answerWithoutOffer")
    }

    @Test func anAnswerThatCannotBeReadEndsTheCall() {
        var harness = self.joined()
        harness.room(.peerArrived(self.peer))
        harness.connection(1, .offerCreated(sdp: Harness.sdp(session: "900")))
        #expect(harness.room(.answerReceived(from: self.peer, sdp: "v=0")) == "cancel connect, close 1, failed")
    }

    @Test func peersDoNotTouchEachOther() {
        var harness = self.connected()
        harness.room(.peerArrived(PeerID("q")))
        harness.connection(2, .offerCreated(sdp: Harness.sdp(session: "900")))
        #expect(harness.connection(2, .authenticityFailed(reason: "test")).contains("close 2"))
        #expect(harness.room(.peerLeft(PeerID("q"))) == "cancel burst, peerLeft")
        #expect(harness.machine.peer(of: ConnectionID(1)) == self.peer)
        #expect(harness.room(.candidateReceived(from: self.peer, Harness.candidate)) == "add 1")
    }
}
