// SPDX-License-Identifier: Apache-2.0

/// The keys of `workers`.
enum WorkersKeys {
    static let roomsPerWorker = Key("rooms_per_worker", .integer(1...64))
    static let maximumRooms = Key("maximum_rooms", ValueType<Int>.integer(1...10_000).or("unlimited"))
    static let hangLimit = Key("hang_limit", .duration(.seconds(2)...(.seconds(600)), example: "10s"))
    static let stopLimit = Key("stop_limit", .duration(.seconds(1)...(.seconds(600)), example: "90s"))
    static let longestRestartDelay = Key(
        "longest_restart_delay",
        .duration(.seconds(1)...(.seconds(3600)), example: "60s")
    )
    static let maximumMemory = Key(
        "maximum_memory",
        ValueType<Int64>.bytes(64_000_000...(1 << 40), example: "1GB").or("unlimited")
    )
    static let exportJobs = Key("export_jobs", .integer(1...32))

    static let table = KeyTable(
        roomsPerWorker.entry,
        maximumRooms.entry,
        hangLimit.entry,
        stopLimit.entry,
        longestRestartDelay.entry,
        maximumMemory.entry,
        exportJobs.entry
    )
}

extension WorkersConfiguration {
    /// Reads the section.
    init(_ reader: MappingReader) {
        self.init()
        self.roomsPerWorker = reader.value(WorkersKeys.roomsPerWorker) ?? self.roomsPerWorker
        self.maximumRooms = reader.value(WorkersKeys.maximumRooms) ?? self.maximumRooms
        self.hangLimit = reader.value(WorkersKeys.hangLimit) ?? self.hangLimit
        self.stopLimit = reader.value(WorkersKeys.stopLimit) ?? self.stopLimit
        self.longestRestartDelay = reader.value(WorkersKeys.longestRestartDelay) ?? self.longestRestartDelay
        self.maximumMemoryBytes = reader.value(WorkersKeys.maximumMemory) ?? self.maximumMemoryBytes
        self.exportJobs = reader.value(WorkersKeys.exportJobs) ?? self.exportJobs
    }
}
