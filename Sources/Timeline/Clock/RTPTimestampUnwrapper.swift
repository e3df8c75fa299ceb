// SPDX-License-Identifier: Apache-2.0

/// Turns the 32-bit time stamps of one RTP stream into a 64-bit count that does not wrap (RFC 3550, 5.1).
///
/// Each time stamp is taken as the nearest one to its predecessor: a step of less than 2^31 ticks goes forward, any
/// other goes backward, so late packets and one wrap after another come out right. The low 32 bits of a result are
/// always the time stamp itself. The probe in C does the same arithmetic.
public struct RTPTimestampUnwrapper: Sendable, Hashable {
    private var last: Int64?

    /// An unwrapper that has seen nothing: its first result is the first time stamp itself.
    public init() {}

    /// The unwrapped value of the stream's next time stamp, in ticks of its RTP clock.
    public mutating func unwrap(_ timestamp: UInt32) -> Int64 {
        let value = self.last.map { Self.nearest(timestamp, to: $0) } ?? Int64(timestamp)
        self.last = value
        return value
    }

    /// The unwrapped value with these low 32 bits that lies nearest to `reference`.
    ///
    /// A distance of exactly 2^31 ticks counts as backward.
    public static func nearest(_ timestamp: UInt32, to reference: Int64) -> Int64 {
        let step = Int32(bitPattern: timestamp &- UInt32(truncatingIfNeeded: reference))
        return reference &+ Int64(step)
    }
}
