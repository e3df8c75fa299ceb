// SPDX-License-Identifier: Apache-2.0

/// When the disk will be full if writing continues as in the last minutes.
public struct DiskForecast: Sendable, Hashable {
    private struct Sample: Hashable {
        var nanoseconds: Int64
        var freeBytes: Int64
    }

    /// Older measurements do not count.
    public static let window = Duration.seconds(300)
    private static let maximumSamples = 301
    private var samples: [Sample] = []

    /// A forecast that has measured nothing yet.
    public init() {}

    /// The free bytes were measured, at a time of the monotonic clock.
    ///
    /// A clock that goes back restarts the forecast; more than one measurement a second adds nothing.
    public mutating func measured(freeBytes: Int64, monotonicNanoseconds: Int64) {
        if let last = self.samples.last, monotonicNanoseconds <= last.nanoseconds { self.samples.removeAll() }
        self.samples.append(Sample(nanoseconds: monotonicNanoseconds, freeBytes: freeBytes))
        let isOld = { (sample: Sample) in
            .nanoseconds(monotonicNanoseconds) - .nanoseconds(sample.nanoseconds) > Self.window
        }
        let old = self.samples.prefix(while: isOld).count
        self.samples.removeFirst(max(old, self.samples.count - Self.maximumSamples))
    }

    /// Bytes written in a second, averaged over the window; files deleted within it do not reduce the rate.
    ///
    /// `nil` before the second measurement.
    public var bytesPerSecond: Double? {
        guard let first = self.samples.first, let last = self.samples.last, self.samples.count > 1 else { return nil }
        let seconds = (Double(last.nanoseconds) - Double(first.nanoseconds)) / 1e9
        let written = zip(self.samples, self.samples.dropFirst()).reduce(0.0) { sum, pair in
            sum + max(0, Double(pair.0.freeBytes) - Double(pair.1.freeBytes))
        }
        return written / seconds
    }

    /// Seconds until nothing is free; `nil` while nothing is written or the rate is unknown.
    public var secondsUntilFull: Double? {
        guard let last = self.samples.last, let rate = self.bytesPerSecond, rate > 0 else { return nil }
        return max(0, Double(last.freeBytes)) / rate
    }
}
