// SPDX-License-Identifier: Apache-2.0

internal import Basics

/// Takes secrets out of text of any format: what follows the name of a secret, and values that are known to be one.
///
/// Each byte of a secret becomes an `x`, which keeps lengths on the wire right and makes a second redaction change
/// nothing. Names are found in JSON (also JSON within a JSON string), in queries, headers and session descriptions.
public struct TraceRedaction: Sendable {
    /// The replacement of a secret.
    public enum Replacement: Sendable {
        /// As many `x` as the secret has bytes.
        case sameLength
        /// One `x`: texts that differ in nothing but secrets become equal.
        case single
    }

    /// Names that a secret follows, in lower case; `ice-pwd` ends with one of them, and so does `turn_password`.
    static let names = [
        "password", "passwd", "pwd", "pin", "token", "secret", "credential", "authorization", "apikey", "api_key",
        "inline",
    ].map { Array($0.utf8) }
    /// The same by their first byte, so that most bytes of a text are looked at once.
    private static let namesByFirstByte: [[[UInt8]]] = {
        var table = [[[UInt8]]](repeating: [], count: 256)
        for name in Self.names { table[Int(name[0])].append(name) }
        return table
    }()
    /// Shortest known secret that is looked for everywhere.
    private static let shortestKnown = 4
    /// How much of the text before is kept to find a name that is cut.
    private static let tailBytes = 64

    /// How a value ends.
    private enum Value: Equatable {
        /// At the quotation mark with this many backslashes before it.
        case quoted(backslashes: Int)
        /// Before a space, a quotation mark or a separator.
        case bare
        /// The same, but a JSON number stays one.
        case number
    }

    private let known: [[UInt8]]
    /// By byte, whether a known secret or a name begins with it: most of a text does not.
    private let isBeginning: [Bool]
    private let replacement: Replacement
    /// The end of what was given, from where the next piece is read again: a name, or a value with its name, may be cut.
    private var tail: [UInt8] = []
    /// Bytes that were given and are not returned yet: whether they belong to a secret is not known.
    private var held: [UInt8] = []

    /// - Parameter known: Secrets that are taken out wherever they appear.
    public init(known: [String] = [], replacement: Replacement = .sameLength) {
        let known = known.map { Array($0.utf8) }.filter { $0.count >= Self.shortestKnown }
        self.known = known
        self.isBeginning = (0...UInt8.max).map { byte in
            known.contains { $0[0] == byte } || !Self.namesByFirstByte[Int(byte | 0x20)].isEmpty
        }
        self.replacement = replacement
    }

    /// A whole text without its secrets.
    public func redact(_ text: String) -> String {
        var whole = self
        whole.tail = []
        whole.held = []
        let output = whole.next(Array(text.utf8))
        return String(decoding: output + whole.held, as: UTF8.self)
    }

    /// A value with every string in it redacted, and members whose names are those of secrets.
    func redact(_ value: JSONValue) -> JSONValue {
        switch value {
        case .null, .bool, .integer, .number: return value
        case .string(let text): return .string(self.redact(text))
        case .array(let elements): return .array(elements.map { self.redact($0) })
        case .object(let members):
            var redacted: [String: JSONValue] = [:]
            for (key, member) in members {
                if let text = member.string, Self.isSecret(key) {
                    var output: [UInt8] = []
                    self.replace(Array(text.utf8)[...], &output)
                    redacted[key] = .string(String(decoding: output, as: UTF8.self))
                } else {
                    redacted[key] = self.redact(member)
                }
            }
            return .object(redacted)
        }
    }

    private static func isSecret(_ key: String) -> Bool {
        let key = key.lowercased()
        return self.names.contains { key.utf8.suffix($0.count).elementsEqual($0) }
    }

    /// The next piece of a text that is cut anywhere, without its secrets; a few bytes may come with the piece after.
    public mutating func next(_ piece: [UInt8]) -> [UInt8] {
        let bytes = self.tail + self.held + piece
        var output: [UInt8] = []
        // Up to here it is returned, and up to there it is read.
        var index = self.tail.count
        var start = 0
        var lastEnd = 0
        self.held = []
        while start < bytes.count {
            let isBeginning = self.isBeginning[Int(bytes[start])]
            if isBeginning, let end = self.knownSecret(bytes, at: start) {
                if end > index {
                    self.replace(bytes[max(start, index)..<end], &output)
                    index = end
                }
                start = end
                lastEnd = end
            } else if isBeginning, let (value, begin) = self.value(bytes, at: start) {
                if begin > index {
                    output += bytes[index..<begin]
                    index = begin
                }
                let found = Self.end(of: value, bytes, from: begin)
                let end = found ?? Self.beginOfUndecided(bytes, from: begin)
                if end > index {
                    self.replace(value, bytes[index..<end], &output)
                    index = end
                }
                guard found != nil else {
                    self.held = Array(bytes[index...])
                    self.tail = index - start <= JSONValue.maximumBytes ? Array(bytes[start..<index]) : []
                    return output
                }
                start = end
                lastEnd = end
            } else {
                if start >= index {
                    output.append(bytes[start])
                    index = start + 1
                }
                start += 1
            }
        }
        self.tail = Array(bytes[max(lastEnd, bytes.count - Self.tailBytes, 0)...])
        return output
    }

    /// Where the backslashes of an escape begin that is not whole.
    private static func beginOfUndecided(_ bytes: [UInt8], from begin: Int) -> Int {
        guard let last = bytes[begin...].suffix(6).lastIndex(of: UInt8(ascii: "\\")) else { return bytes.count }
        let isEscape = last == bytes.count - 1 || bytes[last + 1] == UInt8(ascii: "u")
        guard isEscape else { return bytes.count }
        return bytes[begin...last].lastIndex { $0 != UInt8(ascii: "\\") }.map { $0 + 1 } ?? begin
    }

    private func replace(_ value: Value, _ secret: ArraySlice<UInt8>, _ output: inout [UInt8]) {
        guard value == .number else { return self.replace(secret, &output) }
        output += secret.map { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) ? UInt8(ascii: "1") : $0 }
    }

    private func replace(_ secret: ArraySlice<UInt8>, _ output: inout [UInt8]) {
        guard !secret.isEmpty else { return }
        output += [UInt8](repeating: UInt8(ascii: "x"), count: self.replacement == .single ? 1 : secret.count)
    }

    private func knownSecret(_ bytes: [UInt8], at start: Int) -> Int? {
        self.known.first { bytes[start...].starts(with: $0) }.map { start + $0.count }
    }

    /// The value after a name of a secret that begins here, and where the value begins.
    private func value(_ bytes: [UInt8], at start: Int) -> (Value, Int)? {
        let names = Self.namesByFirstByte[Int(bytes[start] | 0x20)]
        guard let name = names.first(where: { Self.stands($0, in: bytes, at: start) }) else { return nil }
        var index = start + name.count
        let closing = Self.quote(bytes, &index)
        Self.skipSpaces(bytes, &index)
        guard index < bytes.count, bytes[index] == UInt8(ascii: ":") || bytes[index] == UInt8(ascii: "=") else {
            return nil
        }
        index += 1
        Self.skipSpaces(bytes, &index)
        var begin = index
        if let backslashes = Self.quote(bytes, &begin) { return (.quoted(backslashes: backslashes), begin) }
        return (closing == nil ? .bare : .number, index)
    }

    /// Whether a name in lower case is at a position, in whatever case.
    private static func stands(_ name: [UInt8], in bytes: [UInt8], at start: Int) -> Bool {
        guard bytes.count - start >= name.count else { return false }
        for index in name.indices {
            let byte = bytes[start + index]
            if byte | 0x20 != name[index], byte != name[index] { return false }
        }
        return true
    }

    /// Steps over a quotation mark with backslashes before it, and counts these.
    private static func quote(_ bytes: [UInt8], _ index: inout Int) -> Int? {
        var end = index
        while end < bytes.count, bytes[end] == UInt8(ascii: "\\") { end += 1 }
        guard end < bytes.count, bytes[end] == UInt8(ascii: "\"") else { return nil }
        defer { index = end + 1 }
        return end - index
    }

    private static func skipSpaces(_ bytes: [UInt8], _ index: inout Int) {
        while index < bytes.count, bytes[index] == 0x20 || bytes[index] == 0x09 { index += 1 }
    }

    private static func end(of value: Value, _ bytes: [UInt8], from start: Int) -> Int? {
        var index = start
        var backslashes = 0
        while index < bytes.count {
            let byte = bytes[index]
            if case .quoted(let opening) = value {
                if byte == UInt8(ascii: "\\") {
                    backslashes += 1
                } else {
                    if byte == UInt8(ascii: "\""), backslashes % (2 * (opening + 1)) == opening {
                        return index - backslashes
                    }
                    backslashes = 0
                }
                index += 1
            } else if byte == UInt8(ascii: "\\") {
                guard let next = Self.escapedCharacter(bytes, at: index) else { return index }
                index = next
            } else {
                guard byte > 0x20, !Self.separators.contains(byte) else { return index }
                index += 1
            }
        }
        return nil
    }

    private static let separators = Array("\"'&<>;,)}]|".utf8)

    /// Where the text continues after an escape for a visible character, such as `\/`; nil for others.
    private static func escapedCharacter(_ bytes: [UInt8], at start: Int) -> Int? {
        var index = start
        while index < bytes.count, bytes[index] == UInt8(ascii: "\\") { index += 1 }
        guard index < bytes.count else { return bytes.count }
        if bytes[index] == UInt8(ascii: "/") { return index + 1 }
        guard bytes[index] == UInt8(ascii: "u"), index + 4 < bytes.count,
            let code = UInt32(String(decoding: bytes[(index + 1)...(index + 4)], as: UTF8.self), radix: 16),
            code > 0x22, code != 0x7f
        else { return nil }
        return index + 5
    }
}
