// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOPosix
import Signalling
import SignallingClients
import Testing

extension AllSignallingClients {
    /// Bare TCP on loopback: our two sides, and peers that do everything wrong.
    @Suite struct LANClientTests {
        private static let persistent = JoinPolicy(
            connectTimeout: .seconds(5),
            attempts: nil,
            attemptInterval: .milliseconds(10),
            waitsWhenFull: true
        )

        private struct Failure: Error {}

        /// A port that is free at present.
        private static func freePort() async throws -> Int {
            let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .bind(host: "127.0.0.1", port: 0).get()
            let port = channel.localAddress?.port
            try await channel.close()
            guard let port else { throw Failure() }
            return port
        }

        private static func listener(_ port: Int) -> RunningClient {
            RunningClient(RoomURL.LAN(host: "127.0.0.1", port: port, isListening: true), policy: persistent)
        }

        private static func dial(_ port: Int, bytes: String) async throws -> any Channel {
            let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .connect(host: "127.0.0.1", port: port).get()
            try await channel.writeAndFlush(ByteBuffer(string: bytes))
            return channel
        }

        private static func offer(_ event: RoomEvent?) -> (peer: PeerID, sdp: String)? {
            guard case .offerReceived(let peer, let sdp) = event else { return nil }
            return (peer, sdp)
        }

        @Test(.timeLimit(.minutes(5))) func twoCallsOneAfterTheOther() async throws {
            let port = try await Self.freePort()
            var listener = Self.listener(port)
            #expect(await listener.next() == .joined(ownID: nil))
            for call in 1...2 {
                var dialler = RunningClient(RoomURL.LAN(host: "127.0.0.1", port: port))
                #expect(await dialler.next() == .joined(ownID: nil))
                guard case .peerArrived(let peer) = await dialler.next() else { throw Failure() }
                let sdp = String(repeating: "a=|客厅\r\n", count: 20_000) + "\(call)"
                dialler.client.send(.offer(to: peer, sdp: sdp))
                let offered = try #require(Self.offer(await listener.next()))
                #expect(offered.peer == PeerID("127.0.0.1"))
                #expect(offered.sdp == sdp)
                listener.client.send(.answer(to: offered.peer, sdp: "answer \(call)"))
                #expect(await dialler.next() == .answerReceived(from: peer, sdp: "answer \(call)"))
                let candidate = ICECandidate(
                    line: "candidate:1 1 udp 1 192.0.2.1 9 typ host",
                    mLineIndex: 1,
                    mid: "video"
                )
                dialler.client.send(.candidate(to: peer, candidate))
                #expect(await listener.next() == .candidateReceived(from: offered.peer, candidate))
                #expect(await dialler.leave() == nil)
            }
            #expect(await listener.leave() == nil)
            // The dialler's last socket may still be closing when its run returns: a bounded wait for that.
            for _ in 0..<200 where try !OpenDescriptors.tcpSockets(onPort: port).isEmpty {
                try await Task.sleep(for: .milliseconds(10))
            }
            #expect(try OpenDescriptors.tcpSockets(onPort: port) == [])
        }

        @Test(.timeLimit(.minutes(5))) func dialsUntilSomebodyAccepts() async throws {
            let port = try await Self.freePort()
            var dialler = RunningClient(RoomURL.LAN(host: "127.0.0.1", port: port))
            guard case .joinFailed(let reason) = await dialler.next() else { throw Failure() }
            #expect(reason.contains("127.0.0.1:\(port) refused the connection"))
            var listener = Self.listener(port)
            #expect(await listener.next() == .joined(ownID: nil))
            #expect(await dialler.next() == .joined(ownID: nil))
            #expect(await dialler.leave() == nil)
            #expect(await listener.leave() == nil)
        }

        @Test(.timeLimit(.minutes(5))) func theNewestConnectionWins() async throws {
            let port = try await Self.freePort()
            var listener = Self.listener(port)
            #expect(await listener.next() == .joined(ownID: nil))
            let older = try await Self.dial(port, bytes: #"{"event":"offer","sdp":"older"}|"#)
            #expect(Self.offer(await listener.next())?.sdp == "older")
            let newer = try await Self.dial(port, bytes: #"{"event":"offer","sdp":"newer"}|"#)
            #expect(Self.offer(await listener.next())?.sdp == "newer")
            try await older.closeFuture.get()
            try await newer.close()
            #expect(await listener.leave() == nil)
        }

        @Test(
            .timeLimit(.minutes(5)),
            arguments: [String(repeating: "x", count: 3_000_000), String(repeating: "{}|", count: 100_000)]
        )
        func aFloodEndsTheConnectionOnly(bytes: String) async throws {
            let port = try await Self.freePort()
            var listener = Self.listener(port)
            #expect(await listener.next() == .joined(ownID: nil))
            let hostile = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .connect(host: "127.0.0.1", port: port).get()
            hostile.writeAndFlush(ByteBuffer(string: bytes), promise: nil)
            try await hostile.closeFuture.get()
            let peer = try await Self.dial(port, bytes: #"{"event":"offer","sdp":"good"}|"#)
            #expect(Self.offer(await listener.next())?.sdp == "good")
            try await peer.close()
            #expect(await listener.leave() == nil)
        }

        @Test(.timeLimit(.minutes(5))) func connectionsOneAfterTheOtherFillNothing() async throws {
            let port = try await Self.freePort()
            var listener = Self.listener(port)
            #expect(await listener.next() == .joined(ownID: nil))
            for _ in 1...200 {
                // Ours may be closed already, because the one before it was taken late.
                try? await Self.dial(port, bytes: "|").close()
            }
            let peer = try await Self.dial(port, bytes: #"{"event":"offer","sdp":"good"}|"#)
            #expect(Self.offer(await listener.next())?.sdp == "good")
            try await peer.close()
            #expect(await listener.leave() == nil)
        }

        @Test(.timeLimit(.minutes(5)), arguments: ["127.0.0.1", "192.0.2.1"])
        func aPortThatCannotBeOpenedIsNamed(host: String) async throws {
            let taken = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .bind(host: "127.0.0.1", port: 0).get()
            let port = try #require(taken.localAddress?.port)
            var once = JoinPolicy.oneShot
            once.attempts = 1
            let client = RunningClient(RoomURL.LAN(host: host, port: port, isListening: true), policy: once)
            let error = await client.run.value
            #expect(error?.code == .unreachable)
            #expect(error?.blame == .configuration)
            #expect(error?.message.contains("The port \(host):\(port) cannot be opened for the peer") == true)
            #expect(error?.message.contains(host == "127.0.0.1" ? "another program" : "no such address") == true)
            try await taken.close()
        }

        @Test(.timeLimit(.minutes(5))) func aPeerThatHangsUpBeforeItsAnswerIsDialledAgain() async throws {
            let port = try await Self.freePort()
            let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                .childChannelInitializer { $0.close() }
                .bind(host: "127.0.0.1", port: port).get()
            var dialler = RunningClient(RoomURL.LAN(host: "127.0.0.1", port: port), policy: Self.persistent)
            for _ in 1...2 {
                #expect(await dialler.next() == .joined(ownID: nil))
                guard case .peerArrived = await dialler.next() else { throw Failure() }
                guard case .signallingLost = await dialler.next() else { throw Failure() }
            }
            #expect(await dialler.leave() == nil)
            try await server.close()
        }
    }
}
