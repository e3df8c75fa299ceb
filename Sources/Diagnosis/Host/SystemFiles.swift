// SPDX-License-Identifier: Apache-2.0

/// Reads files of the kernel below `/proc` and `/sys`; a file that is hidden or strange gives no values.
enum SystemFiles {
    /// A line of `/proc/PID/limits`: the limit in force.
    struct Limit: Sendable, Hashable {
        /// `nil` for no limit.
        var soft: UInt64?
    }

    /// The limit of that name, such as `Max open files`.
    static func limit(_ name: String, in text: String) -> Limit? {
        guard let line = text.split(separator: "\n").first(where: { $0.hasPrefix(name + "  ") }),
            let soft = line.dropFirst(name.count).split(separator: " ").first
        else { return nil }
        if soft == "unlimited" { return Limit(soft: nil) }
        return UInt64(soft).map { Limit(soft: $0) }
    }

    /// A field of `/proc/meminfo`, such as `MemAvailable`, in bytes.
    static func memory(_ name: String, in text: String) -> UInt64? {
        guard let line = text.split(separator: "\n").first(where: { $0.hasPrefix(name + ":") }),
            let number = line.split(separator: " ").dropFirst().first.flatMap({ UInt64($0) }),
            case let (bytes, overflow) = number.multipliedReportingOverflow(by: 1024), !overflow
        else { return nil }
        return bytes
    }

    /// The only number in a file such as `/proc/sys/kernel/threads-max`; `nil` also for `max`.
    static func number(in text: String) -> UInt64? {
        UInt64(text.prefix { $0 != "\n" })
    }

    /// The PCM devices of `/proc/asound/pcm` that record, as `hw:CARD,DEVICE name`.
    static func audioInputs(in text: String) -> [String] {
        text.split(separator: "\n").compactMap { line in
            let parts = line.split(separator: ":").map { $0.trimmingSpaces() }
            guard parts.count >= 3, parts.contains(where: { $0.hasPrefix("capture") }) else { return nil }
            let numbers = parts[0].split(separator: "-").compactMap { UInt($0) }
            guard numbers.count == 2 else { return nil }
            return "hw:\(numbers[0]),\(numbers[1]) \(parts[1])"
        }
    }
}

extension Substring {
    fileprivate func trimmingSpaces() -> Substring {
        let start = self.drop { $0 == " " }
        return start.lastIndex { $0 != " " }.map { start[...$0] } ?? start
    }
}
