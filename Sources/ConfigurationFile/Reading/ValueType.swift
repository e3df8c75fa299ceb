// SPDX-License-Identifier: Apache-2.0

internal import Basics

/// How a scalar is read.
struct ValueType<Value: Sendable>: Sendable {
    /// What is accepted, for messages.
    let accepted: String
    /// Reads a scalar.
    let read: @Sendable (SourceNode.Scalar) throws(WrongValue) -> Value

    init(accepted: String, read: @escaping @Sendable (SourceNode.Scalar) throws(WrongValue) -> Value) {
        self.accepted = accepted
        self.read = read
    }

    /// A type of which every value is a text that a function turns into a value or refuses with nil.
    init(accepted: String, text read: @escaping @Sendable (String) -> Value?) {
        self.init(accepted: accepted) { scalar throws(WrongValue) in
            guard scalar.form == .string, let value = read(scalar.text) else { throw WrongValue() }
            return value
        }
    }

    /// The type, or a word that stands for nil.
    func or(_ word: String) -> ValueType<Value?> {
        ValueType<Value?>(accepted: "\(self.accepted), or \(word)") { scalar throws(WrongValue) in
            scalar.text == word ? nil : try self.read(scalar)
        }
    }
}

/// A scalar was not what it should be.
struct WrongValue: Error {
    /// What is wrong and what would be right, where the type's own words do not say it; nothing of a value that was substituted.
    var reason: String?
    /// A word that is spelt alike.
    var suggestion: String?
}

extension ValueType where Value == Bool {
    /// `true` or `false`.
    static let boolean = ValueType(accepted: "true or false") { scalar throws(WrongValue) in
        guard scalar.form == .boolean || scalar.isSubstituted else { throw WrongValue() }
        switch scalar.text {
        case "true": return true
        case "false": return false
        default: throw WrongValue()
        }
    }
}

extension ValueType where Value == Int {
    /// A whole number.
    static func integer(_ range: ClosedRange<Int>) -> ValueType {
        ValueType(accepted: "a whole number from \(range.lowerBound) to \(range.upperBound)") {
            scalar throws(WrongValue) in
            guard scalar.form == .integer || scalar.isSubstituted, let value = Int(scalar.text),
                range.contains(value)
            else { throw WrongValue() }
            return value
        }
    }

    /// A bit rate.
    static func bitRate(_ range: ClosedRange<Int>) -> ValueType {
        let bounds = "\(BitRateText.text(range.lowerBound)) to \(BitRateText.text(range.upperBound))"
        return ValueType(accepted: "a bit rate from \(bounds), such as 1500k or 2M") { text in
            BitRateText.parse(text).flatMap { range.contains($0) ? $0 : nil }
        }
    }
}

extension ValueType where Value == Int {
    /// A length of time in seconds; parts of a second are cut off.
    static func seconds(_ range: ClosedRange<Int>, example: String) -> ValueType {
        let time = ValueType<Duration>.duration(
            .seconds(range.lowerBound)...(.seconds(range.upperBound)),
            example: example
        )
        return ValueType(accepted: time.accepted) { scalar throws(WrongValue) in
            Int(try time.read(scalar).components.seconds)
        }
    }

    /// A length of time in milliseconds.
    static func milliseconds(_ range: ClosedRange<Int>, example: String) -> ValueType {
        let time = ValueType<Duration>.duration(
            .milliseconds(range.lowerBound)...(.milliseconds(range.upperBound)),
            example: example
        )
        return ValueType(accepted: time.accepted) { scalar throws(WrongValue) in
            Int(try time.read(scalar).milliseconds)
        }
    }
}

extension ValueType where Value == Duration {
    /// A length of time.
    static func duration(_ range: ClosedRange<Duration>, example: String) -> ValueType {
        let bounds = "\(DurationText.text(range.lowerBound)) to \(DurationText.text(range.upperBound))"
        return ValueType(accepted: "a time from \(bounds) with its unit (ms, s, m, h, d), such as \(example)") { text in
            DurationText.parse(text).flatMap { range.contains($0) ? $0 : nil }
        }
    }
}

extension ValueType where Value == Int64 {
    /// A number of bytes.
    static func bytes(_ range: ClosedRange<Int64>, example: String) -> ValueType {
        let bounds = "\(ByteCountText.text(range.lowerBound)) to \(ByteCountText.text(range.upperBound))"
        return ValueType(accepted: "a size from \(bounds) with its unit (MB, GB, MiB, GiB, …), such as \(example)") {
            text in
            ByteCountText.parse(text).flatMap { range.contains($0) ? $0 : nil }
        }
    }
}

extension ValueType where Value == String {
    /// One line of text.
    static func line(maximum: Int) -> ValueType {
        ValueType(accepted: "one line of 1 to \(maximum) characters; numbers, true and false in quotes") { text in
            guard (1...maximum).contains(text.unicodeScalars.count),
                !text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
            else { return nil }
            return text
        }
    }

    /// An absolute path, without a slash at its end.
    static func absolutePath(example: String) -> ValueType {
        ValueType(accepted: "an absolute path, such as \(example)", text: AbsolutePath.parse)
    }
}

extension ValueType where Value == Secret {
    /// A secret of printable ASCII without spaces, as a bearer token is (RFC 6750 section 2.1), and others as well.
    static func secret(_ length: ClosedRange<Int>) -> ValueType {
        ValueType(
            accepted: "\(length.lowerBound) to \(length.upperBound) printable ASCII characters without spaces; "
                + "numbers in quotes"
        ) { text in
            guard length.contains(text.utf8.count), text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
                return nil
            }
            return Secret(text)
        }
    }

    /// A password as people choose them: one line, spaces and all.
    static func password(maximum: Int) -> ValueType {
        ValueType(accepted: "one line of 1 to \(maximum) characters; numbers in quotes") { text in
            guard (1...maximum).contains(text.unicodeScalars.count),
                !text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
            else { return nil }
            return Secret(text)
        }
    }
}

extension ValueType where Value: RawRepresentable & CaseIterable, Value.RawValue == String {
    /// One of the words of an enumeration.
    static var choice: ValueType { .choice(of: Array(Value.allCases)) }

    /// One of some words of an enumeration.
    static func choice(of values: [Value]) -> ValueType {
        let words = values.map(\.rawValue)
        return ValueType(accepted: words.joined(separator: ", ")) { scalar throws(WrongValue) in
            guard let value = values.first(where: { $0.rawValue == scalar.text }) else {
                let isShown = !scalar.isSubstituted
                throw WrongValue(
                    suggestion: isShown ? Spelling.suggestion(for: scalar.text, among: words) : nil
                )
            }
            return value
        }
    }
}
