// SPDX-License-Identifier: Apache-2.0

import ConfigurationFile
import Model

/// The room that an operator wants, before its pipeline files were looked for: that may wait for the disk.
struct RoomDraft: Sendable {
    let room: RoomConfiguration
    /// What the room was; nil for one that is added.
    let before: RoomConfiguration?
    /// The daemon's configuration with this room alone, to look for the pipeline files that it names; nil if it names
    /// none, or what it named before.
    let unchecked: DaemonConfiguration?

    /// A draft in a daemon of this configuration.
    init(_ room: RoomConfiguration, before: RoomConfiguration?, in configuration: DaemonConfiguration) {
        (self.room, self.before) = (room, before)
        let names = room.spec.send != nil || room.spec.outputs.contains { $0.pipeline != nil }
        let isAsBefore = before.map { $0.spec.send == room.spec.send && $0.spec.outputs == room.spec.outputs } ?? false
        guard names, !isAsBefore else {
            self.unchecked = nil
            return
        }
        var alone = configuration
        alone.rooms = [room.name: room]
        self.unchecked = alone
    }
}
