// SPDX-License-Identifier: Apache-2.0

import GRDB

/// Facts that the daemon remembers from one run to the next, in addition to recordings.
extension Catalogue {
    /// The value stored under a name; `nil` if there is none, or none that can be read.
    public func remembered<Value: Codable & Sendable>(_ type: Value.Type, as name: String) async throws -> Value? {
        try await self.read { database in
            JSONColumn.value(
                try String.fetchOne(database, sql: "SELECT value FROM facts WHERE name = ?", arguments: [name])
            )
        }
    }

    /// Remembers something under a name, in place of what was.
    public func remember<Value: Codable & Sendable>(_ value: Value, as name: String) async throws {
        try await self.write { database in
            try database.execute(
                sql: "INSERT OR REPLACE INTO facts (name, value) VALUES (?, ?)",
                arguments: [name, try JSONColumn.text(value)]
            )
        }
    }
}
