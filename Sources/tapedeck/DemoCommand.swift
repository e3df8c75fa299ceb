// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import ConfigurationFile
import Export
import Foundation
import GStreamer
import Logging
import Media
import Model
import Observability
import PipelineCatalogue
import Session
import Signalling
import SignallingClients
import Worker

/// `tapedeck demo`.
struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Try it out: record a call of two test cameras on a local room server.",
        discussion: """
            Ends after --duration with an exported MKV. Nothing leaves this machine.

            Example: tapedeck demo --directory /tmp/tapedeck-demo
            """
    )

    @Option(help: "Length of the call, for example 1m.")
    var duration = TimeArgument(.seconds(12))

    @Option(help: "Storage directory.")
    var directory = "."

    @Option(help: "Path of the exported file. Default: call.mkv in the recording's folder.")
    var output: OutputPath?

    @Flag(help: "Replace the file of --output if it exists.")
    var force = false

    @OptionGroup var common: CommonOptions

    mutating func validate() throws { _ = try self.output?.kind(["mkv": ()], of: "demo") }

    mutating func run() async throws {
        do {
            try self.output?.check(replaces: self.force)
            let result = try await self.call()
            if self.common.json {
                try Output.json(result)
            } else {
                Output.result(result.output)
                Output.result(result.report.table())
                let program = CommandLine.arguments.first ?? "tapedeck"
                Output.message("Play it: mpv \(result.output)\nCheck it: \(program) verify \(result.output)")
            }
            try result.check()
        } catch {
            throw CommandFailure(error)
        }
    }

    /// Server, cameras and recorder, each ended before the one that it needs.
    private func call() async throws -> RecordResult {
        try Runtime.initialise()
        let log = self.common.logOutput()
        let logger = log.logger()
        // What server and cameras tell by the way would hide what the recorder does.
        var others = logger
        if others.logLevel == .notice { others.logLevel = .warning }
        let interrupts = Interrupts()
        return try await LocalRooms.serve(roomCapacity: 3, for: "the call", logger: others) { [others] server in
            try await self.record(at: server, interrupts, log, logger, others: others)
        }
    }

    private func record(
        at server: String,
        _ interrupts: Interrupts,
        _ log: LogOutput,
        _ logger: Logger,
        others: Logger
    ) async throws -> RecordResult {
        let url = try RoomArgument.parse("socketio+http://\(server)/demo")
        let network = try NetworkOptions.parse(["--host-address", "127.0.0.1"])
        let job = RecordJob(
            stay: RoomStay(
                url: url,
                duration: self.duration.duration,
                untilEmpty: false,
                // Each camera has its way.
                preferred: .any,
                wait: .seconds(20),
                network: network,
                logger: logger.forSession()
            ),
            output: self.output?.path,
            directory: self.directory,
            lines: LiveLines(log, isWanted: !self.common.json)
        )
        let control = ControlThread(name: "cameras")
        let pipelines = try PipelineCatalogue.load()
        // There is no network that could be narrow, only a host that may be busy.
        var settings = SendSpec()
        settings.minimumBitsPerSecond = settings.bitsPerSecond
        let cameras = [(PreferredCodec.vp8, "Ann"), (PreferredCodec.h264, "Bob")].map { codec, name in
            (codec, name, CameraSource(settings: settings, pipelines: pipelines, logger: others))
        }
        let sessions = try cameras.map { codec, name, camera in
            let logger = others.forSession()
            let options = SignallingOptions(policy: .oneShot, displayName: name, sends: true, receives: false)
            return RoomSession(
                signaller: Signallers.signaller(
                    for: JoinRequest(url, options),
                    logger: logger
                ),
                context: try RoomComposition.context(
                    url: url,
                    network: try network.settings(),
                    control: control,
                    recorder: nil,
                    camera: camera,
                    preferred: codec,
                    logger: logger
                ),
                logger: logger
            )
        }
        return try await withThrowingTaskGroup(of: Void.self) { group in
            for session in sessions { group.addTask { _ = await session.run() } }
            let result = await Result { try await job.run(interrupts: interrupts) }
            for session in sessions { session.stop() }
            try await group.waitForAll()
            for (_, _, camera) in cameras { await control.end("stopping a camera", logger: logger) { camera.stop() } }
            return try result.get()
        }
    }
}

extension Result where Failure == any Error {
    /// The outcome of an asynchronous body.
    fileprivate init(_ body: () async throws -> Success) async {
        do {
            self = .success(try await body())
        } catch {
            self = .failure(error)
        }
    }
}
