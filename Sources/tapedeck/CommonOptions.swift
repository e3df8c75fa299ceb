// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import Logging
import Observability
import Signalling
import Worker

/// What every command takes.
struct CommonOptions: ParsableArguments {
    @Flag(help: "Print results as JSON, one object a line.")
    var json = false

    @Option(help: "Least important log level shown: trace, debug, info, notice, warning, error or critical.")
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

/// How peers reach us.
struct NetworkOptions: ParsableArguments {
    @Option(
        name: .customLong("host-address"),
        help: ArgumentHelp(
            "A local address to receive media on; may be given several times.",
            discussion: "Left out: every interface but loopback, and loopback too if the room server is on it."
        )
    )
    var hostAddresses: [String] = []

    @Option(help: "Local UDP ports for media, for example 40000-49999.")
    var portRange: PortRange?

    var settings: NetworkSettings {
        var settings = NetworkSettings()
        settings.hostAddresses = self.hostAddresses
        settings.portRange = self.portRange?.ports
        return settings
    }
}

/// Two port numbers with a dash between them.
struct PortRange: ExpressibleByArgument {
    var ports: ClosedRange<UInt16>

    init(ports: ClosedRange<UInt16>) {
        self.ports = ports
    }

    init?(argument: String) {
        let ends = argument.split(separator: "-", omittingEmptySubsequences: false).map { UInt16($0) }
        guard ends.count == 2, let first = ends[0], let last = ends[1], first > 0, first <= last else { return nil }
        self.init(ports: first...last)
    }

    var defaultValueDescription: String { "\(self.ports.lowerBound)-\(self.ports.upperBound)" }
}

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

/// A room on the command line.
enum RoomArgument {
    /// Parses a room URL; what is wrong with it is the failure's message.
    static func parse(_ text: String) throws -> RoomURL {
        do {
            return try RoomURL(parsing: text)
        } catch {
            throw ValidationError(error.message)
        }
    }
}
