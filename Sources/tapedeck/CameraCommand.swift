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

            Example: tapedeck camera socketio+http://127.0.0.1:3000/standup --codec h264 --duration 60s
            Example: tapedeck camera socketio+http://127.0.0.1:3000/standup --video file:talk.mp4 --audio file:talk.mp4
            Example: tapedeck camera socketio+http://127.0.0.1:3000/standup --video v4l2:/dev/video0 --audio alsa:default
            Example: tapedeck camera socketio+http://127.0.0.1:3000/standup --count 20 --size 640x360 --duration 5m
            Example: tapedeck camera --room standup.yaml --fps 15

            The last one sends 15 frames a second, whatever send.fps in standup.yaml says. Of the file a camera takes url, \
            secret, display_name and send.
            """
    )

    @OptionGroup var room: RoomSource

    @Option(
        help: ArgumentHelp(
            "Video: test, v4l2:/dev/video0, v4l2:name=NAME, file:PATH, image:PATH, screen, rtsp://HOST/PATH or none.",
            discussion: "Or any other capture that `tapedeck pipelines` lists, as NAME or NAME:ARGUMENT. Default: test.",
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
    var size: PictureSize?

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
            discussion: "Default: \(TestTone.usualName). Each name gives the test beep its own pitch: 500 to 3480 Hz, 1000 Hz without one."
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
        var room = try self.room.configuration()
        try RoomArgument.check(room.address.url.checkSending)
        var sends = room.spec.send ?? SendSpec()
        if let video { sends.video = video.source }
        if let audio { sends.audio = audio.source }
        if let size { (sends.width, sends.height) = (size.width, size.height) }
        sends.framesPerSecond = self.fps ?? sends.framesPerSecond
        sends.preferredCodec = self.codec ?? sends.preferredCodec
        if let bits = self.bitrate?.bitsPerSecond { (sends.bitsPerSecond, sends.minimumBitsPerSecond) = (bits, bits) }
        sends.parameters.merge(try self.captures.values()) { $1 }
        for problem in sends.problems {
            switch problem {
            case .nothing: throw ValidationError("with --video none and --audio none there is nothing to send")
            case .range: throw ValidationError("--fps takes 1 to 60, not \(sends.framesPerSecond)")
            case .size, .minimum: throw ValidationError(problem.description)
            }
        }
        room.spec.send = sends
        room.spec.displayName = self.name ?? room.spec.displayName ?? TestTone.usualName
        return room
    }

    /// What came of it; printed as JSON for scripts.
    private struct Result: Encodable {
        /// Peers that were to be in the room.
        var peers: Int
        /// Those that were members of it.
        var joined: Int
        /// Those whose media somebody took.
        var connected: Int
        var framesCaptured: UInt64
        var framesEncoded: [String: UInt64]
        /// Pictures and sounds that an encoder did not keep up with.
        var dropped: [String: UInt64]
        var framesSent: [String: UInt64]
        var audioPacketsSent: [String: UInt64]
        /// The encoders that ran at the end, as `encode/x264enc`, by codec.
        var encoders: [String: String]
        var counters: [String: Int]
    }

    mutating func run() async throws {
        do {
            try await self.send()
        } catch {
            throw CommandFailure(error)
        }
    }

    private func send() async throws {
        try Runtime.initialise()
        let room = try self.configuration()
        let output = self.common.logOutput()
        let logger = output.logger().forSession()
        let lines = LiveLines(output, isWanted: !self.common.json)
        defer { lines.end() }
        let control = ControlThread(name: "control")
        let camera = try await CaptureArgument.camera(
            room.spec.send ?? SendSpec(),
            name: room.spec.shownName(records: false),
            from: try self.captures.files.catalogue(),
            control: control,
            logger: logger
        )
        let trace = try self.trace.file()
        let sessions = try (1...self.count).map { number in
            try self.session(number, room, control: control, camera: camera, trace: trace, logger: logger)
        }
        let interrupts = Interrupts()
        let (outcomes, made) = await self.run(sessions, camera, interrupts, lines)
        lines.end()
        await control.end("stopping the camera", logger: logger) { camera.stop() }
        let failures = outcomes.compactMap { outcome -> SignallingError? in
            if case .failed(let error) = outcome { error } else { nil }
        }
        if let error = failures.first, failures.count == self.count { throw error }
        let statuses = sessions.map(\.status)
        try self.show(Self.result(statuses, made))
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

    /// One peer of the room; all send what the one camera makes.
    private func session(
        _ number: Int,
        _ room: RoomConfiguration,
        control: ControlThread,
        camera: CameraSource,
        trace: TraceFile?,
        logger: Logger
    ) throws -> RoomSession {
        let stay = RoomStay(
            url: room.address.url,
            secret: room.spec.secret?.value,
            untilEmpty: false,
            preferred: room.spec.send?.preferredCodec ?? .vp8,
            wait: .zero,
            network: self.network,
            trace: trace,
            logger: self.count == 1 ? logger : logger.forSession()
        )
        var request = stay.request(sends: true)
        request.options.receives = false
        let name = room.spec.shownName(records: false)
        request.options.displayName = self.count == 1 ? name : "\(name)-\(number)"
        var configuration = SessionConfiguration()
        // The others of the load are peers too, although nothing flows between them.
        configuration.maximumPeers += self.count - 1
        return try stay.session(request, control: control, outputs: nil, camera: camera, configuration: configuration)
    }

    /// What the camera made in all.
    private struct Made {
        let captured: UInt64
        let encoded: [MediaCodec: UInt64]
        let dropped: [MediaCodec: UInt64]
        let encoders: [MediaCodec: String]

        init(by camera: CameraSource) {
            (self.captured, self.encoded) = camera.frameCounts
            (self.dropped, self.encoders) = (camera.dropped, camera.encoders)
        }
    }

    /// Has the peers join one after the other, waits for a reason to leave, and ends all of them.
    private func run(
        _ sessions: [RoomSession],
        _ camera: CameraSource,
        _ interrupts: Interrupts,
        _ lines: LiveLines
    ) async -> (outcomes: [SessionOutcome], made: Made) {
        await withTaskGroup(of: SessionOutcome.self) { group in
            for session in sessions where !interrupts.came {
                group.addTask { await session.run() }
                if sessions.count > 1 { await self.pace(session, interrupts) }
            }
            await self.waitForEnd(of: sessions, camera, interrupts, lines)
            let made = Made(by: camera)
            for session in sessions { session.stop() }
            var outcomes: [SessionOutcome] = []
            for await outcome in group { outcomes.append(outcome) }
            return (outcomes, made)
        }
    }

    /// Until the next peer may join: this one did, or 2 s passed; 200 ms at least, in which calls begin.
    private func pace(_ session: RoomSession, _ interrupts: Interrupts) async {
        let started = ContinuousClock.now
        repeat {
            try? await Task.sleep(for: .milliseconds(200))
            let status = session.status
            if interrupts.came || status.hasJoined || status.hasEnded { return }
        } while ContinuousClock.now - started < .seconds(2)
    }

    private static func result(_ statuses: [RoomSessionStatus], _ made: Made) -> Result {
        func named(_ counts: [MediaCodec: UInt64]) -> [String: UInt64] {
            Dictionary(uniqueKeysWithValues: counts.map { ($0.key.capsName, $0.value) })
        }
        let sent = statuses.reduce(into: [MediaCodec: UInt64]()) { sent, status in
            sent.merge(status.sent, uniquingKeysWith: +)
        }
        return Result(
            peers: statuses.count,
            joined: statuses.count(where: \.hasJoined),
            connected: statuses.count { status in status.sent.values.contains { $0 > 0 } },
            framesCaptured: made.captured,
            framesEncoded: named(made.encoded),
            dropped: named(made.dropped),
            framesSent: named(sent.filter { $0.key != .opus }),
            audioPacketsSent: named(sent.filter { $0.key == .opus }),
            encoders: Dictionary(uniqueKeysWithValues: made.encoders.map { ($0.key.capsName, $0.value) }),
            counters: statuses.reduce(into: [:]) { $0.merge($1.counters, uniquingKeysWith: +) }
        )
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
        of sessions: [RoomSession],
        _ camera: CameraSource,
        _ interrupts: Interrupts,
        _ lines: LiveLines
    ) async {
        let started = ContinuousClock.now
        var lastDrawn = started
        while !interrupts.came, !sessions.allSatisfy(\.status.hasEnded) {
            let now = ContinuousClock.now
            if let duration = self.duration?.duration, now - started >= duration { return }
            if now - lastDrawn >= .seconds(1) {
                lastDrawn = now
                let peers = sessions.reduce(0) { count, session in
                    let status = session.status
                    return count + status.connectedPeers.count + (status.isPublishing ? 1 : 0)
                }
                let text = "\(peers) participants, \(camera.frameCounts.captured) frames captured; Ctrl-C stops"
                lines.draw { TerminalLine.fitting([text], columns: $0, rows: $1) }
            }
            try? await Task.sleep(for: .milliseconds(100))
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
        guard let bits = BitRateText.parseDecimal(argument), SendSpec.bitsPerSecondRange.contains(bits) else {
            return nil
        }
        self.init(bitsPerSecond: bits)
    }

    var defaultValueDescription: String { "\(self.bitsPerSecond / 1000)k" }
}

/// The same for sound: 6k to 510k.
struct AudioBitRate: ExpressibleByArgument {
    var bitsPerSecond: Int

    init(bitsPerSecond: Int) {
        self.bitsPerSecond = bitsPerSecond
    }

    init?(argument: String) {
        guard let bits = BitRateText.parseDecimal(argument), SendSpec.audioBitsPerSecondRange.contains(bits) else {
            return nil
        }
        self.init(bitsPerSecond: bits)
    }

    var defaultValueDescription: String { "\(self.bitsPerSecond / 1000)k" }
}
