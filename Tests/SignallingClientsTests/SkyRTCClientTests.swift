// SPDX-License-Identifier: Apache-2.0

import Foundation
import Signalling
import Testing

extension AllSignallingClients {
    /// The client against a foreign SkyRTC server.
    @Suite struct SkyRTCClientTests {
        private static let persistent = JoinPolicy(
            connectTimeout: .seconds(5),
            attempts: nil,
            attemptInterval: .milliseconds(50),
            waitsWhenFull: true
        )
        private static let candidate = ICECandidate(
            line: "candidate:1 1 udp 2130706431 192.0.2.7 50000 typ host",
            mLineIndex: 0,
            mid: "audio"
        )

        private static func server(_ dialect: String, port: Int = 0) throws -> PythonRoomServer {
            try PythonRoomServer(script: "skyrtc_server.py", environment: "peers", ["--dialect", dialect], port: port)
        }

        private static func room(_ server: PythonRoomServer) -> RoomURL.SkyRTC {
            RoomURL.SkyRTC(isSecure: false, host: "127.0.0.1", port: server.port, path: "/wss", name: "客厅😀 1")
        }

        @Test(.timeLimit(.minutes(5)))
        func newcomersOfferAndLeavingIsTheEndOfTheWebSocket() async throws {
            let server = try Self.server("classic")
            defer { server.stop() }
            var a = RunningClient(Self.room(server))
            let aID = try #require(await a.joined())
            var b = RunningClient(Self.room(server))
            let bID = try #require(await b.joined())
            #expect(await b.next() == .peerArrived(aID))
            let long = "v=0\r\n" + String(repeating: "a=long:ü\r\n", count: 5000)
            b.client.send(.offer(to: aID, sdp: long))
            for _ in 0..<40 { b.client.send(.candidate(to: aID, Self.candidate)) }
            #expect(await a.next() == .offerReceived(from: bID, sdp: long))
            // The server drops the candidate's mid.
            var received = Self.candidate
            received.mid = nil
            for _ in 0..<40 { #expect(await a.next() == .candidateReceived(from: bID, received)) }
            a.client.send(.answer(to: bID, sdp: "v=0\r\nanswer"))
            #expect(await b.next() == .answerReceived(from: aID, sdp: "v=0\r\nanswer"))
            #expect(await b.leave() == nil)
            #expect(await a.next() == .peerLeft(bID))
            #expect(await a.leave() == nil)
        }

        @Test(.timeLimit(.minutes(5)))
        func aResetMakesUsANewcomer() async throws {
            let server = try Self.server("classic")
            defer { server.stop() }
            var a = RunningClient(Self.room(server))
            let aID = try #require(await a.joined())
            var b = RunningClient(Self.room(server))
            let bID = try #require(await b.joined())
            #expect(await b.next() == .peerArrived(aID))
            b.client.send(.resetCall(aID))
            #expect(await b.next() == .peerLeft(aID))
            let newID = try #require(await b.joined())
            #expect(newID != bID)
            #expect(await b.next() == .peerArrived(aID))
            #expect(await a.next() == .peerLeft(bID))
            #expect(await a.leave() == nil)
            #expect(await b.next() == .peerLeft(aID))
            #expect(await b.leave() == nil)
        }

        @Test(.timeLimit(.minutes(5)), arguments: ["classic", "call"])
        func aRestartOfTheServerIsSurvived(dialect: String) async throws {
            let server = try Self.server(dialect)
            var address = Self.room(server)
            if dialect == "call" {
                (address.dialect, address.path, address.createdSize) = (.call, "/ws", 4)
            }
            var client = RunningClient(address, policy: Self.persistent)
            _ = try #require(await client.joined())
            server.stop()
            guard case .signallingLost = await client.next() else {
                Issue.record("the loss was not told")
                return
            }
            let second = try Self.server(dialect, port: server.port)
            defer { second.stop() }
            while let event = await client.next() {
                if case .joined = event { break }
                guard case .joinFailed = event else {
                    Issue.record("\(event)")
                    break
                }
            }
            #expect(await client.leave() == nil)
        }

        @Test(.timeLimit(.minutes(5)))
        func usersOfTheCallDialectMeet() async throws {
            let server = try Self.server("call")
            defer { server.stop() }
            var address = Self.room(server)
            (address.dialect, address.path, address.createdSize, address.user) = (.call, "/ws", 4, "a")
            var a = RunningClient(address)
            #expect(await a.joined() == PeerID("a"))
            // The second one looks the room up.
            (address.createdSize, address.user) = (nil, "b")
            var b = RunningClient(address)
            #expect(await b.joined() == PeerID("b"))
            #expect(await a.next() == .peerArrived(PeerID("b")))
            a.client.send(.offer(to: PeerID("b"), sdp: "v=0"))
            a.client.send(.candidate(to: PeerID("b"), Self.candidate))
            #expect(await b.next() == .offerReceived(from: PeerID("a"), sdp: "v=0"))
            #expect(await b.next() == .candidateReceived(from: PeerID("a"), Self.candidate))
            b.client.send(.answer(to: PeerID("a"), sdp: "v=0"))
            #expect(await a.next() == .answerReceived(from: PeerID("b"), sdp: "v=0"))
            #expect(await a.leave() == nil)
            #expect(await b.next() == .peerLeft(PeerID("a")))
            #expect(await b.leave() == nil)
        }
    }
}
