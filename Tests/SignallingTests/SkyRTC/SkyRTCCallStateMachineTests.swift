// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Signalling

@Suite struct SkyRTCCallStateMachineTests {
    private typealias Machine = SkyRTCCallStateMachine

    private static func machine(_ query: String, policy: JoinPolicy = .persistent) throws -> Machine {
        let url = try RoomURL(parsing: "skyrtc+ws://h:5000/ws?dialect=call&user=us" + query)
        let address = try #require(url.address as? RoomURL.SkyRTC)
        var machine = Machine(address, SignallingOptions(policy: policy))
        _ = machine.handle(.attempt(note: nil))
        return machine
    }

    private static func text(_ name: String, _ data: String) -> SignallingInput {
        .webSocket(.received(.text(#"{"eventName":"\#(name)","data":\#(data)}"#)))
    }

    private static func sent(_ actions: [SignallingAction]) -> [SkyRTCMessage.Event] {
        actions.compactMap {
            guard case .sendWebSocket(let message) = $0 else { return nil }
            return try? SkyRTCMessage(message).event
        }
    }

    private static func texts(_ actions: [SignallingAction]) -> [String] {
        actions.compactMap { if case .sendWebSocket(let message) = $0 { message.text } else { nil } }
    }

    private static func isIgnored(_ actions: [SignallingAction]) -> Bool {
        actions.allSatisfy { if case .event(.ignored) = $0 { true } else { false } }
    }

    /// Alone in the room of the URL, or with the peer `p`.
    private static func member(size: Int = 4, with peer: String = "") throws -> Machine {
        var machine = try Self.machine("&room=100&create=\(size)")
        _ = machine.handle(.webSocket(.opened))
        _ = machine.handle(.timerFired(Machine.answerTimer))
        _ = machine.handle(Self.text("__peers", #"{"connections":"\#(peer)","you":"us","roomSize":\#(size)}"#))
        return machine
    }

    /// In a call of two that the user `c` began.
    private static func called() throws -> Machine {
        var machine = try Self.machine("")
        _ = machine.handle(.webSocket(.opened))
        _ = machine.handle(Self.text("__invite", #"{"room":"r","inviteID":"c","userList":"us","audioOnly":false}"#))
        _ = machine.handle(Self.text("__peers", #"{"connections":"c","you":"us","roomSize":2}"#))
        return machine
    }

    @Test func connectsAsAPhone() throws {
        let url = try RoomURL(parsing: "skyrtc+wss://h/ws?dialect=call&user=a%20b")
        let address = try #require(url.address as? RoomURL.SkyRTC)
        var machine = Machine(address, SignallingOptions(policy: .oneShot))
        guard case .openWebSocket(let request)? = machine.handle(.attempt(note: nil)).first else {
            Issue.record("nothing was opened")
            return
        }
        #expect(request.url.target == "/ws/a%20b/0")
    }

    @Test func makesUpANameFromTheSeed() throws {
        let url = try RoomURL(parsing: "skyrtc+ws://h?dialect=call")
        let address = try #require(url.address as? RoomURL.SkyRTC)
        let names = [1, 2].map { Machine(address, SignallingOptions(policy: .oneShot, seed: $0)).userID }
        #expect(names == ["tapedeck-1", "tapedeck-2"])
    }

    @Test func createsTheRoomThatIsNotThere() throws {
        var machine = try Self.machine("&room=100&create=4")
        #expect(
            machine.handle(.webSocket(.opened)) == [
                .sendWebSocket(.text(#"{"data":{"room":"100","roomSize":4,"userID":"us"},"eventName":"__create"}"#)),
                .startTimer(Machine.answerTimer, after: Machine.createLimit),
            ]
        )
        let actions = machine.handle(Self.text("__peers", #"{"connections":"","you":"us","roomSize":4}"#))
        #expect(actions.contains(.event(.joined(ownID: PeerID("us")))))
        #expect(actions.contains(.note("us")))
        #expect(machine.handle(Self.text("__new_peer", #"{"userID":"n"}"#)) == [.event(.peerArrived(PeerID("n")))])
        #expect(
            Self.texts(machine.handle(.command(.offer(to: PeerID("n"), sdp: "v=0")))) == [
                #"{"data":{"fromID":"us","name":"tapedeck","sdp":"v=0","userID":"n"},"eventName":"__offer"}"#
            ]
        )
    }

    @Test func joinsTheRoomThatIsThereAndWaitsForOffers() throws {
        var machine = try Self.machine("&room=100&create=4")
        _ = machine.handle(.webSocket(.opened))
        #expect(
            Self.texts(machine.handle(.timerFired(Machine.answerTimer)))
                == [#"{"data":{"room":"100","userID":"us"},"eventName":"__join"}"#]
        )
        let actions = machine.handle(Self.text("__peers", #"{"connections":"a,b","you":"us","roomSize":4}"#))
        #expect(!actions.contains { if case .event(.peerArrived) = $0 { true } else { false } })
        #expect(
            machine.handle(Self.text("__offer", #"{"fromID":"a","userID":"us","sdp":"v=0"}"#))
                == [.event(.offerReceived(from: PeerID("a"), sdp: "v=0"))]
        )
    }

    @Test func neverJoinsARoomThatIsNotListed() throws {
        var machine = try Self.machine("&room=100")
        guard case .request(let request)? = machine.handle(.webSocket(.opened)).last else {
            Issue.record("nothing was asked")
            return
        }
        #expect(request.url.description == "http://h:5000/roomList")
        let other = HTTPAnswer(status: 200, body: [UInt8](#"[{"roomId":"other","maxSize":4}]"#.utf8))
        let waiting = machine.handle(.answered(Machine.roomList, other))
        #expect(Self.sent(waiting).isEmpty)
        #expect(waiting.contains(.event(.joined(ownID: PeerID("us")))), "people can call us")
        #expect(waiting.contains(.startTimer(Machine.againTimer, after: Machine.lookAgainWait, isSpread: true)))
        _ = machine.handle(.timerFired(Machine.againTimer))
        let again = machine.handle(.answered(Machine.roomList, other))
        #expect(!again.contains(.event(.joined(ownID: PeerID("us")))), "said once")
        _ = machine.handle(.timerFired(Machine.againTimer))
        let listed = HTTPAnswer(status: 200, body: [UInt8](#"[{"roomId":"100","maxSize":4}]"#.utf8))
        #expect(Self.sent(machine.handle(.answered(Machine.roomList, listed))) == [.join])
    }

    @Test(arguments: ["", "{}", "null", "[1,null,{}]", "<html>"])
    func anUnreadableListIsNoRoom(body: String) throws {
        for status in [200, 404, 500] {
            var machine = try Self.machine("&room=100")
            _ = machine.handle(.webSocket(.opened))
            let actions = machine.handle(
                .answered(Machine.roomList, HTTPAnswer(status: status, body: [UInt8](body.utf8)))
            )
            #expect(Self.sent(actions).isEmpty)
        }
        var machine = try Self.machine("&room=100")
        _ = machine.handle(.webSocket(.opened))
        let failure = SignallingError(.unreachable, "refused", blame: .network)
        #expect(Self.sent(machine.handle(.requestFailed(Machine.roomList, failure))).isEmpty)
    }

    @Test func takesACallAndGoesHomeAfterIt() throws {
        var machine = try Self.machine("")
        #expect(machine.handle(.webSocket(.opened)).contains(.event(.joined(ownID: PeerID("us")))))
        #expect(Self.isIgnored(machine.handle(Self.text("__login_success", #"{"userID":"us"}"#))))
        let taken = machine.handle(
            Self.text("__invite", #"{"room":"r","inviteID":"c","userList":"us,x","audioOnly":false}"#)
        )
        #expect(
            Self.texts(taken) == [
                #"{"data":{"fromID":"us","room":"r","toID":"c"},"eventName":"__ring"}"#,
                #"{"data":{"room":"r","userID":"us"},"eventName":"__join"}"#,
            ]
        )
        _ = machine.handle(Self.text("__peers", #"{"connections":"c","you":"us","roomSize":2}"#))
        #expect(
            machine.handle(Self.text("__offer", #"{"fromID":"c","userID":"us","sdp":"v=0"}"#))
                == [.event(.offerReceived(from: PeerID("c"), sdp: "v=0"))]
        )
        let left = machine.handle(Self.text("__leave", #"{"room":"r","fromID":"c","userID":"c"}"#))
        #expect(left.first == .event(.peerLeft(PeerID("c"))))
        #expect(Self.sent(left).isEmpty, "the room of two is gone; a word to it breaks the server")
        // Free for the next one.
        let next = machine.handle(Self.text("__invite", #"{"room":"r2","inviteID":"d"}"#))
        #expect(Self.sent(next) == [.ring, .join])
    }

    @Test func isBusyWithPeopleOnly() throws {
        var machine = try Self.called()
        #expect(
            Self.texts(machine.handle(Self.text("__invite", #"{"room":"r2","inviteID":"d"}"#))) == [
                #"{"data":{"fromID":"us","refuseType":"0","room":"r2","toID":"d"},"eventName":"__reject"}"#
            ]
        )
        #expect(machine.handle(Self.text("__invite", #"{"room":"r","inviteID":"c"}"#)).isEmpty, "our own call")
        var alone = try Self.member()
        let actions = alone.handle(Self.text("__invite", #"{"room":"r2","inviteID":"d"}"#))
        #expect(Self.sent(actions) == [.leave, .ring, .join])
    }

    @Test func aCallThatIsCancelledOrNotAnsweredIsOver() throws {
        var machine = try Self.machine("")
        _ = machine.handle(.webSocket(.opened))
        _ = machine.handle(Self.text("__invite", #"{"room":"r","inviteID":"c"}"#))
        #expect(Self.sent(machine.handle(Self.text("__cancel", #"{"room":"r","inviteID":"c"}"#))).isEmpty)
        #expect(Self.sent(machine.handle(Self.text("__invite", #"{"room":"s","inviteID":"c"}"#))) == [.ring, .join])
        #expect(
            Self.isIgnored(
                machine.handle(.timerFired(Machine.answerTimer)).filter { $0 != .cancelTimer(Machine.answerTimer) }
            )
        )
        #expect(Self.sent(machine.handle(Self.text("__invite", #"{"room":"t","inviteID":"c"}"#))) == [.ring, .join])
        var member = try Self.called()
        #expect(Self.sent(member.handle(Self.text("__cancel", #"{"room":"r"}"#))).isEmpty)
        #expect(Self.sent(member.handle(Self.text("__invite", #"{"room":"t","inviteID":"c"}"#))) == [.ring, .join])
    }

    @Test func aRoomOfTwoIsMadeAgainWhenTheOtherOneLeft() throws {
        var machine = try Self.member(size: 2, with: "p")
        let actions = machine.handle(Self.text("__leave", #"{"room":"100","fromID":"p"}"#))
        #expect(actions.first == .event(.peerLeft(PeerID("p"))))
        #expect(Self.sent(actions) == [.create])
        var large = try Self.member(size: 4, with: "p")
        #expect(large.handle(Self.text("__leave", #"{"room":"100","fromID":"p"}"#)) == [.event(.peerLeft(PeerID("p")))])
        var lost = try Self.member(size: 4, with: "p")
        #expect(lost.handle(Self.text("__disconnect", #"{"fromID":"p"}"#)) == [.event(.peerLeft(PeerID("p")))])
        #expect(Self.isIgnored(lost.handle(Self.text("__leave", #"{"room":"other","fromID":"p"}"#))))
    }

    @Test func aUserLeftBehindIsTakenOutFirst() throws {
        let url = try RoomURL(parsing: "skyrtc+ws://h?dialect=call&user=us&room=100&create=4")
        let address = try #require(url.address as? RoomURL.SkyRTC)
        var machine = Machine(address, SignallingOptions(policy: .persistent))
        _ = machine.handle(.attempt(note: "earlier"))
        #expect(Self.sent(machine.handle(.webSocket(.opened))) == [.create])
        let exists = machine.handle(.timerFired(Machine.answerTimer))
        #expect(
            Self.texts(exists).first
                == #"{"data":{"fromID":"earlier","room":"100","userID":"earlier"},"eventName":"__leave"}"#
        )
        #expect(Self.sent(exists) == [.leave, .create], "the room may have gone with it")
        #expect(exists.contains(.note(nil)))
        #expect(Self.sent(machine.handle(.timerFired(Machine.answerTimer))) == [.join])
        // The same after a lost connection, without a note.
        var lost = try Self.member(with: "p")
        _ = lost.handle(.webSocket(.closed(nil)))
        _ = lost.handle(.attempt(note: nil))
        _ = lost.handle(.webSocket(.opened))
        #expect(Self.sent(lost.handle(.timerFired(Machine.answerTimer))) == [.leave, .create])
    }

    @Test func aFullRoomIsWaitedForOrAnError() throws {
        var machine = try Self.machine("&room=100&create=2")
        _ = machine.handle(.webSocket(.opened))
        _ = machine.handle(.timerFired(Machine.answerTimer))
        #expect(
            machine.handle(.timerFired(Machine.answerTimer))
                == [.event(.full), .startTimer(Machine.againTimer, after: .seconds(5), isSpread: true)]
        )
        // People can still call us.
        #expect(Self.sent(machine.handle(Self.text("__invite", #"{"room":"r","inviteID":"c"}"#))) == [.ring, .join])
        var once = try Self.machine("&room=100&create=2", policy: .oneShot)
        _ = once.handle(.webSocket(.opened))
        _ = once.handle(.timerFired(Machine.answerTimer))
        let end = once.handle(.timerFired(Machine.answerTimer))
        guard case .finished(let error?)? = end.last else {
            Issue.record("\(end)")
            return
        }
        #expect(error.code == .full)
    }

    @Test func leavesWithAWordIfTheRoomIsThere() throws {
        var machine = try Self.member(with: "p")
        let actions = machine.handle(.command(.leave))
        #expect(Self.texts(actions) == [#"{"data":{"fromID":"us","room":"100","userID":"us"},"eventName":"__leave"}"#])
        #expect(actions.contains(.note(nil)))
        #expect(actions.suffix(2) == [.event(.left), .finished(nil)])
        #expect(machine.handle(.attempt(note: nil)).isEmpty)
        var waiting = try Self.machine("")
        _ = waiting.handle(.webSocket(.opened))
        #expect(Self.sent(waiting.handle(.command(.leave))).isEmpty)
    }

    @Test func messagesWithoutSenderAreOfTheOnlyOtherMember() throws {
        var machine = try Self.member(with: "p")
        #expect(
            machine.handle(Self.text("__answer", #"{"sdp":{"type":"answer","sdp":"v=0"}}"#))
                == [.event(.answerReceived(from: PeerID("p"), sdp: "v=0"))]
        )
        _ = machine.handle(Self.text("__new_peer", #"{"userID":"q"}"#))
        #expect(Self.isIgnored(machine.handle(Self.text("__answer", #"{"sdp":"v=0"}"#))))
        #expect(machine.handle(Self.text("__offer", #"{"fromID":"us","sdp":"v=0"}"#)).isEmpty)
    }

    @Test(arguments: [
        "__peers", "__invite", "__new_peer", "__leave", "__disconnect", "__cancel", "__offer", "__answer",
        "__ice_candidate", "__join", "__create",
    ])
    func nothingHappensOutsideOfItsPlace(name: String) throws {
        for data in ["null", "{}", "[]", "3", #"{"room":3,"userID":{}}"#] {
            var machine = try Self.machine("")
            _ = machine.handle(.webSocket(.opened))
            #expect(Self.isIgnored(machine.handle(Self.text(name, data))), "\(data)")
            #expect(
                Self.sent(machine.handle(Self.text("__invite", #"{"room":"r","inviteID":"c"}"#))) == [.ring, .join]
            )
        }
    }
}
