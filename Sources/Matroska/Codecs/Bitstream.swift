// SPDX-License-Identifier: Apache-2.0

public import Basics

/// Properties of one coded unit (a frame, an access unit, a packet), read from its bytes.
public struct UnitInspection: Sendable, Hashable {
    /// Whether a decoder can start here; always true for audio.
    public var isKeyframe: Bool
    /// Frame width in pixels, where the unit has it.
    public var width: Int?
    /// Frame height in pixels, where the unit has it.
    public var height: Int?
    /// The H.264 parameter sets in the unit, if there are any.
    public var parameterSets: H264ParameterSets?
    /// Duration of an audio unit, in nanoseconds.
    public var durationNanoseconds: Int64?
    /// Whether there is anything of a frame in it: an H.264 access unit may hold parameter sets and nothing else.
    public var hasFrame = true
    /// Whether the first slice of an H.264 frame is missing (`first_mb_in_slice`, H.264 section 7.4.3).
    public var isHeadless = false
    /// How the samples of a VP9 keyframe are coded.
    public var vp9Format: VP9Format?
    /// The id of the PPS (H.264 section 7.3.2.2) that an H.264 keyframe uses, 0 to 255.
    public var pictureSetID: Int?

    /// An inspection with each part given.
    public init(
        isKeyframe: Bool,
        width: Int? = nil,
        height: Int? = nil,
        parameterSets: H264ParameterSets? = nil,
        durationNanoseconds: Int64? = nil
    ) {
        self.isKeyframe = isKeyframe
        self.width = width
        self.height = height
        self.parameterSets = parameterSets
        self.durationNanoseconds = durationNanoseconds
    }
}

/// Looks into coded units without decoding or copying them.
public enum Bitstream {
    /// Whether a decoder may take a whole unit, as far as its headers say; true for codecs whose headers do not say.
    ///
    /// False for most frames of VP8 whose payload is encrypted (decision 111).
    public static func mayBeDecoded(_ codec: MediaCodec, _ unit: UnsafeRawBufferPointer) -> Bool {
        codec != .vp8 || VP8.hasWholePartitions(unit)
    }

    /// Inspects one unit; nil if it is not a unit of that codec.
    ///
    /// Never traps, whatever the bytes.
    ///
    /// - Parameters:
    ///   - codec: the codec of the track. G.711 is taken as one channel.
    ///   - unit: the bytes as the depayloader gives them; only read during the call.
    ///   - framing: how H.264 NAL units are separated; no matter for other codecs.
    public static func inspect(
        _ codec: MediaCodec,
        _ unit: UnsafeRawBufferPointer,
        framing: H264.Framing = .annexB
    ) -> UnitInspection? {
        switch codec {
        case .vp8: return VP8.inspect(unit)
        case .vp9: return VP9.inspect(unit)
        case .h264: return H264.inspect(unit, framing: framing)
        case .opus:
            return Opus.durationNanoseconds(of: unit).map {
                UnitInspection(isKeyframe: true, durationNanoseconds: $0)
            }
        case .pcmu, .pcma:
            return G711.durationNanoseconds(byteCount: unit.count).map {
                UnitInspection(isKeyframe: true, durationNanoseconds: $0)
            }
        }
    }
}
