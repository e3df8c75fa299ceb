// SPDX-License-Identifier: Apache-2.0

public import Model

/// What is different between the configuration in force and a new one.
///
/// Rooms are compared by what they mean, not by how they are written: `30m` and `1800s` are equal.
public struct ConfigurationChange: Sendable, Hashable {
    /// The sections besides the rooms.
    public enum Section: String, Sendable, Hashable, CaseIterable {
        /// `storage`.
        case storage
        /// `ice`.
        case ice
        /// `api`.
        case api
        /// `webhooks` and `webhook_hosts`.
        case webhooks
        /// `workers`.
        case workers
        /// `pipelines`.
        case pipelines
        /// `rtsp`.
        case rtsp
        /// `cluster`.
        case cluster
    }

    /// A room that is in both and differs.
    public struct ChangedRoom: Sendable, Hashable {
        /// The room as it was.
        public var old: RoomConfiguration
        /// The room as it shall be.
        public var new: RoomConfiguration
        /// What differs; never empty.
        public var parts: Set<RoomPart>
    }

    /// The sections that differ.
    public var sections: Set<Section>
    /// The rooms that are new, by name.
    public var added: [RoomConfiguration]
    /// The rooms that differ, by name.
    public var changed: [ChangedRoom]
    /// The names of the rooms that are gone, sorted.
    public var removed: [String]
    /// The names of the rooms that stay as they are, sorted.
    public var unchanged: [String]

    /// Compares two configurations.
    public init(from old: DaemonConfiguration, to new: DaemonConfiguration) {
        self.sections = []
        if old.storage != new.storage { self.sections.insert(.storage) }
        if old.ice != new.ice { self.sections.insert(.ice) }
        if old.api != new.api { self.sections.insert(.api) }
        if old.webhooks != new.webhooks { self.sections.insert(.webhooks) }
        if old.workers != new.workers { self.sections.insert(.workers) }
        if old.pipelines != new.pipelines { self.sections.insert(.pipelines) }
        if old.rtsp != new.rtsp { self.sections.insert(.rtsp) }
        if old.cluster != new.cluster { self.sections.insert(.cluster) }
        self.added = new.rooms.filter { old.rooms[$0.key] == nil }.sorted { $0.key < $1.key }.map(\.value)
        self.removed = old.rooms.keys.filter { new.rooms[$0] == nil }.sorted()
        self.changed = []
        self.unchanged = []
        for (name, room) in new.rooms.sorted(by: { $0.key < $1.key }) {
            guard let before = old.rooms[name] else { continue }
            let parts = room.changes(from: before)
            if parts.isEmpty {
                self.unchanged.append(name)
            } else {
                self.changed.append(ChangedRoom(old: before, new: room, parts: parts))
            }
        }
    }

    /// Whether the two mean the same.
    public var isEmpty: Bool {
        self.sections.isEmpty && self.added.isEmpty && self.changed.isEmpty && self.removed.isEmpty
    }
}
