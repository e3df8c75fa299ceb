// SPDX-License-Identifier: Apache-2.0

import Basics

/// The query of a request target: names and values, percent-decoded, in order.
///
/// Every name may be there once, and only those that are asked for: a misspelt filter must not list everything.
struct Query {
    private var values: [String: String] = [:]
    private var problems: [String] = []

    /// Splits a query as HTML forms write them; what is wrong is reported by `finish`.
    init(_ text: String?) {
        for item in (text ?? "").utf8.split(separator: UInt8(ascii: "&")) {
            let parts = item.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = parts.first.flatMap(Self.decode),
                let value = Self.decode(parts.count > 1 ? parts[1] : "".utf8[...])
            else {
                self.problems.append("the query is not percent-encoded UTF-8")
                continue
            }
            if self.values.updateValue(value, forKey: name) != nil {
                self.problems.append("\(Self.quoted(name)) is there twice")
            }
        }
    }

    /// Takes a text of 1 to `longest` Unicode code points; an empty one counts as absent.
    mutating func text(_ name: String, longest: Int = 512) -> String? {
        guard let value = self.values.removeValue(forKey: name), !value.isEmpty else { return nil }
        guard value.unicodeScalars.count <= longest, value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7f }) else {
            self.problems.append("\"\(name)\" is longer than \(longest) characters or has control characters")
            return nil
        }
        return value
    }

    /// Takes a whole number of a range.
    mutating func integer(_ name: String, in range: ClosedRange<Int>) -> Int? {
        guard let text = self.values.removeValue(forKey: name) else { return nil }
        guard text.utf8.count <= 9, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let value = Int(text),
            range.contains(value)
        else {
            self.problems.append(
                "\"\(name)\" must be a whole number from \(range.lowerBound) to \(range.upperBound)"
            )
            return nil
        }
        return value
    }

    /// Takes a time in UTC, such as `2026-11-21T06:00:00Z`.
    mutating func time(_ name: String) -> String? {
        guard let text = self.values.removeValue(forKey: name) else { return nil }
        if UTCTime(iso8601: text) == nil {
            self.problems.append("\"\(name)\" must be a time in UTC such as 2026-11-21T06:00:00Z")
        }
        return text
    }

    /// Takes a flag: `name`, `name=true` or `name=1`, and their opposites.
    mutating func flag(_ name: String) -> Bool {
        switch self.values.removeValue(forKey: name) {
        case "", "true", "1": return true
        case nil, "false", "0": return false
        default:
            self.problems.append("\"\(name)\" must be true or false")
            return false
        }
    }

    /// Throws `badRequest` with all errors, including names that were not taken.
    consuming func finish() throws(Problem) {
        let all = self.problems + self.values.keys.sorted().map { "\(Self.quoted($0)) is not known here" }
        guard all.isEmpty else { throw Problem(.badRequest, "The query is wrong.", problems: Array(all.prefix(20))) }
    }

    private static func quoted(_ name: String) -> String { "\"\(name.prefix(64))\"" }

    private static func decode(_ bytes: some Collection<UInt8>) -> String? {
        PercentCoding.bytes(of: bytes, taking: .plusIsSpace).flatMap { String(validating: $0, as: UTF8.self) }
    }
}
