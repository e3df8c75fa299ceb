// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Basics
import Foundation
import Media
import Model
import Signalling
import Worker

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

    @Option(help: "The user name for the TURN servers. Default: TAPEDECK_TURN_USERNAME in the environment.")
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
            discussion: "Default: every interface except loopback, and loopback too if the room server is on it."
        )
    )
    var hostAddresses: [String] = []

    @Option(help: "Local UDP ports for media, for example 40000-49999.")
    var portRange: PortRange?

    @OptionGroup var iceServers: ICEServerOptions

    @Flag(help: "Send and receive media through TURN servers only, so that peers learn no address of this host.")
    var relayOnly = false

    @Flag(help: "Do not use STUN and TURN servers that the room's server offers.")
    var ignoreOfferedServers = false

    mutating func validate() throws {
        _ = try self.settings()
    }

    /// What the options mean; the password comes from the environment.
    func settings(environment: [String: String] = ProcessInfo.processInfo.environment) throws -> NetworkSpec {
        var settings = NetworkSpec()
        settings.hostAddresses = self.hostAddresses
        settings.portRange = self.portRange?.ports
        settings.relaysOnly = self.relayOnly
        settings.usesOffered = !self.ignoreOfferedServers
        if !self.iceServers.urls.isEmpty {
            let username = self.iceServers.username(environment)
            let credential = ICEServerOptions.password(environment).map { Secret($0) }
            settings.servers = [
                NetworkSpec.Server(urls: self.iceServers.urls, username: username, credential: credential)
            ]
        }
        do throws(WebRTCServer.Problem) {
            _ = try settings.webRTCServers()
        } catch {
            let place = "--turn-username and TAPEDECK_TURN_PASSWORD in the environment"
            throw ValidationError("--ice-server: \(error.message) (\(place))")
        }
        if settings.lacksRelay {
            throw ValidationError("--relay-only needs a TURN server: give one with --ice-server")
        }
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
        guard let ports = PortRangeText.parse(argument, from: 1) else { return nil }
        self.init(ports: ports)
    }

    var defaultValueDescription: String { "\(self.ports.lowerBound)-\(self.ports.upperBound)" }
}
