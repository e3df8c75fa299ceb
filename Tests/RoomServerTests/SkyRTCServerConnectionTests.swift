// SPDX-License-Identifier: Apache-2.0

import Basics
import Signalling
import Testing

@testable import RoomServer

@Suite struct SkyRTCServerConnectionTests {
    private typealias Action = SkyRTCServerConnection.Action

    private func receive(_ connection: inout SkyRTCServerConnection, _ name: String, _ data: String) -> [Action] {
        connection.received(.text(#"{"eventName":"\#(name)","data":\#(data)}"#))
    }

    private func texts(_ actions: [Action]) -> [String] {
        actions.compactMap { if case .send(let message) = $0 { message.text } else { nil } }
    }

    @Test(arguments: [
        (#"{"room":"r"}"#, "r"), (#"{"room":7}"#, "7"), (#"{"room":""}"#, "__default"), ("{}", "__default"),
        ("null", "__default"),
    ])
    func joinsOneRoom(data: String, name: String) throws {
        let room = try #require(RoomName(name))
        var connection = SkyRTCServerConnection(socketID: PeerID("s"))
        let hasJoinedBefore = connection.hasJoined
        #expect(!hasJoinedBefore)
        #expect(self.receive(&connection, "__join", data) == [.request(.join(room))])
        let hasJoined = connection.hasJoined
        #expect(hasJoined)
        #expect(self.receive(&connection, "__join", data) == [.request(.join(room))], "it begins anew")
        #expect(self.receive(&connection, "__join", #"{"room":"another"}"#) == [.ignore(.secondRoom)])
        let answer = connection.told(.sendJoined(to: PeerID("s"), room: room, peers: [PeerID("p")]), data: nil)
        #expect(self.texts(answer) == [#"{"data":{"connections":["p"],"you":"s"},"eventName":"_peers"}"#])
    }

    @Test func saysWhatHappensInItsWords() throws {
        let room = try #require(RoomName("r"))
        let (own, peer) = (PeerID("s"), PeerID("p"))
        var connection = SkyRTCServerConnection(socketID: own)
        _ = self.receive(&connection, "__join", #"{"room":"r"}"#)
        let newPeer = #"{"data":{"socketId":"p"},"eventName":"_new_peer"}"#
        let removePeer = #"{"data":{"socketId":"p"},"eventName":"_remove_peer"}"#
        let arrival = RoomDirective.sendOtherJoined(to: [own], room: room, newcomer: peer)
        #expect(self.texts(connection.told(arrival, data: nil)) == [newPeer])
        #expect(self.texts(connection.told(arrival, data: nil)) == [removePeer, newPeer], "it begins anew")
        let data = try JSONValue(parsing: #"{"type":"answer","sdp":"v=0","from":"liar"}"#)
        let relay = RoomDirective.relay(to: [own], room: room, sender: peer)
        #expect(
            self.texts(connection.told(relay, data: data))
                == [#"{"data":{"sdp":{"sdp":"v=0","type":"answer"},"socketId":"p"},"eventName":"_answer"}"#]
        )
        let recorder = try JSONValue(parsing: #"{"type":"answer","sdp":"v=0","name":"Recording","recorder":true}"#)
        let translated = self.texts(connection.told(relay, data: recorder)).first ?? ""
        #expect(translated.contains(#""name":"Recording","recorder":true"#), "\(translated)")
        #expect(connection.told(relay, data: .object(["type": "dance"])) == [.ignore(.unspeakableMessage)])
        #expect(
            self.texts(connection.told(.sendBye(to: [own], room: room, leaver: peer), data: nil)) == [removePeer]
        )
        #expect(connection.told(.sendFull(to: own, room: room), data: nil) == [.closeFull])
        #expect(connection.told(arrival, data: nil).isEmpty)
        #expect(self.receive(&connection, "__join", "{}").isEmpty)
    }

    @Test func messagesAreForMembersOfItsRoom() throws {
        let room = try #require(RoomName("r"))
        var connection = SkyRTCServerConnection(socketID: PeerID("s"))
        let offer = #"{"socketId":"p","sdp":{"type":"offer","sdp":"v=0"}}"#
        #expect(self.receive(&connection, "__offer", offer) == [.ignore(.messageBeforeJoin)])
        _ = self.receive(&connection, "__join", #"{"room":"r"}"#)
        let data = JSONValue.object(["type": "offer", "sdp": "v=0", "to": "p"])
        #expect(
            self.receive(&connection, "__offer", offer)
                == [.request(.message(room, data: data, addressee: PeerID("p")))]
        )
        for (name, data) in [
            ("__offer", #"{"sdp":"v=0"}"#), ("__offer", #"{"socketId":"p"}"#), ("__answer", "null"),
            ("__ice_candidate", #"{"socketId":"p","candidate":"rubbish","label":0}"#),
            ("__ice_candidate", #"{"socketId":"p","candidate":"","label":0}"#),
        ] {
            #expect(self.receive(&connection, name, data) == [.ignore(.incompleteMessage)], "\(name) \(data)")
        }
        connection.ended()
        #expect(self.receive(&connection, "__offer", offer).isEmpty)
    }

    @Test func namesGoBothWaysBetweenTheDialects() throws {
        let room = try #require(RoomName("r"))
        var connection = SkyRTCServerConnection(socketID: PeerID("s"))
        _ = self.receive(&connection, "__join", #"{"room":"r"}"#)
        let data = JSONValue.object(["type": "answer", "sdp": "v=0", "to": "p", "name": "Ann"])
        #expect(
            self.receive(&connection, "__answer", #"{"socketId":"p","sdp":"v=0","name":"Ann"}"#)
                == [.request(.message(room, data: data, addressee: PeerID("p")))]
        )
        let told = connection.told(.relay(to: [PeerID("s")], room: room, sender: PeerID("p")), data: data)
        guard case .send(let message) = told.first else {
            Issue.record("nothing was sent: \(told)")
            return
        }
        #expect(try SkyRTCMessage(message).senderName == "Ann")
    }

    @Test func restIsCountedOnly() {
        var connection = SkyRTCServerConnection(socketID: PeerID("s"))
        #expect(connection.received(.text("{")) == [.ignore(.unreadableMessage)])
        #expect(connection.received(.binary([0xff])) == [.ignore(.unreadableMessage)])
        #expect(self.receive(&connection, "__dance", "{}") == [.ignore(.unreadableMessage)])
        #expect(self.receive(&connection, "__invite", "{}") == [.ignore(.uselessEvent)])
        let name = String(repeating: "x", count: 200)
        #expect(self.receive(&connection, "__join", #"{"room":"\#(name)"}"#) == [.ignore(.invalidRoomName)])
    }
}
