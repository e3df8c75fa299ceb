// SPDX-License-Identifier: Apache-2.0

import Basics

/// When a room is tried again after its worker ended unexpectedly.
///
/// The first time at once, since every second is a second of the call; then with a wait that doubles, less a random
/// part, so that many rooms do not come back at the same instant. Failures that follow each other are a crash loop:
/// the room is tried rarely from then on.
public struct RestartPolicy: Sendable, Hashable {
    /// The figures.
    public struct Settings: Sendable, Hashable {
        /// Wait before the second try; doubles with each further failure.
        public var firstDelay: Duration = .seconds(1)
        /// Longest wait; that of each try in a crash loop.
        public var maximumDelay: Duration = .seconds(60)
        /// Failures that follow each other from which on it is a crash loop.
        public var crashLoopFailures = 5
        /// A try that lasts so long is no failure that follows another: all is forgotten.
        public var healthyTime: Duration = .seconds(300)
        /// Failures that follow each other from which on a room gets a worker for itself.
        public var isolationFailures = 2

        /// The defaults.
        public init() {}
    }

    private let settings: Settings
    private var failures = 0
    /// When the try began that runs now, or will begin.
    private var tryBegan: Duration?

    /// Nothing has failed yet.
    public init(settings: Settings) { self.settings = settings }

    /// Whether the failures follow each other so fast that something is wrong with the room itself.
    public var isCrashLoop: Bool { self.failures >= self.settings.crashLoopFailures }

    /// Whether the room should not share a worker with others.
    public var wantsIsolation: Bool { self.failures >= self.settings.isolationFailures }

    /// Notes a failure.
    ///
    /// - Parameters:
    ///   - now: time since any fixed instant.
    ///   - random: 0 to 1; takes up to half of the wait away.
    /// - Returns: how long to wait before the next try.
    public mutating func failed(at now: Duration, random: Double) -> Duration {
        if let began = self.tryBegan, now - began >= self.settings.healthyTime { self.failures = 0 }
        // More make no difference.
        self.failures = min(self.failures + 1, 1000)
        let delay = self.delay(random)
        self.tryBegan = now + delay
        return delay
    }

    private func delay(_ random: Double) -> Duration {
        guard !self.isCrashLoop else { return self.settings.maximumDelay.varied(by: 750...1000, random: 1 - random) }
        guard self.failures > 1 else { return .zero }
        return Backoff(first: self.settings.firstDelay, longest: self.settings.maximumDelay, variation: 500...1000)
            .delay(failures: self.failures - 1, random: 1 - random)
    }

    /// Forgets every failure, for example because an operator changed the room.
    public mutating func reset() { self.failures = 0 }
}
