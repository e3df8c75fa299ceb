// SPDX-License-Identifier: Apache-2.0

/// What connections or tracks of each participant had counted when they ended: his totals go on with the next one.
///
/// Whoever reads totals may take what they grow by, also of a participant who went and came again.
struct EndedCounts: Sendable {
    private var counts: [String: UInt64] = [:]

    /// Of whom counts are kept; of others beyond, totals begin anew with each connection.
    static let maximumParticipants = 1024

    /// What all that ended of a participant had counted.
    subscript(participant: String) -> UInt64 { self.counts[participant] ?? 0 }

    /// Keeps what one that ended had counted.
    mutating func add(_ count: UInt64, of participant: String) {
        guard count > 0, self.counts[participant] != nil || self.counts.count < Self.maximumParticipants else { return }
        self.counts[participant, default: 0] &+= count
    }
}
