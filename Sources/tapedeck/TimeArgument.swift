// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Basics

/// A length of time: `500ms`, `30s`, `5m` or `2h`.
struct TimeArgument: ExpressibleByArgument, Sendable {
    var duration: Duration

    init(_ duration: Duration) {
        self.duration = duration
    }

    init?(argument: String) {
        guard let duration = DurationText.parseDecimal(argument), duration > .zero, duration <= .seconds(31_536_000)
        else { return nil }
        self.duration = duration
    }

    var defaultValueDescription: String { DurationText.text(self.duration) }
}
