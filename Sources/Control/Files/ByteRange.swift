// SPDX-License-Identifier: Apache-2.0

/// The part that a `Range` header field requests of a content of known length (RFC 9110 section 14).
enum ByteRange: Sendable, Hashable {
    /// Everything: there is no range, or one that is ignored, as several at once or other units are.
    case whole
    /// These bytes.
    case part(Range<Int64>)
    /// A range that begins after the end.
    case unsatisfiable

    init(header: String?, length: Int64) {
        guard let header, let specification = Self.specification(of: header) else {
            self = .whole
            return
        }
        switch specification {
        case (let first?, let last):
            guard last ?? first >= first else {
                self = .whole
                return
            }
            guard first < length else {
                self = .unsatisfiable
                return
            }
            self = .part(first..<(min(last ?? length - 1, length - 1) + 1))
        case (nil, let count?):
            self = count > 0 && length > 0 ? .part(max(0, length - count)..<length) : .unsatisfiable
        case (nil, nil):
            self = .whole
        }
    }

    /// First and last position of `bytes=first-last`; `nil` if it is something else.
    private static func specification(of header: String) -> (first: Int64?, last: Int64?)? {
        let text = header.utf8.filter { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") }
        let unit = Array("bytes=".utf8)
        guard text.count > unit.count, text.prefix(unit.count).map(lowercased) == unit else { return nil }
        let parts = text.dropFirst(unit.count).split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard parts.count == 2, let first = parts.first, let last = parts.last else { return nil }
        guard let from = position(first), let to = position(last) else { return nil }
        return (from, to)
    }

    /// The number of some digits, at most `Int64.max`; `.some(nil)` for none, `nil` if it is no number.
    private static func position(_ digits: some Collection<UInt8>) -> Int64?? {
        guard !digits.isEmpty else { return .some(nil) }
        var value: Int64 = 0
        for digit in digits {
            guard (0x30...0x39).contains(digit) else { return nil }
            let (product, overflow) = value.multipliedReportingOverflow(by: 10)
            let (sum, carry) = product.addingReportingOverflow(Int64(digit - 0x30))
            // Greater than any file: as good as the greatest number.
            value = overflow || carry || sum == Int64.max ? Int64.max - 1 : sum
        }
        return .some(value)
    }
}

private func lowercased(_ byte: UInt8) -> UInt8 {
    (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
}
