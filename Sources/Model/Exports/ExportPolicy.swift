// SPDX-License-Identifier: Apache-2.0

public import Basics

/// When an export may begin, and when one that failed is tried again.
///
/// Pure.
public struct ExportPolicy: Sendable, Hashable {
    /// The waits between tries: what another program held for a moment is tried again soon, a disk that is full gets hours.
    public var backoff = Backoff(first: .seconds(5), longest: .seconds(3600), growth: 4000, variation: 800...1200)
    /// Tries before an export is abandoned, 1 and up.
    public var maximumAttempts = 8
    /// How often it is looked whether there is space now.
    public var spaceInterval: Duration = .seconds(5)

    /// The usual policy: seven more tries within about two and a half hours.
    public init() {}

    /// The wait before the next try; nil gives the export up.
    ///
    /// - Parameters:
    ///   - attempts: how often it has failed, 1 and up.
    ///   - isRetriable: whether another try may end otherwise.
    ///   - random: a random number from 0 to 1.
    public func wait(afterAttempts attempts: Int, isRetriable: Bool, random: Double) -> Duration? {
        guard isRetriable, attempts < self.maximumAttempts else { return nil }
        return self.backoff.delay(failures: attempts, random: random)
    }

    /// The bytes that must become free before an export begins; 0 if it may.
    ///
    /// An export must not take the space that recordings in progress need: half of `minimumFreeBytes`, below which they end,
    /// stays free.
    ///
    /// - Parameter exportBytes: what it and those that run may write: each about as much as it is made of, or twice that.
    public func missingBytes(exportBytes: Int64, freeBytes: Int64, minimumFreeBytes: Int64) -> Int64 {
        let (needed, overflows) = max(0, exportBytes).addingReportingOverflow(max(0, minimumFreeBytes) / 2)
        return max(0, (overflows ? .max : needed) - max(0, freeBytes))
    }
}
