// SPDX-License-Identifier: Apache-2.0

/// Detects that the process stood still: it received nothing in that time, and the kernel buffers little.
///
/// A recorder takes something every few milliseconds, or finds every second at least that there is nothing. A disk that
/// blocks it is no stall: media that came in that time wait in the queue, and arrived in the time in question. Pure;
/// instants are nanoseconds of one monotonic clock, which stands still while the machine is suspended.
public struct StallWatch: Sendable, Hashable {
    /// A busy machine is not that late, and connections outlive less.
    private static let limit: Int64 = 5_000_000_000

    /// The latest instant at which something is known to have come, or nothing.
    private var lastSign: Int64
    /// Total suspension of the machine when it was last reported.
    private var lastSuspended: Int64

    /// A watch of a process that runs now, on a machine that was suspended for so long, in nanoseconds, since it started.
    public init(at now: Int64, suspended: Int64) {
        self.lastSign = now
        self.lastSuspended = suspended
    }

    /// The process did something until an instant, however long that took: a disk that stops it is no stall.
    public mutating func wasAwake(at instant: Int64) {
        self.lastSign = max(self.lastSign, instant)
    }

    /// Something was taken that arrived at an instant, or there was nothing until then.
    ///
    /// - Returns: how long the process stood still before; nil if it did not.
    public mutating func seen(at instant: Int64) -> Duration? {
        let (silence, overflow) = instant.subtractingReportingOverflow(self.lastSign)
        guard !overflow, silence > 0 else { return nil }
        self.lastSign = instant
        return silence >= Self.limit ? .nanoseconds(silence) : nil
    }

    /// For how long, in nanoseconds, the machine was suspended since it started, all times together.
    ///
    /// - Returns: the suspension since it was last reported; nil if it is too short to be reported.
    public mutating func suspended(for total: Int64) -> Duration? {
        let (length, overflow) = total.subtractingReportingOverflow(self.lastSuspended)
        guard !overflow, length >= Self.limit else { return nil }
        self.lastSuspended = total
        return .nanoseconds(length)
    }
}
