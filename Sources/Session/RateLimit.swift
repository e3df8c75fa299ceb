// SPDX-License-Identifier: Apache-2.0

/// The rate that may be sent from now on.
public struct RateLimit: Sendable, Equatable {
    /// Bits a second.
    public var bitsPerSecond: Int
    /// Nothing at all for so long, so that what waits on the way gets through; zero but at a reduction.
    public var pause: Duration

    /// A limit with each part given.
    public init(bitsPerSecond: Int, pause: Duration = .zero) {
        self.bitsPerSecond = bitsPerSecond
        self.pause = pause
    }

    /// One in three or more may pull the others down to this part of what the one in the middle takes.
    private static let mostDivisor = 3

    /// The rate of one encoder for several peers with these limits; nil without peers.
    ///
    /// The slowest is followed, for it gets nothing otherwise; but where most take more, no further than to a third of
    /// the lower median. Pauses use the lower median, too: one peer of three or more stops none of the others.
    public static func shared(by peers: [RateLimit]) -> RateLimit? {
        let rates = peers.map(\.bitsPerSecond).sorted()
        guard let slowest = rates.first else { return nil }
        let middle = (peers.count - 1) / 2
        return RateLimit(
            bitsPerSecond: max(slowest, rates[middle] / Self.mostDivisor),
            pause: peers.map(\.pause).sorted(by: >)[middle]
        )
    }
}
