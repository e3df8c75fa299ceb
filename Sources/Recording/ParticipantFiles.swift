// SPDX-License-Identifier: Apache-2.0

internal import Basics

/// Limits how many files each participant can make the recorder begin.
///
/// A recording has room for a bounded number of tracks, and a participant that fills it would end it for all others.
/// Pure; instants are nanoseconds of one monotonic clock.
struct ParticipantFiles: Sendable {
    /// More than any participant shares in a meeting, and less than half of the tracks that a recording has room for.
    static let atOnce = 48
    /// Participants of whom files are known before those are forgotten who began few, or none for long.
    private static let fewParticipants = 16

    /// Whether a participant's next file begins.
    enum OnFile: Sendable, Hashable {
        /// It begins now.
        case begins
        /// It begins at this instant at the earliest; `pause` is how long that is, where it was decided now.
        case waits(until: Int64, pause: Duration?)
    }

    private struct Entry: Sendable {
        var limit = RestartLimit(atOnce: ParticipantFiles.atOnce)
        var resumesAt: Int64?
    }

    private var entries: [String: Entry] = [:]

    /// Participants of whom files are known.
    var count: Int { self.entries.count }

    /// A participant's track needs a file, because it is new or because its clock restarted.
    mutating func wanted(by participant: String, at now: Int64) -> OnFile {
        if self.entries[participant] == nil, self.entries.count >= Self.fewParticipants {
            self.entries = self.entries.filter { $0.value.limit.isNeeded(at: now) }
        }
        var entry = self.entries[participant] ?? Entry()
        defer { self.entries[participant] = entry }
        if let resumesAt = entry.resumesAt, now < resumesAt { return .waits(until: resumesAt, pause: nil) }
        entry.resumesAt = nil
        guard let pause = entry.limit.restarted(at: now) else { return .begins }
        let resumesAt = now + pause.nanoseconds
        entry.resumesAt = resumesAt
        return .waits(until: resumesAt, pause: pause)
    }
}
