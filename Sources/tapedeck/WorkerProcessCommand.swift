// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Basics
import Export
import Foundation
import Media
import Model
import Rendering
import Storage
import Synchronization
import Worker

/// `tapedeck worker`: what the daemon starts; people have no use for it.
struct WorkerProcessCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "worker",
        abstract: "Join the rooms that the daemon names, by JSON lines on standard input and output.",
        discussion: """
            With --export it makes one file of a recording instead, as the first line on standard input orders, and ends. \
            docs/worker-protocol.md describes the lines.

            Example: tapedeck worker --export recordings/standup/20261121T031226Z-k3v9q2wtb4n50xjc <<< \
            '{"protocolVersion":\(WorkerLine.protocolVersion),"spec":{"layout":"browser"}}'
            """,
        shouldDisplay: false
    )

    @Option(help: "The folder of a recording of which a file is made.")
    var export: String?

    @Option(
        help: "Makes a JPEG image of a keyframe of this codec, from standard input to standard output, and ends.",
        transform: Self.videoCodec
    )
    var still: MediaCodec?

    @Option(help: "By how many degrees the image is turned clockwise: 0, 90, 180 or 270.")
    var rotation = 0

    @Option(help: "Writes how loud the participants of the recording in this folder are, as JSON, and ends.")
    var levels: String?

    @Option(help: "How long the end of a room or of the process may take.")
    var stopLimit = TimeArgument(StopLimits().process)

    @OptionGroup var trace: TraceOptions
    @OptionGroup var common: CommonOptions

    private static func videoCodec(_ name: String) throws -> MediaCodec {
        guard let codec = MediaCodec(rawValue: name), codec.kind == .video else {
            throw ValidationError("an image is made of a video codec's keyframe, and \(name) is none")
        }
        return codec
    }

    mutating func run() async throws {
        // A terminal that is closed sends it to the supervisor as well, which continues.
        signal(SIGHUP, SIG_IGN)
        if let folder = self.export { return try self.export(folder) }
        if let codec = self.still {
            guard try StillJob.run(codec: codec, rotation: self.rotation) else { Program.end(.incomplete) }
            return
        }
        if let folder = self.levels {
            guard let levels = try LevelsJob.run(RecordingFolder.open(path: folder)) else { Program.end(.incomplete) }
            return try Output.json(levels)
        }
        let worker = WorkerProcess(
            input: STDIN_FILENO,
            output: STDOUT_FILENO,
            host: ProcessInfo.processInfo.hostName,
            logger: self.common.logger,
            traces: self.trace.settings,
            countsObjects: ProcessInfo.processInfo.environment["TAPEDECK_COUNT_OBJECTS"] == "1",
            limits: StopLimits(process: self.stopLimit.duration)
        ) { _exit(1) }
        // A terminal sends SIGINT to the supervisor as well, which decides.
        signal(SIGINT, SIG_IGN)
        let termination = SignalWatch(SIGTERM) { _ in worker.shutDown(because: "SIGTERM") }
        await worker.run()
        withExtendedLifetime(termination) {}
    }

    /// Says why a job's arguments were not taken, as the job itself would have: its daemon waits for a word.
    static func refuse(_ arguments: [String], _ reason: String) {
        guard arguments.first == Self.configuration.commandName, arguments.contains("--export") else { return }
        try? Output.json(ExportJobEvent.failed(message: reason, retriable: false))
    }

    private func export(_ folder: String) throws {
        do {
            let spec = try ExportOrder(line: Self.firstLine()).spec
            let job = ExportJob(try RecordingFolder.open(path: folder), program: Program.name) { files in
                try? Output.json(ExportJobEvent.failed(message: ExportJob.stuck, retriable: false))
                ExportJob.giveUp(files)
            }
            let last = Mutex(ExportJobEvent.progress(bytesDone: 0, bytesTotal: 0))
            // While files are read back, hashed and remuxed it is as far as it was.
            let pulse = JobPulse { try? Output.json(last.withLock { $0 }) }
            defer { pulse.stop() }
            let result = try job.runAlone(spec) { event in
                last.withLock { $0 = event }
                try? Output.json(event)
            }
            pulse.stop()
            try Output.json(ExportJobEvent.finished(result))
        } catch {
            let failure = CommandFailure(error)
            let isRetriable = (error as? ExportError)?.isRetriable ?? (error as? StorageError)?.isRetriable ?? false
            let message = String(failure.message.prefix(10_000))
            try Output.json(ExportJobEvent.failed(message: message, retriable: isRetriable))
            throw failure
        }
    }

    /// The first line on standard input, as far as a line goes.
    private static func firstLine() throws -> Data {
        var line = Data()
        while line.count <= WorkerLine.maximumLength, let byte = try FileHandle.standardInput.read(upToCount: 1)?.first,
            byte != UInt8(ascii: "\n")
        {
            line.append(byte)
        }
        return line
    }
}
