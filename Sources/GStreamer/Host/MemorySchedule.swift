// SPDX-License-Identifier: Apache-2.0

/// When free memory goes back to the system: once no peer is connected any more, and where one always is, every ten
/// minutes in which a connection ended.
struct MemorySchedule: Sendable {
    /// After a connection has ended, for what ends with it.
    static let settlingSeconds = 2
    /// As long may memory stay while there are connections, whose threads would wait for the locks of malloc.
    static let longestWait = Duration.seconds(600)

    private(set) var connections = 0
    private var hasEnded = false
    private var released: ContinuousClock.Instant

    init(now: ContinuousClock.Instant) { self.released = now }

    mutating func connectionBegan() { self.connections += 1 }

    mutating func connectionEnded() {
        self.connections -= 1
        self.hasEnded = true
    }

    /// Whether it is time, and from then on not until another connection has ended.
    mutating func isDue(now: ContinuousClock.Instant) -> Bool {
        guard self.hasEnded, self.connections == 0 || now - self.released >= Self.longestWait else { return false }
        self.hasEnded = false
        self.released = now
        return true
    }
}
