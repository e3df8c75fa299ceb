// SPDX-License-Identifier: Apache-2.0

import Glibc
import Timeline

/// Reads and writes the lines of which a journal has millions without a JSON coder: those of clocks and packets.
///
/// They are written byte for byte as the encoder of `JournalWriter` writes them, keys sorted and without white space, and read so.
/// Any other line, though it may say the same, is left to the decoder, and any other record to the encoder.
enum JournalLine {
    /// The JSON object of a record about clocks or packets; `nil` for any other record.
    static func text(_ record: JournalRecord, at nanoseconds: Int64) -> [UInt8]? {
        var text = Text(nanoseconds)
        switch record {
        case .clockAnchor(let anchor):
            text.add(Self.clockAnchor)
            text.add(Key.rtp, anchor.rtpTime)
            text.add(Key.track, anchor.track)
        case .senderReport(let report):
            text.add(Self.senderReport)
            text.add(Key.ntp, report.ntpTime)
            text.add(Key.rtp, report.rtpTimestamp)
            text.add(Key.ssrc, report.ssrc)
            text.add(Key.track, report.track)
        case .packetsCounted(let count):
            text.add(Self.packetsCounted)
            text.add(Key.lost, count.lost)
            text.add(Key.received, count.received)
            if let repaired = count.repaired { text.add(Key.repaired, repaired) }
            text.add(Key.track, count.track)
        default:
            return nil
        }
        return text.finish()
    }

    /// A line that is being written.
    private struct Text {
        private var bytes: [UInt8] = []

        init(_ nanoseconds: Int64) {
            // The longest of these lines has fewer bytes.
            self.bytes.reserveCapacity(256)
            self.add(JournalLine.opening, nanoseconds)
        }

        mutating func add(_ kind: Kind) {
            self.bytes += JournalLine.kind
            self.bytes += kind.name
        }

        mutating func add(_ key: [UInt8], _ number: some FixedWidthInteger) {
            self.bytes += key
            self.bytes += String(number).utf8
        }

        consuming func finish() -> [UInt8] {
            self.bytes += JournalLine.version
            self.bytes += JournalLine.end
            return self.bytes
        }
    }

    /// Where the first line ends; `nil` if it does not.
    static func end(in bytes: UnsafeBufferPointer<UInt8>) -> Int? {
        guard let start = bytes.baseAddress,
            let found = memchr(start, Int32(UInt8(ascii: "\n")), bytes.count)
        else { return nil }
        return UnsafeRawPointer(found) - UnsafeRawPointer(start)
    }

    /// Whether the line is a clock anchor, a sender report or a packet count, or was meant to be one.
    static func isOfClocks(_ line: UnsafeBufferPointer<UInt8>) -> Bool {
        var scanner = Scanner(line)
        if scanner.skip(Self.opening), scanner.integer(as: Int64.self) != nil, scanner.skip(Self.kind) {
            return Self.kinds.contains { scanner.isAt($0.name) }
        }
        // A quotation mark inside a name is escaped: only a key and its value look like this.
        return line.indices.contains { index in
            line[index] == UInt8(ascii: "\"")
                && Self.kinds.contains { line[index...].starts(with: $0.pair) }
        }
    }

    /// The record of a line about clocks or packets; `nil` for any other line, and for one that another writer wrote.
    static func clockEntry(_ line: UnsafeBufferPointer<UInt8>) -> JournalEntry? {
        var scanner = Scanner(line)
        guard scanner.skip(Self.opening), let at = scanner.integer(as: Int64.self), scanner.skip(Self.kind),
            let kind = Self.kinds.first(where: { scanner.isAt($0.name) }), scanner.skip(kind.name),
            let record = kind.read(&scanner), scanner.skip(Self.version)
        else { return nil }
        guard scanner.skip(Self.end) || (scanner.skip(Self.chain) && scanner.chainValue() != nil), scanner.isAtEnd
        else {
            return nil
        }
        return JournalEntry(record, monotonicNanoseconds: at)
    }

    private struct Kind {
        let name: [UInt8]
        /// With its key.
        let pair: [UInt8]
        /// Reads what is between the kind and the version.
        let read: @Sendable (inout Scanner) -> JournalRecord?

        init(_ name: String, _ read: @escaping @Sendable (inout Scanner) -> JournalRecord?) {
            self.name = Array("\"\(name)\"".utf8)
            self.pair = Array("\"kind\":\"\(name)\"".utf8)
            self.read = read
        }
    }

    private static let kinds = [clockAnchor, senderReport, packetsCounted]

    private static let clockAnchor = Kind("clock-anchor") { scanner in
        guard let rtpTime = scanner.value(of: Key.rtp, as: Int64.self),
            let track = scanner.value(of: Key.track, as: Int.self)
        else { return nil }
        return .clockAnchor(ClockAnchor(track: track, rtpTime: rtpTime))
    }

    private static let senderReport = Kind("sender-report") { scanner in
        guard let ntpTime = scanner.value(of: Key.ntp, as: UInt64.self),
            let rtpTimestamp = scanner.value(of: Key.rtp, as: UInt32.self),
            let ssrc = scanner.value(of: Key.ssrc, as: UInt32.self),
            let track = scanner.value(of: Key.track, as: Int.self)
        else { return nil }
        return .senderReport(SenderReport(track: track, ssrc: ssrc, rtpTimestamp: rtpTimestamp, ntpTime: ntpTime))
    }

    private static let packetsCounted = Kind("packets-counted") { scanner in
        guard let lost = scanner.value(of: Key.lost, as: Int64.self),
            let received = scanner.value(of: Key.received, as: UInt64.self)
        else { return nil }
        let repaired = scanner.value(of: Key.repaired, as: UInt64.self)
        guard let track = scanner.value(of: Key.track, as: Int.self) else { return nil }
        return .packetsCounted(PacketsCounted(track: track, received: received, lost: lost, repaired: repaired))
    }

    private enum Key {
        static let lost = Array(",\"lost\":".utf8)
        static let ntp = Array(",\"ntp\":".utf8)
        static let received = Array(",\"received\":".utf8)
        static let repaired = Array(",\"repaired\":".utf8)
        static let rtp = Array(",\"rtp\":".utf8)
        static let ssrc = Array(",\"ssrc\":".utf8)
        static let track = Array(",\"track\":".utf8)
    }

    private static let opening = Array("{\"at\":".utf8)
    private static let kind = Array(",\"kind\":".utf8)
    private static let version = Array(",\"v\":\(JournalEntry.version)".utf8)
    private static let chain = Array(",\"chain\":\"".utf8)
    private static let end = Array("}".utf8)

    /// Walks over a line.
    struct Scanner {
        private let bytes: UnsafeBufferPointer<UInt8>
        private var index = 0

        init(_ bytes: UnsafeBufferPointer<UInt8>) {
            self.bytes = bytes
        }

        var isAtEnd: Bool { self.index == self.bytes.count }

        func isAt(_ text: [UInt8]) -> Bool {
            guard let start = self.bytes.baseAddress, self.bytes.count - self.index >= text.count else { return false }
            return memcmp(start + self.index, text, text.count) == 0
        }

        /// Goes behind the text; false if it is not there.
        mutating func skip(_ text: [UInt8]) -> Bool {
            guard self.isAt(text) else { return false }
            self.index += text.count
            return true
        }

        /// A decimal number as an encoder writes it; `nil`, and nowhere else, if there is none or none of that type.
        mutating func integer<Number: FixedWidthInteger>(as type: Number.Type) -> Number? {
            var index = self.index
            let isNegative = index < self.bytes.count && self.bytes[index] == UInt8(ascii: "-")
            if isNegative { index += 1 }
            let first = index
            var number: Number = 0
            while index < self.bytes.count, (0x30...0x39).contains(self.bytes[index]) {
                let digit = Number(self.bytes[index] - 0x30)
                let (shifted, tooFar) = number.multipliedReportingOverflow(by: 10)
                let (next, overflow) =
                    isNegative ? shifted.subtractingReportingOverflow(digit) : shifted.addingReportingOverflow(digit)
                guard !tooFar, !overflow else { return nil }
                number = next
                index += 1
            }
            // No number begins with a zero but zero itself, which has no sign.
            guard index > first, self.bytes[first] != 0x30 || (index == first + 1 && !isNegative) else { return nil }
            self.index = index
            return number
        }

        /// The number behind a key; `nil` if the key is not here.
        mutating func value<Number: FixedWidthInteger>(of key: [UInt8], as type: Number.Type) -> Number? {
            let start = self.index
            guard self.skip(key), let number = self.integer(as: type) else {
                self.index = start
                return nil
            }
            return number
        }

        /// Goes behind the value of `JournalChain` and what closes the line; `nil` if there is none.
        mutating func chainValue() -> UInt64? {
            let end = self.index + JournalChain.digits
            guard end <= self.bytes.count else { return nil }
            var value: UInt64 = 0
            for byte in self.bytes[self.index..<end] {
                // Lower case, as it is written.
                guard (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte) else { return nil }
                value = value << 4 | UInt64(byte < 0x3A ? byte - 0x30 : byte - 0x57)
            }
            self.index = end
            return self.skip(JournalChain.closing) ? value : nil
        }
    }
}
