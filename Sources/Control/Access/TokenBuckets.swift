// SPDX-License-Identifier: Apache-2.0

/// Token buckets by key: a client that asks more often than allowed learns when to come again.
///
/// Time is what has passed since any fixed instant. A table that is full forgets the key that was quiet longest, which
/// then starts with a full bucket.
struct TokenBuckets<Key: Hashable & Sendable>: Sendable {
    private struct Bucket: Sendable {
        var level: Double
        var at: Duration
    }

    private let perSecond: Double
    private let burst: Double
    private var buckets: LeastRecentlyUsed<Key, Bucket>

    init(rate: ControlConfiguration.Rate, capacity: Int) {
        self.perSecond = max(rate.perSecond, 0.001)
        self.burst = max(rate.burst, 1)
        self.buckets = LeastRecentlyUsed(capacity: capacity)
    }

    var count: Int { self.buckets.count }

    /// Takes one from a key's bucket; the whole seconds until there is one again if it is empty.
    mutating func take(_ key: Key, now: Duration) -> Int? {
        let level = self.level(of: key, now: now)
        guard level >= 1 else {
            self.buckets[key] = Bucket(level: level, at: now)
            return self.seconds(until: 1 - level)
        }
        self.buckets[key] = Bucket(level: level - 1, at: now)
        return nil
    }

    /// The result that `take` would have, without taking.
    mutating func wait(_ key: Key, now: Duration) -> Int? {
        let level = self.level(of: key, now: now)
        return level >= 1 ? nil : self.seconds(until: 1 - level)
    }

    private mutating func level(of key: Key, now: Duration) -> Double {
        guard let bucket = self.buckets[key] else { return self.burst }
        let passed = max(0, (now - bucket.at) / .seconds(1))
        return min(self.burst, bucket.level + passed * self.perSecond)
    }

    private func seconds(until missing: Double) -> Int {
        max(1, Int((missing / self.perSecond).rounded(.up)))
    }
}
