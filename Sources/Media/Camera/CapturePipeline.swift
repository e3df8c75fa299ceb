// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import GStreamer
internal import Model
internal import PipelineCatalogue

/// The pipeline of a capture file, with what makes its media into what encoders take.
///
/// Video leaves at the appsink `videoSink` as I420 of the asked size and rate, audio at
/// `audioSink` as S16LE, 48 kHz, stereo. A file with the parameter `picture_format` or
/// `sound_format` gets these caps and makes them itself.
enum CapturePipeline {
    /// The names of the parameters that the daemon sets.
    static let videoFormat = "picture_format"
    static let audioFormat = "sound_format"
    static let mode = "mode"
    static let tone = "tone"
    /// The names of the appsinks.
    static let videoSink = "tapedeck_raw"
    static let audioSink = "tapedeck_pcm"
    /// The element that is asked what a camera can give.
    static let opener = "source"

    /// Wide video in high frames get bars; frames are repeated or left out to hold the rate.
    private static let toVideo = """
        deinterlace ! videoconvert ! videoscale add-borders=true ! videorate ! capsfilter name=tapedeck_picture !
        """
    private static let toAudio = "audioconvert ! audioresample ! capsfilter name=tapedeck_sound !"
    private static let audioCaps = "audio/x-raw,format=S16LE,rate=48000,channels=2,layout=interleaved"

    private static func videoCaps(width: Int, height: Int, framesPerSecond: Int) -> String {
        """
        video/x-raw,format=I420,width=\(width),height=\(height),framerate=\(framesPerSecond)/1,pixel-aspect-ratio=1/1
        """
    }

    /// A pipeline of the source with every value set, not started.
    static func make(
        _ source: CaptureSource,
        mode: String?,
        _ settings: SendSpec,
        name: String = TestTone.usualName,
        onBus: @escaping @Sendable (BusEvent) -> Void
    ) throws(GStreamerError) -> Pipeline {
        var plan = try Self.resolved(source)
        let file = plan.file
        // A frame that no client asks for is not made.
        let caps =
            source.hasVideo
            ? Self.videoCaps(
                width: settings.width,
                height: settings.height,
                framesPerSecond: settings.framesPerSecond
            ) : Self.videoCaps(width: 16, height: 16, framesPerSecond: 1)
        do throws(PipelineFinding) {
            if let mode { try plan.set(Self.mode, mode) }
            if plan.has(Self.tone), settings.parameters[Self.tone] == nil {
                plan.setNumber(Self.tone, TestTone.hertz(for: name))
            }
            if plan.has(Self.videoFormat) { try plan.set(Self.videoFormat, caps) }
            if plan.has(Self.audioFormat) { try plan.set(Self.audioFormat, Self.audioCaps) }
        } catch {
            throw GStreamerError(.property, error.description)
        }
        let pipeline = try Pipeline(plan, onBus: onBus)
        // Files are read at the pace of the clock. Sinks start without waiting for each other: not every stream begins at once.
        let pace = file.isLive ? "sync=false async=false" : "sync=true async=false"
        if source.hasVideo {
            let isExact = plan.has(Self.videoFormat)
            let port = PipelineFile.output(.video)
            try pipeline.add(
                branch: "\(isExact ? "" : Self.toVideo) appsink name=\(Self.videoSink) \(pace) max-buffers=4",
                behind: port
            )
            if !isExact { try pipeline.element(named: "tapedeck_picture").set("caps", caps) }
            if file.hasTestPattern {
                let painted = isExact ? port : "tapedeck_picture"
                try pipeline.paintTestPattern(on: painted, framesPerSecond: settings.framesPerSecond)
            }
        }
        if source.hasAudio {
            let isExact = plan.has(Self.audioFormat)
            let port = PipelineFile.output(.audio)
            try pipeline.add(
                branch: "\(isExact ? "" : Self.toAudio) appsink name=\(Self.audioSink) \(pace) max-buffers=16",
                behind: port
            )
            if !isExact { try pipeline.element(named: "tapedeck_sound").set("caps", Self.audioCaps) }
            if file.hasTestPattern {
                let painted = isExact ? port : "tapedeck_sound"
                let hertz = plan.text(of: Self.tone).flatMap(Double.init).map { Int($0.rounded()) }
                try pipeline.paintTestSound(
                    on: painted,
                    framesPerSecond: settings.framesPerSecond,
                    hertz: hertz ?? TestTone.usualHertz
                )
            }
        }
        // A live source must not find an end where nothing takes its media; a demultiplexer leaves such streams alone.
        if file.isLive {
            for (media, isUsed) in [(MediaKind.video, source.hasVideo), (.audio, source.hasAudio)]
            where file.gives[media] != nil && !isUsed {
                try pipeline.add(branch: "fakesink sync=false async=false", behind: PipelineFile.output(media))
            }
        }
        return pipeline
    }

    /// What opens a device and nothing else, to see whether that works and what it can give.
    static func trial(
        of source: CaptureSource,
        onBus: @escaping @Sendable (BusEvent) -> Void
    ) throws(GStreamerError) -> Pipeline {
        try Pipeline(try Self.resolved(source), onBus: onBus)
    }

    /// The plan with the path of a camera that was named otherwise.
    private static func resolved(_ source: CaptureSource) throws(GStreamerError) -> PipelinePlan {
        guard source.isCamera, let text = source.input.argument, let selector = CameraSelector(text) else {
            return source.plan
        }
        guard let path = selector.pick(from: CameraDevice.all()) else {
            throw GStreamerError(.stateChange, "there is no such camera")
        }
        var plan = source.plan
        do throws(PipelineFinding) {
            try plan.setArgument(path)
        } catch {
            throw GStreamerError(.property, error.description)
        }
        return plan
    }
}
