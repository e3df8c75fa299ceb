// SPDX-License-Identifier: Apache-2.0

import Logging
import RoomServer

/// A room server of this process, on loopback, for a command that needs separate rooms.
enum LocalRooms {
    /// Serves while `body` runs, which is given the server's `HOST:PORT`.
    ///
    /// - Parameters:
    ///   - roomCapacity: the most members of a room.
    ///   - purpose: what cannot be if the server ends first, human-readable.
    static func serve<Value: Sendable>(
        roomCapacity: Int,
        for purpose: String,
        logger: Logger,
        _ body: @escaping @Sendable (String) async throws -> Value
    ) async throws -> Value {
        let server = RoomServer(
            configuration: RoomServerConfiguration(host: "127.0.0.1", port: 0, roomCapacity: roomCapacity),
            logger: logger
        )
        let (addresses, listening) = AsyncStream.makeStream(of: RoomServer.Address.self)
        return try await withThrowingTaskGroup(of: Value?.self) { group in
            group.addTask {
                do {
                    try await server.run { listening.yield($0) }
                } catch is CancellationError {}
                return nil
            }
            group.addTask {
                for await address in addresses { return try await body("\(address.host):\(address.port)") }
                return nil
            }
            var result: Value?
            while result == nil, let next = try await group.next() { result = next }
            group.cancelAll()
            try await group.waitForAll()
            guard let result else { throw CommandFailure(.notJoined, "the room server ended before \(purpose)") }
            return result
        }
    }
}
