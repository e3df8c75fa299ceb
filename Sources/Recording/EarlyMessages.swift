// SPDX-License-Identifier: Apache-2.0

/// Messages written before a recording began, for one that begins in the past or whose media are still on their way.
struct EarlyMessages {
    struct Message: Hashable {
        var participant: String
        var text: String
        var label: String
        var nanoseconds: Int64
    }

    private static let maximum = 64
    /// Media need a moment longer than words: they begin with a keyframe.
    private static let head: Int64 = 5_000_000_000

    private var messages: [Message] = []

    /// Keeps a message; of too many the oldest are let go.
    mutating func keep(_ message: Message) {
        if self.messages.count >= Self.maximum { self.messages.removeFirst() }
        self.messages.append(message)
    }

    /// The messages that belong to a recording that began at an instant, none of them older; all others are dropped.
    ///
    /// - Parameter isAutomatic: whether the first media began it, which are never quite the first thing that comes.
    mutating func take(since start: Int64, isAutomatic: Bool) -> [Message] {
        defer { self.messages = [] }
        let earliest = isAutomatic ? start &- Self.head : start
        return self.messages.filter { $0.nanoseconds >= earliest }.map { message in
            var message = message
            message.nanoseconds = max(start, message.nanoseconds)
            return message
        }
    }
}
