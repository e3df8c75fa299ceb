// SPDX-License-Identifier: Apache-2.0

import ConfigurationFile
import Foundation
import Supervision

/// The rooms that we know of and whether we should be in them: the configuration's and those that came by the
/// interface.
struct RoomBook: Sendable {
    /// Where a definition comes from.
    enum Origin: String, Sendable {
        case configuration
        case api
    }

    struct Entry: Sendable {
        var definition: RoomConfiguration
        var origin: Origin
        /// Whether somebody asked for it, where it is not joined by itself.
        var isRequested = false
        /// Whether somebody was there since it was asked for.
        var hadParticipants = false
    }

    private(set) var entries: [String: Entry] = [:]

    mutating func set(_ definition: RoomConfiguration, origin: Origin) {
        if self.entries[definition.name] == nil {
            self.entries[definition.name] = Entry(definition: definition, origin: origin)
        } else {
            self.entries[definition.name]?.definition = definition
            self.entries[definition.name]?.origin = origin
        }
    }

    mutating func remove(_ name: String) { self.entries[name] = nil }

    mutating func request(_ name: String, _ isRequested: Bool) {
        self.entries[name]?.isRequested = isRequested
        self.entries[name]?.hadParticipants = false
    }

    /// Notes who is in a room.
    ///
    /// - Returns: whether the room emptied, and is one that is left then.
    mutating func note(_ name: String, participants: Int) -> Bool {
        guard let entry = self.entries[name] else { return false }
        if participants > 0 {
            self.entries[name]?.hadParticipants = true
            return false
        }
        guard entry.hadParticipants, entry.definition.untilEmpty, entry.isRequested else { return false }
        self.request(name, false)
        return true
    }

    /// Whether we should be in a room at an instant.
    func isWanted(_ name: String, at now: Date) -> Bool {
        guard let entry = self.entries[name] else { return false }
        switch entry.definition.join {
        case .always: return true
        case .onDemand: return entry.isRequested
        case .schedule(let schedule): return entry.isRequested || schedule.contains(now)
        }
    }

    /// Names of the rooms whose join rule depends on the time.
    var scheduled: [String] {
        self.entries.compactMap { name, entry in
            if case .schedule = entry.definition.join { name } else { nil }
        }
    }

    /// Another room of the same URL: we would meet ourselves there.
    func twin(of definition: RoomConfiguration) -> String? {
        self.entries.first { name, entry in
            name != definition.name && entry.definition.address.url == definition.address.url
        }?.key
    }
}
