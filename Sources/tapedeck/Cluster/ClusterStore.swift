// SPDX-License-Identifier: Apache-2.0

import Cluster
import ConfigurationFile
import Coordination
import Daemon

/// The keys of a cluster, as a command reads and writes them.
struct ClusterStore {
    let name: String
    private let configuration: EtcdConfiguration
    private let client: EtcdClient

    /// The cluster of a daemon's configuration file; throws `usage` if there is none.
    init(_ options: ConfigurationOptions) throws(CommandFailure) {
        guard let path = options.path else {
            let usual = ConfigurationOptions.usualPath
            throw CommandFailure(.usage, "no configuration file \(usual) can be read; --config names another")
        }
        let cluster: ClusterConfiguration?
        do throws(ConfigurationError) {
            cluster = try DaemonConfiguration.loadCluster(path: path)
        } catch {
            throw CommandFailure(.usage, "\(error)")
        }
        guard let cluster else { throw CommandFailure(.usage, "\(path) has no section cluster") }
        self.name = cluster.name
        self.configuration = EtcdConfiguration(cluster)
        self.client = EtcdClient(self.configuration)
    }

    /// Everything that the cluster has.
    func view() async throws(CommandFailure) -> ClusterView {
        var view = ClusterView(cluster: self.name)
        view.beginListing()
        let request = StoreRequest.list(prefix: ClusterKey.prefix(cluster: self.name))
        guard case .listed(let values, let revision) = try await self.ask(request) else { return view }
        _ = view.list(values, at: revision)
        return view
    }

    /// What the cluster has; throws `usage` before `tapedeck cluster init`.
    func initialisedView() async throws(CommandFailure) -> ClusterView {
        let view = try await self.view()
        switch view.meta?.reading {
        case .known(let meta) where meta.minimumSchema <= RecordSchema.current: return view
        case .known(let meta):
            let schema = meta.minimumSchema
            throw CommandFailure(.usage, "the cluster \(self.name) needs a newer version: it requires schema \(schema)")
        case .newer, .broken:
            let problem = view.meta?.reading.problem ?? "cannot be read"
            throw CommandFailure(.usage, "the cluster \(self.name): meta \(problem)")
        case nil: throw CommandFailure(.usage, "there is no cluster \(self.name): tapedeck cluster init makes it")
        }
    }

    /// Writes a value, or deletes it for nil, unless another client changed it since.
    ///
    /// - Returns: whether the store has it so, also if an earlier try did that whose answer was lost.
    func write(_ key: ClusterKey, _ value: String?, insteadOf seen: StoredValue?) async throws(CommandFailure) -> Bool {
        let text = key.text(cluster: self.name)
        let transaction = StoreTransaction(
            if: [.modified(key: text, seen?.modified ?? .none)],
            then: [value.map { .put(key: text, value: $0) } ?? .delete(key: text)],
            else: [.get(key: text)]
        )
        guard case .transacted(let result) = try await self.ask(.transact(transaction)) else { return false }
        return result.hasSucceeded || (result.values.first ?? nil)?.value == value
    }

    /// A value as each member of the etcd shows it if it is asked alone; nil without one.
    func value(_ key: ClusterKey) async -> [(member: String, value: Result<String?, StoreError>)] {
        let text = key.text(cluster: self.name)
        var values: [(member: String, value: Result<String?, StoreError>)] = []
        for member in self.configuration.members {
            var alone = self.configuration
            alone.members = [member]
            do throws(StoreError) {
                let answer = try await EtcdClient(alone).perform(.list(prefix: text))
                guard case .listed(let found, _) = answer else { continue }
                values.append((member, .success(found.first { $0.key == text }?.value)))
            } catch {
                values.append((member, .failure(error)))
            }
        }
        return values
    }

    private func ask(_ request: StoreRequest) async throws(CommandFailure) -> StoreAnswer {
        do throws(StoreError) {
            return try await self.client.perform(request)
        } catch {
            switch error {
            case .unreachable(let reason): throw CommandFailure(.notJoined, "the etcd does not answer: \(reason)")
            case .full(let reason): throw CommandFailure(.unavailable, "the etcd is full: \(reason)")
            case .refused(let reason): throw CommandFailure(.usage, reason)
            case .leaseNotFound: throw CommandFailure(.unavailable, "the lease is gone")
            }
        }
    }
}
