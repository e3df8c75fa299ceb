// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Basics
import ConfigurationFile
import Daemon
import Export
import Foundation
import GStreamer
import Model
import Observability
import PipelineCatalogue
import Rendering
import Storage
import SystemPackage

/// `tapedeck run`.
struct RunCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Run the daemon: join and record the configured rooms until stopped.",
        discussion: """
            The configuration is read again on SIGHUP, with `tapedeck reload`, and when the file changes; a file with \
            a mistake changes nothing. SIGTERM finishes every recording and leaves every room.

            With --trace-signalling calls.jsonl the room `standup` writes calls-standup.jsonl.

            Example: tapedeck run --config /etc/tapedeck/tapedeck.yaml
            """
    )

    @Option(help: "The configuration file; docs/tapedeck.example.yaml explains every key.")
    var config: String

    @Flag(
        help: """
            Read the configuration and the pipeline files, look at the storage directory, print every problem, and end: 0 if \
            there is none, else 2.
            """
    )
    var check = false

    @OptionGroup var trace: TraceOptions
    @OptionGroup var common: CommonOptions

    mutating func run() async throws {
        // Until it means that the configuration is read again: what is asked of it now is being done.
        signal(SIGHUP, SIG_IGN)
        let values = NotedValueSource()
        let configuration: DaemonConfiguration
        let pipelines: PipelineCatalogue
        do throws(ConfigurationError) {
            (configuration, pipelines) = try DaemonConfiguration.loadWithPipelines(path: self.config, values: values)
        } catch {
            throw CommandFailure(.usage, "the configuration has errors\n\(error)")
        }
        // The program's own files were tested with the program: GStreamer is loaded for an operator's files only.
        if self.check || configuration.pipelines.directory != nil {
            do throws(GStreamerError) {
                try Runtime.initialise()
            } catch {
                throw CommandFailure(error)
            }
            try PipelinesCommand.checkOnHost(pipelines)
            if self.check {
                try PipelinesCommand.checkOutputs(configuration, pipelines)
                try Self.checkExports(configuration)
                try Self.checkStorage(configuration)
            }
        }
        if self.check {
            let result = CheckResult(configuration: self.config, rooms: configuration.rooms.count)
            if self.common.json {
                try Output.json(result)
            } else {
                Output.result("\(result.configuration): no problem, \(result.rooms) rooms")
            }
            return
        }
        // Files 0640 and folders 0750, whatever was inherited; workers and jobs inherit it from here.
        umask(0o027)
        let metrics = DaemonMetrics(
            registry: PrometheusRegistry(),
            version: Program.version,
            startTime: Date().timeIntervalSince1970
        )
        let daemon = Daemon(
            configurationPath: self.config,
            configuration: configuration,
            values: values,
            // Not its path: after an upgrade replaced the file, workers are still of this build.
            executable: "/proc/self/exe",
            workerArguments: self.common.arguments + self.trace.arguments,
            serverArguments: self.common.arguments,
            version: Program.version,
            isClockSynchronised: { SystemClock.isSynchronised },
            metrics: metrics,
            logger: self.common.logOutput { metrics.logLine($0) }.logger()
        )
        let (host, isJSON) = (IPAddress.bracketed(configuration.api.host), self.common.json)
        do {
            try await daemon.run { port in
                let started = StartResult(api: "http\(configuration.api.tls == nil ? "" : "s")://\(host):\(port)/")
                if isJSON { try? Output.json(started) } else { Output.message("interface: \(started.api)") }
            }
        } catch {
            // The service manager starts it again after any code but 2.
            throw CommandFailure(Daemon.needsChange(after: error) ? .usage : .unavailable, "\(error)")
        }
    }

    /// Fails where recordings could not be stored.
    private static func checkStorage(_ configuration: DaemonConfiguration) throws(CommandFailure) {
        do throws(StorageError) {
            try RecordingFolder.checkStorage(configuration.storage.directory)
        } catch {
            throw CommandFailure(.usage, "storage.directory: \(error.message)")
        }
    }

    /// Fails where a room orders files that this host has no program for.
    private static func checkExports(_ configuration: DaemonConfiguration) throws(CommandFailure) {
        let rooms = configuration.rooms.filter { room in
            room.value.exportOrders?.contains { $0.layout.tracks?.container == .mp4 } ?? false
        }
        guard let room = rooms.keys.min() else { return }
        do throws(ExportError) {
            try FFmpegMux.requireProgram()
        } catch {
            throw CommandFailure(.usage, "room \(room), container mp4: \(error.message)")
        }
    }

    private struct CheckResult: Encodable {
        var configuration: String
        var rooms: Int
    }

    private struct StartResult: Encodable {
        var api: String
    }
}
