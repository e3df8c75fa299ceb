// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import Logging
import Observability

/// What every command takes.
struct CommonOptions: ParsableArguments {
    @Flag(help: "Print results as JSON Lines, one object per line.")
    var json = false

    @Option(help: "Minimum log level: trace, debug, info, notice, warning, error or critical.")
    var logLevel: LogLevel = .notice

    @Option(help: "Log lines as text, json or journal fields; auto looks where standard error goes.")
    var logFormat: LogFormatArgument = .auto

    var logger: Logger { self.logOutput().logger() }

    /// Where log lines go; `onLine` hears the level of each one.
    func logOutput(onLine: @escaping @Sendable (Logger.Level) -> Void = { _ in }) -> LogOutput {
        let environment = ProcessInfo.processInfo.environment
        let format = self.logFormat.format ?? LogFormat.automatic(environment: environment)
        return LogOutput(format: format, level: self.logLevel.level, onLine: onLine)
    }

    /// The same choices for a worker process, whose standard error is ours.
    var arguments: [String] { ["--log-level", self.logLevel.rawValue, "--log-format", self.logFormat.rawValue] }
}
