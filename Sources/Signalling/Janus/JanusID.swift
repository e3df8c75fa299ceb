// SPDX-License-Identifier: Apache-2.0

internal import Basics

/// The id of a room or of a publisher: a number, or a text where the server is configured so (`string_ids`).
enum JanusID: Hashable, Sendable {
    case number(Int)
    case text(String)

    /// Longest text taken, in bytes.
    private static let maximumBytes = 256

    /// Reads an id; nil if the value is none.
    init?(_ value: JSONValue?) {
        if let number = value?.integer, number >= 0 {
            self = .number(number)
        } else if let text = value?.string, !text.isEmpty, text.utf8.count <= Self.maximumBytes {
            self = .text(text)
        } else {
            return nil
        }
    }

    /// Its form in messages.
    var json: JSONValue {
        switch self {
        case .number(let number): .integer(number)
        case .text(let text): .string(text)
        }
    }

    /// The name of the publisher's call.
    var peer: PeerID {
        switch self {
        case .number(let number): PeerID(String(number))
        case .text(let text): PeerID(text)
        }
    }
}
