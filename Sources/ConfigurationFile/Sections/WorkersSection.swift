// SPDX-License-Identifier: Apache-2.0

/// The processes that are in the rooms.
public struct WorkersConfiguration: Sendable, Hashable {
    /// Most rooms of one process, 1 to 64: isolation against density.
    public var roomsPerWorker = 1
    /// The most rooms that are joined at a time, 1 to 10 000; `nil` sets no limit.
    public var maximumRooms: Int?
    /// Silence after which a worker is taken to hang and is ended, 2 s to 10 min.
    public var hangLimit = Duration.seconds(10)
    /// How long a worker may take to finish its files and leave its rooms, 1 s to 10 min; then it is ended.
    public var stopLimit = Duration.seconds(90)
    /// Longest wait before a worker that ended unexpectedly is started again, 1 s to 1 h.
    public var longestRestartDelay = Duration.seconds(60)
    /// Resident memory at which a worker is replaced, 64 MB to 1 TB; `nil` sets no limit.
    public var maximumMemoryBytes: Int64?
    /// Exports that run at once, 1 to 32.
    public var exportJobs = 1

    /// Every key at its default.
    public init() {}
}

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
