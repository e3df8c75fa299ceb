// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// A value in a column of text, as JSON.
enum JSONColumn {
    /// The same text for the same value.
    static func text(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }

    /// The value; `nil` for none, and for what is no such value.
    static func value<Value: Decodable>(_ text: String?) -> Value? {
        text.flatMap { try? JSONDecoder().decode(Value.self, from: Data($0.utf8)) }
    }
}
