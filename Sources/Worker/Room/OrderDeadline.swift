// SPDX-License-Identifier: Apache-2.0

internal import Model

/// Until when an order is to be performed: whoever waits for it gives it up then, and what was given up is not performed.
struct OrderDeadline: Sendable {
    /// Nobody waits for it any more.
    struct Missed: Error, CustomStringConvertible {
        var description: String { "what came before it took too long: it was not performed" }
    }

    /// Longest time for one step.
    private let limit: Duration
    /// Nil where nobody waits: it is performed whenever its turn comes.
    private let end: ContinuousClock.Instant?

    /// The deadline of an order that came now.
    ///
    /// - Parameter limit: for each step of it, and for all of them together where somebody waits.
    init(_ order: NumberedCommand, limit: Duration, from now: ContinuousClock.Instant = .now) {
        self.limit = limit
        self.end = order.number == nil ? nil : now + limit
    }

    /// How long the next step may take; throws if it may not begin any more.
    func rest(at now: ContinuousClock.Instant = .now) throws(Missed) -> Duration {
        guard let end else { return self.limit }
        guard now < end else { throw Missed() }
        return end - now
    }
}
