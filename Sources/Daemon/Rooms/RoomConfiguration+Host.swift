// SPDX-License-Identifier: Apache-2.0

import Basics
import ConfigurationFile
import Model

extension RoomConfiguration {
    /// What a worker is told: the room's spec with what the host has for all rooms.
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
}
