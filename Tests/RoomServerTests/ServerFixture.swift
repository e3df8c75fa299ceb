// SPDX-License-Identifier: Apache-2.0

import Basics
import Logging
import Testing

@testable import RoomServer

/// Runs a server on a free port of loopback while `body` runs, and waits until it has ended.
func withServer(
    capacity: Int = 2,
    _ configure: (inout RoomServerConfiguration) -> Void = { _ in },
    body: (Int) async throws -> Void
) async throws {
    var configuration = RoomServerConfiguration(port: 0, roomCapacity: capacity)
    configure(&configuration)
    let server = RoomServer(
        configuration: configuration,
        logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    )
    let (addresses, continuation) = AsyncStream.makeStream(of: RoomServer.Address.self)
    try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask {
            defer { continuation.finish() }
            try await server.run { continuation.yield($0) }
        }
        for await address in addresses {
            do {
                try await body(address.port)
            } catch {
                group.cancelAll()
                throw error
            }
            break
        }
        group.cancelAll()
        try await group.waitForAll()
    }
}

/// The counts in `/healthz`.
func health(port: Int) throws -> JSONValue {
    let connection = try RawConnection(port: port)
    try connection.request("GET /healthz")
    return try JSONValue(parsing: try connection.response().body)
}

/// Asks for the health until it is as wanted, for 60 s at most.
func waitForHealth(port: Int, _ isAsWanted: (JSONValue) -> Bool) async throws {
    let deadline = ContinuousClock.now + .seconds(60)
    while ContinuousClock.now < deadline {
        if isAsWanted(try health(port: port)) { return }
        try await Task.sleep(for: .milliseconds(10))
    }
    Issue.record("the server's counts stay at \(try health(port: port).text)")
}

/// The suites that run servers, one test after the other: they block on sockets and count descriptors.
@Suite(.serialized, .timeLimit(.minutes(5))) enum RunningServer {}
