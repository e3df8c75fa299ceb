// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

/// The line format between supervisor and worker.
///
/// One JSON object a line, ended by a line feed; a line is at most `maximumLength` bytes. Both sides are always the
/// same binary, but after an upgrade a supervisor may meet a worker of another version: the version in `.ready` shows that.
public enum WorkerLine {
    /// The version that this code speaks.
    public static let protocolVersion = 2
    /// Longest line in bytes, without its line feed; a part of a keyframe is the longest thing sent.
    public static let maximumLength = 1 << 20

    /// A message as one line with its line feed.
    public static func encode(_ message: some Encodable) throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        var line = try encoder.encode(message)
        line.append(UInt8(ascii: "\n"))
        return line
    }

    /// A number that no line may have: it is larger than any that we count or measure.
    public struct NumberTooLarge: Error, Sendable, Hashable, CustomStringConvertible {
        /// In a few words.
        public var description: String { "it has a number that is too large" }
    }

    /// The greatest amount of a number, of 64 bits: scaled by what we scale with, it is finite still.
    private static let greatestNumber = 18_446_744_073_709_551_616.0
    /// A number of no more bytes is none of these, unless it has an exponent.
    private static let shortNumber = 19

    /// The message of a line, without its line feed.
    ///
    /// Throws `NumberTooLarge`, whatever the number is for: one that is infinite once it is scaled cannot be written.
    public static func decode<Message: Decodable>(_ type: Message.Type, from line: Data) throws -> Message {
        guard line.withUnsafeBytes({ Self.hasBoundedNumbers($0) }) else { throw NumberTooLarge() }
        return try JSONDecoder().decode(type, from: line)
    }

    /// Whether no number of a JSON text is too large; what is no JSON is for the decoder to say.
    private static func hasBoundedNumbers(_ text: UnsafeRawBufferPointer) -> Bool {
        var index = 0
        while index < text.count {
            switch text[index] {
            case UInt8(ascii: "\""):
                index += 1
                while index < text.count, text[index] != UInt8(ascii: "\"") {
                    index += text[index] == UInt8(ascii: "\\") ? 2 : 1
                }
                index += 1
            case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
                let start = index
                var hasExponent = false
                while index < text.count, let isExponent = Self.isExponent(text[index]) {
                    hasExponent = hasExponent || isExponent
                    index += 1
                }
                guard hasExponent || index - start > Self.shortNumber else { continue }
                let number = Double(String(decoding: text[start..<index], as: UTF8.self))
                guard let number, abs(number) <= Self.greatestNumber else { return false }
            default:
                index += 1
            }
        }
        return true
    }

    /// Whether a byte of a number begins its exponent; `nil` for one that is not of a number.
    private static func isExponent(_ byte: UInt8) -> Bool? {
        switch byte {
        case UInt8(ascii: "e"), UInt8(ascii: "E"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "+"), UInt8(ascii: "."): false
        default: nil
        }
    }
}
