// SPDX-License-Identifier: Apache-2.0

/// The daemon in a few figures.
public struct Overview: Sendable, Hashable, Codable {
    /// The program's version.
    public var version: String
    /// Seconds since the daemon started.
    public var uptimeSeconds: Double
    /// Rooms by phase.
    public var roomsByPhase: [String: Int]
    /// Recordings in progress.
    public var activeRecordings: Int
    /// Exports that wait or run.
    public var pendingExports: Int
    /// Bytes free in the storage.
    public var freeBytes: Int64
    /// Seconds until the storage is full at the present rate; `nil` when nothing is written.
    public var secondsUntilFull: Double?
    /// Worker processes.
    public var workers: Int
    /// The daemon's name in its cluster; `nil` where it has none.
    public var host: String?

    /// An overview with each part given.
    public init(
        version: String,
        uptimeSeconds: Double,
        roomsByPhase: [String: Int],
        activeRecordings: Int,
        pendingExports: Int,
        freeBytes: Int64,
        secondsUntilFull: Double? = nil,
        workers: Int
    ) {
        self.version = version
        self.uptimeSeconds = uptimeSeconds
        self.roomsByPhase = roomsByPhase
        self.activeRecordings = activeRecordings
        self.pendingExports = pendingExports
        self.freeBytes = freeBytes
        self.secondsUntilFull = secondsUntilFull
        self.workers = workers
    }
}

/// Whether the daemon does what it is for.
public struct Health: Sendable, Hashable, Codable {
    /// Whether the daemon runs as it should: supervisor loop alive, storage writable.
    public var isLive: Bool
    /// Whether it has also taken up its rooms and takes more.
    public var isReady: Bool
    /// What is wrong, one sentence each.
    public var problems: [String]

    /// Health with each part given.
    public init(isLive: Bool, isReady: Bool, problems: [String] = []) {
        self.isLive = isLive
        self.isReady = isReady
        self.problems = problems
    }

    private enum CodingKeys: String, CodingKey {
        case isLive = "live"
        case isReady = "ready"
        case problems
    }
}
