// SPDX-License-Identifier: Apache-2.0

import Basics
import Signalling
import Testing

@testable import RoomServer

extension RunningServer {
    @Suite struct WebSocketTests {
        @Test func vanishedMemberIsMissed() async throws {
            try await withServer { port in
                let (ann, _) = try RawWebSocket.member(port: port, room: "r")
                let (ben, benID) = try RawWebSocket.member(port: port, room: "r")
                #expect(try ann.text() == #"42["otherjoin","r","\#(benID)"]"#)
                ben.connection.close()
                #expect(try ann.text() == #"42["bye","r","\#(benID)"]"#)
            }
        }

        @Test func silentMemberIsMissed() async throws {
            try await withServer {
                $0.pingInterval = .seconds(1)
                $0.pingTimeout = .seconds(4)
            } body: { port in
                let (ann, _) = try RawWebSocket.member(port: port, room: "r")
                let (ben, benID) = try RawWebSocket.member(port: port, room: "r")
                #expect(try ann.text() == #"42["otherjoin","r","\#(benID)"]"#)
                // Ann answers the pings while she waits; Ben reads nothing.
                #expect(try ann.text() == #"42["bye","r","\#(benID)"]"#)
                ben.connection.close()
            }
        }

        @Test func strangersReachNobody() async throws {
            try await withServer { port in
                let (ann, annID) = try RawWebSocket.member(port: port, room: "r")
                let (eve, _) = try RawWebSocket.connected(port: port)
                try eve.send(#"42["message","r",{"type":"offer"}]"#)
                try eve.send(#"42["leave","r"]"#)
                try eve.send(#"42["join","r"]"#)
                #expect(try eve.text().hasPrefix(#"42["joined","r""#))
                #expect(try ann.text().hasPrefix(#"42["otherjoin","r""#), "nothing of the stranger came before")
                #expect(try health(port: port)["ignored"]?.integer == 2)
                let (third, thirdID) = try RawWebSocket.connected(port: port)
                try third.send(#"42["join","r"]"#)
                #expect(try third.text() == #"42["full","r","\#(thirdID)",{"capacity":2}]"#)
                try eve.send(#"421["message","r",{"from":"liar","to":"\#(annID)"},"extra"]"#)
                #expect(try eve.text() == "431[]", "an acknowledgement that was asked for")
                let relayed = try ann.text()
                #expect(relayed.hasPrefix(#"42["message","r",{"from":""#))
                #expect(relayed.hasSuffix(#"","to":"\#(annID)"}]"#))
                #expect(!relayed.contains("liar"))
            }
        }

        @Test func controlFramesAndFragmentsAreUnderstood() async throws {
            try await withServer { port in
                let (ann, id) = try RawWebSocket.connected(port: port)
                let text = [UInt8](#"42["join","r"]"#.utf8)
                try ann.send(opcode: 1, [UInt8](text.prefix(3)), isFinal: false)
                try ann.send(opcode: 9, [7])
                try ann.send(opcode: 0, [UInt8](text.dropFirst(3)))
                let pong = try ann.frame()
                #expect(pong.opcode == 10)
                #expect(pong.payload == [7])
                #expect(try ann.text().hasPrefix(#"42["joined","r","\#(id)""#))
                try ann.send(opcode: 8, [3, 232])
                #expect(try ann.closeCode() == 1000)
                try ann.connection.readUntilClosed()
            }
        }

        @Test(
            arguments: [
                (1, [UInt8]("2x".utf8), true, false, 1002), (1, [0x34, 0xff, 0xfe], true, true, 1007),
                (0, [1], true, true, 1002), (3, [1], true, true, 1002), (1, [UInt8]("x".utf8), true, true, 1002),
                (1, [UInt8](repeating: 0x34, count: 1_000_001), true, true, 1009),
                (1, [UInt8]("2".utf8), true, true, 1002),
                (1, [], true, true, 1002),
            ] as [(UInt8, [UInt8], Bool, Bool, Int)]
        )
        func forbiddenFramesCloseTheConnection(
            opcode: UInt8,
            payload: [UInt8],
            isFinal: Bool,
            isMasked: Bool,
            code: Int
        ) async throws {
            try await withServer { port in
                let (ann, _) = try RawWebSocket.connected(port: port)
                try ann.send(opcode: opcode, payload, isFinal: isFinal, isMasked: isMasked)
                #expect(try ann.closeCode() == code)
                try await waitForHealth(port: port) { $0["sessions"]?.integer == 0 }
            }
        }

        /// Close frames as Autobahn sends them (cases 7.3, 7.5, 7.7 and 7.9), and what answers each.
        @Test(
            arguments: [
                ([], nil), ([3], 1002), ([3, 232], 1000), ([3, 232] + [UInt8](repeating: 0x78, count: 123), 1000),
                ([3, 232, 0xCE, 0xBA, 0xE1, 0xBD], 1007), ([3, 232, 0xFF], 1007),
                ([0, 0], 1002), ([3, 231], 1002), ([3, 236], 1002), ([3, 237], 1002), ([3, 238], 1002),
                ([3, 247], 1002), ([3, 248], 1002), ([4, 76], 1002), ([7, 208], 1002), ([11, 183], 1002),
                ([0x13, 0x88], 1002), ([0xFF, 0xFF], 1002), ([0, 0, 0xFF], 1002),
                ([3, 235], 1003), ([3, 239], 1007), ([3, 246], 1014), ([11, 184], 3000), ([19, 135], 4999),
            ] as [([UInt8], Int?)]
        )
        func closeFramesAreAnsweredWithACodeThatMayBeSent(payload: [UInt8], code: Int?) async throws {
            try await withServer { port in
                let (ann, _) = try RawWebSocket.connected(port: port)
                try ann.send(opcode: 8, payload)
                let answer = try ann.frame()
                let expected = code.map { [UInt8($0 >> 8), UInt8($0 & 0xFF)] } ?? []
                #expect(answer.opcode == 8 && answer.payload == expected)
                try ann.connection.readUntilClosed()
            }
        }

        @Test func endlessFragmentsCloseTheConnection() async throws {
            try await withServer { port in
                let (ann, _) = try RawWebSocket.connected(port: port)
                try ann.send(opcode: 1, [0x34], isFinal: false)
                for _ in 0..<1024 { try ann.send(opcode: 0, [0x34], isFinal: false) }
                #expect(try ann.closeCode() == 1009)
            }
        }

        @Test func eventsThatMeanNothingAreCountedAndSurvived() async throws {
            try await withServer { port in
                let (ann, id) = try RawWebSocket.connected(port: port)
                let strange = [
                    #"42["join"]"#, #"42["join",{}]"#, #"42["nonsense","r"]"#, #"42["message","r"]"#, "43", "43[]",
                    #"42["join","\#(String(repeating: "r", count: 200))"]"#,
                    #"451-["x",{"_placeholder":true}]"#,
                ]
                for text in strange { try ann.send(text) }
                try ann.send(opcode: 2, [1, 2, 3])
                try ann.send(#"452-7["x",{"_placeholder":true,"num":0},{"_placeholder":true,"num":1}]"#)
                for _ in 0..<2 { try ann.send(opcode: 2, [1]) }
                #expect(try ann.text() == "437[]", "a binary event is acknowledged with its last attachment")
                try ann.send(#"42["join","r"]"#)
                #expect(try ann.text().hasPrefix(#"42["joined","r","\#(id)""#))
                #expect(try health(port: port)["ignored"]?.integer == strange.count + 4)
            }
        }

        /// Socket.IO 4 closes the connection for each of them.
        @Test(
            arguments: [
                "4", "49", "4abc", "42", "42[]", "42{}", "42[1]", #"42abc["join","r"]"#, "44", "40",
                #"42/x,["join","r"]"#, "4" + String(repeating: "[", count: 1000),
                #"451-["x",{"_placeholder":true}]"#, "",
            ]
        )
        func invalidPacketsCloseTheConnection(text: String) async throws {
            try await withServer { port in
                let (ann, _) = try RawWebSocket.connected(port: port)
                if text.isEmpty { try ann.send(opcode: 2, [1, 2, 3]) } else { try ann.send(text) }
                // An attachment is awaited.
                if text.hasPrefix("451-") { try ann.send(#"42["join","r"]"#) }
                #expect(try ann.closeCode() == 1000)
                try await waitForHealth(port: port) { $0["sessions"]?.integer == 0 && $0["ignored"]?.integer ?? 0 > 0 }
            }
        }

        @Test func secondUpgradeIsRefused() async throws {
            try await withServer { port in
                let connection = try RawConnection(port: port)
                let id = try HTTPTests.handshake(connection)
                let query = "EIO=4&transport=websocket&sid=\(id)"
                let socket = try RawWebSocket(port: port, query: query)
                try socket.send("2probe")
                #expect(try socket.text() == "3probe")
                let second = try RawWebSocket(port: port, query: query)
                #expect(try second.closeCode() == 1000)
                try socket.send("5")
                try socket.send("40")
                #expect(try socket.text().hasPrefix("40{"))
            }
        }

        @Test func upgradeWorksOnAConnectionThatPolled() async throws {
            try await withServer { port in
                let connection = try RawConnection(port: port)
                let id = try HTTPTests.handshake(connection)
                try connection.request(
                    "GET /socket.io/?transport=websocket&sid=\(id)",
                    headers: RawWebSocket.upgradeHeaders
                )
                let response = try connection.response()
                #expect(response.status == 101)
                #expect(response.headers["sec-websocket-accept"] == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
            }
        }

        @Test func slowConsumerIsDropped() async throws {
            try await withServer {
                $0.maximumUnsentBytes = 1_000_000
            } body: { port in
                let (ann, _) = try RawWebSocket.member(port: port, room: "r")
                let (ben, benID) = try RawWebSocket.member(port: port, room: "r")
                _ = try ann.text()
                let filler = String(repeating: "x", count: 900_000)
                let bye = #"42["bye","r","\#(benID)"]"#
                var answer = ""
                // At most far more than the kernel holds for two ends of a connection.
                for _ in 0..<60 where answer != bye {
                    try ann.send(#"421["message","r",{"filler":"\#(filler)"}]"#)
                    answer = try ann.text()
                }
                #expect(answer == bye)
                ben.connection.close()
            }
        }
    }
}
