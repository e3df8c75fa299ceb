// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import Model

/// Which rooms have a worker where there may not be one for each: more than the host takes costs all of them.
///
/// The most important rooms have the places, of equals those that have them already, then those that wait the longest.
extension Fleet {
    /// Rooms that have a place.
    private var occupied: Int { self.rooms.values.count { $0.worker != nil } }

    /// Whether a room that has no worker may get one.
    func hasPlace(for room: FleetRoom) -> Bool {
        guard let maximum = self.settings.maximumRooms else { return true }
        return self.occupied < maximum
            && !self.rooms.values.contains { $0.phase == .queued && $0.priority > room.priority }
    }

    /// Has a room wait for a place.
    mutating func queue(_ name: String, _ now: Duration) {
        guard let maximum = self.settings.maximumRooms, self.rooms[name]?.phase != .queued else { return }
        let reason = "\(maximum) rooms are joined, and no more may be (workers.maximum_rooms)"
        self.rooms[name]?.enter(.queued, reason: reason, now: now)
        self.report(.unreachable(room: name, reason: reason))
    }

    /// Gives free places to rooms that wait, and takes those of rooms that are less important; after each input.
    mutating func givePlaces(_ now: Duration) {
        guard let maximum = self.settings.maximumRooms, !self.isStopping else { return }
        while self.occupied < maximum, let name = self.queued.first { self.assign(name, now) }
        // What is being left is for the first of them.
        let coming = self.rooms.values.count { if case .leaving = $0.phase { true } else { false } }
        for name in self.queued.dropFirst(coming) {
            guard let room = self.rooms[name], let other = self.leastImportant(below: room.priority) else { return }
            self.leave(other, reason: "its place is for \(name), which is more important", now)
        }
    }

    /// Those that wait, the first to get a place first.
    private var queued: [String] {
        self.rooms.values.filter { $0.phase == .queued }
            .sorted { ($1.priority, $0.since, $0.spec.name) < ($0.priority, $1.since, $1.spec.name) }
            .map(\.spec.name)
    }

    /// The room that loses its place first: the least important, of equals the one that has it for the shortest time.
    private func leastImportant(below priority: Int) -> String? {
        self.rooms.values.filter { room in
            switch room.phase {
            case .starting, .joining, .joined: room.worker != nil && room.priority < priority
            case .idle, .queued, .leaving, .backingOff, .failed: false
            }
        }
        .min { ($0.priority, $1.since, $0.spec.name) < ($1.priority, $0.since, $1.spec.name) }?.spec.name
    }
}
