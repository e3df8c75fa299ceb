// SPDX-License-Identifier: Apache-2.0

import ConfigurationFile
import Foundation
import Model

/// The rooms that we know of and whether we should be in them: the configuration's, those that clients of the API added, and
/// those that a cluster gave us.
struct RoomRegistry: Sendable {
    /// Where a definition comes from.
    enum Origin: String, Sendable {
        case configuration
        case api
        /// It is this host's for as long as the cluster says so.
        case cluster
    }

    struct Entry: Sendable {
        var definition: RoomConfiguration
        var origin: Origin
        /// Whether an operator asked for it, where it is not joined automatically.
        var isRequested = false
        /// Whether a participant was there since we went there last.
        var hadParticipants = false
        /// Since when the room is empty; `nil` while a participant is there, or nothing is known.
        var emptySince: Duration?
        /// Until when we stay away because all participants have left.
        var awayUntil: Date?
    }

    private(set) var entries: [String: Entry] = [:]
    /// Definitions of rooms that were removed while a worker may still be finishing their recordings.
    private var removed: [String: RoomConfiguration] = [:]

    mutating func set(_ definition: RoomConfiguration, origin: Origin) {
        self.removed[definition.name] = nil
        guard var entry = self.entries[definition.name] else {
            self.entries[definition.name] = Entry(definition: definition, origin: origin)
            return
        }
        let isSamePlan = definition.changes(from: entry.definition).isDisjoint(with: [.join, .untilEmpty])
        // One URL may be written in several ways.
        if !isSamePlan || definition.address.url != entry.definition.address.url { entry.awayUntil = nil }
        (entry.definition, entry.origin) = (definition, origin)
        self.entries[definition.name] = entry
    }

    /// Takes a room out; until `forget` its last definition says what becomes of its recordings.
    mutating func remove(_ name: String) {
        guard let entry = self.entries.removeValue(forKey: name) else { return }
        self.removed[name] = entry.definition
    }

    /// No worker is in a removed room any more.
    mutating func forget(_ name: String) { self.removed[name] = nil }

    /// What is exported of a room's recordings when they are finished; that of a removed room, too.
    ///
    /// `nil` where nothing is recorded any more, which says nothing of a recording that continued.
    func exports(of name: String) -> [ExportSpec]? {
        (self.entries[name]?.definition ?? self.removed[name])?.exportOrders
    }

    /// An operator wants us there, or does not any more.
    mutating func request(_ name: String, _ isRequested: Bool) {
        guard var entry = self.entries[name] else { return }
        entry.isRequested = isRequested
        if isRequested { entry.awayUntil = nil }
        entry.hadParticipants = false
        entry.emptySince = nil
        self.entries[name] = entry
    }

    /// Notes how many are in a room besides us.
    ///
    /// - Parameter now: time since any fixed instant.
    mutating func note(_ name: String, participants: Int, now: Duration) {
        guard var entry = self.entries[name] else { return }
        if participants > 0 {
            entry.hadParticipants = true
            entry.emptySince = nil
        } else {
            entry.emptySince = entry.emptySince ?? now
        }
        self.entries[name] = entry
    }

    /// Leaves the rooms that emptied, where the definition says so.
    ///
    /// A participant was there, and none has been for the time after which a recording is finished. We stay away until
    /// an operator asks, or until the next window.
    ///
    /// - Parameters:
    ///   - now: time since the instant of `note`.
    ///   - date: the same instant.
    /// - Returns: the names of these rooms.
    mutating func leaveEmptied(now: Duration, date: Date) -> [String] {
        let names = self.entries.compactMap { name, entry -> String? in
            guard entry.definition.untilEmpty, entry.hadParticipants, let since = entry.emptySince else { return nil }
            let grace = (entry.definition.spec.record ?? RecordSpec()).emptyAfterSeconds
            return now - since >= .seconds(grace) ? name : nil
        }
        for name in names {
            self.request(name, false)
            switch self.entries[name]?.definition.join {
            case .always: self.entries[name]?.awayUntil = .distantFuture
            case .schedule(let schedule): self.entries[name]?.awayUntil = schedule.window(containing: date)?.end
            case .onDemand, nil: break
            }
        }
        return names.sorted()
    }

    /// Whether we should be in a room at an instant.
    func isWanted(_ name: String, at now: Date) -> Bool {
        guard let entry = self.entries[name] else { return false }
        if let until = entry.awayUntil, now < until { return false }
        return switch entry.definition.join {
        case .always: true
        case .onDemand: entry.isRequested
        case .schedule(let schedule): entry.isRequested || schedule.contains(now)
        }
    }

    /// Why we are not to be in a room, in words; `nil` if we are.
    func absence(of name: String, at now: Date) -> String? {
        guard let entry = self.entries[name], !self.isWanted(name, at: now) else { return nil }
        if let until = entry.awayUntil, now < until { return "everyone has left" }
        return switch entry.definition.join {
        case .always: nil
        case .onDemand: "waits for a request to record"
        case .schedule: "outside its schedule"
        }
    }

    /// When the next window of a room begins; `nil` for one without a schedule.
    func nextWindow(of name: String, after now: Date) -> Date? {
        guard case .schedule(let schedule) = self.entries[name]?.definition.join else { return nil }
        return schedule.next(after: now)
    }

    /// Names of the rooms whose join rule depends on the time.
    var scheduled: [String] {
        self.entries.compactMap { name, entry in
            if case .schedule = entry.definition.join { name } else { nil }
        }
    }

    /// Another room of the same URL and display name: we would meet ourselves there.
    func twin(of definition: RoomConfiguration) -> String? {
        self.entries.first { name, entry in
            name != definition.name && entry.definition.address.url == definition.address.url
                && entry.definition.spec.shownName(records: true) == definition.spec.shownName(records: true)
        }?.key
    }
}
