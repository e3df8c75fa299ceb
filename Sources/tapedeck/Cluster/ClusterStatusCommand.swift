// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Model
import Terminal

/// `tapedeck cluster status`.
struct ClusterStatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show the hosts and rooms of the cluster as the running daemon sees them.",
        discussion: """
            Rooms without a host come with the reason, if the daemon knows it. While the daemon does not reach the etcd, it \
            shows what it saw last, and since when.

            Example: tapedeck cluster status
            """
    )

    @OptionGroup var daemon: DaemonOptions
    @OptionGroup var common: CommonOptions

    mutating func run() async throws {
        let cluster = try await self.daemon.client().get("/v1/cluster", as: ClusterResource.self)
        if self.common.json { return try Output.json(cluster) }
        for line in Self.lines(cluster) { Output.result(Output.harmless(line)) }
    }

    private static func lines(_ cluster: ClusterResource) -> [String] {
        let state =
            "\(cluster.isConnected ? "connected" : "NOT CONNECTED") since \(Self.minute(cluster.since))"
            + (cluster.reason.map { ": \($0)" } ?? "")
        let hosts = cluster.hosts.map { host -> [String] in
            let labels = host.labels.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
            let state = host.isStopping ? "stopping" : host.isDraining ? "draining" : "alive"
            return [
                host.name, state, "\(host.rooms)", "\(host.load)/\(host.capacity)", host.version ?? "-",
                host.since.map { Self.minute($0) } ?? "-", labels.joined(separator: ","), host.problem ?? "",
            ]
        }
        let rooms = cluster.rooms.map { room -> [String] in
            let why: [String?] = [
                room.isLocal ? "of its host's file or API" : nil, room.next.map { "moves to \($0)" }, room.reason,
            ]
            return [
                room.name, room.host ?? "-", room.phase.rawValue, room.epoch.map { "\($0)" } ?? "-", "\(room.cost)",
                why.compactMap { $0 }.joined(separator: "; "),
            ]
        }
        let hostHeader = ["HOST", "STATE", "ROOMS", "LOAD", "VERSION", "SINCE (UTC)", "LABELS", "WHY"]
        let roomHeader = ["ROOM", "HOST", "STATE", "EPOCH", "COST", "WHY"]
        return ["cluster \(cluster.name), host \(cluster.host) \(state)", ""]
            + (hosts.isEmpty ? ["no hosts"] : TextTable.lines([hostHeader] + hosts)) + [""]
            + (rooms.isEmpty ? ["no rooms"] : TextTable.lines([roomHeader] + rooms))
    }

    private static func minute(_ time: String) -> String { String(time.prefix(16).replacing("T", with: " ")) }
}
