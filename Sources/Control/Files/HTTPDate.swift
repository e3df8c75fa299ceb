// SPDX-License-Identifier: Apache-2.0

import Basics

/// A time as header fields write it (RFC 9110 section 5.6.7), to the second.
public struct HTTPDate: Sendable, Hashable {
    private static let weekdays = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// Whole seconds since 1970.
    public let seconds: Int64

    init(seconds: Int64) {
        self.seconds = seconds
    }

    /// Reads `Sun, 06 Nov 1994 08:49:37 GMT`; the two obsolete forms are not taken.
    public init?(_ text: String) {
        let words = text.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 6, words[5] == "GMT", words[0].count == 4, words[1].count == 2, words[3].count == 4,
            let month = Self.months.firstIndex(of: String(words[2]))
        else { return nil }
        let date = "\(words[3])-\(month < 9 ? "0" : "")\(month + 1)-\(words[1])"
        guard let time = UTCTime(iso8601: "\(date)T\(words[4])Z") else { return nil }
        self.seconds = time.nanosecondsSince1970 / 1_000_000_000
    }

    /// The text; empty for times that `UTCTime` cannot hold.
    var text: String {
        guard let nanoseconds = self.seconds.multipliedWithoutOverflow(by: 1_000_000_000) else { return "" }
        // YYYY-MM-DDThh:mm:ss…
        let iso = Array(UTCTime(nanosecondsSince1970: nanoseconds).iso8601)
        let (days, rest) = self.seconds.quotientAndRemainder(dividingBy: 86_400)
        let day = Int((days - (rest < 0 ? 1 : 0)) % 7 + 7) % 7
        guard iso.count >= 19, let month = Int(String(iso[5...6])), Self.months.indices.contains(month - 1) else {
            return ""
        }
        let date = "\(String(iso[8...9])) \(Self.months[month - 1]) \(String(iso[0...3]))"
        return "\(Self.weekdays[day]), \(date) \(String(iso[11...18])) GMT"
    }
}

extension Int64 {
    fileprivate func multipliedWithoutOverflow(by factor: Int64) -> Int64? {
        let (product, overflow) = self.multipliedReportingOverflow(by: factor)
        return overflow ? nil : product
    }
}
