// SPDX-License-Identifier: Apache-2.0

/// Wakes one waiter when something may have changed.
///
/// The waiter looks at the state itself: several rings before it looks count as one, and a ring too many does no harm.
public final class Bell: Sendable {
    private let rings: AsyncStream<Void>
    private let feed: AsyncStream<Void>.Continuation

    /// A bell that is silent.
    public init() {
        (self.rings, self.feed) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Any thread; does not block.
    public func ring() { self.feed.yield() }

    /// Looks now and at each ring until something is found; nil if it is not by the deadline, or if the task is cancelled.
    ///
    /// One waiter at a time.
    ///
    /// - Parameter interval: rings also without a cause, so often; nil for never.
    public func wait<Found>(
        until deadline: ContinuousClock.Instant? = nil,
        every interval: Duration? = nil,
        for look: () -> Found?
    ) async -> Found? {
        if let found = look() { return found }
        let alarm = deadline.map { deadline in
            Task { if (try? await Task.sleep(until: deadline, clock: .continuous)) != nil { self.ring() } }
        }
        let pulse = interval.map { interval in
            Task { while (try? await Task.sleep(for: interval)) != nil { self.ring() } }
        }
        defer {
            alarm?.cancel()
            pulse?.cancel()
        }
        for await _ in self.rings {
            if let found = look() { return found }
            if let deadline, ContinuousClock.now >= deadline { return nil }
        }
        return nil
    }
}
