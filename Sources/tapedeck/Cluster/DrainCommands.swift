// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Basics
import Model

/// `tapedeck drain`.
struct DrainCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "drain",
        abstract: "Hand the cluster's rooms on this host to other hosts, and take no more.",
        discussion: """
            Empty rooms move at once, others when their participants have left, and all at the deadline. A room that takes one \
            more member is recorded without a gap: the next host joins before this one leaves. A room without a host that can \
            have it is left at the deadline all the same. Rooms of this host's own configuration stay. The drain ends with \
            `tapedeck undrain`; a restart of the daemon or the host does not end it.

            Example: tapedeck drain --wait --deadline 30m
            """
    )

    @Flag(help: "Wait until no room of the cluster is left here, and show which ones are.")
    var wait = false

    @Option(help: "When rooms with participants move as well, from now on.")
    var deadline = TimeArgument(.seconds(7200))

    @Flag(help: "End the drain with the daemon, as for a hook that runs before each stop.")
    var untilRestart = false

    @OptionGroup var daemon: DaemonOptions
    @OptionGroup var common: CommonOptions

    private struct Request: Encodable {
        var deadlineSeconds: Int64
        /// An older daemon knows no such field.
        var untilRestart: Bool?
    }

    private struct Progress: Encodable {
        var isDrained: Bool
        var deadline: String
        var rooms: [String]

        private enum CodingKeys: String, CodingKey {
            case isDrained = "drained", deadline, rooms
        }
    }

    mutating func run() async throws {
        let client = try self.daemon.client()
        let time = self.deadline.duration.components
        let seconds = time.seconds + (time.attoseconds > 0 ? 1 : 0)
        try await client.post(
            "/v1/cluster/drain",
            Request(deadlineSeconds: seconds, untilRestart: self.untilRestart ? true : nil)
        )
        var shown: [String]?
        while true {
            let cluster = try await client.get("/v1/cluster", as: ClusterResource.self)
            guard let drain = cluster.drain else {
                throw CommandFailure(.unavailable, "the host \(cluster.host) takes rooms again: another client said so")
            }
            if drain.rooms != shown {
                shown = drain.rooms
                try self.show(drain)
            }
            if drain.rooms.isEmpty || !self.wait { return }
            try await Task.sleep(for: .seconds(1))
        }
    }

    private func show(_ drain: ClusterResource.Drain) throws {
        if self.common.json {
            let progress = Progress(isDrained: drain.rooms.isEmpty, deadline: drain.deadline, rooms: drain.rooms)
            return try Output.json(progress)
        }
        let names = drain.rooms.prefix(10).joined(separator: ", ") + (drain.rooms.count > 10 ? ", …" : "")
        Output.result(
            drain.rooms.isEmpty
                ? "drained: no room of the cluster is left here"
                : Output.harmless("draining, rooms left: \(drain.rooms.count) (\(names))")
        )
    }
}

/// `tapedeck undrain`.
struct UndrainCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "undrain",
        abstract: "Take rooms of the cluster again, after a drain.",
        discussion: "Example: tapedeck undrain"
    )

    @OptionGroup var daemon: DaemonOptions
    @OptionGroup var common: CommonOptions

    mutating func run() async throws {
        try await self.daemon.client().post("/v1/cluster/undrain")
        if self.common.json {
            try Output.json(["drained": false])
        } else {
            Output.result("this host takes rooms of the cluster again")
        }
    }
}
