// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Basics
import ConfigurationFile
import Export
import Media
import Model
import Observability
import PipelineCatalogue
import Rendering
import Signalling
import SignallingClients
import Storage
import Worker

/// `tapedeck record`.
struct RecordCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "record",
        abstract: "Join a room, record every track, and export the call as one MKV.",
        discussion: """
            Records until Ctrl-C, --duration, --until-empty or the loss of the room, then exports. A second Ctrl-C abandons \
            the export and says so; the recording stays.

            A flag overrides --room: with `--room standup.yaml --codec h264` participants are asked for H.264, whatever \
            record.preferred_codec in the file says. `record: none` in it records nothing: outputs and --rtp re-stream.

            Example: tapedeck record socketio+http://127.0.0.1:3000/standup --duration 30s --output call.mkv
            Example: tapedeck record socketio+http://127.0.0.1:3000/standup --send v4l2:/dev/video0 --send alsa:default
            Example: tapedeck record socketio+http://127.0.0.1:3000/standup --rtp 127.0.0.1:5004,sdp=standup.sdp
            Example: tapedeck record --room standup.yaml --codec h264
            """
    )

    @OptionGroup var room: RoomSource

    @Option(help: "Stop this long after the first media, for example 30s or 5m.")
    var duration: TimeArgument?

    @Flag(help: "Stop when the last participant has left.")
    var untilEmpty = false

    @Option(help: "Path of the exported file: .mkv, .webm or .mp4. Default: call.mkv in the recording's folder.")
    var output: OutputPath?

    @Flag(help: "Replace the file of --output if it exists.")
    var force = false

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

    @Option(
        help: ArgumentHelp(
            "Ask participants for this video codec, and send it: vp8, h264, vp9 or any.",
            discussion: "Default: vp8; for an .mp4 file h264."
        )
    )
    var codec: PreferredCodec?

    @Option(help: RTPArgument.help)
    var rtp: [RTPArgument] = []

    @Option(help: "How long to wait for the first media, for example 5m.")
    var wait = TimeArgument(.seconds(60))

    @OptionGroup var captures: CaptureOptions
    @OptionGroup var network: NetworkOptions
    @OptionGroup var trace: TraceOptions
    @OptionGroup var common: CommonOptions

    mutating func validate() throws {
        if self.segment != nil, self.output != nil {
            throw ValidationError("--segment makes several exports, --output names one: leave one of them out")
        }
        let room = try self.configuration()
        guard room.spec.record == nil else { return }
        guard !room.spec.outputs.isEmpty else {
            throw ValidationError("--room records nothing and has no outputs: add one, or give --rtp")
        }
        guard self.segment == nil, self.output == nil else {
            throw ValidationError("--room records nothing: leave --output and --segment out")
        }
    }

    /// The room as --room describes it, and as the flags say instead.
    private func configuration() throws -> RoomConfiguration {
        var room = try self.room.configuration(self.network, directory: self.directory)
        if self.untilEmpty { room.untilEmpty = true }
        if let (seconds, bytes) = self.segment?.limits {
            room.spec.record?.segmentSeconds = seconds
            room.spec.record?.segmentBytes = bytes
        }
        if !self.rtp.isEmpty { room.spec.outputs = try RTPArgument.outputs(self.rtp) }
        for index in room.spec.outputs.indices {
            room.spec.outputs[index].pipeline?.pipelines = self.captures.files.pipelines
        }
        try RoomArgument.check(room.address.url.checkRecording)
        room.spec.send = try self.sends(room.spec.send)
        if room.spec.send != nil { try RoomArgument.check(room.address.url.checkSending) }
        let preferred = try self.preferred(room)
        room.spec.record?.preferredCodec = preferred
        return room
    }

    /// What is sent into the room; nil for nothing.
    ///
    /// - Parameter described: what --room sends.
    private func sends(_ described: SendSpec?) throws -> SendSpec? {
        let isSending = self.send.isEmpty ? described != nil : self.send.contains { $0.source != nil }
        guard isSending else {
            guard self.captures.parameters.isEmpty else { throw ValidationError("--parameter needs --send") }
            return nil
        }
        var sends = described ?? SendSpec()
        if !self.send.isEmpty { try sends.take(self.send, from: self.captures.files.catalogue()) }
        sends.parameters.merge(try self.captures.values()) { $1 }
        return sends
    }

    /// How a recording is exported.
    private func tracks(_ room: RoomConfiguration) throws -> ExportSpec.Tracks {
        guard room.exports.count == 1, var tracks = room.exports[0].layout.tracks else {
            throw ValidationError("--room: record exports tracks only: `tapedeck export` makes the others")
        }
        if let kind = try self.output?.kind(ExportSpec.Container.extensionsOfTracks, of: "record") {
            tracks.container = kind
        }
        return tracks
    }

    /// The video codec that participants are asked to send: one that the exported file takes.
    private func preferred(_ room: RoomConfiguration) throws -> PreferredCodec {
        let container = room.spec.record == nil ? nil : try self.tracks(room).container
        switch (container, self.codec ?? room.spec.record?.preferredCodec) {
        case (.mp4, nil): return .h264
        case (.mp4, .vp8), (.mp4, .any):
            throw ValidationError("an MP4 file takes no VP8: leave --codec out to ask for h264, or name an .mkv file")
        case (.webm, .h264), (.webm, .any):
            throw ValidationError("a WebM file takes no H.264: leave --codec out to ask for vp8, or name an .mkv file")
        case (_, let codec): return codec ?? room.spec.send?.preferredCodec ?? .vp8
        }
    }

    mutating func run() async throws {
        let room = try self.configuration()
        let log = self.common.logOutput()
        let lines = LiveLines(log, isWanted: !self.common.json)
        var job = RecordJob(
            spec: room.spec,
            leaving: .init(wait: self.wait.duration, duration: self.duration?.duration, untilEmpty: room.untilEmpty),
            pipelines: try self.captures.files.catalogue(),
            output: self.output?.path,
            onSegment: { [common] result in
                lines.end()
                if common.json { try? Output.json(result) } else { Output.result(result.output) }
            },
            lines: lines,
            logger: log.logger().forSession()
        )
        job.options.records = room.spec.record != nil
        job.options.preferred = try self.preferred(room)
        job.options.directory = self.directory
        if job.options.records { job.tracks = try self.checkedTracks(room) }
        job.options.environment = .forCommand(trace: try self.trace.file())
        guard job.options.records else { return try await self.relay(job) }
        let result = try await job.record(interrupts: Interrupts())
        try result.show(self.common)
        try result.check()
    }

    /// How the recording is exported, once it is known that it can be stored and exported.
    private func checkedTracks(_ room: RoomConfiguration) throws -> ExportSpec.Tracks {
        try RecordingFolder.checkStorage(self.directory)
        try self.output?.check(replaces: self.force)
        let tracks = try self.tracks(room)
        if tracks.container == .mp4 { try FFmpegMux.requireProgram() }
        return tracks
    }

    private func relay(_ job: RecordJob) async throws {
        let result = try await job.relay(interrupts: Interrupts())
        if self.common.json { return try Output.json(result) }
        for output in result.outputs {
            Output.result("\(output.name): \(output.packets) packets sent, \(output.droppedPackets) dropped")
        }
    }
}
