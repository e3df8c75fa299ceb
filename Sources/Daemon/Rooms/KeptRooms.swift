// SPDX-License-Identifier: Apache-2.0

import Basics
import Catalogue
import Logging
import Observability
import Synchronization

/// Rooms that clients of the HTTP API added, kept in the catalogue from one start of the daemon to the next.
final class KeptRooms: Sendable {
    private let catalogue: Catalogue
    private let logger: Logger
    /// What is to be kept of rooms that changed since the start; `nil` for those that are to be forgotten.
    private let latest = Mutex<[String: JSONValue?]>([:])

    init(catalogue: Catalogue, logger: Logger) {
        self.catalogue = catalogue
        self.logger = logger
    }

    /// The definitions by name; none, with a line in the log, if the catalogue cannot be read.
    func all() async -> [String: JSONValue] {
        do {
            return try await self.catalogue.rooms()
        } catch {
            self.logger.error("rooms of the API are not known", metadata: .tagged([.errorMessage: "\(error)"]))
            return [:]
        }
    }

    /// Takes what is to be kept of a room; in the supervisor's turn, so that the order is that of the changes.
    func note(_ name: String, _ definition: JSONValue?) {
        self.latest.withLock { $0[name] = .some(definition) }
    }

    /// Writes what was noted of rooms; of others nothing is written, and no disk is waited for.
    func write(_ names: [String]) async {
        for name in names where self.latest.withLock({ $0.keys.contains(name) }) {
            do {
                try await self.catalogue.keepRoom(name) { self.latest.withLock { $0[name] ?? nil } }
            } catch {
                self.logger.warning(
                    "the room is not kept across restarts as it is now",
                    metadata: .tagged([.roomName: "\(name)", .errorMessage: "\(error)"])
                )
            }
        }
    }
}
