// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Signalling

@Suite struct SkyRTCMeshStateMachineTests {
    private static let timer = SkyRTCMeshStateMachine.answerTimer
    private static let limit = SkyRTCMeshStateMachine.answerLimit
    private static let peer = PeerID("p")

    /// The states, by a way that leads there.
    private enum Place: String, CaseIterable {
        case idle, connecting, joining, joined, resetting, lost, left
    }

    private static func machine(_ place: Place) -> SkyRTCMeshStateMachine {
        let address = RoomURL.SkyRTC(isSecure: false, host: "h", port: 3000, path: "/wss", name: "100")
        var machine = SkyRTCMeshStateMachine(address, SignallingOptions(policy: .oneShot))
        let way: [SignallingInput] = [
            .attempt(note: nil), .webSocket(.opened), Self.text("_peers", #"{"connections":["p"],"you":"us"}"#),
        ]
        let steps: [SignallingInput] =
            switch place {
            case .idle: []
            case .connecting: [way[0]]
            case .joining: [way[0], way[1]]
            case .joined: way
            case .resetting: way + [.command(.resetCall(Self.peer))]
            case .lost: way + [.webSocket(.closed(nil))]
            case .left: way + [.command(.leave)]
            }
        for step in steps { _ = machine.handle(step) }
        return machine
    }

    private static func text(_ name: String, _ data: String) -> SignallingInput {
        .webSocket(.received(.text(#"{"eventName":"\#(name)","data":\#(data)}"#)))
    }

    private static func sent(_ actions: [SignallingAction]) -> [String] {
        actions.compactMap { if case .sendWebSocket(let message) = $0 { message.text } else { nil } }
    }

    private static func isIgnored(_ actions: [SignallingAction]) -> Bool {
        actions.allSatisfy { if case .event(.ignored) = $0 { true } else { false } }
    }

    @Test func joinsAndOffersToEverybodyWhoIsThere() throws {
        var machine = Self.machine(.idle)
        let url = try #require(WebURL(parsing: "ws://h:3000/wss"))
        #expect(
            machine.handle(.attempt(note: nil)) == [
                .openWebSocket(WebSocketRequest(url: url)), .startTimer(Self.timer, after: .seconds(8)),
            ]
        )
        #expect(
            machine.handle(.webSocket(.opened)) == [
                .sendWebSocket(.text(#"{"data":{"room":"100"},"eventName":"__join"}"#)),
                .startTimer(Self.timer, after: Self.limit),
            ]
        )
        #expect(
            machine.handle(Self.text("_peers", #"{"connections":["p","us","q","p"],"you":"us"}"#)) == [
                .cancelTimer(Self.timer), .event(.joined(ownID: PeerID("us"), capacity: 65)),
                .event(.peerArrived(Self.peer)), .event(.peerArrived(PeerID("q"))),
            ]
        )
        #expect(
            Self.sent(machine.handle(.command(.offer(to: Self.peer, sdp: "v=0")))) == [
                #"{"data":{"me":"us","name":"tapedeck","sdp":{"sdp":"v=0","type":"offer"},"#
                    + #""socketId":"p","to":"p"},"eventName":"__offer"}"#
            ]
        )
    }

    @Test func membersWaitForTheNewcomersOffer() {
        var machine = Self.machine(.joined)
        #expect(machine.handle(Self.text("_new_peer", #"{"socketId":"n"}"#)).isEmpty)
        #expect(
            machine.handle(Self.text("_offer", #"{"socketId":"n","sdp":{"type":"offer","sdp":"v=0"}}"#))
                == [.event(.offerReceived(from: PeerID("n"), sdp: "v=0"))]
        )
        #expect(Self.sent(machine.handle(.command(.answer(to: PeerID("n"), sdp: "v=0")))).count == 1)
        #expect(
            machine.handle(Self.text("_remove_peer", #"{"socketId":"n","name":"x"}"#)) == [
                .event(.peerLeft(PeerID("n")))
            ]
        )
        #expect(Self.isIgnored(machine.handle(Self.text("_remove_peer", #"{"socketId":"n"}"#))))
    }

    @Test func anOfferOfAnUnknownMemberIsTaken() {
        var machine = Self.machine(.joined)
        #expect(
            machine.handle(Self.text("_offer", #"{"socketId":"new","sdp":"v=0"}"#))
                == [.event(.offerReceived(from: PeerID("new"), sdp: "v=0"))]
        )
    }

    @Test func whatComesBeforeTheListOfMembersWaits() {
        var machine = Self.machine(.joining)
        #expect(machine.handle(Self.text("_offer", #"{"socketId":"e","sdp":"v=0"}"#)).isEmpty)
        let actions = machine.handle(Self.text("_peers", #"{"connections":[],"you":"us"}"#))
        #expect(actions.last == .event(.offerReceived(from: PeerID("e"), sdp: "v=0")))
        machine = Self.machine(.joining)
        for _ in 0..<SkyRTCMeshStateMachine.maximumEarlyMessages {
            #expect(machine.handle(Self.text("_new_peer", #"{"socketId":"e"}"#)).isEmpty)
        }
        #expect(Self.isIgnored(machine.handle(Self.text("_new_peer", #"{"socketId":"f"}"#))))
    }

    @Test func aRoomOfTooManyIsCutOff() {
        var machine = Self.machine(.joined)
        for number in 0..<SkyRTCMessage.maximumMembers - 1 {
            #expect(machine.handle(Self.text("_new_peer", #"{"socketId":"m\#(number)"}"#)).isEmpty)
        }
        #expect(machine.handle(Self.text("_new_peer", #"{"socketId":"one more"}"#)).count == 1)
        let offer = machine.handle(Self.text("_offer", #"{"socketId":"one more","sdp":"v=0"}"#))
        #expect(Self.isIgnored(offer) && offer.count == 1)
    }

    @Test func aResetClosesAndJoinsAgain() {
        var machine = Self.machine(.joined)
        #expect(
            machine.handle(.command(.resetCall(Self.peer))) == [
                .event(.peerLeft(Self.peer)), .closeWebSocket,
                .startTimer(Self.timer, after: SkyRTCMeshStateMachine.closeLimit),
            ]
        )
        #expect(Self.isIgnored(machine.handle(Self.text("_new_peer", #"{"socketId":"x"}"#))))
        guard case .openWebSocket? = machine.handle(.webSocket(.closed(nil))).first else {
            Issue.record("it did not come back")
            return
        }
        // A server that does not close makes no difference.
        machine = Self.machine(.resetting)
        guard case .openWebSocket? = machine.handle(.timerFired(Self.timer)).first else {
            Issue.record("it did not come back")
            return
        }
    }

    @Test func membersOfAnEarlierConnectionAreToldGoneWhenTheyAreMeant() {
        var machine = Self.machine(.lost)
        _ = machine.handle(.attempt(note: nil))
        _ = machine.handle(.webSocket(.opened))
        _ = machine.handle(Self.text("_peers", #"{"connections":[],"you":"us2"}"#))
        #expect(machine.handle(.command(.offer(to: Self.peer, sdp: "v=0"))).last == .event(.peerLeft(Self.peer)))
        let candidate = ICECandidate(line: SkyRTCBench.candidateLine, mLineIndex: 0, mid: "0")
        #expect(Self.isIgnored(machine.handle(.command(.candidate(to: Self.peer, candidate)))))
        #expect(Self.isIgnored(machine.handle(.command(.resetCall(Self.peer)))))
        // Nor do we talk to ourselves.
        #expect(machine.handle(Self.text("_offer", #"{"socketId":"us","sdp":"v=0"}"#)).isEmpty)
    }

    @Test(arguments: [
        (404, SignallingError.Code.refused), (400, .refused), (429, .unreachable), (500, .unreachable),
        (503, .unreachable),
    ])
    func refusedHandshakesSayWhatIsWrong(status: Int, code: SignallingError.Code) {
        var machine = Self.machine(.connecting)
        let actions = machine.handle(.webSocket(.refused(status: status, body: [])))
        guard case .attemptFailed(let error)? = actions.last else {
            Issue.record("\(actions)")
            return
        }
        #expect(error.code == code)
        #expect(error.message.contains("h:3000") && error.message.contains("\(status)"))
    }

    @Test func silenceEndsAnAttempt() {
        for place in [Place.connecting, .joining] {
            var machine = Self.machine(place)
            guard case .attemptFailed(let error)? = machine.handle(.timerFired(Self.timer)).last else {
                Issue.record("the attempt goes on in \(place)")
                continue
            }
            #expect(error.code == .timedOut)
            #expect(machine.handle(.timerFired(Self.timer)).isEmpty)
        }
    }

    @Test func leavingEndsTheRunFromEverywhere() {
        for place in Place.allCases where place != .left {
            var machine = Self.machine(place)
            #expect(
                machine.handle(.command(.leave)) == [.cancelTimer(Self.timer), .event(.left), .finished(nil)],
                "\(place)"
            )
            #expect(machine.handle(.attempt(note: nil)).isEmpty)
        }
    }

    @Test func nothingIsSentOutsideOfTheRoom() {
        let candidate = ICECandidate(line: SkyRTCBench.candidateLine, mLineIndex: 0, mid: "0")
        let commands: [RoomCommand] = [
            .offer(to: Self.peer, sdp: "v=0"), .answer(to: Self.peer, sdp: "v=0"), .candidate(to: Self.peer, candidate),
            .resetCall(Self.peer), .yield,
        ]
        for place in Place.allCases where place != .joined {
            for command in commands {
                var machine = Self.machine(place)
                #expect(Self.isIgnored(machine.handle(.command(command))), "\(place) \(command)")
            }
        }
    }

    @Test func inputsOfOtherTransportsMeanNothing() {
        for place in Place.allCases {
            var machine = Self.machine(place)
            #expect(machine.handle(.stream(.listening)).isEmpty)
            #expect(machine.handle(.answered(HTTPRequest.ID(rawValue: "x"), HTTPAnswer(status: 200))).isEmpty)
            #expect(machine.handle(.timerFired(SignallingTimer(rawValue: "another"))).isEmpty)
        }
    }
}
