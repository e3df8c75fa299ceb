// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Basics
import ConfigurationFile
import Foundation
import GStreamer
import Logging
import Media
import Model
import Observability
import Session
import Signalling
import SignallingClients
import Terminal
import Worker

/// `tapedeck camera`.
struct CameraCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "camera",
        abstract: "Send video and audio to a room as a camera.",
        discussion: """
            The test pattern carries a clock, a machine-readable frame counter, and a flash with a beep once a second. \
            A file is repeated until the end; bars keep its aspect ratio. A device that fails or gives nothing is \
            replaced by a slate within a second, and used again when it works; the call continues.

            A flag overrides --room: `--room standup.yaml --fps 15` sends 15 frames a second, whatever send.fps in the file \
            says. A camera takes url, secret, display_name and send from the file.

            Example: tapedeck camera socketio+http://127.0.0.1:3000/standup --codec h264 --duration 60s
            Example: tapedeck camera socketio+http://127.0.0.1:3000/standup --video file:talk.mp4 --audio file:talk.mp4
            Example: tapedeck camera socketio+http://127.0.0.1:3000/standup --video v4l2:/dev/video0 --audio alsa:default
            Example: tapedeck camera socketio+http://127.0.0.1:3000/standup --count 20 --size 640x360 --duration 5m
            Example: tapedeck camera --room standup.yaml --fps 15
            """
    )

    @OptionGroup var room: RoomSource

    @Option(
        help: ArgumentHelp(
            "Video: test, v4l2:/dev/video0, v4l2:name=NAME, file:PATH, image:PATH, screen, rtsp://HOST/PATH or none.",
            discussion: "Or another capture that `tapedeck pipelines` lists, as NAME or NAME:ARGUMENT. Default: test.",
            valueName: "capture"
        )
    )
    var video: SourceArgument?

    @Option(
        help: ArgumentHelp(
            "Audio: test, alsa:default, file:PATH, rtsp://HOST/PATH or none. Default: test.",
            valueName: "capture"
        )
    )
    var audio: SourceArgument?

    @Option(
        help: ArgumentHelp(
            "Preferred video codec, vp8, h264, vp9 or any (the peer's own). Default: vp8.",
            discussion: "A peer that lacks it gets another one."
        )
    )
    var codec: PreferredCodec?

    @Option(help: "Video size in pixels, even numbers of at least 320x180. Default: 1280x720.")
    var size: VideoSize?

    @Option(help: "Frames per second, 1 to 60. Default: 30.")
    var fps: Int?

    @Option(
        help: ArgumentHelp(
            "Fixed video bit rate, for example 1500k or 2M, whatever the network takes.",
            discussion: "Without it the rate follows the network, from min_bitrate to bitrate of --room: 100k to 1500k."
        )
    )
    var bitrate: BitRate?

    @Option(
        help: ArgumentHelp(
            "Name that others see, where the protocol has names; 1 to 64 characters.",
            discussion: """
                Default: \(TestTone.usualName). Each name gives the test beep its own pitch: 500 to 3480 Hz, 1000 Hz \
                without one.
                """
        )
    )
    var name: String?

    @Option(help: "Stop after this long, for example 10m. Default: never.")
    var duration: TimeArgument?

    @Option(
        help: ArgumentHelp(
            "How many peers to be, 1 to 60, as a load: each joins alone, all send what one encoder makes.",
            discussion: "They join one by one; --duration begins with the last. Ends with 3 if not all could join."
        )
    )
    var count = 1

    @OptionGroup var captures: CaptureOptions
    @OptionGroup var network: NetworkOptions
    @OptionGroup var trace: TraceOptions
    @OptionGroup var common: CommonOptions

    mutating func validate() throws {
        guard (1...60).contains(self.count) else { throw ValidationError("--count takes 1 to 60, not \(self.count)") }
        if let name, !(1...64).contains(name.count) { throw ValidationError("--name takes 1 to 64 characters") }
        guard self.count == 1 || self.trace.traceSignalling == nil else {
            throw ValidationError("--trace-signalling traces one peer: leave --count out")
        }
        _ = try self.configuration()
    }

    /// The room as --room describes it, and as the flags say instead.
    private func configuration() throws -> RoomConfiguration {
        var room = try self.room.configuration(self.network)
        try RoomArgument.check(room.address.url.checkSending)
        var sends = room.spec.send ?? SendSpec()
        if let video { sends.video = video.source }
        if let audio { sends.audio = audio.source }
        if let size { (sends.width, sends.height) = (size.width, size.height) }
        sends.framesPerSecond = self.fps ?? sends.framesPerSecond
        sends.preferredCodec = self.codec ?? sends.preferredCodec
        if let bits = self.bitrate?.bitsPerSecond { (sends.bitsPerSecond, sends.minimumBitsPerSecond) = (bits, bits) }
        sends.parameters.merge(try self.captures.values()) { $1 }
        // The values of all others are those of their options, or were checked in the file.
        if sends.problems.contains(.nothing) {
            throw ValidationError("with --video none and --audio none there is nothing to send")
        }
        guard sends.problems.isEmpty else {
            throw ValidationError("--fps takes 1 to 60, not \(sends.framesPerSecond)")
        }
        (room.spec.send, room.spec.record, room.spec.outputs) = (sends, nil, [])
        room.spec.displayName = self.name ?? room.spec.displayName ?? TestTone.usualName
        return room
    }

    /// What came of it; printed as JSON for scripts.
    private struct Result: Encodable {
        /// Peers that were to be in the room.
        var peers = 0
        /// Those that were members of it.
        var joined = 0
        /// Those whose media a participant took.
        var connected = 0
        let framesCaptured: UInt64
        let framesEncoded: [String: UInt64]
        /// Frames and samples that an encoder did not keep up with.
        let dropped: [String: UInt64]
        var framesSent: [String: UInt64] = [:]
        var audioPacketsSent: [String: UInt64] = [:]
        /// The encoders that ran at the end, as `encode/x264enc`, by codec.
        let encoders: [String: String]
        var counters: [String: Int] = [:]

        /// What the camera made in all.
        init(of camera: CameraSource) {
            let (captured, encoded) = camera.frameCounts
            (self.framesCaptured, self.framesEncoded) = (captured, Self.named(encoded))
            (self.dropped, self.encoders) = (Self.named(camera.dropped), Self.named(camera.encoders))
        }

        /// Adds how all peers ended.
        mutating func add(_ statuses: [RoomSessionStatus]) {
            self.peers = statuses.count
            self.joined = statuses.count(where: \.hasJoined)
            self.connected = statuses.count { status in status.sent.values.contains { $0 > 0 } }
            self.counters = statuses.reduce(into: [:]) { $0.merge($1.counters, uniquingKeysWith: +) }
            let sent = statuses.reduce(into: [MediaCodec: UInt64]()) { $0.merge($1.sent, uniquingKeysWith: +) }
            self.framesSent = Self.named(sent.filter { $0.key != .opus })
            self.audioPacketsSent = Self.named(sent.filter { $0.key == .opus })
        }

        private static func named<Value>(_ values: [MediaCodec: Value]) -> [String: Value] {
            Dictionary(uniqueKeysWithValues: values.map { ($0.key.capsName, $0.value) })
        }
    }

    mutating func run() async throws {
        try Runtime.initialise()
        let room = try self.configuration()
        let output = self.common.logOutput()
        let logger = output.logger().forSession()
        let lines = LiveLines(output, isWanted: !self.common.json)
        defer { lines.end() }
        let control = ControlThread(name: "control")
        let camera = try await CameraSource.opened(
            room.spec.send ?? SendSpec(),
            name: room.spec.shownName(records: false),
            from: try self.captures.files.catalogue(),
            control: control,
            logger: logger
        )
        let interrupts = Interrupts()
        let bell = interrupts.bell
        var options = RoomRun.Options(receives: false, companions: self.count - 1)
        options.environment = .forCommand(trace: try self.trace.file())
        let runs = try (1...self.count).map { number in
            var spec = room.spec
            if self.count > 1 { spec.displayName = "\(spec.shownName(records: false))-\(number)" }
            let logger = self.count == 1 ? logger : logger.forSession()
            return try RoomRun(spec, options, camera: camera, control: control, bell: bell, logger: logger)
        }
        let (outcomes, made) = await self.run(runs, camera, interrupts, lines)
        lines.end()
        await control.end("stopping the camera", logger: logger) { camera.stop() }
        let failures = outcomes.compactMap { outcome -> SignallingError? in
            if case .failed(let error) = outcome { error } else { nil }
        }
        if let error = failures.first, failures.count == self.count { throw error }
        let statuses = runs.map(\.status)
        var result = made
        result.add(statuses)
        try self.show(result)
        guard let error = failures.first else {
            // Who interrupts a command knows how far it was.
            if !interrupts.came { try self.checkJoining(of: statuses, room.address.url) }
            return
        }
        throw CommandFailure(
            error.code == .invalidURL ? .usage : .notJoined,
            "\(failures.count) of \(self.count) peers failed: \(error.message)"
        )
    }

    /// Fails with code 3 if some have not joined when the time is over, although no session failed.
    private func checkJoining(of statuses: [RoomSessionStatus], _ url: RoomURL) throws {
        let missing = statuses.filter { !$0.hasJoined }
        guard !missing.isEmpty else { return }
        let who = self.count == 1 ? "" : "\(missing.count) of \(self.count) peers "
        let reason = missing.compactMap(\.lastJoinFailure).first.map { ": \($0)" } ?? ""
        throw CommandFailure(.notJoined, "\(who)could not join \(url.shown) in time\(reason)")
    }

    /// Has the peers join one after the other, waits for a reason to leave, and ends all of them.
    private func run(
        _ runs: [RoomRun],
        _ camera: CameraSource,
        _ interrupts: Interrupts,
        _ lines: LiveLines
    ) async -> (outcomes: [SessionOutcome], made: Result) {
        await withTaskGroup(of: SessionOutcome.self) { group in
            for run in runs where !interrupts.came {
                group.addTask { await run.run() }
                if runs.count > 1 { await self.pace(run, interrupts) }
            }
            await self.waitForEnd(of: runs, camera, interrupts, lines)
            let made = Result(of: camera)
            for run in runs { run.stop() }
            var outcomes: [SessionOutcome] = []
            for await outcome in group { outcomes.append(outcome) }
            return (outcomes, made)
        }
    }

    /// Until the next peer may join: this one did, or 2 s passed; 200 ms at least, in which calls begin.
    private func pace(_ run: RoomRun, _ interrupts: Interrupts) async {
        let limit = ContinuousClock.now + .seconds(2)
        try? await Task.sleep(for: .milliseconds(200))
        _ = await interrupts.bell.wait(until: limit) {
            let status = run.status
            return interrupts.came || status.hasJoined || status.hasEnded ? true : nil
        }
    }

    private func show(_ result: Result) throws {
        if self.common.json { return try Output.json(result) }
        if self.count > 1 {
            Output.result("\(result.joined) of \(result.peers) peers joined, \(result.connected) sent")
        }
        for (codec, count) in result.framesSent.sorted(by: { $0.key < $1.key }) {
            Output.result("\(codec): \(count) frames sent")
        }
        for (codec, count) in result.audioPacketsSent { Output.result("\(codec): \(count) packets sent") }
    }

    private func waitForEnd(
        of runs: [RoomRun],
        _ camera: CameraSource,
        _ interrupts: Interrupts,
        _ lines: LiveLines
    ) async {
        var lastDrawn = ContinuousClock.now
        let end = self.duration.map { lastDrawn + $0.duration }
        _ = await interrupts.bell.wait(until: end, every: lines.isShown ? .seconds(1) : nil) { () -> Bool? in
            if interrupts.came || runs.allSatisfy(\.status.hasEnded) { return true }
            guard ContinuousClock.now - lastDrawn >= .seconds(1) else { return nil }
            lastDrawn = ContinuousClock.now
            let peers = runs.reduce(0) { count, run in
                let status = run.status
                return count + status.connectedPeers.count + (status.isPublishing ? 1 : 0)
            }
            let text = "\(peers) participants, \(camera.frameCounts.captured) frames captured; Ctrl-C stops"
            lines.draw { TerminalLine.fitting([text], columns: $0, rows: $1) }
            return nil
        }
    }
}

/// `1500k`, `2M`, or bare bits a second.
struct BitRate: ExpressibleByArgument {
    var bitsPerSecond: Int

    init(bitsPerSecond: Int) {
        self.bitsPerSecond = bitsPerSecond
    }

    init?(argument: String) {
        try? self.init(argument, in: SendSpec.bitsPerSecondRange)
    }

    /// A rate of a range.
    init(_ text: String, in range: ClosedRange<Int>) throws(ValidationError) {
        guard let bits = BitRateText.parseDecimal(text), range.contains(bits) else {
            throw ValidationError("it takes \(range.lowerBound / 1000)k to \(range.upperBound / 1000)k")
        }
        self.init(bitsPerSecond: bits)
    }

    var defaultValueDescription: String { "\(self.bitsPerSecond / 1000)k" }
}
