// SPDX-License-Identifier: Apache-2.0

import Foundation
import Signalling
import SignallingClients
import Testing

extension AllSignallingClients {
    /// The client against real python-socketio servers.
    @Suite struct SocketIOClientServerTests {
        typealias Transport = EngineIOSessionStateMachine.Transport

        static let candidate = ICECandidate(
            line: "candidate:1 1 udp 2130706431 192.0.2.7 50000 typ host",
            mLineIndex: 0,
            mid: "audio"
        )

        static func configuration(
            _ server: PythonRoomServer,
            transport: Transport = .automatic,
            version: EngineIOVersion? = nil,
            room: String = "123123"
        ) -> SocketIOClient.Configuration {
            SocketIOClient.Configuration(
                host: "127.0.0.1",
                port: server.port,
                isSecure: false,
                room: room,
                transport: transport,
                version: version
            )
        }

        @Test(
            arguments: PythonRoomServer.Kind.allCases,
            [Transport.automatic, .polling, .webSocket]
        )
        func talks(_ kind: PythonRoomServer.Kind, _ transport: Transport) async throws {
            let server = try PythonRoomServer(kind)
            defer { server.stop() }
            let room = "客厅😀 1"
            var a = RunningClient(Self.configuration(server, transport: transport, room: room))
            let aID = try #require(await a.joined())
            var b = RunningClient(Self.configuration(server, transport: transport, room: room))
            let bID = try #require(await b.joined())
            #expect(aID != bID)

            let arrival = await a.next()
            #expect(arrival == .peerArrived(bID))
            // python-engineio 4.15 on aiohttp cuts off a POST that does not come in one piece, and says 200 to it.
            let sdp = Self.description(lines: 400)
            a.client.send(.offer(to: bID, sdp: sdp))
            a.client.send(.candidate(to: bID, Self.candidate))
            // In variables: only then does a failure say what came.
            let offer = await b.next()
            #expect(offer == .offerReceived(from: aID, sdp: sdp))
            let trickled = await b.next()
            #expect(trickled == .candidateReceived(from: aID, Self.candidate))
            b.client.send(.answer(to: aID, sdp: "v=0\r\nanswer"))
            for _ in 0..<40 { b.client.send(.candidate(to: aID, Self.candidate)) }
            let answer = await a.next()
            #expect(answer == .answerReceived(from: bID, sdp: "v=0\r\nanswer"))
            for _ in 0..<40 { #expect(await a.next() == .candidateReceived(from: bID, Self.candidate)) }

            #expect(await b.leave() == nil)
            #expect(await b.next() == .left)
            #expect(await b.next() == nil)
            #expect(await a.next() == .peerLeft(bID))
            #expect(await a.leave() == nil)
        }

        @Test(
            arguments: PythonRoomServer.Kind.allCases,
            [Transport.polling, .webSocket]
        )
        func takesLongDescriptions(_ kind: PythonRoomServer.Kind, _ transport: Transport) async throws {
            let server = try PythonRoomServer(kind)
            defer { server.stop() }
            var a = RunningClient(Self.configuration(server, transport: .webSocket))
            let aID = try #require(await a.joined())
            var b = RunningClient(Self.configuration(server, transport: transport))
            let bID = try #require(await b.joined())
            #expect(await a.next() == .peerArrived(bID))
            let sdp = Self.description(lines: 5000)
            a.client.send(.offer(to: bID, sdp: sdp))
            let offer = await b.next()
            #expect(offer == .offerReceived(from: aID, sdp: sdp))
            #expect(await b.leave() == nil)
            #expect(await a.leave() == nil)
        }

        /// About eleven bytes a line, one of them outside of ASCII.
        private static func description(lines: Int) -> String {
            "v=0\r\n" + String(repeating: "a=long:ü\r\n", count: lines)
        }

        /// Both servers and both transports at once: all of them only wait.
        @Test func livesThroughHeartbeats() async throws {
            let servers = try PythonRoomServer.Kind.allCases.map { kind in
                try PythonRoomServer(kind, ["--ping-interval", "1", "--ping-timeout", "4"])
            }
            defer { for server in servers { server.stop() } }
            try await withThrowingDiscardingTaskGroup { group in
                for server in servers {
                    for transport in [Transport.polling, .webSocket] {
                        group.addTask { try await Self.stay(on: server, transport) }
                    }
                }
            }
        }

        /// Stays longer than a server forgives silence: for 5 s on Engine.IO 4, for 6 s on Engine.IO 3.
        private static func stay(on server: PythonRoomServer, _ transport: Transport) async throws {
            let configuration = Self.configuration(server, transport: transport, room: "\(transport)")
            var a = RunningClient(configuration)
            _ = try #require(await a.joined())
            try await Task.sleep(for: .seconds(7))
            var b = RunningClient(configuration)
            let bID = try #require(await b.joined())
            // The server looks at what it has heard of a member before it sends to it.
            #expect(await a.next() == .peerArrived(bID))
            #expect(await b.leave() == nil)
            #expect(await a.leave() == nil)
        }

        @Test(arguments: PythonRoomServer.Kind.allCases)
        func cancelledRunLeaves(_ kind: PythonRoomServer.Kind) async throws {
            let server = try PythonRoomServer(kind)
            defer { server.stop() }
            var a = RunningClient(Self.configuration(server))
            _ = try #require(await a.joined())
            var b = RunningClient(Self.configuration(server))
            let bID = try #require(await b.joined())
            #expect(await a.next() == .peerArrived(bID))
            b.run.cancel()
            #expect(await b.run.value == nil)
            #expect(await a.next() == .peerLeft(bID))
            #expect(await a.leave() == nil)
        }

        @Test(arguments: PythonRoomServer.Kind.allCases)
        func fullIsAnErrorForOneShot(_ kind: PythonRoomServer.Kind) async throws {
            let server = try PythonRoomServer(kind, ["--capacity", "1"])
            defer { server.stop() }
            var a = RunningClient(Self.configuration(server))
            _ = try #require(await a.joined())
            var b = RunningClient(Self.configuration(server))
            #expect(await b.next() == .full)
            let error = await b.run.value
            #expect(error?.code == .full)
            #expect(error?.message == "The room on 127.0.0.1:\(server.port) is full.")
            #expect(await a.leave() == nil)
        }

        @Test(arguments: PythonRoomServer.Kind.allCases)
        func resetsCalls(_ kind: PythonRoomServer.Kind) async throws {
            let server = try PythonRoomServer(kind)
            defer { server.stop() }
            var a = RunningClient(Self.configuration(server))
            let aID = try #require(await a.joined())
            var b = RunningClient(Self.configuration(server))
            let bID = try #require(await b.joined())
            #expect(await a.next() == .peerArrived(bID))
            a.client.send(.offer(to: bID, sdp: "v=0"))
            #expect(await b.next() == .offerReceived(from: aID, sdp: "v=0"))
            a.client.send(.resetCall(bID))
            #expect(await a.next() == .peerLeft(bID))
            #expect(await b.next() == .peerLeft(aID))
            #expect(await a.joined() == aID)
            #expect(await b.next() == .peerArrived(aID))
            #expect(await a.leave() == nil)
            #expect(await b.leave() == nil)
        }

        @Test(arguments: PythonRoomServer.Kind.allCases)
        func rejoinsAfterServerRestart(_ kind: PythonRoomServer.Kind) async throws {
            let server = try PythonRoomServer(kind)
            var a = RunningClient(Self.configuration(server), policy: .persistent)
            _ = try #require(await a.joined())
            server.stop()
            guard case .signallingLost = await a.next() else {
                Issue.record("The loss was not reported")
                return
            }
            let second = try PythonRoomServer(kind, port: server.port)
            defer { second.stop() }
            _ = try #require(await a.joined())
            #expect(await a.leave() == nil)
        }

        /// A client that was joined reports that its attempts are spent, and comes back all the same.
        @Test func comesBackWhenItsAttemptsAreSpent() async throws {
            let server = try PythonRoomServer(.engineIO4)
            let policy = JoinPolicy(
                connectTimeout: .seconds(20),
                attempts: 3,
                attemptInterval: .milliseconds(10),
                waitsWhenFull: false
            )
            var a = RunningClient(Self.configuration(server), policy: policy)
            _ = try #require(await a.joined())
            server.stop()
            var spent: SignallingError?
            while spent == nil, let event = await a.next() {
                if case .attemptsSpent(let error) = event { spent = error }
            }
            #expect(spent?.code == .unreachable)
            #expect(spent?.message.hasSuffix(" Gave up after 3 attempts.") == true)
            let second = try PythonRoomServer(.engineIO4, port: server.port)
            defer { second.stop() }
            _ = try #require(await a.joined())
            #expect(await a.leave() == nil)
        }

        @Test(
            arguments: PythonRoomServer.Kind.allCases,
            ["three-arguments", "echo", "broadcast-joined", "otherjoin-room-only", "renamed", "greeting"]
        )
        func survivesVariants(_ kind: PythonRoomServer.Kind, _ variant: String) async throws {
            let server = try PythonRoomServer(kind, ["--variant", variant])
            defer { server.stop() }
            var a = RunningClient(Self.configuration(server))
            let aID = try #require(await a.joined())
            var b = RunningClient(Self.configuration(server))
            let bID = try #require(await b.joined())
            let known = variant == "otherjoin-room-only" ? PeerID.unidentified : bID
            #expect(await a.next() == .peerArrived(known))
            a.client.send(.offer(to: known, sdp: "v=0\r\noffer"))
            #expect(await b.next() == .offerReceived(from: aID, sdp: "v=0\r\noffer"))
            b.client.send(.answer(to: aID, sdp: "v=0\r\nanswer"))
            #expect(await a.next() == .answerReceived(from: known, sdp: "v=0\r\nanswer"))
            #expect(await b.leave() == nil)
            #expect(await a.next() == .peerLeft(known))
            #expect(await a.leave() == nil)
        }

        @Test(arguments: PythonRoomServer.Kind.allCases)
        func stopsAfterFiveAttempts(_ kind: PythonRoomServer.Kind) async throws {
            let server = try PythonRoomServer(kind)
            let configuration = Self.configuration(server)
            server.stop()
            let policy = JoinPolicy(
                connectTimeout: .seconds(20),
                attempts: 5,
                attemptInterval: .milliseconds(10),
                waitsWhenFull: false
            )
            let a = RunningClient(configuration, policy: policy)
            let error = await a.run.value
            #expect(error?.code == .unreachable)
            #expect(
                error?.message == "The server at 127.0.0.1:\(server.port) refused the connection: check that it runs "
                    + "and the port. Gave up after 5 attempts."
            )
        }

        @Test(arguments: PythonRoomServer.Kind.allCases)
        func wrongTransportIsRefused(_ kind: PythonRoomServer.Kind) async throws {
            let server = try PythonRoomServer(kind, ["--polling-only"])
            defer { server.stop() }
            let a = RunningClient(Self.configuration(server, transport: .webSocket))
            #expect(await a.run.value?.code == .refused)
            var b = RunningClient(Self.configuration(server))
            _ = try #require(await b.joined())
            #expect(await b.leave() == nil)
        }

        @Test(
            arguments: PythonRoomServer.Kind.allCases,
            Transport.allCases
        )
        func takesTheVersionAskedFor(
            _ kind: PythonRoomServer.Kind,
            _ transport: Transport
        ) async throws {
            let version: EngineIOVersion = kind == .engineIO3 ? .three : .four
            let server = try PythonRoomServer(kind)
            defer { server.stop() }
            var a = RunningClient(Self.configuration(server, transport: transport, version: version))
            _ = try #require(await a.joined())
            #expect(await a.leave() == nil)
        }

        @Test(arguments: Transport.allCases)
        func wrongVersionIsRefused(_ transport: Transport) async throws {
            let server = try PythonRoomServer(.engineIO4)
            defer { server.stop() }
            let a = RunningClient(Self.configuration(server, transport: transport, version: .three))
            let error = await a.run.value
            #expect(error?.code == .refused)
            #expect(error?.message.contains("eio=3 or eio=4") == true)
        }

        @Test func persistentRunWaitsForAFullRoom() async throws {
            let server = try PythonRoomServer(.engineIO4, ["--capacity", "1"])
            defer { server.stop() }
            var a = RunningClient(Self.configuration(server))
            _ = try #require(await a.joined())
            var policy = JoinPolicy.persistent
            policy.fullWait = .seconds(1)
            var b = RunningClient(Self.configuration(server), policy: policy)
            #expect(await b.next() == .full)
            #expect(await a.leave() == nil)
            var event = await b.next()
            while event == .full { event = await b.next() }
            guard case .joined = event else {
                Issue.record("\(event.map { "\($0)" } ?? "the end") instead of joined")
                return
            }
            #expect(await b.leave() == nil)
        }

        /// Many more than event loops that others may start in that time.
        private static let connects = ProcessInfo.processInfo.environment["TAPEDECK_TEST_ALL"] == "1" ? 200 : 60

        @Test(arguments: PythonRoomServer.Kind.allCases)
        func leavesNoDescriptors(_ kind: PythonRoomServer.Kind) async throws {
            let server = try PythonRoomServer(kind)
            defer { server.stop() }
            func connect(_ transport: Transport) async throws {
                var client = RunningClient(Self.configuration(server, transport: transport))
                _ = try #require(await client.joined())
                #expect(try OpenDescriptors.connectionCount(to: server.port) > 0)
                #expect(await client.leave() == nil)
            }
            for transport in Transport.allCases { try await connect(transport) }
            let loops = try OpenDescriptors.eventLoopCount()
            #expect(loops > 0)
            for index in 0..<Self.connects { try await connect(Transport.allCases[index % 3]) }
            // Those that are still closing, and those that the HTTP client keeps for the next request (decision 77).
            let deadline = ContinuousClock.now + .seconds(60)
            while try OpenDescriptors.connectionCount(to: server.port) > 8, ContinuousClock.now < deadline {
                try await Task.sleep(for: .milliseconds(10))
            }
            #expect(try OpenDescriptors.connectionCount(to: server.port) <= 8)
            // Other suites may have a few of their loops in that time.
            #expect(try OpenDescriptors.eventLoopCount() < loops + 10)
        }
    }
}
