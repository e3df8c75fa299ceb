// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials

/// A JSON text (RFC 8259) of unknown shape, as room messages and requests are.
public enum JSONValue: Sendable, Hashable {
    /// The literal null.
    case null
    /// The literals true and false.
    case bool(Bool)
    /// A number without a fraction that fits an `Int`; `1.0` is one of them.
    case integer(Int)
    /// Any other finite number.
    case number(Double)
    /// A string.
    case string(String)
    /// An array.
    case array([JSONValue])
    /// An object; of equal keys one wins.
    case object([String: JSONValue])

    /// Deepest nesting taken.
    ///
    /// Room messages need four levels.
    public static let maximumDepth = 32
    /// Most values taken from one text.
    ///
    /// A room message has about ten.
    public static let maximumValues = 20_000
    /// Longest text taken, in bytes.
    ///
    /// A session description is below 64 KiB, and no message of a signalling server is larger.
    public static let maximumBytes = 1_000_000

    /// Why a text was not taken.
    public enum ParsingError: Error, Sendable, Hashable {
        /// Not JSON.
        case invalid
        /// Longer, deeper or richer than the limits.
        case tooLarge
    }

    /// Reads one JSON text, which may be a bare string or number.
    public init(parsing text: some StringProtocol) throws(ParsingError) {
        try Self.checkLimits(text.utf8)
        do {
            self = try JSONDecoder().decode(JSONValue.self, from: Data(text.utf8))
        } catch {
            throw .invalid
        }
    }

    /// The string, if it is one.
    public var string: String? {
        if case .string(let string) = self { string } else { nil }
    }

    /// The boolean, if it is one.
    public var bool: Bool? {
        if case .bool(let bool) = self { bool } else { nil }
    }

    /// The whole number, if it is one.
    public var integer: Int? {
        if case .integer(let integer) = self { integer } else { nil }
    }

    /// The elements, if it is an array.
    public var array: [JSONValue]? {
        if case .array(let array) = self { array } else { nil }
    }

    /// The members, if it is an object.
    public var object: [String: JSONValue]? {
        if case .object(let object) = self { object } else { nil }
    }

    /// A member of an object; nil if there is none or if it is not an object.
    public subscript(key: String) -> JSONValue? { self.object?[key] }

    /// The text of the value: keys sorted, no spaces, ASCII only.
    ///
    /// Equal values have equal texts. ASCII makes lengths in bytes, characters and UTF-16 code units agree, which
    /// servers of version 3 disagree about (engine.io 1.x counts bytes, python-engineio characters).
    public var text: String {
        var text = ""
        self.write(to: &text)
        return text
    }

    private static func checkLimits(_ text: some Collection<UInt8>) throws(ParsingError) {
        var bytes = 0
        var depth = 0
        var values = 1
        var inString = false
        var escaped = false
        for byte in text {
            bytes += 1
            // The decoder takes a text with NUL for UTF-16 or UTF-32, in which nothing counted here is what it seems.
            guard byte != 0 else { throw .invalid }
            if inString {
                if escaped {
                    escaped = false
                } else if byte == UInt8(ascii: "\\") {
                    escaped = true
                } else if byte == UInt8(ascii: "\"") {
                    inString = false
                }
                continue
            }
            switch byte {
            case UInt8(ascii: "\""): inString = true
            case UInt8(ascii: "["), UInt8(ascii: "{"): depth += 1
            case UInt8(ascii: "]"), UInt8(ascii: "}"): depth -= 1
            case UInt8(ascii: ","): values += 1
            default: break
            }
            guard depth <= Self.maximumDepth, values <= Self.maximumValues else { throw .tooLarge }
        }
        guard bytes <= Self.maximumBytes else { throw .tooLarge }
    }

    private func write(to text: inout String) {
        switch self {
        case .null: text += "null"
        case .bool(let bool): text += bool ? "true" : "false"
        case .integer(let integer): text += String(integer)
        case .number(let number): text += number.isFinite ? String(number) : "null"
        case .string(let string): Self.write(string, to: &text)
        case .array(let array):
            text += "["
            for (index, element) in array.enumerated() {
                if index > 0 { text += "," }
                element.write(to: &text)
            }
            text += "]"
        case .object(let object):
            text += "{"
            for (index, key) in object.keys.sorted().enumerated() {
                if index > 0 { text += "," }
                Self.write(key, to: &text)
                text += ":"
                (object[key] ?? .null).write(to: &text)
            }
            text += "}"
        }
    }

    private static func write(_ string: String, to text: inout String) {
        text += "\""
        for scalar in string.unicodeScalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case "\n": text += "\\n"
            case "\r": text += "\\r"
            case "\t": text += "\\t"
            case "\u{20}"..."\u{7e}": text.unicodeScalars.append(scalar)
            default:
                for unit in UTF16.encode(scalar) ?? UTF16.encodedReplacementCharacter {
                    text += "\\u" + Hexadecimal.text(unit)
                }
            }
        }
        text += "\""
    }
}

extension JSONValue: Decodable {
    /// Decodes whatever is there.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let string = try? container.decode(String.self) {
            self = .string(string)
        } else if let object = try? container.decode([String: JSONValue].self) {
            self = .object(object)
        } else if let array = try? container.decode([JSONValue].self) {
            self = .array(array)
        } else if let integer = try? container.decode(Int.self) {
            self = .integer(integer)
        } else if let bool = try? container.decode(Bool.self) {
            self = .bool(bool)
        } else if container.decodeNil() {
            self = .null
        } else {
            self = .number(try container.decode(Double.self))
        }
    }
}

extension JSONValue: Encodable {
    /// Encodes the value as itself.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let bool): try container.encode(bool)
        case .integer(let integer): try container.encode(integer)
        case .number(let number): try container.encode(number)
        case .string(let string): try container.encode(string)
        case .array(let array): try container.encode(array)
        case .object(let object): try container.encode(object)
        }
    }
}

extension JSONValue: ExpressibleByStringLiteral {
    /// A string.
    public init(stringLiteral value: String) {
        self = .string(value)
    }
}
