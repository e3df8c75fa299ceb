// SPDX-License-Identifier: Apache-2.0

/// The claim of a host of a cluster to its room, as descriptions show it to other hosts (`a=tapedeck-claim`, docs/rooms.md).
public struct RoomClaim: Sendable, Hashable {
    /// A token that the hosts of the cluster have for the room.
    public var room: String
    /// The number of the room's owner, from 1.
    public var epoch: Int

    /// A claim with each part given.
    public init(room: String, epoch: Int) {
        (self.room, self.epoch) = (room, epoch)
    }

    /// Reads the value of the attribute; `nil` if it is none.
    public init?(_ text: String) {
        let parts = text.split(separator: " ", omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[0].isEmpty, let epoch = Int(parts[1]) else { return nil }
        self.init(room: String(parts[0]), epoch: epoch)
    }

    /// The value of the attribute: `5f3a 2`.
    var text: String { "\(self.room) \(self.epoch)" }
}
