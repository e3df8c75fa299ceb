// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import Platform

/// How the lines of a journal hang together.
///
/// Each line ends in `,"chain":"…"}`: the first 16 hexadecimal digits of the SHA-256 of the value of the chained line
/// before it and of the line without its own value. A line that was changed, taken out, added or moved breaks the chain
/// there. Lines that a crash tore have no value and are skipped: the line after them continues with the last value
/// before. Lines of versions that did not chain come before the first value.
public struct JournalChain: Sendable, Hashable {
    /// Lines with a value.
    public private(set) var chainedLines = 0
    /// The first line, from 1, that does not follow from the one before; `nil` if all do.
    public private(set) var firstBreak: Int?
    /// Lines, from 1, behind the first chained one that no reader understands, as a crash leaves them; the first 100.
    public private(set) var tornLines: [Int] = []
    /// The last value; empty before the first chained line.
    public var value: String { self.last.map { Hexadecimal.text($0) } ?? "" }
    private var last: UInt64?

    /// The chain of no line.
    public init() {}

    static let digits = 16
    private static let opening = Array(",\"chain\":\"".utf8)
    static let closing = Array("\"}".utf8)
    private static let suffixLength = opening.count + digits + closing.count
    private static let maximumTornLines = 100

    /// Takes the next line as the file has it, without its newline.
    ///
    /// - Parameters:
    ///   - isRecord: whether a reader understands the line.
    ///   - hash: one that is empty, and will be.
    mutating func take(_ line: UnsafeBufferPointer<UInt8>, number: Int, isRecord: Bool, _ hash: SHA256Hash) {
        guard let claimed = Self.value(of: line) else {
            guard self.chainedLines > 0 else { return }
            if isRecord {
                self.firstBreak = self.firstBreak ?? number
            } else if self.tornLines.count < Self.maximumTornLines {
                self.tornLines.append(number)
            }
            return
        }
        if let last { Self.add(last, to: hash) }
        hash.update(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(line).dropLast(Self.suffixLength)))
        if hash.takePrefix() != claimed { self.firstBreak = self.firstBreak ?? number }
        self.chainedLines += 1
        self.last = claimed
    }

    /// Hashes the digits of a value.
    private static func add(_ value: UInt64, to hash: SHA256Hash) {
        withUnsafeTemporaryAllocation(byteCount: Self.digits, alignment: 1) { text in
            for index in 0..<Self.digits {
                let digit = UInt8(truncatingIfNeeded: value >> UInt64(60 - 4 * index)) & 15
                text[index] = digit + (digit < 10 ? UInt8(ascii: "0") : UInt8(ascii: "a") - 10)
            }
            hash.update(UnsafeRawBufferPointer(text))
        }
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
            if let value = line.withUnsafeBufferPointer(Self.value(of:)) { return Hexadecimal.text(value) }
            end = max(bytes.startIndex, line.startIndex - 1)
        }
        return nil
    }

    /// The value that a line claims.
    private static func value(of line: UnsafeBufferPointer<UInt8>) -> UInt64? {
        guard line.count > Self.suffixLength else { return nil }
        var scanner = JournalLine.Scanner(UnsafeBufferPointer(rebasing: line.suffix(Self.suffixLength)))
        guard scanner.skip(Self.opening), let value = scanner.chainValue(), scanner.isAtEnd else { return nil }
        return value
    }

    private static func hash(after previous: String, body: some Sequence<UInt8>) -> String {
        let hash = SHA256Hash()
        hash.update(Array(previous.utf8))
        hash.update(Array(body))
        return Hexadecimal.text(hash.takePrefix())
    }
}
