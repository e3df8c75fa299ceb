// SPDX-License-Identifier: Apache-2.0

import Basics
import ConfigurationFile
import Fleet
import Model

extension FleetSettings {
    /// What the section `workers` says.
    init(_ workers: WorkersConfiguration) {
        self.init()
        self.roomsPerWorker = workers.roomsPerWorker
        self.maximumRooms = workers.maximumRooms
        self.hangLimit = workers.hangLimit
        self.stop = StopLimits(process: workers.stopLimit)
        self.maximumMemoryBytes = workers.maximumMemoryBytes
        self.restart.maximumDelay = workers.longestRestartDelay
    }
}
