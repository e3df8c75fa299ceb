// SPDX-License-Identifier: Apache-2.0

/// A point in UTC with nanosecond resolution, written and read as ISO 8601 text.
///
/// The years 1678 to 2261 fit. Leap seconds do not exist here, as in POSIX.
public struct UTCTime: Sendable, Hashable, Comparable {
    /// Nanoseconds since 1970-01-01T00:00:00Z; negative before.
    public var nanosecondsSince1970: Int64

    /// The point that many nanoseconds after 1970-01-01T00:00:00Z.
    public init(nanosecondsSince1970: Int64) {
        self.nanosecondsSince1970 = nanosecondsSince1970
    }

    /// Nanoseconds since 2001-01-01T00:00:00Z, the epoch of Matroska's DateUTC (RFC 9559, 5.1.2.11).
    public var nanosecondsSince2001: Int64 { self.nanosecondsSince1970 &- 978_307_200 * nanosecondsPerSecond }

    /// The point that many nanoseconds after 2001-01-01T00:00:00Z.
    public init(nanosecondsSince2001: Int64) {
        self.nanosecondsSince1970 = nanosecondsSince2001 &+ 978_307_200 * nanosecondsPerSecond
    }

    /// For example `2026-11-21T03:12:26.000000000Z`.
    public var iso8601: String {
        let fields = self.fields
        return "\(padded(fields.year, 4))-\(padded(fields.month, 2))-\(padded(fields.day, 2))"
            + "T\(padded(fields.hour, 2)):\(padded(fields.minute, 2)):\(padded(fields.second, 2))"
            + ".\(padded(fields.nanosecond, 9))Z"
    }

    /// For example `20261121T031226Z`: sorts by time and is safe in a file name.
    public var compact: String {
        let fields = self.fields
        return "\(padded(fields.year, 4))\(padded(fields.month, 2))\(padded(fields.day, 2))"
            + "T\(padded(fields.hour, 2))\(padded(fields.minute, 2))\(padded(fields.second, 2))Z"
    }

    /// Reads the form that `iso8601` writes, with zero to nine digits of fraction; `nil` for anything else.
    public init?(iso8601 text: String) {
        let bytes = Array(text.utf8.prefix(40))
        guard bytes.count >= 20, bytes.last == UInt8(ascii: "Z") else { return nil }
        for (index, separator) in [(4, "-"), (7, "-"), (10, "T"), (13, ":"), (16, ":")]
        where bytes[index] != separator.utf8.first {
            return nil
        }
        guard let year = number(bytes[0..<4]), let month = number(bytes[5..<7]), let day = number(bytes[8..<10]),
            let hour = number(bytes[11..<13]), let minute = number(bytes[14..<16]), let second = number(bytes[17..<19]),
            (1678...2261).contains(year), (1...12).contains(month), (1...31).contains(day),
            (0...23).contains(hour), (0...59).contains(minute), (0...60).contains(second)
        else { return nil }
        var nanosecond = 0
        let tail = bytes[19..<(bytes.count - 1)]
        if let point = tail.first {
            let digits = tail.dropFirst()
            guard point == UInt8(ascii: "."), (1...9).contains(digits.count), let fraction = number(digits) else {
                return nil
            }
            nanosecond = fraction
            for _ in digits.count..<9 { nanosecond *= 10 }
        }
        let days = CivilDate(year: year, month: month, day: day).number
        let seconds = ((days * 24 + hour) * 60 + minute) * 60 + second
        self.nanosecondsSince1970 = Int64(seconds) &* nanosecondsPerSecond &+ Int64(nanosecond)
    }

    /// A later point; the last one there is rather than none.
    public func adding(_ duration: Duration) -> UTCTime {
        let (sum, isBeyond) = self.nanosecondsSince1970.addingReportingOverflow(duration.nanoseconds)
        return UTCTime(nanosecondsSince1970: isBeyond ? .max : sum)
    }

    /// Earlier before later.
    public static func < (left: UTCTime, right: UTCTime) -> Bool {
        left.nanosecondsSince1970 < right.nanosecondsSince1970
    }

    private var fields: (year: Int, month: Int, day: Int, hour: Int, minute: Int, second: Int, nanosecond: Int) {
        let (seconds, nanosecond) = floorDivide(self.nanosecondsSince1970, nanosecondsPerSecond)
        let (days, secondOfDay) = floorDivide(seconds, 86_400)
        let date = CivilDate(number: Int(days))
        let second = Int(secondOfDay)
        return (date.year, date.month, date.day, second / 3600, second / 60 % 60, second % 60, Int(nanosecond))
    }
}

extension UTCTime: Codable {
    /// Decodes ISO 8601 text.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let time = UTCTime(iso8601: try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not an ISO 8601 time in UTC")
        }
        self = time
    }

    /// Encodes ISO 8601 text.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(self.iso8601)
    }
}

private let nanosecondsPerSecond: Int64 = 1_000_000_000

private func padded(_ value: Int, _ width: Int) -> String {
    let digits = String(value)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
}

private func number(_ digits: ArraySlice<UInt8>) -> Int? {
    var value = 0
    for digit in digits {
        guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { return nil }
        value = value * 10 + Int(digit - UInt8(ascii: "0"))
    }
    return value
}

private func floorDivide(_ value: Int64, _ divisor: Int64) -> (quotient: Int64, remainder: Int64) {
    let (quotient, remainder) = value.quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
}
