// SPDX-License-Identifier: Apache-2.0

import ConfigurationFile
import Control
import FoundationEssentials
import Glibc
import Logging
import Model
import Observability
import Platform
import ServiceLifecycle
import UnixSignals

/// Takes up a new configuration: on SIGHUP, when the file changed, and when the HTTP API asks.
///
/// A file with a mistake is refused whole, with every problem, and the old configuration stays in force.
actor ConfigurationReloader: Service {
    private let path: String
    private let values: NotedValueSource
    /// The storage directory, which a running daemon keeps.
    private let directory: String
    /// How the HTTP API was started; only its tokens change in a running daemon.
    private let api: APIConfiguration
    /// How workers are started, which a running daemon keeps.
    private let workers: WorkersConfiguration
    /// The cluster that this host is in, and stays in.
    private let cluster: ClusterConfiguration?
    private let supervisor: Supervisor
    private let webhooks: WebhookDispatcher
    private let bus: EventBus
    private let metrics: DaemonMetrics
    private let notifier: ServiceNotifier
    private let logger: Logger
    private var known: Signature?
    private var control: ControlServer?

    /// A sign of one state of the file.
    private struct Signature: Equatable {
        var inode: UInt64
        var size: Int64
        var seconds: Int
        var nanoseconds: Int

        init?(_ path: String) {
            var status = stat()
            guard stat(path, &status) == 0 else { return nil }
            self.inode = UInt64(status.st_ino)
            self.size = Int64(status.st_size)
            self.seconds = status.st_mtim.tv_sec
            self.nanoseconds = status.st_mtim.tv_nsec
        }
    }

    /// A reloader of the file that the supervisor's present configuration came from.
    init(
        path: String,
        values: NotedValueSource,
        directory: String,
        api: APIConfiguration,
        workers: WorkersConfiguration,
        cluster: ClusterConfiguration? = nil,
        supervisor: Supervisor,
        webhooks: WebhookDispatcher,
        bus: EventBus,
        metrics: DaemonMetrics,
        notifier: ServiceNotifier,
        logger: Logger
    ) {
        self.path = path
        self.values = values
        self.directory = directory
        self.api = api
        self.workers = workers
        self.cluster = cluster
        self.supervisor = supervisor
        self.webhooks = webhooks
        self.bus = bus
        self.metrics = metrics
        self.notifier = notifier
        self.logger = logger
        self.known = Signature(path)
    }

    /// Whose tokens a new configuration replaces.
    func serve(_ control: ControlServer) { self.control = control }

    /// Watches until the daemon ends.
    func run() async throws {
        await cancelWhenGracefulShutdown {
            await withDiscardingTaskGroup { group in
                group.addTask { await self.watchSignal() }
                group.addTask { await self.watchFile() }
            }
        }
    }

    private func watchSignal() async {
        for await _ in await UnixSignalsSequence(trapping: .sighup) { _ = try? await self.reload() }
    }

    /// Polls: editors replace files, and a link of a credential's folder changes without an event on the file.
    private func watchFile() async {
        var pending: Signature?
        while (try? await CommonSecond.sleep()) != nil {
            guard let current = Signature(self.path), current != self.known else { continue }
            // Taken when it is the same twice: an editor may still be writing.
            if current == pending { _ = try? await self.reload() } else { pending = current }
        }
    }

    /// Reads the file and takes it up; throws `invalid` with every problem.
    func reload() async throws(ControlError) -> ReloadReport {
        self.known = Signature(self.path)
        self.notifier.reloading()
        defer { self.notifier.ready() }
        let new: DaemonConfiguration
        do throws(ConfigurationError) {
            new = try DaemonConfiguration.loadWithPipelines(path: self.path, values: self.values).configuration
        } catch {
            self.metrics.reloaded(.refused)
            self.bus.publish(
                .configurationRefused,
                ["problems": "\(error.problems.count)", "first": error.problems.first?.description ?? ""]
            )
            throw ControlError(
                .invalid,
                "the configuration has errors; the old one stays in force",
                problems: error.problems.map(\.description)
            )
        }
        let change = await self.supervisor.take(new)
        await self.supervisor.kept.write(change.added.map(\.name))
        if change.sections.contains(.api) { self.replaceTokens(new.api.tokens) }
        if change.sections.contains(.webhooks) { self.webhooks.update(new.webhooks) }
        self.metrics.reloaded(.applied)
        var report = ReloadReport(
            added: change.added.count,
            changed: change.changed.count,
            removed: change.removed.count,
            unchanged: change.unchanged.count
        )
        if !new.api.isServed(like: self.api) { report.afterRestart.append("api") }
        if new.workers != self.workers { report.afterRestart.append("workers") }
        if new.cluster != self.cluster { report.afterRestart.append("cluster") }
        if new.storage.directory != self.directory { report.afterRestart.append("storage.directory") }
        var details = [
            "added": "\(report.added)", "changed": "\(report.changed)", "removed": "\(report.removed)",
            "unchanged": "\(report.unchanged)",
        ]
        if !report.afterRestart.isEmpty { details["after_restart"] = report.afterRestart.joined(separator: " ") }
        self.bus.publish(.configurationReloaded, details)
        return report
    }

    /// New tokens count at once, and those that are gone admit no client any more.
    private func replaceTokens(_ tokens: [ConfigurationFile.APIToken]) {
        do throws(ControlServerError) {
            try self.control?.replaceTokens(tokens.map { BearerToken($0) })
        } catch {
            self.logger.error("tokens stay as they were", metadata: .tagged([.errorMessage: "\(error.message)"]))
        }
    }
}

extension APIConfiguration {
    /// Whether nothing differs but the tokens.
    fileprivate func isServed(like other: APIConfiguration) -> Bool {
        var same = self
        same.tokens = other.tokens
        return same == other
    }
}
