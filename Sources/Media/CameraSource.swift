// SPDX-License-Identifier: Apache-2.0

public import GStreamer
public import Logging
internal import Observability
internal import Synchronization

/// What the camera shows and how it is coded.
public struct CameraSettings: Sendable, Hashable {
    /// Where pictures come from.
    public var video = VideoInput.test
    /// Where sound comes from; the same file as for pictures is read once, so that lips match.
    public var audio = AudioInput.test
    /// Picture width in pixels, even, 320 or more.
    public var width = 1280
    /// Picture height in pixels, even, 180 or more.
    public var height = 720
    /// Frames a second, 1 to 60.
    public var framesPerSecond = 30
    /// Video bits a second.
    public var bitsPerSecond = 1_500_000

    /// The test picture in 720p30 at 1.5 Mbit/s, with sound.
    public init() {}

    /// Whether there is a picture.
    public var sendsVideo: Bool { self.video != .none }
    /// Whether there is sound.
    public var sendsAudio: Bool { self.audio != .none }
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

/// The camera: captures once, encodes once per codec in use, and feeds every peer.
///
/// The test picture carries a clock for people and a frame counter for machines; once a second it flashes while the
/// sound beeps (Tests/Peers/test-pattern.md). Files are repeated, devices that fail are tried again. Pipelines start
/// with their first consumer. All methods are called on the session's control thread.
public final class CameraSource: Sendable {
    private let settings: CameraSettings
    private let logger: Logger
    /// Where files are opened again and devices are tried again.
    private let captureThread = ControlThread(name: "capture")
    private let picture = FanOut(startsAtKeyframe: false)
    private let sound = FanOut(startsAtKeyframe: false)
    private let state = Mutex(Stages())

    /// Raw pictures that may wait for an encoder: as many as half a second has at 30 frames a second.
    private static let maximumRawPictures = 15
    /// Raw sound that may wait for its encoder: about a second.
    private static let maximumRawSounds = 60

    private struct Stages {
        /// Running time 0 of what is captured, once that has begun.
        var baseNanoseconds: UInt64?
        var feeds: [CaptureFeed] = []
        var encoders: [CameraCodec: Encoder] = [:]
        var isStopped = false
    }

    /// A running encoder, what it takes, and what it makes.
    private struct Encoder {
        var pipeline: Pipeline
        var input: FanOut.Consumer
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
                "an encoder failed",
                metadata: .tagged([.elementName: "\(element)", .errorMessage: "\(message)"])
            )
        }
    }

    /// What can be sent at all, by what is installed: video codecs first named by `preferred`.
    public func codecs(preferred: CameraCodec) -> (video: [CameraCodec], audio: [CameraCodec]) {
        let video: [CameraCodec] = preferred == .h264 ? [.h264, .vp8] : [.vp8, .h264]
        return (
            self.settings.sendsVideo ? video.filter { EncoderLaunch.text(for: $0, self.settings) != nil } : [],
            self.settings.sendsAudio ? [.opus].filter { EncoderLaunch.text(for: $0, self.settings) != nil } : []
        )
    }

    /// The encoded stream of a codec; starts capture and encoder if this is its first use.
    public func output(of codec: CameraCodec) throws(GStreamerError) -> FanOut {
        do {
            return try self.state.withLock { stages in
                guard !stages.isStopped else { throw GStreamerError(.interrupted, "the camera has ended") }
                guard codec == .opus ? self.settings.sendsAudio : self.settings.sendsVideo else {
                    throw GStreamerError(.parse, "the camera has no \(codec == .opus ? "sound" : "picture")")
                }
                if let encoder = stages.encoders[codec] { return encoder.output }
                let base = self.startedCapture(&stages)
                let output = FanOut(startsAtKeyframe: codec != .opus)
                stages.encoders[codec] = try self.encoder(codec, baseNanoseconds: base, output: output)
                return output
            }
        } catch let error as GStreamerError {
            throw error
        } catch {
            throw GStreamerError(.stateChange, "\(error)")
        }
    }

    /// Frames captured and frames encoded so far.
    public var frameCounts: (captured: UInt64, encoded: [CameraCodec: UInt64]) {
        (self.picture.count, self.state.withLock { $0.encoders.mapValues { $0.output.count } })
    }

    /// The graphs of the running pipelines in the DOT language, by name.
    var graphs: [String: String] {
        self.state.withLock { stages in
            var graphs: [String: String] = [:]
            for feed in stages.feeds { graphs["capture \(feed.source)"] = feed.graph }
            for (codec, encoder) in stages.encoders { graphs["encode-\(codec.rawValue)"] = encoder.pipeline.graph }
            return graphs
        }
    }

    /// Ends everything, sources first.
    public func stop() {
        let stages = self.state.withLock { stages in
            defer { stages = Stages(isStopped: true) }
            return stages
        }
        for encoder in stages.encoders.values { encoder.input.remove() }
        for feed in stages.feeds { feed.stop() }
        for encoder in stages.encoders.values { encoder.pipeline.stop() }
    }

    /// Starts every source, if none runs yet; running time 0 of all.
    private func startedCapture(_ stages: inout Stages) -> UInt64 {
        if let base = stages.baseNanoseconds { return base }
        let base = UInt64(clamping: Runtime.monotonicNanoseconds)
        stages.baseNanoseconds = base
        stages.feeds = CaptureSource.all(self.settings.video, self.settings.audio).map { source in
            CaptureFeed(
                source,
                settings: self.settings,
                picture: self.picture,
                sound: self.sound,
                thread: self.captureThread,
                logger: self.logger,
                onHole: { [weak self] in self?.restartSoundEncoder() }
            )
        }
        for feed in stages.feeds { feed.start(baseNanoseconds: base) }
        return base
    }

    private func encoder(
        _ codec: CameraCodec,
        baseNanoseconds: UInt64,
        output: FanOut
    ) throws(GStreamerError) -> Encoder {
        guard let launch = EncoderLaunch.text(for: codec, self.settings) else {
            throw GStreamerError(.missingElement, "no encoder for \(codec.rawValue) is installed")
        }
        let pipeline = try Pipeline(
            launch: "appsrc name=in is-live=true format=time ! \(launch) ! appsink name=encoded sync=false",
            onBus: self.onBus
        )
        do throws(GStreamerError) {
            try output.attach(to: pipeline, sink: "encoded", baseTimeNanoseconds: baseNanoseconds)
            try pipeline.play(baseTimeNanoseconds: baseNanoseconds)
            let (raw, maximum) =
                codec == .opus ? (self.sound, Self.maximumRawSounds) : (self.picture, Self.maximumRawPictures)
            let input = try raw.add(try pipeline.element(named: "in"), of: pipeline, maximumQueued: maximum)
            return Encoder(pipeline: pipeline, input: input, output: output)
        } catch {
            pipeline.stop()
            throw error
        }
    }

    /// On the capture thread: a fresh encoder does not fill a long hole with silence.
    private func restartSoundEncoder() {
        self.state.withLock { stages in
            guard let base = stages.baseNanoseconds, let old = stages.encoders[.opus] else { return }
            old.input.remove()
            old.pipeline.stop()
            do throws(GStreamerError) {
                stages.encoders[.opus] = try self.encoder(.opus, baseNanoseconds: base, output: old.output)
            } catch {
                stages.encoders[.opus] = nil
                self.logger.error(
                    "the sound encoder does not start again",
                    metadata: .tagged([.errorMessage: "\(error)"])
                )
            }
        }
    }
}
