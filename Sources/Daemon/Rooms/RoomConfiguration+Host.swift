// SPDX-License-Identifier: Apache-2.0

import Basics
import ConfigurationFile
import Model
import Observability

extension RoomConfiguration {
    /// The definition for clients that may read rooms: the URL as it is shown to them, and without what may hold secrets.
    var shownDefinition: JSONValue {
        var members = self.definition.object ?? [:]
        for name in ["secret", "send", "outputs"] { members[name] = nil }
        members["url"] = .string(Redaction.url(self.address.description))
        return .object(members)
    }

    /// The spec of a worker: the room's spec with what the host has for all rooms.
    func spec(in configuration: DaemonConfiguration) -> RoomSpec {
        var spec = self.spec
        spec.storage = configuration.storage.directory
        spec.ice = configuration.ice
        spec.record?.synchroniseMilliseconds = Int(configuration.storage.synchroniseEvery.milliseconds)
        spec.send?.pipelines = configuration.pipelines.directory
        for index in spec.outputs.indices {
            spec.outputs[index].pipeline?.pipelines = configuration.pipelines.directory
        }
        return spec
    }

    /// How it is recorded on request where its definition records nothing.
    func recordByHand(in configuration: DaemonConfiguration) -> RecordSpec {
        var record = RecordSpec()
        record.isAutomatic = false
        record.announcement = self.announcement
        record.synchroniseMilliseconds = Int(configuration.storage.synchroniseEvery.milliseconds)
        return record
    }
}
