// SPDX-License-Identifier: Apache-2.0

import ConfigurationFile
import Logging
import Model
import Observability

extension Supervisor {
    /// Takes a new configuration: rooms that did not change are not touched.
    ///
    /// What belongs to the process itself, such as the address of the HTTP API, stays as it is until a restart.
    ///
    /// - Returns: what changed.
    func take(_ new: DaemonConfiguration) -> ConfigurationChange {
        let change = ConfigurationChange(from: self.configuration, to: new)
        self.configuration = new
        self.rtsp.take(new.rtsp)
        for name in change.removed where self.book.entries[name]?.origin == .configuration {
            self.remove(name)
            self.bus.publish(.roomRemoved, room: name)
        }
        self.giveWay(of: change.added.map(\.name).filter { self.book.entries[$0]?.origin == .api })
        for room in change.added {
            self.define(room, origin: .configuration)
            self.bus.publish(.roomAdded, room: room.name)
        }
        for room in change.changed {
            let parts = room.parts.map(\.rawValue).sorted().joined(separator: ", ")
            self.logger.info("room changed", metadata: .tagged([.roomName: "\(room.new.name)", .detail: "\(parts)"]))
            self.define(room.new, origin: .configuration)
            self.bus.publish(.roomChanged, room: room.new.name)
        }
        if !change.sections.isDisjoint(with: [.ice, .storage, .pipelines, .rtsp]) {
            // Orders carry these; where nothing differs, nothing happens. A room of the HTTP API stays as it is but for them.
            for (name, entry) in self.book.entries {
                let room = entry.origin == .configuration ? new.rooms[name] ?? entry.definition : entry.definition
                self.define(room, origin: entry.origin)
            }
        }
        return change
    }
}
