// SPDX-License-Identifier: Apache-2.0

import Cluster

/// The rooms of this host, as its cluster decides about them.
///
/// Any thread.
protocol ClusterHost: Sendable {
    /// Finds out whether this host can run a room as it is defined.
    func examine(_ room: String, _ record: RoomRecord) async -> RoomVerdict

    /// Is this in a room; nil: leaves it, and `.room(_, .gone)` follows.
    ///
    /// Assignments come one after the other; where several waited for the one before, the newest of a room.
    func be(_ room: String, _ assignment: RoomAssignment?) async
}
