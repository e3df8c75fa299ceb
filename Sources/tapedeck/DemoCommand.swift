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
        try self.output?.check(replaces: self.force)
        let result = try await self.call()
        try result.show(self.common)
        if !self.common.json {
            let program = CommandLine.arguments.first ?? "tapedeck"
            Output.message("Play it: mpv \(result.output)\nCheck it: \(program) verify \(result.output)")
        }
        try result.check()
    }

    /// Server, cameras and recorder, each ended before the one that it needs.
    private func call() async throws -> RecordResult {
        try Runtime.initialise()
        let log = self.common.logOutput()
        let logger = log.logger()
        // What server and cameras log would hide what the recorder does.
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
        var spec = RoomSpec(name: "demo", url: "socketio+http://\(server)/demo", storage: "/")
        spec.ice.hostAddresses = ["127.0.0.1"]
        var job = RecordJob(
            spec: spec,
            leaving: LeaveRule(wait: .seconds(20), duration: self.duration.duration),
            output: self.output?.path,
            lines: LiveLines(log, isWanted: !self.common.json),
            logger: logger.forSession()
        )
        job.spec.record = RecordSpec()
        // Each camera has its way.
        job.spec.record?.preferredCodec = .any
        (job.options.records, job.options.directory) = (true, self.directory)
        let control = ControlThread(name: "cameras")
        let pipelines = try PipelineCatalogue.load()
        // There is no network that could be narrow, only a host that may be busy.
        var settings = SendSpec()
        settings.minimumBitsPerSecond = settings.bitsPerSecond
        let cameras = try [(PreferredCodec.vp8, "Ann"), (.h264, "Bob")].map { codec, name in
            var spec = spec
            (spec.displayName, spec.send) = (name, settings)
            spec.send?.preferredCodec = codec
            let camera = CameraSource(settings: settings, pipelines: pipelines, logger: others)
            let options = RoomRun.Options(receives: false)
            return try RoomRun(spec, options, camera: camera, control: control, logger: others.forSession())
        }
        return try await withThrowingTaskGroup(of: Void.self) { [job] group in
            for camera in cameras { group.addTask { _ = await camera.run() } }
            let result = await Task { try await job.record(interrupts: interrupts) }.result
            for camera in cameras { camera.stop() }
            try await group.waitForAll()
            for run in cameras { await control.end("stopping a camera", logger: logger) { run.camera?.stop() } }
            return try result.get()
        }
    }
}
