// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import Export
internal import GStreamer
internal import Matroska

/// The decoders that the codecs of calls need.
enum Decoders {
    /// Elements that the tracks of a recording need.
    static func elements(_ input: RenderInput) -> [String] {
        Set(input.tracks.map(\.codec)).sorted { $0.rawValue < $1.rawValue }.flatMap { codec -> [String] in
            switch codec {
            case .vp8: ["vp8dec"]
            case .vp9: ["vp9dec"]
            case .h264: ["h264parse"] + (VideoDecoder.hasFFmpeg ? [] : ["openh264dec"])
            case .opus: ["opusdec"]
            case .pcmu: ["mulawdec"]
            case .pcma: ["alawdec"]
            }
        } + ["appsrc", "audioconvert", "audioresample"]
    }

    /// Decodes video.
    static func video(_ track: RenderTrack) throws(GStreamerError) -> CodecChain {
        guard let launch = VideoDecoder.launch(track.codec) else {
            throw GStreamerError(.parse, "\(track.file) has no video")
        }
        guard track.codec == .h264 else {
            return try CodecChain(launch: launch, caps: "video/x-\(track.codec.rawValue)")
        }
        return try CodecChain(
            launch: launch,
            caps: "video/x-h264,stream-format=avc,alignment=au",
            codecData: track.codecPrivate
        )
    }

    /// Decodes audio to stereo at 48 kHz.
    static func audio(_ track: RenderTrack) throws(GStreamerError) -> CodecChain {
        try Self.audio(track.codec, channels: track.channels, rateHz: 48_000, outputChannels: 2)
    }

    /// Decodes the audio of a file.
    static func audio(_ track: Track, rateHz: Int, channels: Int) throws(GStreamerError) -> CodecChain {
        try Self.audio(track.codec, channels: track.audio?.channels ?? 2, rateHz: rateHz, outputChannels: channels)
    }

    private static func audio(
        _ codec: MediaCodec,
        channels: Int,
        rateHz: Int,
        outputChannels: Int
    ) throws(GStreamerError) -> CodecChain {
        let format = "audio/x-raw,format=F32LE,rate=\(rateHz),channels=\(outputChannels),layout=interleaved"
        let output = "audioconvert ! audioresample ! capsfilter caps=\(format)"
        let channels = min(max(channels, 1), 2)
        switch codec {
        case .opus:
            return try CodecChain(
                launch: "opusdec ! \(output)",
                caps: "audio/x-opus,channel-mapping-family=0,rate=48000,channels=\(channels)"
            )
        case .pcmu:
            return try CodecChain(launch: "mulawdec ! \(output)", caps: "audio/x-mulaw,rate=8000,channels=\(channels)")
        case .pcma:
            return try CodecChain(launch: "alawdec ! \(output)", caps: "audio/x-alaw,rate=8000,channels=\(channels)")
        case .vp8, .vp9, .h264: throw GStreamerError(.parse, "\(codec.rawValue) is no audio")
        }
    }
}
