// SPDX-License-Identifier: Apache-2.0

internal import Timeline

/// Which changes of a track's format go into its journal: one in 200 ms, with the number of changes that it summarises.
///
/// A sender may change its format with every keyframe, and send nothing but keyframes. Pure; instants are nanoseconds
/// of one monotonic clock.
struct FormatLines: Sendable, Hashable {
    /// A line for the journal.
    struct Line: Sendable, Hashable {
        var change: FormatChanged
        var arrivalNanoseconds: Int64
    }

    private static let interval: Int64 = 200_000_000

    private var writtenAt: Int64?
    /// The newest change that has no line yet.
    private var held: Line?

    /// The format changed.
    mutating func changed(_ change: FormatChanged, at now: Int64) -> Line? {
        var change = change
        if let held = self.held {
            change.parameterSets = change.parameterSets || held.change.parameterSets
            change.changes = (held.change.changes ?? 1) + 1
        }
        self.held = Line(change: change, arrivalNanoseconds: now)
        return self.takeDue(at: now)
    }

    /// The change that has no line yet, if it may have one by now.
    mutating func takeDue(at now: Int64) -> Line? {
        guard self.held != nil else { return nil }
        if let writtenAt = self.writtenAt, now - writtenAt < Self.interval { return nil }
        self.writtenAt = now
        return self.takeAll()
    }

    /// The change that has no line yet: no more come.
    mutating func takeAll() -> Line? {
        defer { self.held = nil }
        return self.held
    }
}
