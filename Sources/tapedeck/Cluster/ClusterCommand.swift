// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Cluster
import Foundation

/// `tapedeck cluster`.
struct ClusterCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cluster",
        abstract: "Make the cluster with which hosts share rooms, and show its hosts and rooms.",
        discussion: "Example: tapedeck cluster status",
        subcommands: [InitialiseClusterCommand.self, ClusterStatusCommand.self]
    )
}

/// `tapedeck cluster init`.
struct InitialiseClusterCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract: "Make the cluster that the configuration names, once; nothing happens if it exists.",
        discussion: """
            Writes the identity of the cluster to its etcd. Without it no host claims a room, so that an etcd that lost \
            everything is not taken for a new cluster.

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
    }
}
