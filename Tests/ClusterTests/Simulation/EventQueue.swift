// SPDX-License-Identifier: Apache-2.0

/// What happens later, by time and then by the order in which it was planned: a binary heap.
struct EventQueue {
    private struct Item {
        let time: Int
        let number: Int
        let body: () -> Void

        func isBefore(_ other: Item) -> Bool {
            self.time < other.time || (self.time == other.time && self.number < other.number)
        }
    }

    private var items: [Item] = []
    private(set) var planned = 0

    mutating func plan(at time: Int, _ body: @escaping () -> Void) {
        self.planned += 1
        self.items.append(Item(time: time, number: self.planned, body: body))
        var index = self.items.count - 1
        while index > 0 {
            let parent = (index - 1) / 2
            guard self.items[index].isBefore(self.items[parent]) else { break }
            self.items.swapAt(index, parent)
            index = parent
        }
    }

    mutating func next() -> (time: Int, body: () -> Void)? {
        guard let first = self.items.first, let last = self.items.popLast() else { return nil }
        if !self.items.isEmpty {
            self.items[0] = last
            self.sink()
        }
        return (first.time, first.body)
    }

    private mutating func sink() {
        var index = 0
        while true {
            var least = index
            for child in [2 * index + 1, 2 * index + 2] where child < self.items.count {
                if self.items[child].isBefore(self.items[least]) { least = child }
            }
            guard least != index else { return }
            self.items.swapAt(index, least)
            index = least
        }
    }
}
