// SPDX-License-Identifier: Apache-2.0

import Basics
import Foundation
import Logging
import Signalling
import Testing

@testable import RoomServer

extension RunningServer {
    @Suite struct LimitTests {
        @Test func threeHundredSocketsMeetTheLimit() async throws {
            try await withServer { port in
                var sockets: [RawWebSocket] = []
                var refusals: [RawConnection.Failure] = []
                for _ in 0..<300 {
                    do throws(any Error) {
                        sockets.append(try RawWebSocket(port: port))
                    } catch {
                        refusals.append(try #require(error as? RawConnection.Failure))
                    }
                }
                #expect(sockets.count == 256)
                let refusal = RawConnection.Failure.unreadable(#"{"code":4,"message":"Too many sessions"}"#)
                #expect(refusals == Array(repeating: refusal, count: 44))
                for socket in sockets { socket.connection.close() }
                try await waitForHealth(port: port) {
                    $0["sessions"]?.integer == 0 && $0["connections"]?.integer == 1
                }
                #expect(throws: Never.self) { try RawWebSocket.member(port: port, room: "r") }
            }
        }

        @Test func connectionsAreLimited() async throws {
            try await withServer {
                $0.maximumSockets = 1
            } body: { port in
                let connections = try (0..<66).map { _ in try RawConnection(port: port) }
                try connections[65].request("GET /healthz")
                #expect(try connections[65].response().status == 200)
                let oneTooMany = try RawConnection(port: port)
                try oneTooMany.readUntilClosed()
                connections[0].close()
                connections[1].close()
                try connections[65].request("GET /healthz")
                #expect(try connections[65].response().status == 200)
            }
        }

        @Test func cancellationClosesEveryConnection() async throws {
            var poll: RawConnection?
            var socket: RawWebSocket?
            try await withServer { port in
                let connection = try RawConnection(port: port)
                let id = try HTTPTests.handshake(connection)
                try connection.request("GET /socket.io/?transport=polling&sid=\(id)")
                poll = connection
                socket = try RawWebSocket.member(port: port, room: "r").socket
            }
            #expect(try socket?.closeCode() == 1000)
            try socket?.connection.readUntilClosed()
            #expect(try poll?.response().body == "1")
            try poll?.readUntilClosed()
        }

        /// Other suites of the process come and go in that time, and one leak a run must stand out from their number.
        @Test func runsLeaveNothingBehind() async throws {
            let runs = 200
            let before = try Self.descriptorsAndThreads()
            for _ in 0..<runs {
                try await withServer { port in
                    let member = try RawWebSocket.member(port: port, room: "r")
                    #expect(!member.id.isEmpty)
                }
            }
            let after = try Self.descriptorsAndThreads()
            #expect(after.descriptors - before.descriptors < runs)
            #expect(after.threads - before.threads < runs)
        }

        @Test func errorsSayWhatIsWrong() async throws {
            try await withServer { port in
                for (host, port, code) in [
                    ("127.0.0.1", port, RoomServerError.Code.addressInUse), ("192.0.2.1", 0, .addressNotAvailable),
                    ("no such host", 0, .listenFailed), ("127.0.0.1", -1, .invalidConfiguration),
                ] {
                    let configuration = RoomServerConfiguration(host: host, port: port)
                    let server = RoomServer(configuration: configuration, logger: Logger(label: "test"))
                    let error = await #expect(throws: RoomServerError.self) { try await server.run() }
                    #expect(error?.code == code)
                    #expect(error?.isRetriable == (code == .addressInUse))
                }
            }
        }

        private static func descriptorsAndThreads() throws -> (descriptors: Int, threads: Int) {
            (
                try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count,
                try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count
            )
        }
    }
}
