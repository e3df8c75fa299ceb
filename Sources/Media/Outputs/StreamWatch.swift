// SPDX-License-Identifier: Apache-2.0

/// Whether the packets of a stream get away from this host, as its counters show.
///
/// Sockets keep the address of ours that they were opened with, and nothing gets away any more when it is gone.
struct StreamWatch: Sendable, Hashable {
    /// How long packets are tried in vain.
    static let patience: Int64 = 20_000_000_000

    private var packets: UInt64 = 0
    private var dropped: UInt64 = 0
    /// Since when packets are tried in vain.
    private var stuckSince: Int64?

    /// Looks at the counts so far; returns whether the stream must be opened again.
    ///
    /// - Parameter isRefused: Whether no one listens there, as reported by the host that got packets.
    mutating func isStuck(packets: UInt64, dropped: UInt64, isRefused: Bool, now: Int64) -> Bool {
        let isSent = packets != self.packets
        let isTried = dropped != self.dropped
        self.packets = packets
        self.dropped = dropped
        guard !isSent, !isRefused else {
            self.stuckSince = nil
            return false
        }
        guard isTried else { return false }
        let since = self.stuckSince ?? now
        self.stuckSince = since
        return now - since >= Self.patience
    }
}
