// SPDX-License-Identifier: Apache-2.0

import Basics
import Signalling
import Testing

@testable import RoomServer

extension RunningServer {
    @Suite struct SkyRTCTests {
        private static func next(_ socket: RawWebSocket) throws -> SkyRTCMessage {
            try SkyRTCMessage(.text(try socket.text()))
        }

        @Test(arguments: ["/", "/wss", "/any/path?room=x", "/healthz"])
        func everyOtherPathIsSkyRTC(target: String) async throws {
            try await withServer { port in
                let socket = try RawWebSocket(port: port, target: target)
                try socket.send(opcode: 2, [UInt8]("{\n \"eventName\" : \"__join\"\n}".utf8))
                let peers = try Self.next(socket)
                #expect(peers.event == .peers)
                #expect(peers.connections.isEmpty)
                #expect(try health(port: port)["members"]?.integer == 1)
            }
        }

        @Test func dialectsMeetAndSomebodyVanishes() async throws {
            try await withServer(capacity: 3) { port in
                let (ann, annID) = try RawWebSocket.member(port: port, room: "r")
                let (sky, skyID, peers) = try RawWebSocket.skyRTC(port: port, room: "r")
                #expect(peers.connections.isEmpty, "nobody for it to offer to")
                #expect(try Self.next(sky) == SkyRTCMessage(.newPeer, .object(["socketId": .string(annID)])))
                #expect(try ann.text() == #"42["otherjoin","r","\#(skyID)"]"#)

                try ann.send(#"42["message","r",{"type":"offer","sdp":"v=0","to":"\#(skyID)"}]"#)
                let offer = try Self.next(sky)
                #expect(offer.event == .offer)
                #expect(offer.peer("socketId") == PeerID(annID))
                #expect(try offer.content() == .offer(sdp: "v=0"))
                try sky.send(
                    #"{"eventName":"__answer","data":{"socketId":"\#(annID)","sdp":{"type":"answer","sdp":"a"}}}"#
                )
                #expect(
                    try ann.text()
                        == #"42["message","r",{"from":"\#(skyID)","sdp":"a","to":"\#(annID)","type":"answer"}]"#
                )

                let (ben, benID) = try RawWebSocket.connected(port: port)
                try ben.send(#"42["join","r"]"#)
                #expect(try ben.text().contains(#""peers":["\#(annID)"]"#), "the other one waits for its offer")
                #expect(try ben.text() == #"42["otherjoin","r","\#(skyID)"]"#)
                #expect(try Self.next(sky).peer("socketId") == PeerID(benID))
                #expect(try ann.text() == #"42["otherjoin","r","\#(benID)"]"#)

                sky.connection.close()
                #expect(try ann.text() == #"42["bye","r","\#(skyID)"]"#)
                #expect(try ben.text() == #"42["bye","r","\#(skyID)"]"#)
                let (late, lateID, list) = try RawWebSocket.skyRTC(port: port, room: "r")
                #expect(list.connections.isEmpty && !lateID.isEmpty)
                ben.connection.close()
                #expect(try [Self.next(late), Self.next(late)].map(\.event) == [.newPeer, .newPeer])
                #expect(try Self.next(late).event == .removePeer)
            }
        }

        @Test func aFullRoomClosesTheWebSocket() async throws {
            try await withServer { port in
                let (first, firstID, _) = try RawWebSocket.skyRTC(port: port, room: "r")
                let (second, secondID, peers) = try RawWebSocket.skyRTC(port: port, room: "r")
                #expect(peers.connections == [PeerID(firstID)])
                #expect(try Self.next(first).peer("socketId") == PeerID(secondID))
                let third = try RawWebSocket(port: port, target: "/wss")
                try third.send(#"{"eventName":"__join","data":{"room":"r"}}"#)
                #expect(try third.closeCode() == 1013)
                try await waitForHealth(port: port) { $0["sessions"]?.integer == 2 }
                second.connection.close()
                #expect(try Self.next(first).event == .removePeer)
            }
        }

        @Test func badMessagesAreCountedAndStrangersReachNobody() async throws {
            try await withServer { port in
                let (ann, annID, _) = try RawWebSocket.skyRTC(port: port, room: "r")
                let eve = try RawWebSocket(port: port, target: "/wss")
                try eve.send("{\"eventName\"")
                try eve.send(#"{"eventName":"__offer","data":{"socketId":"\#(annID)","sdp":"v=0"}}"#)
                try eve.send(#"{"eventName":"__join","data":{"room":"elsewhere"}}"#)
                #expect(try Self.next(eve).event == .peers)
                try eve.send(#"{"eventName":"__offer","data":{"socketId":"\#(annID)","sdp":"v=0"}}"#)
                try await waitForHealth(port: port) { $0["ignored"]?.integer == 3 }
                eve.connection.close()
                try await waitForHealth(port: port) { $0["sessions"]?.integer == 1 }
                try ann.send(opcode: 1, [0xff])
                #expect(try ann.closeCode() == 1007, "nothing came to it before")
            }
        }

        @Test func silentClientsAreMissed() async throws {
            try await withServer {
                $0.pingInterval = .milliseconds(200)
                $0.pingTimeout = .milliseconds(200)
            } body: { port in
                let (ann, _) = try RawWebSocket.member(port: port, room: "r")
                let (sky, skyID, _) = try RawWebSocket.skyRTC(port: port, room: "r")
                #expect(try ann.text() == #"42["otherjoin","r","\#(skyID)"]"#)
                // Ann answers the pings while she waits; the other one reads nothing.
                #expect(try ann.text() == #"42["bye","r","\#(skyID)"]"#)
                sky.connection.close()
            }
        }

        @Test func sessionsAreLimitedTogether() async throws {
            try await withServer {
                $0.maximumSockets = 1
            } body: { port in
                let first = try RawWebSocket(port: port, target: "/wss")
                #expect(throws: RawConnection.Failure.self) { try RawWebSocket(port: port, target: "/wss") }
                #expect(throws: RawConnection.Failure.self) { try RawWebSocket(port: port) }
                first.connection.close()
                try await waitForHealth(port: port) { $0["sessions"]?.integer == 0 }
                _ = try RawWebSocket(port: port)
            }
        }
    }
}
