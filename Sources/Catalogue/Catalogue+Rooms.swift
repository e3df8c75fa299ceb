// SPDX-License-Identifier: Apache-2.0

public import Basics
import GRDB

/// Rooms that are not in the configuration file: a client of the HTTP API added them.
extension Catalogue {
    /// The definitions by the rooms' names, with their secrets; without those that are no JSON.
    public func rooms() async throws -> [String: JSONValue] {
        try await self.read { database in
            var rooms: [String: JSONValue] = [:]
            for row in try Row.fetchAll(database, sql: "SELECT name, definition FROM rooms") {
                rooms[row["name"]] = JSONColumn.value(row["definition"])
            }
            return rooms
        }
    }

    /// Keeps a room, or forgets it.
    ///
    /// - Parameter definition: gives what is kept when the turn of this write has come: of two writes at a time the later one has
    ///   the newer definition. `nil` forgets the room.
    public func keepRoom(_ name: String, _ definition: @escaping @Sendable () -> JSONValue?) async throws {
        try await self.write { database in
            if let definition = definition() {
                try database.execute(
                    sql: "INSERT OR REPLACE INTO rooms (name, definition) VALUES (?, ?)",
                    arguments: [name, try JSONColumn.text(definition)]
                )
            } else {
                try database.execute(sql: "DELETE FROM rooms WHERE name = ?", arguments: [name])
            }
        }
    }
}
