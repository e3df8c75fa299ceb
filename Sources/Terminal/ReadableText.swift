// SPDX-License-Identifier: Apache-2.0

/// Figures as people read them, rounded.
public enum ReadableText {
    /// A size such as `340 kB`, `12.3 MB` or `1.4 TB`, in powers of 1000.
    public static func bytes(_ bytes: Int64) -> String {
        Self.scaled(Double(max(0, bytes)), ["B", "kB", "MB", "GB", "TB"])
    }

    /// A rate such as `64 kb/s` or `1.2 Mb/s`.
    public static func rate(_ bitsPerSecond: Double) -> String {
        Self.scaled(max(0, bitsPerSecond), ["b/s", "kb/s", "Mb/s", "Gb/s"])
    }

    /// A length of time such as `0:07`, `12:34` or `1:00:00`: hours, minutes and seconds.
    public static func clock(_ seconds: Double) -> String {
        let whole = Int(min(max(seconds.isNaN ? 0 : seconds, 0), 1e12))
        func padded(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let (hours, minutes) = (whole / 3600, whole / 60 % 60)
        return (hours > 0 ? "\(hours):\(padded(minutes))" : "\(minutes)") + ":\(padded(whole % 60))"
    }

    /// A length of time in its largest unit, such as `45 s`, `90 min` or `5 days`.
    public static func span(_ seconds: Double) -> String {
        let whole = Int(min(max(seconds.isNaN ? 0 : seconds, 0), 1e12))
        return switch whole {
        case ..<120: "\(whole) s"
        case ..<7200: "\(whole / 60) min"
        case ..<172_800: "\(whole / 3600) h"
        default: "\(whole / 86400) days"
        }
    }

    /// One decimal below ten of a unit but the smallest.
    private static func scaled(_ value: Double, _ units: [String]) -> String {
        var value = min(value, 1e15)
        var index = 0
        while value >= 999.5, index + 1 < units.count {
            value /= 1000
            index += 1
        }
        let tenths = Int((value * 10).rounded())
        let hasDecimal = index > 0 && tenths < 1000 && tenths % 10 > 0
        return "\(hasDecimal ? "\(tenths / 10).\(tenths % 10)" : "\(Int(value.rounded()))") \(units[index])"
    }
}
