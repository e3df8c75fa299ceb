// SPDX-License-Identifier: Apache-2.0

public import Basics

/// One track entry (RFC 9559 section 5.1.4).
public struct Track: Sendable, Hashable {
    /// The number that blocks carry: 1…1000 for the writer.
    ///
    /// Read files may hold larger ones.
    public var number: Int
    /// Identifies the track across files; not zero.
    public var uid: UInt64
    /// How payloads are coded.
    public var codec: MediaCodec
    /// Decoder set-up: avcC for H.264, OpusHead for Opus, WAVEFORMATEX for G.711, empty for VP8, mostly empty for VP9.
    public var codecPrivate: [UInt8]
    /// A human-readable title.
    public var name: String?
    /// An ISO 639-2 language, `und` if unknown.
    public var language: String
    /// Video properties, for video.
    public var video: VideoTrack?
    /// Audio properties, for audio.
    public var audio: AudioTrack?
    /// How long the decoder's output lags, in nanoseconds: players show a block this much earlier than its time.
    public var codecDelayNanoseconds: UInt64
    /// How much a decoder must be fed before a seek target, in nanoseconds.
    public var seekPreRollNanoseconds: UInt64
    /// Whether players pick the track unasked.
    public var isDefault: Bool

    /// A track with each part given.
    public init(
        number: Int,
        uid: UInt64,
        codec: MediaCodec,
        codecPrivate: [UInt8] = [],
        name: String? = nil,
        language: String = "und",
        video: VideoTrack? = nil,
        audio: AudioTrack? = nil,
        codecDelayNanoseconds: UInt64 = 0,
        seekPreRollNanoseconds: UInt64 = 0,
        isDefault: Bool = true
    ) {
        self.number = number
        self.uid = uid
        self.codec = codec
        self.codecPrivate = codecPrivate
        self.name = name
        self.language = language
        self.video = video
        self.audio = audio
        self.codecDelayNanoseconds = codecDelayNanoseconds
        self.seekPreRollNanoseconds = seekPreRollNanoseconds
        self.isDefault = isDefault
    }

    /// A VP8, VP9 or H.264 track; H.264 needs `codecPrivate` from `H264.decoderConfiguration(_:)`.
    public static func video(
        number: Int = 1,
        uid: UInt64,
        codec: MediaCodec,
        width: Int,
        height: Int,
        codecPrivate: [UInt8] = [],
        rotation: VideoRotation = .upright,
        name: String? = nil
    ) -> Track {
        Track(
            number: number,
            uid: uid,
            codec: codec,
            codecPrivate: codecPrivate,
            name: name,
            video: VideoTrack(width: width, height: height, rotation: rotation)
        )
    }

    /// An Opus track with its OpusHead, CodecDelay and a SeekPreRoll of 80 ms (RFC 7845 section 4.2).
    ///
    /// `preSkip` counts 48 kHz samples; 312 (6.5 ms) is the look-ahead of libopus, so blocks may carry RTP times as
    /// they are: what a packet decodes to is shown `preSkip` earlier, when its samples were captured.
    public static func opus(
        number: Int = 1,
        uid: UInt64,
        channels: Int = 2,
        preSkip: UInt16 = 312,
        name: String? = nil
    ) -> Track {
        Track(
            number: number,
            uid: uid,
            codec: .opus,
            codecPrivate: Opus.head(channels: channels, preSkip: preSkip, inputSampleRate: 48_000),
            name: name,
            audio: AudioTrack(sampleRate: 48_000, channels: channels),
            codecDelayNanoseconds: UInt64(preSkip) * 1_000_000_000 / 48_000,
            seekPreRollNanoseconds: 80_000_000
        )
    }

    /// A G.711 track at 8 kHz; `codec` is `pcmu` or `pcma`.
    public static func g711(
        number: Int = 1,
        uid: UInt64,
        codec: MediaCodec,
        channels: Int = 1,
        name: String? = nil
    ) -> Track {
        Track(
            number: number,
            uid: uid,
            codec: codec,
            codecPrivate: G711.privateData(codec, channels: channels),
            name: name,
            audio: AudioTrack(sampleRate: 8_000, channels: channels, bitDepth: 8)
        )
    }
}

/// Video properties of a track (RFC 9559 section 5.1.4.1.28).
public struct VideoTrack: Sendable, Hashable {
    /// Width of the first frame, in pixels, at least 1.
    ///
    /// Later frames may differ: decoders follow the bitstream.
    public var width: Int
    /// Height of the first frame, in pixels, at least 1.
    public var height: Int
    /// Colour description, if it is known.
    public var colour: Colour?
    /// How players turn the frames.
    public var rotation: VideoRotation

    /// Properties with each part given.
    public init(width: Int, height: Int, colour: Colour? = nil, rotation: VideoRotation = .upright) {
        self.width = width
        self.height = height
        self.colour = colour
        self.rotation = rotation
    }
}

/// Colour description in the code points of ISO/IEC 23091-2 (RFC 9559 section 5.1.4.1.28.16).
public struct Colour: Sendable, Hashable {
    /// Matrix coefficients; 1 is BT.709.
    public var matrixCoefficients: UInt8
    /// Transfer characteristics; 1 is BT.709.
    public var transferCharacteristics: UInt8
    /// Colour primaries; 1 is BT.709.
    public var primaries: UInt8
    /// Whether samples use the full range instead of the broadcast range.
    public var isFullRange: Bool

    /// A description with each part given.
    public init(matrixCoefficients: UInt8, transferCharacteristics: UInt8, primaries: UInt8, isFullRange: Bool) {
        self.matrixCoefficients = matrixCoefficients
        self.transferCharacteristics = transferCharacteristics
        self.primaries = primaries
        self.isFullRange = isFullRange
    }
}

/// Audio properties of a track (RFC 9559 section 5.1.4.1.29).
public struct AudioTrack: Sendable, Hashable {
    /// Samples a second; 48 000 for Opus.
    public var sampleRate: Double
    /// Number of channels, at least 1.
    public var channels: Int
    /// Bits a sample, where that means something.
    public var bitDepth: Int?

    /// Properties with each part given.
    public init(sampleRate: Double, channels: Int, bitDepth: Int? = nil) {
        self.sampleRate = sampleRate
        self.channels = channels
        self.bitDepth = bitDepth
    }
}

/// A track of plain text that players show over the video (RFC 9559 section 5.1.4; codec `S_TEXT/UTF8`).
public struct TextTrack: Sendable, Hashable {
    /// Its CodecID.
    public static let codecID = "S_TEXT/UTF8"

    /// The number that blocks carry: 1…1000, different from those of all other tracks of the file.
    public var number: Int
    /// Identifies the track across files; not zero.
    public var uid: UInt64
    /// A human-readable title.
    public var name: String?
    /// An ISO 639-2 language, `und` if unknown.
    public var language: String

    /// A track with each part given.
    public init(number: Int, uid: UInt64, name: String? = nil, language: String = "und") {
        self.number = number
        self.uid = uid
        self.name = name
        self.language = language
    }
}
