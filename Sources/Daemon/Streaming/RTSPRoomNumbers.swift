// SPDX-License-Identifier: Apache-2.0

internal import Model

/// The number of each room that is served: it has its loopback address by that.
///
/// Pure. A room keeps its number until it is forgotten. Numbers go around: that of a room that is gone is given to another one
/// as late as possible, when nothing of the first is on its way any more.
struct RTSPRoomNumbers: Sendable, Equatable {
    private let limit: Int
    private var numbers: [String: Int] = [:]
    private var taken: Set<Int> = []
    private var next = 0

    init(limit: Int = RTSPFeedPlan.maximumRooms) {
        self.limit = limit
    }

    /// The number of a room, from 0 on; nil if there are too many rooms.
    mutating func number(of room: String) -> Int? {
        if let number = self.numbers[room] { return number }
        guard self.numbers.count < self.limit else { return nil }
        while self.taken.contains(self.next) { self.next = (self.next + 1) % self.limit }
        let number = self.next
        self.next = (self.next + 1) % self.limit
        self.numbers[room] = number
        self.taken.insert(number)
        return number
    }

    /// The room is gone.
    mutating func forget(_ room: String) {
        if let number = self.numbers.removeValue(forKey: room) { self.taken.remove(number) }
    }
}
