// SPDX-License-Identifier: Apache-2.0

/// What we send into a room.
public struct SendConfiguration: Sendable, Hashable {
    /// Where a picture comes from.
    public enum VideoSource: Sendable, Hashable, CustomStringConvertible {
        /// The test picture.
        case test
        /// A camera: absolute path of its device, or `name=…` or `serial=…`.
        case v4l2(String)
        /// A file: its absolute path.
        case file(String)
        /// Another capture of `Pipelines/`, as `NAME` or `NAME:ARGUMENT`.
        case pipeline(String)

        /// As it is written in the configuration and in a worker's orders.
        public var description: String {
            switch self {
            case .test: "test"
            case .v4l2(let device): "v4l2:\(device)"
            case .file(let path): "file:\(path)"
            case .pipeline(let text): text
            }
        }
    }

    /// Where sound comes from.
    public enum AudioSource: Sendable, Hashable, CustomStringConvertible {
        /// The test sound.
        case test
        /// A sound card: ALSA's name of the device.
        case alsa(String)
        /// A file: its absolute path.
        case file(String)
        /// Another capture of `Pipelines/`, as `NAME` or `NAME:ARGUMENT`.
        case pipeline(String)

        /// As it is written in the configuration and in a worker's orders.
        public var description: String {
            switch self {
            case .test: "test"
            case .alsa(let device): "alsa:\(device)"
            case .file(let path): "file:\(path)"
            case .pipeline(let text): text
            }
        }
    }

    /// Video codecs that can be preferred.
    public enum Codec: String, Sendable, Hashable, CaseIterable {
        /// H.264, constrained baseline.
        case h264
        /// VP8.
        case vp8
        /// VP9, profile 0.
        case vp9
        /// Whatever a peer names first.
        case any
    }

    /// When devices are open.
    public enum Opening: String, Sendable, Hashable, CaseIterable {
        /// While somebody receives what they give.
        case needed
        /// As long as we are in the room.
        case always
    }

    /// Where the picture comes from; `nil` sends none.
    public var capture: VideoSource? = .test
    /// Where the sound comes from; `nil` sends none.
    public var audio: AudioSource?
    /// Values for parameters of the capture files, by name.
    public var parameters: [String: String] = [:]
    /// When devices are open.
    public var open = Opening.needed
    /// The codec offered first.
    public var preferredCodec = Codec.vp8
    /// Picture width in pixels: even, 320 to 7680.
    public var width = 1280
    /// Picture height in pixels: even, 180 to 4320.
    public var height = 720
    /// Frames a second, 1 to 60.
    public var framesPerSecond = 30
    /// Video bits a second, 50 000 to 50 000 000.
    public var bitsPerSecond = 1_500_000
    /// Video bits a second that are sent where the network takes no more, at most `bitsPerSecond`; as much fixes the
    /// rate.
    public var minimumBitsPerSecond = 100_000
    /// Sound bits a second, 6000 to 510 000.
    public var audioBitsPerSecond = 64_000
    /// Whether Opus has in-band error correction.
    public var usesAudioFEC = true
    /// Whether Opus pauses in silence.
    public var usesAudioDTX = false

    /// The test picture without sound.
    public init() {}
}
