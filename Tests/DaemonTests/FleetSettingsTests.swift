// SPDX-License-Identifier: Apache-2.0

import Basics
import ConfigurationFile
import Fleet
import Model
import Testing

@testable import Daemon

@Suite struct FleetSettingsTests {
    @Test func everyKeyOfWorkersArrives() throws {
        let configuration = try DaemonConfiguration.parse(
            text: """
                workers: { rooms_per_worker: 4, maximum_rooms: 60, hang_limit: 30s, stop_limit: 2m,
                  longest_restart_delay: 1h, maximum_memory: 512MB }
                """
        )
        var expected = FleetSettings()
        (expected.roomsPerWorker, expected.maximumRooms) = (4, 60)
        expected.hangLimit = .seconds(30)
        expected.stop = StopLimits(process: .seconds(120))
        expected.maximumMemoryBytes = 512_000_000
        expected.restart.maximumDelay = .seconds(3600)
        #expect(FleetSettings(configuration.workers) == expected)
    }

    @Test func withoutKeysNothingIsLimited() {
        let settings = FleetSettings(WorkersConfiguration())
        #expect(settings.maximumRooms == nil && settings.maximumMemoryBytes == nil)
        #expect(settings.roomsPerWorker == 1)
        #expect(settings.stop == StopLimits(), "a worker that is not told has the same limits")
    }
}
