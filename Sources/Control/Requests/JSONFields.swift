// SPDX-License-Identifier: Apache-2.0

import Basics

/// The members of a JSON object, taken one by one; `finish` reports all errors at once, including members that were not
/// taken.
struct JSONFields {
    private var members: [String: JSONValue]
    private let path: String
    private var problems: [String] = []

    /// The members of an object; `path` is put before the names in problems.
    init(_ members: [String: JSONValue], path: String = "") {
        self.members = members
        self.path = path
    }

    /// Takes a text without control characters.
    ///
    /// Its length is counted in Unicode code points, as JSON Schema counts.
    mutating func text(_ name: String, _ length: ClosedRange<Int>) -> String? {
        self.take(name, "a text of \(length.lowerBound) to \(length.upperBound) plain characters") { value in
            value.string.flatMap { text in
                let isPlain = text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7f }
                return isPlain && length.contains(text.unicodeScalars.count) ? text : nil
            }
        }
    }

    /// Takes a text that must be there.
    mutating func requiredText(_ name: String, _ length: ClosedRange<Int>) -> String? {
        if self.isMissing(name) { self.complain(name, "is missing") }
        return self.text(name, length)
    }

    /// Takes one of the words of an enumeration.
    mutating func choice<Value: RawRepresentable & CaseIterable>(_ name: String) -> Value?
    where Value.RawValue == String {
        let words = Value.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: " or ")
        return self.take(name, words) { value in value.string.flatMap { Value(rawValue: $0) } }
    }

    /// Takes a whole number of a range.
    mutating func integer(_ name: String, _ range: ClosedRange<Int>) -> Int? {
        self.take(name, "a whole number from \(range.lowerBound) to \(range.upperBound)") { value in
            value.integer.flatMap { range.contains($0) ? $0 : nil }
        }
    }

    /// Takes true or false.
    mutating func boolean(_ name: String) -> Bool? {
        self.take(name, "true or false") { value in if case .bool(let truth) = value { truth } else { nil } }
    }

    /// Takes a number of seconds.
    mutating func seconds(_ name: String) -> Double? {
        self.take(name, "a number of seconds, 0 or more") { value in
            Self.number(value).flatMap { $0 >= 0 ? $0 : nil }
        }
    }

    /// Takes a number.
    mutating func number(_ name: String) -> Double? {
        self.take(name, "a number", Self.number)
    }

    private static func number(_ value: JSONValue) -> Double? {
        let number: Double? =
            switch value {
            case .integer(let whole): Double(whole)
            case .number(let number): number
            default: nil
            }
        return number.flatMap { $0.isFinite ? $0 : nil }
    }

    /// Takes an object.
    mutating func object(_ name: String) -> [String: JSONValue]? {
        self.take(name, "an object") { $0.object }
    }

    /// Whether a member is there and null; if so it is taken.
    mutating func isNull(_ name: String) -> Bool {
        guard self.members[name] == .null else { return false }
        self.members[name] = nil
        return true
    }

    /// Takes a member whatever it is; false if it is not there.
    mutating func take(_ name: String) -> Bool { self.members.removeValue(forKey: name) != nil }

    /// Whether a member is not there.
    func isMissing(_ name: String) -> Bool { self.members[name] == nil }

    /// Notes something that is wrong with a member.
    mutating func complain(_ name: String, _ problem: String) {
        self.problems.append("\(self.path)\(name) \(problem)")
    }

    /// Takes over the problems of an object inside this one.
    mutating func adopt(_ inner: consuming JSONFields) {
        self.problems += inner.allProblems
    }

    /// Throws `invalid` with everything that is wrong.
    consuming func finish() throws(Problem) {
        let problems = self.allProblems
        guard problems.isEmpty else {
            throw Problem(.invalid, "The request body is wrong.", problems: Array(problems.prefix(50)))
        }
    }

    private var allProblems: [String] {
        self.problems + self.members.keys.sorted().map { "\(self.path)\($0.prefix(64)) is not known here" }
    }

    private mutating func take<Value>(_ name: String, _ wanted: String, _ read: (JSONValue) -> Value?) -> Value? {
        guard let value = self.members.removeValue(forKey: name) else { return nil }
        let result = read(value)
        if result == nil { self.complain(name, "must be \(wanted)") }
        return result
    }
}
