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
