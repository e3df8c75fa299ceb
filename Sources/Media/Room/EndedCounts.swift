// SPDX-License-Identifier: Apache-2.0

/// Counts of the ended connections or tracks of each participant: the participant's totals continue with the next one.
///
/// A reader of totals may use their differences, also for a participant that left and came again.
struct EndedCounts: Sendable {
    private var counts: [String: UInt64] = [:]

    /// Limit of participants whose counts are kept; for others, totals restart with each connection.
    static let maximumParticipants = 1024

    /// The sum of a participant's ended counts.
    subscript(participant: String) -> UInt64 { self.counts[participant] ?? 0 }

    /// Keeps what one that ended had counted.
    mutating func add(_ count: UInt64, of participant: String) {
        guard count > 0, self.counts[participant] != nil || self.counts.count < Self.maximumParticipants else { return }
        self.counts[participant, default: 0] &+= count
    }
}
