// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import Dispatch
internal import GStreamer
internal import Model
public import PipelineCatalogue
internal import Session
internal import Synchronization

/// The encoders of one codec that are left to try, best first.
struct EncoderChoice: Sendable, Hashable {
    /// The files in the order of their ranks.
    private(set) var candidates: [PipelineFile]

    /// Every encoder of a codec that this host has the elements of; GStreamer must be initialised.
    init(_ codec: MediaCodec, from pipelines: PipelineCatalogue) {
        self.candidates = pipelines.encoders(of: codec.capsName).filter { $0.missingElements.isEmpty }
    }

    /// The best encoder that is left and believed to work; takes those off that do not.
    ///
    /// One whose ends hang is passed over, and stays: it may end yet.
    ///
    /// Blocks for up to `EncoderProbe.limit` for each that must be probed and was not yet.
    ///
    /// - Parameter onFailure: gets why one is passed over, and whether the log has it already.
    mutating func best(onFailure: (_ file: PipelineFile, _ reason: String, _ isLogged: Bool) -> Void) -> PipelineFile? {
        for file in self.candidates {
            guard !EncoderEnds.hang(of: file) else {
                onFailure(file, "it was exchanged, and has not ended yet", true)
                continue
            }
            guard file.isProbed, let reason = EncoderProbe.failure(of: file) else { return file }
            onFailure(file, reason, false)
            self.remove(file)
        }
        return nil
    }

    /// Takes off an encoder that failed.
    mutating func remove(_ file: PipelineFile) {
        self.candidates.removeAll { $0 == file }
    }
}

/// The pipeline of an encoder file between `appsrc` and `appsink`.
enum EncoderPipeline {
    /// Where raw media go in, and where coded ones come out.
    static let source = "tapedeck_in"
    static let sink = "tapedeck_encoded"
    /// What makes frames smaller; it lets everything through until it is set.
    private static let fit = "tapedeck_fit"
    /// Below this much of its buffer, in percent, an encoder leaves frames out; WebRTC's own senders use the same.
    private static let reducedFrameDropping = 30

    /// FFmpeg's own decoder makes noise of repeated speech in stereo (decision 74).
    private static let mono = "audioconvert ! capsfilter caps=audio/x-raw,channels=1"

    /// A pipeline of the file with the camera's bit rate and keyframe distance, not started; repeated speech is mono.
    static func make(
        _ file: PipelineFile,
        _ settings: SendSpec,
        onBus: @escaping @Sendable (BusEvent) -> Void
    ) throws(GStreamerError) -> Pipeline {
        var source = "appsrc name=\(Self.source) is-live=true format=time"
        if file.gives[.video] != nil {
            source += " ! videoscale add-borders=false ! capsfilter name=\(Self.fit)"
        } else if settings.usesAudioFEC {
            source += " ! \(Self.mono)"
        }
        return try Self.make(file, settings, source: source, onBus: onBus)
    }

    /// The same with another source in front of it.
    static func make(
        _ file: PipelineFile,
        _ settings: SendSpec,
        source: String,
        onBus: @escaping @Sendable (BusEvent) -> Void
    ) throws(GStreamerError) -> Pipeline {
        let media: MediaKind = file.gives[.video] == nil ? .audio : .video
        var plan = PipelinePlan(file)
        if media == .video {
            plan.setBitRate("bitrate", bitsPerSecond: settings.bitsPerSecond)
            plan.setNumber("keyframe_distance", settings.framesPerSecond * 2)
        } else {
            plan.setBitRate("bitrate", bitsPerSecond: settings.audioBitsPerSecond)
            plan.setFlag("fec", settings.usesAudioFEC)
            plan.setFlag("dtx", settings.usesAudioDTX)
        }
        let pipeline = try Pipeline(plan, onBus: onBus)
        try pipeline.add(branch: source, before: PipelineFile.input(media))
        try pipeline.add(branch: "appsink name=\(Self.sink) sync=false", behind: PipelineFile.output(media))
        return pipeline
    }

    /// Sets what a pipeline of `make` makes of frames while it runs.
    ///
    /// Another size begins with a keyframe.
    static func set(
        _ rate: EncoderRate,
        on pipeline: Pipeline,
        of file: PipelineFile,
        _ settings: SendSpec
    ) throws(GStreamerError) {
        var plan = PipelinePlan(file)
        plan.setBitRate("bitrate", bitsPerSecond: rate.bitsPerSecond)
        plan.setNumber("frame_dropping", rate.isReduced ? Self.reducedFrameDropping : 0)
        for name in ["bitrate", "frame_dropping"] {
            if let setting = plan.setting(of: name) { try pipeline.set(setting, of: file) }
        }
        guard rate.isStepDue else { return }
        let step = rate.step
        let caps =
            step.isWhole
            ? "video/x-raw"
            : """
            video/x-raw,width=\(step.side(settings.width)),height=\(step.side(settings.height)),\
            pixel-aspect-ratio=1/1
            """
        try pipeline.element(named: Self.fit).set("caps", caps)
    }
}

/// Has an encoder code a few frames: hardware that is there may still not work.
public enum EncoderProbe {
    /// How long it may take.
    static let limit = Duration.seconds(4)
    /// How long it may take in a process that does nothing else: GStreamer starts in it first, and the encoder must end,
    /// on a machine with other things to do.
    public static let processLimit = Self.limit + .seconds(16)

    /// What came of each, by launch text: a host does not change while we run.
    private static let known = Mutex<[String: String?]>([:])

    /// Why the encoder does not work on this host; nil if it gave a coded frame.
    ///
    /// Any thread; waits for up to `limit`, the first time for each file.
    public static func failure(of file: PipelineFile) -> String? {
        if let failure = Self.known.withLock({ $0[file.launch] }) { return failure }
        let failure = Self.tried(file)
        Self.known.withLock { $0[file.launch] = .some(failure) }
        return failure
    }

    private static func tried(_ file: PipelineFile) -> String? {
        let complaints = FirstError()
        let ended = DispatchSemaphore(value: 0)
        let source = """
            videotestsrc num-buffers=30 ! video/x-raw,format=I420,width=640,height=360,framerate=30/1 ! identity
            """
        do throws(GStreamerError) {
            let pipeline = try EncoderPipeline.make(file, SendSpec(), source: source) { event in
                complaints.note(event)
                if case .warning = event { return }
                ended.signal()
            }
            defer { pipeline.stop() }
            let output = FanOut(startsAtKeyframe: false)
            let now = UInt64(clamping: Runtime.monotonicNanoseconds)
            try output.attach(to: pipeline, sink: EncoderPipeline.sink, baseTimeNanoseconds: now)
            try pipeline.play()
            _ = ended.wait(timeout: .now() + .seconds(Int(Self.limit.components.seconds)))
            if output.count > 0 { return nil }
            return complaints.first ?? "it gave no coded frame in \(Self.limit.components.seconds) s"
        } catch {
            return complaints.first ?? error.message
        }
    }
}
