// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// A length of time: `500ms`, `30s`, `5m`, `2h`, or bare seconds.
struct TimeArgument: ExpressibleByArgument, Sendable {
    var duration: Duration

    init(_ duration: Duration) {
        self.duration = duration
    }

    init?(argument: String) {
        let units: [(String, Double)] = [("ms", 0.001), ("s", 1), ("m", 60), ("h", 3600), ("", 1)]
        guard let (suffix, factor) = units.first(where: { argument.hasSuffix($0.0) }),
            let number = Double(argument.dropLast(suffix.count)), number > 0, number * factor <= 31_536_000
        else { return nil }
        self.duration = .milliseconds(Int64(number * factor * 1000))
    }

    var defaultValueDescription: String { "\(self.duration.components.seconds)s" }
}
