// SPDX-License-Identifier: Apache-2.0

/// The seconds that all of a process count together, so that whatever is done once a second wakes it once.
public enum CommonSecond {
    private static let start = ContinuousClock.now

    /// Sleeps until one of them begins, for half a second at least.
    ///
    /// Any task.
    /// - Throws: `CancellationError`.
    public static func sleep() async throws {
        let (start, now) = (Self.start, ContinuousClock.now)
        try await Task.sleep(until: start + Self.next(after: now - start), clock: .continuous)
    }

    /// When the next one begins, since the first.
    static func next(after elapsed: Duration) -> Duration {
        .seconds((elapsed + .milliseconds(500)).components.seconds + 1)
    }
}
