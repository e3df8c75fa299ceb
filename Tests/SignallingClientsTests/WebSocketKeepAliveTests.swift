// SPDX-License-Identifier: Apache-2.0

import NIOWebSocket
import Signalling
import Synchronization
import Testing

@testable import SignallingClients

extension AllSignallingClients {
    @Suite struct WebSocketKeepAliveTests {
        private final class End: Sendable {
            let failure = Mutex<SignallingError?>(nil)
        }

        /// Opens a WebSocket and waits for its end.
        ///
        /// - Parameter closesAfter: Closes it from our side then.
        private static func failure(port: Int, closesAfter: Duration? = nil) async -> SignallingError? {
            let connection = WebSocketConnection(
                WebSocketConnection.Request(
                    host: "127.0.0.1",
                    port: port,
                    target: "/",
                    connectTimeout: .seconds(5),
                    address: "127.0.0.1:\(port)",
                    maximumMessageBytes: 1000,
                    pingInterval: .milliseconds(20)
                )
            )
            let end = End()
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    await connection.run { event in
                        if case .closed(let error) = event { end.failure.withLock { $0 = error } }
                    }
                }
                if let closesAfter {
                    group.addTask {
                        try? await Task.sleep(for: closesAfter)
                        connection.close()
                    }
                }
            }
            return end.failure.withLock { $0 }
        }

        @Test(.timeLimit(.minutes(5)))
        func aServerThatAnswersNothingIsGivenUp() async throws {
            // It takes the handshake, and no frame after it.
            let server = try await HostileServer.startWebSocket(frames: [])
            #expect(await Self.failure(port: server.port)?.code == .timedOut)
            try await server.stop()
        }

        @Test(.timeLimit(.minutes(5)))
        func aServerThatAnswersPingsIsKept() async throws {
            let server = try PythonRoomServer(script: "skyrtc_server.py", environment: "peers", [])
            defer { server.stop() }
            // Many times as long as a silent server would be borne.
            #expect(await Self.failure(port: server.port, closesAfter: .milliseconds(500)) == nil)
        }
    }
}
