// SPDX-License-Identifier: Apache-2.0

/// Which participant has which place of an output.
///
/// A place that was left is kept for its participant as long as there are others to give away.
struct OutputPlaces: Sendable, Hashable {
    private var holders: [String?]
    private var former: [String?]
    /// When each slot was left, as a number that only rises; 0 for one that was never taken.
    private var left: [Int]
    private var count = 0

    init(count: Int) {
        self.holders = Array(repeating: nil, count: count)
        self.former = self.holders
        self.left = Array(repeating: 0, count: count)
    }

    /// The participants with slots, the first slot first.
    var participants: [String] { self.holders.compactMap { $0 } }

    /// The place of a participant, from 0.
    subscript(participant: String) -> Int? { self.holders.firstIndex(of: participant) }

    /// Gives a participant a slot: the one it has or had, else one that was never taken, else the one that was left
    /// first.
    mutating func take(for participant: String) -> Int? {
        if let place = self[participant] { return place }
        let free = self.holders.indices.filter { self.holders[$0] == nil }
        let best = free.first { self.former[$0] == participant } ?? free.min { self.left[$0] < self.left[$1] }
        guard let best else { return nil }
        self.holders[best] = participant
        return best
    }

    /// Takes a participant's place away.
    mutating func leave(_ participant: String) {
        guard let place = self[participant] else { return }
        self.count += 1
        self.left[place] = self.count
        self.former[place] = participant
        self.holders[place] = nil
    }
}
