// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// A point in a recording: `90s`, `1m30s`, `01:30` or `00:01:30.5`; 0 to a year.
struct TimeOffset: ExpressibleByArgument, Sendable {
    var duration: Duration

    init?(argument: String) {
        let isClock = argument.contains(":")
        guard let seconds = isClock ? Self.clock(argument) : Self.units(argument), (0...31_536_000).contains(seconds)
        else { return nil }
        self.duration = .milliseconds(Int64((seconds * 1000).rounded()))
    }

    /// `MM:SS` or `HH:MM:SS`, seconds with a fraction.
    private static func clock(_ text: String) -> Double? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard (2...3).contains(parts.count), let last = parts.last, let seconds = Self.number(last), seconds < 60 else {
            return nil
        }
        let wholes = parts.dropLast().map { UInt32($0) }
        guard let minutes = wholes.last ?? nil, let first = wholes[0] else { return nil }
        guard wholes.count == 2 else { return Double(minutes) * 60 + seconds }
        return minutes < 60 ? Double(first) * 3600 + Double(minutes) * 60 + seconds : nil
    }

    /// Numbers with units that get smaller.
    private static func units(_ text: String) -> Double? {
        let factors: [(name: String, seconds: Double)] = [("h", 3600), ("m", 60), ("s", 1), ("ms", 0.001)]
        var rest = text[...]
        var largest = 0
        var sum = 0.0
        while !rest.isEmpty {
            let digits = rest.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
            let name = rest.dropFirst(digits.count).prefix { $0.isLetter }
            guard let value = Self.number(digits), let index = factors.firstIndex(where: { $0.name == name }),
                index >= largest
            else { return nil }
            sum += value * factors[index].seconds
            largest = index + 1
            rest = rest.dropFirst(digits.count + name.count)
        }
        return text.isEmpty ? nil : sum
    }

    /// Digits with at most one point: no sign, exponent, or name of a number.
    private static func number(_ text: Substring) -> Double? {
        guard let first = text.first, first.isASCII, first.isNumber,
            text.allSatisfy({ $0.isASCII && ($0.isNumber || $0 == ".") })
        else { return nil }
        return Double(text)
    }
}
