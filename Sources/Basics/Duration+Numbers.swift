// SPDX-License-Identifier: Apache-2.0

extension Duration {
    /// Whole nanoseconds, what is left over cut off; beyond 292 years the end of the range.
    public var nanoseconds: Int64 { self.whole(perSecond: 1_000_000_000) }

    /// Whole milliseconds, what is left over cut off; beyond 292 million years the end of the range.
    public var milliseconds: Int64 { self.whole(perSecond: 1000) }

    /// Seconds with their fraction.
    public var seconds: Double {
        Double(self.components.seconds) + Double(self.components.attoseconds) / 1e18
    }

    private func whole(perSecond: Int64) -> Int64 {
        let (seconds, attoseconds) = self.components
        let (product, isBeyond) = seconds.multipliedReportingOverflow(by: perSecond)
        let rest = attoseconds / (1_000_000_000_000_000_000 / perSecond)
        let (sum, isBeyondAfterAll) = product.addingReportingOverflow(rest)
        return isBeyond || isBeyondAfterAll ? (seconds < 0 ? .min : .max) : sum
    }
}
