// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Basics
import Foundation
import Logging
import Media
import Observability
import Session
import Signalling
import SignallingClients
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

/// STUN and TURN servers, and what they ask for.
struct ICEServerOptions: ParsableArguments {
    @Option(
        name: .customLong("ice-server"),
        help: ArgumentHelp(
            "A STUN or TURN server, as stun:HOST:PORT, turn:HOST:PORT?transport=udp (or tcp) or turns:HOST:PORT.",
            discussion: """
                May be given several times. The password of TURN servers is taken from TAPEDECK_TURN_PASSWORD in the \
                environment.
                """
        )
    )
    var urls: [String] = []

    @Option(help: "The user name for the TURN servers; TAPEDECK_TURN_USERNAME in the environment if left out.")
    var turnUsername: String?

    /// The user name for the TURN servers.
    func username(_ environment: [String: String] = ProcessInfo.processInfo.environment) -> String? {
        self.turnUsername ?? environment["TAPEDECK_TURN_USERNAME"]
    }

    /// The password of the TURN servers.
    static func password(_ environment: [String: String] = ProcessInfo.processInfo.environment) -> String? {
        environment["TAPEDECK_TURN_PASSWORD"]
    }
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

    @OptionGroup var iceServers: ICEServerOptions

    @Flag(help: "Send and receive media through TURN servers only: peers learn no address of this host.")
    var relayOnly = false

    @Flag(help: "Do not use STUN and TURN servers that the room's server offers.")
    var ignoreOfferedServers = false

    mutating func validate() throws {
        _ = try self.settings()
    }

    /// What the options mean; the password comes from the environment.
    func settings(environment: [String: String] = ProcessInfo.processInfo.environment) throws -> NetworkSettings {
        var settings = NetworkSettings()
        settings.hostAddresses = self.hostAddresses
        settings.portRange = self.portRange?.ports
        settings.relaysOnly = self.relayOnly
        settings.offered.usesOffered = !self.ignoreOfferedServers
        do {
            settings.servers = try self.iceServers.urls.map { url in
                try WebRTCServer(
                    url,
                    username: self.iceServers.username(environment),
                    credential: ICEServerOptions.password(environment)
                )
            }
        } catch let problem as WebRTCServer.Problem {
            let place = "--turn-username and TAPEDECK_TURN_PASSWORD in the environment"
            throw ValidationError("--ice-server: \(problem.message) (\(place))")
        }
        if self.relayOnly, self.ignoreOfferedServers, !settings.servers.contains(where: { $0.url.kind == .turn }) {
            throw ValidationError("--relay-only needs a TURN server: give one with --ice-server")
        }
        return settings
    }
}

/// What is kept for a bug report.
struct TraceOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Write every signalling message to this file, without secrets, for `tapedeck replay` and bug reports.",
            discussion: "What is there before is kept as FILE.1.",
            valueName: "file"
        )
    )
    var traceSignalling: String?

    /// The file, made at once.
    func file() throws -> TraceFile? {
        try self.traceSignalling.map { try TraceFile(path: $0, program: Self.program) }
    }

    /// Where each room of a process has its file.
    var settings: TraceSettings? {
        self.traceSignalling.map { TraceSettings(path: $0, program: Self.program) }
    }

    /// The same choice for a worker process.
    var arguments: [String] {
        self.traceSignalling.map {
            ["--trace-signalling", $0.hasPrefix("/") ? $0 : "\(FileManager.default.currentDirectoryPath)/\($0)"]
        } ?? []
    }

    private static var program: String { "tapedeck \(Tapedeck.version)" }
}

/// Two port numbers with a dash between them.
struct PortRange: ExpressibleByArgument {
    var ports: ClosedRange<UInt16>

    init(ports: ClosedRange<UInt16>) {
        self.ports = ports
    }

    init?(argument: String) {
        guard let ports = PortRangeText.parse(argument, from: 1) else { return nil }
        self.init(ports: ports)
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
        guard let duration = DurationText.parseDecimal(argument), duration > .zero, duration <= .seconds(31_536_000)
        else { return nil }
        self.duration = duration
    }

    var defaultValueDescription: String { "\(self.duration.components.seconds)s" }
}

/// How large a recording gets: a time from 2s, or a size from 1MB, in powers of 1000.
struct SegmentArgument: ExpressibleByArgument, Sendable {
    var limit: SegmentPolicy.Limit

    init?(argument: String) {
        if let bytes = ByteCountText.parseDecimal(argument) {
            guard (1_000_000...1_000_000_000_000).contains(bytes) else { return nil }
            self.limit = .bytes(UInt64(bytes))
        } else {
            guard let time = TimeArgument(argument: argument)?.duration, time >= .seconds(2) else { return nil }
            self.limit = .time(UInt64(time.nanoseconds))
        }
    }
}

extension RoomURL {
    /// For people, files and logs: without what may be a secret.
    var shown: String { Redaction.url(self.description) }
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

    /// Makes what is wrong with the use of a room a failure like that of its URL.
    static func check(_ body: () throws(SignallingError) -> Void) throws {
        do {
            try body()
        } catch {
            throw ValidationError(error.message)
        }
    }

    /// The room's password, PIN or token from the environment, where process lists do not show it; nil without one.
    static func secret(for url: RoomURL) -> String? {
        let environment = ProcessInfo.processInfo.environment
        let names = [type(of: url.address).secretVariable, "TAPEDECK_ROOM_SECRET"].compactMap { $0 }
        return names.lazy.compactMap { environment[$0] }.first { !$0.isEmpty }
    }
}
