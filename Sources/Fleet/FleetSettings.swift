// SPDX-License-Identifier: Apache-2.0

public import Basics
public import Model

/// How worker processes are used and watched.
public struct FleetSettings: Sendable, Hashable {
    /// Rooms that share a worker process, 1 and up: isolation against density.
    public var roomsPerWorker = 1
    /// The most rooms that have a worker at a time, 1 and up; `nil`: any number.
    public var maximumRooms: Int?
    /// Longest time from starting a process to its first line.
    public var startLimit: Duration = .seconds(15)
    /// Longest silence of a worker; it sends a heartbeat every second.
    public var hangLimit: Duration = .seconds(10)
    /// How long rooms and processes may take to end: files are finished in it.
    public var stop = StopLimits()
    /// Resident memory in bytes at which a worker is replaced; `nil`: any amount.
    public var maximumMemoryBytes: Int64?
    /// About how long a room waits that a server refused for good: it may have been a proxy, or a server being set up.
    public var refusalDelay: Duration = .seconds(900)
    /// When and how a room whose worker died is tried again.
    public var restart = RestartPolicy.Settings()

    /// One room a worker.
    public init() {}
}

/// A worker process, by its number in this daemon's life.
public struct WorkerID: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// Counts from 1 and is never used again.
    public let rawValue: Int

    /// A worker by its number.
    public init(_ rawValue: Int) { self.rawValue = rawValue }

    /// The number.
    public var description: String { "\(self.rawValue)" }

    /// Whether the left one was started before the right one.
    public static func < (left: WorkerID, right: WorkerID) -> Bool { left.rawValue < right.rawValue }
}
