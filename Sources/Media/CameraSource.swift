// SPDX-License-Identifier: Apache-2.0

public import GStreamer
public import Logging
internal import Observability
internal import Synchronization

/// What the camera shows and how it is coded.
public struct CameraSettings: Sendable, Hashable {
    /// Whether there is a picture.
    public var sendsVideo = true
    /// Whether there is sound.
    public var sendsAudio = true
    /// Picture width in pixels, even, 320 or more.
    public var width = 1280
    /// Picture height in pixels, even, 180 or more.
    public var height = 720
    /// Frames a second, 1 to 60.
    public var framesPerSecond = 30
    /// Video bits a second.
    public var bitsPerSecond = 1_500_000

    /// 720p30 at 1.5 Mbit/s with sound.
    public init() {}
}

/// The codecs that the camera can send.
public enum CameraCodec: String, Sendable, Hashable, CaseIterable {
    /// H.264 constrained baseline, packetization-mode 1.
    case h264 = "H264"
    /// VP8.
    case vp8 = "VP8"
    /// Opus, 48 kHz stereo.
    case opus = "OPUS"
}

/// The test camera: captures once, encodes once per codec in use, and feeds every peer.
///
/// The picture carries a clock for people and a frame counter for machines; once a second it flashes while the sound
/// beeps (Tests/Peers/test-pattern.md). Pipelines start with their first consumer. All methods are called on the
/// session's control thread.
public final class CameraSource: Sendable {
    private let settings: CameraSettings
    private let logger: Logger
    private let state = Mutex(Stages())

    private struct Stages {
        var capture: Stage?
        var encoders: [CameraCodec: Stage] = [:]
        var rawConsumers: [FanOut.Consumer] = []
        var sound: FanOut?
    }

    /// A running pipeline and what it makes.
    private struct Stage {
        let pipeline: Pipeline
        let output: FanOut
    }

    /// Nothing runs until the first consumer comes.
    public init(settings: CameraSettings, logger: Logger) {
        self.settings = settings
        self.logger = logger
    }

    /// GStreamer's threads.
    private var onBus: @Sendable (BusEvent) -> Void {
        { [logger = self.logger] event in
            guard case .error(let element, let message, _) = event else { return }
            logger.error(
                "camera failed",
                metadata: .tagged([.elementName: "\(element)", .errorMessage: "\(message)"])
            )
        }
    }

    /// What can be sent at all, by what is installed: video codecs first named by `preferred`.
    public func codecs(preferred: CameraCodec) -> (video: [CameraCodec], audio: [CameraCodec]) {
        let video: [CameraCodec] = preferred == .h264 ? [.h264, .vp8] : [.vp8, .h264]
        return (
            self.settings.sendsVideo ? video.filter { EncoderLaunch.text(for: $0, self.settings) != nil } : [],
            self.settings.sendsAudio ? [.opus] : []
        )
    }

    /// The encoded stream of a codec; starts capture and encoder if this is its first use.
    public func output(of codec: CameraCodec) throws(GStreamerError) -> FanOut {
        do {
            return try self.state.withLock { stages in
                let capture = try self.startedCapture(&stages)
                if codec == .opus {
                    guard let sound = stages.sound else {
                        throw GStreamerError(.parse, "the camera has no sound")
                    }
                    return sound
                }
                if let encoder = stages.encoders[codec] { return encoder.output }
                let encoder = try self.startEncoder(codec, from: capture, &stages)
                stages.encoders[codec] = encoder
                return encoder.output
            }
        } catch let error as GStreamerError {
            throw error
        } catch {
            throw GStreamerError(.stateChange, "\(error)")
        }
    }

    /// Frames captured and frames encoded so far.
    public var frameCounts: (captured: UInt64, encoded: [CameraCodec: UInt64]) {
        self.state.withLock { stages in
            (stages.capture?.output.count ?? 0, stages.encoders.mapValues { $0.output.count })
        }
    }

    /// The graphs of the running pipelines in the DOT language, by name.
    var graphs: [String: String] {
        self.state.withLock { stages in
            var graphs: [String: String] = [:]
            if let capture = stages.capture { graphs["capture"] = capture.pipeline.graph }
            for (codec, encoder) in stages.encoders { graphs["encode-\(codec.rawValue)"] = encoder.pipeline.graph }
            return graphs
        }
    }

    /// Ends everything, sources first.
    public func stop() {
        let stages = self.state.withLock { stages in
            defer { stages = Stages() }
            return stages
        }
        for consumer in stages.rawConsumers { consumer.remove() }
        stages.capture?.pipeline.stop()
        for encoder in stages.encoders.values { encoder.pipeline.stop() }
    }

    private func startedCapture(_ stages: inout Stages) throws(GStreamerError) -> Stage {
        if let capture = stages.capture { return capture }
        let settings = self.settings
        var branches: [String] = []
        if settings.sendsVideo {
            branches.append(
                """
                videotestsrc is-live=true pattern=smpte ! video/x-raw,format=I420,width=\(settings.width),\
                height=\(settings.height),framerate=\(settings.framesPerSecond)/1 \
                ! clockoverlay time-format="%Y-%m-%d %H:%M:%S" valignment=bottom halignment=left \
                ! identity name=picture ! appsink name=raw sync=false max-buffers=4
                """
            )
        }
        if settings.sendsAudio {
            branches.append(
                """
                audiotestsrc is-live=true wave=silence samplesperbuffer=960 \
                ! audio/x-raw,format=S16LE,rate=48000,channels=2 ! identity name=sound ! opusenc bitrate=64000 \
                ! appsink name=opus sync=false max-buffers=16
                """
            )
        }
        let pipeline = try Pipeline(launch: branches.joined(separator: " "), onBus: self.onBus)
        let picture = FanOut(startsAtKeyframe: false)
        if settings.sendsVideo {
            try pipeline.paintTestPattern(on: "picture", framesPerSecond: settings.framesPerSecond)
        }
        if settings.sendsAudio {
            try pipeline.paintTestSound(on: "sound", framesPerSecond: settings.framesPerSecond)
        }
        try pipeline.play()
        if settings.sendsVideo { try picture.attach(to: pipeline, sink: "raw") }
        if settings.sendsAudio {
            let sound = FanOut(startsAtKeyframe: false)
            try sound.attach(to: pipeline, sink: "opus")
            stages.sound = sound
        }
        let capture = Stage(pipeline: pipeline, output: picture)
        stages.capture = capture
        return capture
    }

    private func startEncoder(
        _ codec: CameraCodec,
        from capture: Stage,
        _ stages: inout Stages
    ) throws(GStreamerError) -> Stage {
        guard let launch = EncoderLaunch.text(for: codec, self.settings) else {
            throw GStreamerError(.missingElement, "no encoder for \(codec.rawValue) is installed")
        }
        let pipeline = try Pipeline(
            launch: "appsrc name=in is-live=true format=time ! \(launch) ! appsink name=encoded sync=false",
            onBus: self.onBus
        )
        try pipeline.play(baseTimeNanoseconds: capture.pipeline.baseTimeNanoseconds)
        let output = FanOut(startsAtKeyframe: true)
        try output.attach(to: pipeline, sink: "encoded")
        let input = try pipeline.element(named: "in")
        stages.rawConsumers.append(try capture.output.add(input, of: pipeline, maximumQueued: 8))
        return Stage(pipeline: pipeline, output: output)
    }
}

/// Launch text of the encoders, best first by what is installed.
///
/// The settings are those that browsers decoded without loss (gstreamer.md facts 104, 105).
enum EncoderLaunch {
    static func text(for codec: CameraCodec, _ settings: CameraSettings) -> String? {
        let keyframeDistance = settings.framesPerSecond * 2
        let kilobits = settings.bitsPerSecond / 1000
        let h264Caps = "video/x-h264,profile=constrained-baseline,stream-format=byte-stream,alignment=au"
        switch codec {
        case .h264 where Runtime.missingElements(["x264enc"]).isEmpty:
            return """
                x264enc tune=zerolatency speed-preset=ultrafast bframes=0 key-int-max=\(keyframeDistance) threads=1 \
                bitrate=\(kilobits) ! \(h264Caps)
                """
        case .h264 where Runtime.missingElements(["openh264enc"]).isEmpty:
            return
                "openh264enc complexity=low bitrate=\(settings.bitsPerSecond) gop-size=\(keyframeDistance) ! \(h264Caps)"
        case .vp8 where Runtime.missingElements(["vp8enc"]).isEmpty:
            return """
                vp8enc deadline=1 cpu-used=16 end-usage=cbr keyframe-max-dist=\(keyframeDistance) threads=1 \
                target-bitrate=\(settings.bitsPerSecond)
                """
        case .h264, .vp8, .opus:
            return nil
        }
    }
}
