// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Basics
import Export
import Media
import Model
import Observability
import PipelineCatalogue
import Rendering
import Signalling
import SignallingClients
import Storage

/// `tapedeck record`.
struct RecordCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "record",
        abstract: "Join a room, record every track, and export the call as one MKV.",
        discussion: """
            Records until Ctrl-C, --duration, --until-empty or the loss of the room, then exports. A second Ctrl-C abandons \
            the export and says so; the recording stays.

            Example: tapedeck record socketio+http://127.0.0.1:3000/standup --duration 30s --output call.mkv
            Example: tapedeck record socketio+http://127.0.0.1:3000/standup --send v4l2:/dev/video0 --send alsa:default
            Example: tapedeck record socketio+http://127.0.0.1:3000/standup --rtp 127.0.0.1:5004,sdp=standup.sdp
            """
    )

    @Argument(
        help: ArgumentHelp(
            "The room, for example socketio+https://rtc.example.org/123123.",
            discussion: "A password, PIN or token of the room is read from TAPEDECK_ROOM_SECRET."
        )
    )
    var url: String

    @Option(help: "Stop this long after the first media, for example 30s or 5m.")
    var duration: TimeArgument?

    @Flag(help: "Stop when the last participant has left.")
    var untilEmpty = false

    @Option(help: "Path of the exported file: .mkv, .webm or .mp4. Default: call.mkv in the recording's folder.")
    var output: OutputPath?

    @Flag(help: "Replace the file of --output if it exists.")
    var force = false

    @Flag(help: "Export each stream as its own track, also where a sender's source or connection changed.")
    var separateTracks = false

    @Option(
        help: ArgumentHelp(
            "Start a new recording after this time or size, without losing anything: 30m or 2GB.",
            discussion: "Each is exported when it is closed, and its result is printed."
        )
    )
    var segment: SegmentArgument?

    @Option(help: "Storage directory: the recording goes to recordings/<room>/ inside it.")
    var directory = "."

    @Option(
        help: ArgumentHelp(
            "Send captures as in `camera --video`, such as test, file:PATH or alsa:default; none sends nothing.",
            discussion: "May be given twice, once for video and once for audio."
        )
    )
    var send: [SourceArgument] = []

    @Option(help: "Video size that --send sends, in pixels, such as 640x360. Default: 1280x720.")
    var sendSize: PictureSize?

    @Option(help: "Frames per second that --send sends, 1 to 60. Default: 30.")
    var sendFps: Int?

    @Option(
        help: ArgumentHelp(
            "Ask participants for this video codec, and send it: vp8, h264, vp9 or any.",
            discussion: "Default: vp8; for an .mp4 file h264."
        )
    )
    var codec: PreferredCodec?

    @Option(help: RTPArgument.help)
    var rtp: [RTPArgument] = []

    @Flag(help: "Record nothing; only re-stream as --rtp says.")
    var outputsOnly = false

    @Flag(inversion: .prefixedNo, help: "Record the chat in data channels.")
    var chat = true

    @Option(help: "How long to wait for the first media, for example 5m.")
    var wait = TimeArgument(.seconds(60))

    @OptionGroup var captures: CaptureOptions
    @OptionGroup var network: NetworkOptions
    @OptionGroup var trace: TraceOptions
    @OptionGroup var common: CommonOptions

    mutating func validate() throws {
        let url = try RoomArgument.parse(self.url)
        if self.segment != nil, self.output != nil {
            throw ValidationError("--segment makes several exports, --output names one: leave one of them out")
        }
        _ = try self.preferred()
        _ = try RTPArgument.settings(self.rtp)
        if self.outputsOnly {
            guard !self.rtp.isEmpty else { throw ValidationError("--outputs-only needs --rtp") }
            guard self.segment == nil, self.output == nil, !self.separateTracks else {
                throw ValidationError(
                    "--outputs-only records nothing: leave --output, --segment and --separate-tracks out"
                )
            }
        }
        try RoomArgument.check(url.checkRecording)
        if self.send.contains(where: { $0.source != nil }) {
            try RoomArgument.check(url.checkSending)
            _ = try self.sends(from: self.captures.files.catalogue())
        } else if self.sendSize != nil || self.sendFps != nil {
            throw ValidationError("--send-size and --send-fps need --send")
        } else if !self.captures.parameters.isEmpty {
            throw ValidationError("--parameter needs --send")
        }
    }

    /// What is sent into the room; nil for nothing.
    private func sends(from pipelines: PipelineCatalogue) throws -> SendSpec? {
        guard var sends = try CaptureArgument.settings(self.send, self.captures.values(), from: pipelines) else {
            return nil
        }
        if let size = self.sendSize { (sends.width, sends.height) = (size.width, size.height) }
        sends.framesPerSecond = self.sendFps ?? sends.framesPerSecond
        for problem in sends.problems {
            switch problem {
            case .range: throw ValidationError("--send-fps takes 1 to 60, not \(sends.framesPerSecond)")
            case .size, .nothing, .minimum: throw ValidationError(problem.description)
            }
        }
        return sends
    }

    private func openTrace() throws -> TraceFile? {
        do {
            return try self.trace.file()
        } catch {
            throw CommandFailure(error)
        }
    }

    private func stay(_ log: LogOutput) throws -> RoomStay {
        let pipelines = try self.captures.files.catalogue()
        return RoomStay(
            url: try RoomArgument.parse(self.url),
            duration: self.duration?.duration,
            untilEmpty: self.untilEmpty,
            sends: try self.sends(from: pipelines),
            pipelines: pipelines,
            preferred: try self.preferred(),
            wait: self.wait.duration,
            network: self.network,
            trace: try self.openTrace(),
            logger: log.logger().forSession()
        )
    }

    /// The container that the extension of `--output` names.
    private func container() throws -> ExportSpec.Container? {
        try self.output?.kind(ExportSpec.Container.extensionsOfTracks, of: "record")
    }

    /// The video codec that participants are asked to send: one that the exported file takes.
    private func preferred() throws -> PreferredCodec {
        switch (try self.container(), self.codec) {
        case (.mp4, nil): return .h264
        case (.mp4, .vp8), (.mp4, .any):
            throw ValidationError("an MP4 file takes no VP8: leave --codec out to ask for h264, or name an .mkv file")
        case (.webm, .h264), (.webm, .any):
            throw ValidationError("a WebM file takes no H.264: leave --codec out to ask for vp8, or name an .mkv file")
        case (_, let codec): return codec ?? .vp8
        }
    }

    private func relay() async throws {
        let job = RelayJob(stay: try self.stay(self.common.logOutput()), outputs: try RTPArgument.settings(self.rtp))
        let result = try await job.run(interrupts: Interrupts())
        if self.common.json { return try Output.json(result) }
        for output in result.outputs {
            Output.result("\(output.name): \(output.packets) packets sent, \(output.droppedPackets) dropped")
        }
    }

    mutating func run() async throws {
        if self.outputsOnly { return try await self.relay() }
        do throws(StorageError) {
            try RecordingFolder.checkStorage(self.directory)
        } catch {
            throw CommandFailure(error)
        }
        try self.output?.check(replaces: self.force)
        if try self.container() == .mp4 {
            do throws(ExportError) {
                try FFmpegMux.requireProgram()
            } catch {
                throw CommandFailure(error)
            }
        }
        let log = self.common.logOutput()
        let lines = LiveLines(log, isWanted: !self.common.json)
        let job = RecordJob(
            stay: try self.stay(log),
            output: self.output?.path,
            container: try self.container() ?? .mkv,
            switches: self.separateTracks ? [.separateTracks] : [],
            directory: self.directory,
            outputs: try RTPArgument.settings(self.rtp),
            recordsChat: self.chat,
            segment: self.segment?.limit,
            onSegment: { [common] result in
                lines.end()
                if common.json { try? Output.json(result) } else { Output.result(result.output) }
            },
            lines: lines
        )
        let result = try await job.run(interrupts: Interrupts())
        if self.common.json {
            try Output.json(result)
        } else {
            Output.result(result.output)
            Output.result(result.report.table())
        }
        try result.check()
    }
}
