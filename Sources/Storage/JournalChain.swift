// SPDX-License-Identifier: Apache-2.0

internal import Digests

/// How the lines of a journal hang together.
///
/// Each line ends in `,"chain":"…"}`: the first 16 hexadecimal digits of the SHA-256 of the value of the chained line
/// before it and of the line without its own value. A line that was changed, taken out, added or moved breaks the
/// chain there. Lines that a crash tore have no value and are passed over: the line after them goes on with the last
/// value before. Lines of versions that did not chain stand before the first value.
public struct JournalChain: Sendable, Hashable {
    /// Lines with a value.
    public private(set) var chainedLines = 0
    /// The first line, from 1, that does not follow from the one before; `nil` if all do.
    public private(set) var firstBreak: Int?
    /// Lines, from 1, behind the first chained one that no reader understands, as a crash leaves them; the first 100.
    public private(set) var tornLines: [Int] = []
    /// The last value; empty before the first chained line.
    public private(set) var value = ""

    /// The chain of no line.
    public init() {}

    static let digits = 16
    private static let opening = Array(",\"chain\":\"".utf8)
    static let closing = Array("\"}".utf8)
    private static let suffixLength = opening.count + digits + closing.count
    private static let maximumTornLines = 100

    /// Takes the next line as the file has it, without its newline.
    ///
    /// - Parameter isRecord: whether a reader understands the line.
    mutating func take(_ line: some BidirectionalCollection<UInt8>, number: Int, isRecord: Bool) {
        guard let claimed = Self.value(of: line) else {
            guard self.chainedLines > 0 else { return }
            if isRecord {
                self.firstBreak = self.firstBreak ?? number
            } else if self.tornLines.count < Self.maximumTornLines {
                self.tornLines.append(number)
            }
            return
        }
        let body = line.dropLast(Self.suffixLength)
        if Self.hash(after: self.value, body: body) != claimed { self.firstBreak = self.firstBreak ?? number }
        self.chainedLines += 1
        self.value = claimed
    }

    /// A record's JSON object with the value that chains it to the line of the value `previous`; and its own value.
    static func chained(_ object: some BidirectionalCollection<UInt8>, after previous: String) -> ([UInt8], String) {
        let body = object.dropLast()
        let value = Self.hash(after: previous, body: body)
        var line: [UInt8] = []
        line.reserveCapacity(body.count + Self.suffixLength + 1)
        line += body
        line += Self.opening
        line += value.utf8
        line += Self.closing
        return (line, value)
    }

    /// The last value in the end of a journal; `nil` if none of its lines has one.
    static func lastValue(in bytes: [UInt8]) -> String? {
        var end = bytes.endIndex
        while end > bytes.startIndex {
            let line = bytes[..<end].lastIndex(of: UInt8(ascii: "\n")).map { bytes[($0 + 1)..<end] } ?? bytes[..<end]
            if let value = Self.value(of: line) { return value }
            end = max(bytes.startIndex, line.startIndex - 1)
        }
        return nil
    }

    /// The value that a line claims.
    private static func value(of line: some BidirectionalCollection<UInt8>) -> String? {
        let suffix = Array(line.suffix(Self.suffixLength))
        guard suffix.count == Self.suffixLength, line.count > Self.suffixLength,
            suffix.starts(with: Self.opening), suffix.suffix(Self.closing.count).elementsEqual(Self.closing)
        else { return nil }
        let value = suffix[Self.opening.count..<(Self.opening.count + Self.digits)]
        guard value.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }) else { return nil }
        return String(decoding: value, as: UTF8.self)
    }

    private static func hash(after previous: String, body: some Sequence<UInt8>) -> String {
        let hash = SHA256Hash()
        hash.update(Array(previous.utf8))
        hash.update(Array(body))
        return String(hash.digest.hexadecimal.prefix(Self.digits))
    }
}
