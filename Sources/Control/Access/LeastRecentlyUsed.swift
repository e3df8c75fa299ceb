// SPDX-License-Identifier: Apache-2.0

/// A table of bounded size that forgets the entry that was used longest ago.
///
/// Reading and writing take constant time, save that a full table sorts out a tenth of itself at once.
struct LeastRecentlyUsed<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    /// Most entries, 1 or more.
    let capacity: Int
    private var entries: [Key: (value: Value, used: UInt64)] = [:]
    private var uses: UInt64 = 0

    init(capacity: Int) {
        self.capacity = max(1, capacity)
    }

    var count: Int { self.entries.count }

    /// The value of a key; reading it counts as use.
    subscript(key: Key) -> Value? {
        mutating get {
            guard let entry = self.entries[key] else { return nil }
            self.uses += 1
            self.entries[key] = (entry.value, self.uses)
            return entry.value
        }
        set {
            guard let newValue else {
                self.entries[key] = nil
                return
            }
            if self.entries[key] == nil, self.entries.count >= self.capacity { self.makeRoom() }
            self.uses += 1
            self.entries[key] = (newValue, self.uses)
        }
    }

    /// Forgets what the predicate says.
    mutating func removeAll(where isStale: (Value) -> Bool) {
        self.entries = self.entries.filter { !isStale($0.value.value) }
    }

    private mutating func makeRoom() {
        let oldest = self.entries.sorted { $0.value.used < $1.value.used }.prefix(max(1, self.capacity / 10))
        for entry in oldest { self.entries[entry.key] = nil }
    }
}
