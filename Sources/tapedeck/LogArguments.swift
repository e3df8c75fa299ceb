// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Logging
import Observability

/// A log level on the command line.
enum LogLevel: String, ExpressibleByArgument, CaseIterable {
    case trace, debug, info, notice, warning, error, critical

    var level: Logger.Level { Logger.Level(rawValue: self.rawValue) ?? .notice }
}

/// A log format on the command line.
enum LogFormatArgument: String, ExpressibleByArgument, CaseIterable {
    case auto, text, json, journal

    /// `nil` for the one that fits.
    var format: LogFormat? { LogFormat(rawValue: self.rawValue) }
}
