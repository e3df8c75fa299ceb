// SPDX-License-Identifier: Apache-2.0

internal import GStreamer

/// Launch texts of everything that can be captured.
///
/// No value of a person's is in a text: paths, devices, sizes and rates are set on the elements after parsing. Pictures
/// leave at the appsink `raw` as I420 of the asked size and rate, sound at the appsink `pcm` as S16LE, 48 kHz, stereo.
struct CaptureLaunch: Sendable, Hashable {
    /// The name of the element that opens the file or the device; none for test sources.
    private static let opener = "source"

    /// Wide pictures in high frames get bars; frames are repeated or left out to hold the rate.
    private static let toPicture = """
        deinterlace ! videoconvert ! videoscale add-borders=true ! videorate ! capsfilter name=picture_format
        """
    private static let toSound = "audioconvert ! audioresample ! capsfilter name=sound_format"
    private static let livePicture = "appsink name=raw sync=false max-buffers=4"
    private static let liveSound = "appsink name=pcm sync=false max-buffers=16"
    /// Files are read at the pace of the clock.
    ///
    /// The sinks wait for nobody to start: not every stream begins at once.
    private static let filePicture = "appsink name=raw sync=true async=false max-buffers=4"
    private static let fileSound = "appsink name=pcm sync=true async=false max-buffers=16"

    /// The text.
    let text: String
    private let source: CaptureSource
    private let mode: VideoMode?

    /// The text for a source; a camera is asked for pictures in `mode`, or in any it likes.
    init(_ source: CaptureSource, mode: VideoMode? = nil) {
        self.source = source
        self.mode = mode
        let branches: [String?]
        switch source.kind {
        case .test:
            branches = [
                source.hasVideo
                    ? """
                    videotestsrc is-live=true pattern=smpte ! capsfilter name=picture_format \
                    ! clockoverlay time-format="%Y-%m-%d %H:%M:%S" valignment=bottom halignment=left \
                    ! identity name=picture ! \(Self.livePicture)
                    """ : nil,
                source.hasAudio
                    ? """
                    audiotestsrc is-live=true wave=silence samplesperbuffer=960 ! capsfilter name=sound_format \
                    ! identity name=sound ! \(Self.liveSound)
                    """ : nil,
            ]
        case .camera:
            let decoder = mode?.isJPEG == true ? "jpegdec ! " : ""
            branches = [
                "v4l2src name=source ! capsfilter name=mode ! \(decoder)\(Self.toPicture) ! \(Self.livePicture)"
            ]
        case .microphone:
            branches = ["alsasrc name=source provide-clock=false ! \(Self.toSound) ! \(Self.liveSound)"]
        case .file:
            branches = [
                "filesrc name=source ! decodebin name=media",
                source.hasVideo ? "media. ! \(Self.toPicture) ! \(Self.filePicture)" : nil,
                source.hasAudio ? "media. ! \(Self.toSound) ! \(Self.fileSound)" : nil,
            ]
        }
        self.text = branches.compactMap { $0 }.joined(separator: " ")
    }

    /// What opens a device and nothing else, to see whether that works and what it can give.
    static func trial(of source: CaptureSource) -> String? {
        switch source.kind {
        case .camera: "v4l2src name=source ! fakesink"
        case .microphone: "alsasrc name=source ! fakesink"
        case .test, .file: nil
        }
    }

    /// A pipeline of the text with every value set, not started.
    func pipeline(
        _ settings: CameraSettings,
        onBus: @escaping @Sendable (BusEvent) -> Void
    ) throws(GStreamerError) -> Pipeline {
        let pipeline = try Pipeline(launch: self.text, onBus: onBus)
        try Self.open(self.source, in: pipeline)
        if case .camera = self.source.kind, let mode = self.mode {
            try pipeline.element(named: "mode").set("caps", mode.caps)
        }
        if self.source.hasVideo {
            let caps = """
                video/x-raw,format=I420,width=\(settings.width),height=\(settings.height),\
                framerate=\(settings.framesPerSecond)/1,pixel-aspect-ratio=1/1
                """
            try pipeline.element(named: "picture_format").set("caps", caps)
        }
        if self.source.hasAudio {
            let caps = "audio/x-raw,format=S16LE,rate=48000,channels=2,layout=interleaved"
            try pipeline.element(named: "sound_format").set("caps", caps)
        }
        if self.source.kind == .test {
            if self.source.hasVideo {
                try pipeline.paintTestPattern(on: "picture", framesPerSecond: settings.framesPerSecond)
            }
            if self.source.hasAudio {
                try pipeline.paintTestSound(on: "sound", framesPerSecond: settings.framesPerSecond)
            }
        }
        return pipeline
    }

    /// Tells the opener of a pipeline what to open.
    static func open(_ source: CaptureSource, in pipeline: Pipeline) throws(GStreamerError) {
        switch source.kind {
        case .test: break
        case .camera(let name), .microphone(let name):
            try pipeline.element(named: Self.opener).set("device", verbatim: name)
        case .file(let path):
            try pipeline.element(named: Self.opener).set("location", verbatim: path)
        }
    }
}

/// Launch texts of the encoders, best first by what is installed.
///
/// The settings are those that browsers decoded without loss.
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
        case .opus where Runtime.missingElements(["opusenc"]).isEmpty:
            // Holes, as where the sound of a file is shorter than its pictures, become silence.
            return "audiorate skip-to-first=true tolerance=10000000 ! opusenc bitrate=64000"
        case .h264, .vp8, .opus:
            return nil
        }
    }
}
