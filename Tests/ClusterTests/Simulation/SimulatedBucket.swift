// SPDX-License-Identifier: Apache-2.0

/// Object storage with the faults that real ones have.
struct SimulatedBucket {
    /// Whether the object of a key is what was sent.
    private(set) var objects: [String: Bool] = [:]
    /// Until when every request fails.
    var failsUntil = 0
    /// Until when it keeps other bytes than it was sent, or none.
    var damagesUntil = 0
    /// Until when uploads are carried out and not answered.
    var losesAnswersUntil = 0
    private(set) var puts = 0

    mutating func put(_ key: String, isWhole: Bool?) {
        self.puts += 1
        self.objects[key] = isWhole
    }

    func hasWhole(_ key: String) -> Bool { self.objects[key] == true }
}
