// SPDX-License-Identifier: Apache-2.0

/// How long the end of rooms may take, for all that wait for it.
///
/// Each waits longer than the one below it, so that what is slow is abandoned where the others are not concerned: a room's
/// files, then the rooms of a worker that ends, then the worker's process.
public struct StopLimits: Sendable, Hashable {
    /// Longest time from a command to leave to the room's end, and from a command to shut down to the end of the
    /// process; what takes longer costs the process.
    public let process: Duration

    /// The limit of the process, from which the others follow.
    public init(process: Duration = .seconds(90)) {
        self.process = process
    }

    /// Longest time in which a worker that shuts down leaves its rooms; then it ends without those that have not ended.
    public var rooms: Duration { self.process * 5 / 6 }

    /// Longest time in which the files of a room are completed; then it is left with files that a repair completes.
    public var files: Duration { self.process * 2 / 3 }
}
