// SPDX-License-Identifier: Apache-2.0

internal import Basics

/// Cuts the bytes of one connection into messages: a vertical bar ends each.
struct LANFraming: Sendable, Hashable {
    /// Longest message taken, in bytes.
    static let maximumMessageBytes = JSONValue.maximumBytes
    /// Most messages taken from one read; a call has some dozens in all.
    static let maximumMessages = 512

    /// Why the rest of the connection is not read.
    enum Violation: String, Sendable, Hashable {
        /// No bar within the limit.
        case oversizedMessage = "a message that is larger than 1 MB"
        /// More at once than any genuine peer sends.
        case flood = "hundreds of messages at once"
    }

    private static let end = UInt8(ascii: "|")
    private var rest: [UInt8] = []

    /// Adds what was read.
    ///
    /// - Returns: The messages that are complete now, without empty ones; the violation comes after them.
    mutating func append(_ bytes: [UInt8]) -> (messages: [[UInt8]], violation: Violation?) {
        var messages: [[UInt8]] = []
        var unread = bytes[...]
        while let end = unread.firstIndex(of: Self.end) {
            let message = self.rest + unread[..<end]
            self.rest = []
            unread = unread[(end + 1)...]
            guard message.count <= Self.maximumMessageBytes else { return (messages, .oversizedMessage) }
            guard message.contains(where: { $0 > 0x20 }) else { continue }
            guard messages.count < Self.maximumMessages else { return (messages, .flood) }
            messages.append(message)
        }
        self.rest += unread
        guard self.rest.count <= Self.maximumMessageBytes else {
            self.rest = []
            return (messages, .oversizedMessage)
        }
        return (messages, nil)
    }
}
