// SPDX-License-Identifier: Apache-2.0

import Basics
import Session
import Testing

@testable import Signalling

/// The names that peers give themselves with their descriptions, in every protocol whose messages are ours to write.
@Suite struct NamesOfPeersTests {
    private typealias Room = SocketIORoomStateMachineTests

    private static func described(_ type: String, _ sdp: String, name: String) -> String {
        JSONValue.object(["type": .string(type), "sdp": .string(sdp), "name": .string(name)]).text
    }

    @Test(
        arguments: [
            (#"{"name":" Zo\u00eb\u202e\n "}"#, "Zoë"), ("{}", nil), (#"{"name":7}"#, nil), (#"{"name":""}"#, nil),
            ("[]", nil),
            (#"{"name":{"name":"x"}}"#, nil),
        ] as [(String, String?)]
    )
    func areReadAsOneLine(_ text: String, _ name: String?) throws {
        #expect(PeerMessage.name(try JSONValue(parsing: text)) == name)
    }

    @Test func areShort() {
        let name = PeerMessage.name(.object(["name": .string(String(repeating: "x", count: 10_000))]))
        #expect(name?.utf8.count == 256)
    }

    // MARK: Socket.IO

    @Test func socketIOTellsTheNameBeforeTheDescription() {
        for type in ["offer", "answer"] {
            var machine = SocketIORoomMeshTests.machine()
            let data = JSONValue.object(["type": .string(type), "sdp": "v=0", "from": "p", "to": "d", "name": "Ann"])
            let actions = machine.received(.event("message", ["r", data]))
            #expect(actions.first == .event(.peerNamed(PeerID("p"), "Ann")) && actions.count == 2, "\(type)")
        }
    }

    @Test func socketIORoomsOfTwoHaveNamesToo() {
        var machine = Room.machine(.joinedConnected)
        let data = JSONValue.object(["type": "answer", "sdp": "v=0", "name": "Ann"])
        #expect(
            machine.received(.event("message", ["r", data])) == [
                .event(.peerNamed(Room.peer, "Ann")), .event(.answerReceived(from: Room.peer, sdp: "v=0")),
            ]
        )
    }

    @Test func socketIOCandidatesHaveNone() throws {
        let text = #"{"type":"candidate","label":0,"id":"0","candidate":"\#(LANBench.line)","name":"Ann"}"#
        #expect(try SocketIORoomMessage(JSONValue(parsing: text)).name == nil)
        let candidate = PeerMessage.candidate(ICECandidate(line: LANBench.line, mLineIndex: 0, mid: nil))
        #expect(SocketIORoomMessage(candidate, name: "Ann").data?["name"] == nil)
    }

    @Test func socketIOSaysOurs() {
        var machine = SocketIORoomStateMachine(room: "r", displayName: "kitchen", waitsWhenFull: true)
        _ = machine.opened(sessionID: "d", version: .three)
        _ = machine.received(SocketIOPacket(.connect))
        _ = machine.received(.event("joined", ["r", "d"]))
        _ = machine.received(.event("otherjoin", ["r", "p"]))
        let data = JSONValue.object(["type": "offer", "sdp": "v=0", "from": "d", "to": "p", "name": "kitchen"])
        #expect(
            machine.command(.offer(to: PeerID("p"), sdp: "v=0")) == [.send(.event("message", ["r", data]))]
        )
    }

    /// Each description, and no candidate, says whether the sender is there to record.
    @Test(arguments: [true, false])
    func socketIORecordersSayThatTheyAreOnes(isRecorder: Bool) throws {
        let flag: JSONValue? = isRecorder ? .bool(true) : nil
        for content in [PeerMessage.offer(sdp: "v=0"), .answer(sdp: "v=0")] {
            let data = try #require(SocketIORoomMessage(content, isOfRecorder: isRecorder).data)
            #expect(data["recorder"] == flag)
            #expect(try SocketIORoomMessage(data).isOfRecorder == isRecorder)
        }
        let candidate = PeerMessage.candidate(ICECandidate(line: LANBench.line, mLineIndex: 0, mid: nil))
        #expect(SocketIORoomMessage(candidate, isOfRecorder: isRecorder).data?["recorder"] == nil)
        var machine = SocketIORoomStateMachine(room: "r", isRecorder: isRecorder, waitsWhenFull: true)
        _ = machine.opened(sessionID: "d", version: .three)
        _ = machine.received(SocketIOPacket(.connect))
        _ = machine.received(.event("joined", ["r", "d"]))
        _ = machine.received(.event("otherjoin", ["r", "p"]))
        let actions = machine.command(.offer(to: PeerID("p"), sdp: "v=0"))
        guard case .send(let packet)? = actions.first else {
            Issue.record("nothing was sent")
            return
        }
        #expect(packet.text.contains(#""recorder":true"#) == isRecorder)
    }

    @Test(arguments: [#"{"recorder":"true"}"#, #"{"recorder":1}"#, "{}", "[]", #"{"recorder":{}}"#])
    func nothingElseIsARecorder(_ text: String) throws {
        #expect(!PeerMessage.isOfRecorder(try JSONValue(parsing: text)))
    }

    // MARK: The others

    @Test(arguments: [RoomURL.SkyRTC.Dialect.classic, .call])
    func skyRTC(_ dialect: RoomURL.SkyRTC.Dialect) {
        var bench = SkyRTCBench(dialect)
        let sdp = JSONValue.string(SkyRTCBench.description()).text
        let event = dialect == .classic ? "_offer" : "__offer"
        bench.receive(event, #"{"socketId":"p","fromID":"p","userID":"us","sdp":\#(sdp),"name":"Ann"}"#)
        #expect(bench.calls.facts.contains(.peerNamed(PeerID("p"), "Ann")))
        #expect(bench.sent.first { $0.event == .answer }?.senderName == "tapedeck")
    }

    @Test func lan() throws {
        let machine = LANRoomStateMachine(
            RoomURL.LAN(host: "0.0.0.0", isListening: true),
            isPatient: true,
            displayName: "kitchen|1"
        )
        var bench = CallBench(machine)
        bench.feed(.attempt(note: nil))
        bench.feed(.stream(.listening))
        bench.feed(.stream(.connected(peer: "192.0.2.31:50000")))
        bench.feed(LANBench.message("offer", LANBench.sdp(), more: #","name":"Ann""#))
        #expect(bench.facts.contains(.peerNamed(LANBench.peer, "Ann")))
        let names = bench.sent.compactMap { action -> String? in
            guard case .sendStream(let bytes) = action else { return nil }
            #expect(bytes.dropLast().allSatisfy { $0 != UInt8(ascii: "|") }, "the bar ends a message")
            return try? LANMessage.read(Array(bytes.dropLast())).name
        }
        #expect(names == ["kitchen|1"])
    }

    @Test func appRTC() throws {
        var room = try AppRTCBench.member(isInitiator: false)
        room.hear(Self.described("offer", AppRTCBench.sdp(), name: "Ann"))
        #expect(room.bench.facts.contains(.peerNamed(.unidentified, "Ann")))
        let sent = room.bench.sent.compactMap { action -> String? in
            if case .sendWebSocket(let message) = action { message.text } else { nil }
        }
        #expect(sent.contains { $0.contains(#"\"name\":\"tapedeck\""#) && $0.contains("answer") })
    }

    @Test func appRTCMessagesThatWaitedHaveNames() throws {
        let stored = Self.described("offer", AppRTCBench.sdp(), name: "Ann")
        let room = try AppRTCBench.member(isInitiator: false, messages: [stored])
        #expect(room.bench.facts.contains(.peerNamed(.unidentified, "Ann")))
    }

    @Test func xmpp() throws {
        var bench = try #require(XMPPBench.online())
        bench.feed(XMPPBench.chat(Self.described("offer", XMPPBench.sdp(), name: "Ann")))
        #expect(bench.facts.contains(.peerNamed(XMPPBench.peer, "Ann")))
        let bodies = XMPPBench.stanzas(bench.sent).compactMap(\.body)
        #expect(bodies.contains { $0.contains(#""name":"tapedeck""#) && $0.contains(#""type":"answer""#) })
    }
}
