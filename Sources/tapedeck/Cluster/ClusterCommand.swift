// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Cluster
import Foundation

/// `tapedeck cluster`.
struct ClusterCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cluster",
        abstract: "Make a cluster in which hosts share rooms; show its hosts and rooms.",
        discussion: "Example: tapedeck cluster status",
        subcommands: [InitialiseClusterCommand.self, AdoptClusterCommand.self, ClusterStatusCommand.self]
    )
}

/// `tapedeck cluster init`.
struct InitialiseClusterCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract: "Make the cluster that the configuration names, once; nothing happens if it exists.",
        discussion: """
            Writes the identity of the cluster to its etcd. Without it no host claims a room, so that an etcd that lost \
            everything is not taken for a new cluster. Then asks each member alone, and names those that do not answer, or \
            belong to another etcd.

            Example: tapedeck cluster init --config /etc/tapedeck/tapedeck.yaml
            """
    )

    @OptionGroup var file: ConfigurationOptions
    @OptionGroup var common: CommonOptions

    private struct Made: Encodable {
        var cluster: String
        var id: String
        var isNew: Bool
    }

    mutating func run() async throws {
        let store = try ClusterStore(self.file)
        let meta = MetaRecord(id: UUID().uuidString.lowercased())
        var view = try await store.view()
        var isNew = false
        if view.meta == nil {
            isNew = try await store.write(.meta, meta.text, insteadOf: nil)
            view = try await store.view()
        }
        guard let found = view.meta?.reading.record else {
            let problem = view.meta?.reading.problem ?? "is missing"
            throw CommandFailure(.usage, "the cluster \(store.name): meta \(problem)")
        }
        if self.common.json {
            try Output.json(Made(cluster: store.name, id: found.id, isNew: isNew))
        } else {
            Output.result("the cluster \(store.name) \(isNew ? "is made" : "exists"): \(found.id)")
        }
        try await Self.check(store, view.meta?.stored.value)
    }

    /// Throws `usage` if members are not of one etcd: hosts would share nothing once they ask different ones.
    private static func check(_ store: ClusterStore, _ meta: String?) async throws(CommandFailure) {
        var strangers: [String] = []
        for (member, value) in await store.value(.meta) {
            switch value {
            case .success(meta): break
            case .success: strangers.append(member)
            case .failure(.unreachable(let reason)): Output.message("a member of the etcd does not answer: \(reason)")
            case .failure(.full(let reason)), .failure(.refused(let reason)): Output.message(reason)
            case .failure(.leaseNotFound): break
            }
        }
        guard strangers.isEmpty else {
            let names = strangers.joined(separator: ", ")
            throw CommandFailure(.usage, "not members of the etcd that has the cluster, but of another: \(names)")
        }
    }
}

/// `tapedeck cluster adopt`.
struct AdoptClusterCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "adopt",
        abstract: "Have hosts of an etcd that was lost or replaced continue in the cluster of the present one.",
        discussion: """
            Hosts that know the cluster by another id claim nothing, and continue to record. `tapedeck cluster status` shows \
            that id. Run `tapedeck cluster init` and `tapedeck rooms apply` first: a host leaves rooms that the cluster does \
            not have.

            Example: tapedeck cluster adopt 6f1c0f4e-0a3b-4c5e-9d61-3b1d1d2f7a10
            """
    )

    @Argument(help: "The id by which hosts know the cluster.")
    var id: String

    @OptionGroup var file: ConfigurationOptions
    @OptionGroup var common: CommonOptions

    private struct Adopted: Encodable {
        var cluster: String
        var id: String
        var replaced: [String]
    }

    mutating func run() async throws {
        let store = try ClusterStore(self.file)
        let view = try await store.initialisedView()
        guard let entry = view.meta, let meta = entry.record else { return }
        guard self.id != meta.id else {
            throw CommandFailure(.usage, "the cluster \(store.name) of this etcd is \(meta.id): nothing was adopted")
        }
        guard !view.rooms.isEmpty else {
            throw CommandFailure(
                .usage,
                "the cluster \(store.name) has no rooms, and hosts would leave theirs: `tapedeck rooms apply` first"
            )
        }
        let replaced = meta.replaced.filter { $0 != self.id } + [self.id]
        let adopted = MetaRecord(id: meta.id, minimumSchema: meta.minimumSchema, replaced: replaced)
        guard try await store.write(.meta, adopted.text, insteadOf: entry.stored) else {
            throw CommandFailure(.unavailable, "another client changed the cluster \(store.name) just now: try again")
        }
        if self.common.json {
            try Output.json(Adopted(cluster: store.name, id: meta.id, replaced: replaced))
        } else {
            Output.result("hosts that know the cluster \(store.name) as \(self.id) continue in \(meta.id)")
        }
    }
}
