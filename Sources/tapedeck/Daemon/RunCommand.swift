// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Basics
import ConfigurationFile
import Daemon
import Delivery
import Export
import Foundation
import GStreamer
import Model
import Observability
import PipelineCatalogue
import Platform
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

    @OptionGroup var file: ConfigurationOptions

    @Flag(
        help: """
            Read the configuration and the pipeline files, look at the storage directory, try the remote of storage.upload, \
            print every problem, and end: 0 if there is none, else 2.
            """
    )
    var check = false

    @OptionGroup var trace: TraceOptions
    @OptionGroup var common: CommonOptions

    mutating func run() async throws {
        // Until it means that the configuration is read again: what is asked of it now is being done.
        signal(SIGHUP, SIG_IGN)
        guard let path = self.file.path else {
            let usual = ConfigurationOptions.usualPath
            throw CommandFailure(
                .usage,
                "there is no configuration file \(usual) that can be read; --config names another"
            )
        }
        if self.check { return try await self.checkAll(path) }
        let values = NotedValueSource()
        let configuration: DaemonConfiguration
        let pipelines: PipelineCatalogue
        do throws(ConfigurationError) {
            (configuration, pipelines) = try DaemonConfiguration.loadWithPipelines(path: path, values: values)
        } catch {
            throw Self.refusal(error.problems)
        }
        // The program's own files were tested with the program: GStreamer is loaded for an operator's files only.
        if configuration.pipelines.directory != nil {
            do throws(GStreamerError) {
                try Runtime.initialise()
            } catch {
                throw CommandFailure(error)
            }
            let problems = PipelinesCommand.problems(of: pipelines)
            guard problems.isEmpty else { throw Self.refusal(problems) }
        }
        // Files 0640 and folders 0750, whatever was inherited; workers and jobs inherit it from here.
        umask(0o027)
        let metrics = DaemonMetrics(
            registry: PrometheusRegistry(),
            version: Program.version,
            startTime: Date().timeIntervalSince1970
        )
        let daemon = Daemon(
            configurationPath: path,
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
            throw CommandFailure(
                Daemon.needsChange(after: error) ? .usage : .unavailable,
                CommandFailure(error).message
            )
        }
    }

    /// Prints every problem that the configuration has on this host, or that there is none.
    private func checkAll(_ path: String) async throws {
        do throws(GStreamerError) {
            try Runtime.initialise()
        } catch {
            throw CommandFailure(error)
        }
        var problems: [ConfigurationProblem] = []
        var rooms = 0
        do throws(ConfigurationError) {
            let (configuration, pipelines) = try DaemonConfiguration.loadWithPipelines(path: path)
            rooms = configuration.rooms.count
            problems += PipelinesCommand.problems(of: configuration, pipelines, file: path)
            problems += Self.exportProblems(configuration, path) + PipelinesCommand.problems(of: pipelines)
            problems += configuration.problemsBetweenHosts(file: path)
        } catch {
            problems += error.problems
        }
        // What the file says of storage, even where it has errors elsewhere.
        let storage = try? DaemonConfiguration.loadPlaces(path: path).storage
        problems += Self.storageProblems(storage, path) + Self.signingProblems(storage, path)
        problems = DaemonConfiguration.located(problems, in: path)
        problems += await Self.uploadProblems(storage, path)
        guard problems.isEmpty else {
            guard self.common.json else { throw Self.refusal(problems) }
            for problem in problems { try Output.json(problem) }
            throw CommandFailure(.usage, "\(path): \(Self.count(problems.count, "problem"))")
        }
        if self.common.json {
            try Output.json(CheckResult(configuration: path, rooms: rooms))
        } else {
            Output.result("\(path): no problem, \(Self.count(rooms, "room"))")
        }
    }

    private static func refusal(_ problems: [ConfigurationProblem]) -> CommandFailure {
        CommandFailure(.usage, (["the configuration has errors"] + problems.map(\.description)).joined(separator: "\n"))
    }

    private static func count(_ number: Int, _ thing: String) -> String {
        "\(number) \(thing)\(number == 1 ? "" : "s")"
    }

    /// Why recordings could not be stored; nothing where the file does not say where.
    private static func storageProblems(_ storage: StorageConfiguration?, _ path: String) -> [ConfigurationProblem] {
        guard let storage else { return [] }
        do throws(StorageError) {
            try RecordingFolder.checkStorage(storage.directory)
            return []
        } catch {
            return [ConfigurationProblem(file: path, key: "storage.directory", message: error.message)]
        }
    }

    /// Why certificates could not be signed.
    private static func signingProblems(_ storage: StorageConfiguration?, _ path: String) -> [ConfigurationProblem] {
        guard let key = storage?.signingKey else { return [] }
        do throws(KeyFailure) {
            _ = try SigningKey(file: key)
            return []
        } catch {
            return [ConfigurationProblem(file: path, key: "storage.signing_key", message: error.description)]
        }
    }

    /// Why recordings could not be uploaded.
    private static func uploadProblems(_ storage: StorageConfiguration?, _ path: String) async -> [ConfigurationProblem]
    {
        guard let upload = storage?.upload,
            let failure = await RemoteTrial.failure(of: upload, within: .seconds(30))
        else { return [] }
        return [ConfigurationProblem(file: path, key: "storage.upload", message: failure.description)]
    }

    /// The rooms that order files which this host has no program for.
    private static func exportProblems(_ configuration: DaemonConfiguration, _ path: String) -> [ConfigurationProblem] {
        let rooms = configuration.rooms.filter { room in
            room.value.exportOrders?.contains { $0.layout.tracks?.container == .mp4 } ?? false
        }
        guard !rooms.isEmpty else { return [] }
        do throws(ExportError) {
            try FFmpegMux.requireProgram()
            return []
        } catch {
            let message = "container mp4: \(error.message)"
            return rooms.keys.sorted().map { ConfigurationProblem(file: path, key: "rooms.\($0)", message: message) }
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
