// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import GStreamer
import Logging
import Media
import Observability
import Session
import Signalling
import Worker

/// `tapedeck camera`.
struct CameraCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "camera",
        abstract: "Is a camera peer: sends a picture and sound to everybody in a room.",
        discussion: """
            The test picture carries a clock, a machine-readable frame counter, and a flash with a beep once a second. \
            A file is repeated until the end; bars keep the shape of its pictures. A device that fails is tried again \
            while the call goes on.

            Example: tapedeck camera socketio+http://127.0.0.1:3000/standup --codec h264 --duration 60s
            Example: tapedeck camera socketio+http://127.0.0.1:3000/standup --video file:talk.mp4 --audio file:talk.mp4
            Example: tapedeck camera socketio+http://127.0.0.1:3000/standup --video v4l2:/dev/video0 --audio alsa:default
            """
    )

    @Argument(help: "The room, for example socketio+https://rtc.example.org/123123.")
    var url: String

    @Option(help: "Picture: test, v4l2:/dev/video0, file:PATH or none.")
    var video: VideoInput = .test

    @Option(help: "Sound: test, alsa:default, file:PATH or none.")
    var audio: AudioInput = .test

    @Option(help: "Preferred video codec, vp8 or h264; peers that cannot do it get the other one.")
    var codec: PreferredCodec = .vp8

    @Option(help: "Picture size in pixels, even numbers of at least 320x180.")
    var size = PictureSize(width: 1280, height: 720)

    @Option(help: "Frames a second, 1 to 60.")
    var fps = 30

    @Option(help: "Video bit rate, for example 1500k or 2M.")
    var bitrate = BitRate(bitsPerSecond: 1_500_000)

    @Option(help: "Stop after this long; for ever if left out.")
    var duration: TimeArgument?

    @OptionGroup var network: NetworkOptions
    @OptionGroup var common: CommonOptions

    mutating func validate() throws {
        _ = try RoomArgument.parse(self.url)
        guard (1...60).contains(self.fps) else { throw ValidationError("--fps takes 1 to 60, not \(self.fps)") }
        guard self.video != .none || self.audio != .none else {
            throw ValidationError("with --video none and --audio none there is nothing to send")
        }
    }

    /// What came of it; printed as JSON for scripts.
    private struct Result: Encodable {
        var framesCaptured: UInt64
        var framesEncoded: [String: UInt64]
        var framesSent: [String: UInt64]
        var audioPacketsSent: [String: UInt64]
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
        let url = try RoomArgument.parse(self.url)
        let logger = self.common.logger.forSession()
        var settings = CameraSettings()
        settings.video = self.video
        settings.audio = self.audio
        settings.width = self.size.width
        settings.height = self.size.height
        settings.framesPerSecond = self.fps
        settings.bitsPerSecond = self.bitrate.bitsPerSecond
        let control = ControlThread(name: "control")
        let camera = try await CaptureArgument.camera(settings, control: control, logger: logger)
        let session = RoomSession(
            signaller: RoomConnection.signaller(for: url, policy: .oneShot, logger: logger),
            context: try RoomConnection.context(
                url: url,
                network: self.network.settings,
                control: control,
                recorder: nil,
                camera: camera,
                preferred: self.codec.codec
            ),
            logger: logger
        )
        async let ended = session.run()
        await self.waitForEnd(of: session, camera, Interrupts())
        let counts = camera.frameCounts
        session.stop()
        let outcome = await ended
        try await control.run("stopping the camera") { camera.stop() }
        if case .failed(let error) = outcome { throw error }
        func named(_ counts: [CameraCodec: UInt64]) -> [String: UInt64] {
            Dictionary(uniqueKeysWithValues: counts.map { ($0.key.rawValue, $0.value) })
        }
        let status = session.status
        let result = Result(
            framesCaptured: counts.captured,
            framesEncoded: named(counts.encoded),
            framesSent: named(status.sent.filter { $0.key != .opus }),
            audioPacketsSent: named(status.sent.filter { $0.key == .opus }),
            counters: status.counters
        )
        if self.common.json {
            try Output.json(result)
        } else {
            for (codec, count) in result.framesSent.sorted(by: { $0.key < $1.key }) {
                Output.result("\(codec): \(count) frames sent")
            }
            for (codec, count) in result.audioPacketsSent { Output.result("\(codec): \(count) packets sent") }
        }
    }

    private func waitForEnd(of session: RoomSession, _ camera: CameraSource, _ interrupts: Interrupts) async {
        var lines = LiveLines()
        let started = ContinuousClock.now
        var lastDrawn = started
        while !interrupts.came, !session.status.hasEnded {
            let now = ContinuousClock.now
            if let duration = self.duration?.duration, now - started >= duration { return }
            if now - lastDrawn >= .seconds(1), !self.common.json {
                lastDrawn = now
                let status = session.status
                lines.draw(["\(status.connectedPeers.count) peers, \(camera.frameCounts.captured) frames captured"])
            }
            try? await Task.sleep(for: .milliseconds(100))
        }
    }
}

/// A preferred video codec on the command line.
enum PreferredCodec: String, ExpressibleByArgument, CaseIterable {
    case vp8
    case h264

    var codec: CameraCodec { self == .vp8 ? .vp8 : .h264 }
}

/// `1280x720`.
struct PictureSize: ExpressibleByArgument {
    var width: Int
    var height: Int

    init(width: Int, height: Int) {
        self.width = width
        self.height = height
    }

    init?(argument: String) {
        let sides = argument.split(separator: "x", omittingEmptySubsequences: false).map { Int($0) }
        guard sides.count == 2, let width = sides[0], let height = sides[1], (320...7680).contains(width),
            (180...4320).contains(height), width % 2 == 0, height % 2 == 0
        else { return nil }
        self.init(width: width, height: height)
    }

    var defaultValueDescription: String { "\(self.width)x\(self.height)" }
}

/// `1500k`, `2M`, or bare bits a second.
struct BitRate: ExpressibleByArgument {
    var bitsPerSecond: Int

    init(bitsPerSecond: Int) {
        self.bitsPerSecond = bitsPerSecond
    }

    init?(argument: String) {
        let factors: [Character: Double] = ["k": 1000, "K": 1000, "m": 1_000_000, "M": 1_000_000]
        let factor = argument.last.flatMap { factors[$0] }
        guard let number = Double(factor == nil ? argument[...] : argument.dropLast()),
            case let bits = number * (factor ?? 1), (50_000...50_000_000).contains(bits)
        else { return nil }
        self.init(bitsPerSecond: Int(bits))
    }

    var defaultValueDescription: String { "\(self.bitsPerSecond / 1000)k" }
}
