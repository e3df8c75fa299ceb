// SPDX-License-Identifier: Apache-2.0

/// Decides when the encoders of a codec are tried again, after the last of them failed.
///
/// Pure; instants are nanoseconds of one monotonic clock.
struct EncoderRetry: Sendable, Hashable {
    /// Waits double from here.
    private static let firstDelay: UInt64 = 10_000_000_000
    private static let longestDelay: UInt64 = 300_000_000_000
    /// After an encoder that ran for so long everything begins again.
    private static let steadiness: UInt64 = 60_000_000_000

    /// How often in a row none was left.
    private var failures: UInt64 = 0
    private var runsSince: UInt64?
    private var waitsUntil: UInt64 = 0

    /// Whether none was left before, and no encoder has run for long since.
    var isFailing: Bool { self.failures > 0 }

    /// Whether encoders may be started now.
    func mayStart(at now: UInt64) -> Bool { now >= self.waitsUntil }

    /// Takes that an encoder runs.
    mutating func started(at now: UInt64) {
        self.runsSince = now
    }

    /// Takes that the encoder does not run any more, for whatever reason.
    mutating func ended(at now: UInt64) {
        if let since = self.runsSince, now >= since + Self.steadiness { self.failures = 0 }
        self.runsSince = nil
    }

    /// Takes that none is left; whether that must be reported.
    mutating func failed(at now: UInt64) -> Bool {
        self.ended(at: now)
        self.waitsUntil = now + min(Self.longestDelay, Self.firstDelay << min(16, self.failures))
        self.failures += 1
        return self.failures == 1
    }
}
