// SPDX-License-Identifier: Apache-2.0

public import Basics
internal import GStreamer
internal import Matroska
internal import Model

/// A small JPEG image of a keyframe.
public enum Thumbnail {
    /// Width in pixels; the height keeps the video's shape, up to four times as much.
    public static let width = 320
    private static let limit = Duration.seconds(8)

    /// Why no image is made of a keyframe; nil if a decoder may have it.
    ///
    /// It judges by size in bytes and by headers: the holder of the keyframe decides before anything is sent or
    /// decoded.
    public static func refusal(of keyframe: [UInt8], codec: MediaCodec) -> String? {
        guard keyframe.count <= KeyframePart.maximumKeyframeBytes else {
            return "the keyframe has \(keyframe.count) bytes; "
                + "an image is made of at most \(KeyframePart.maximumKeyframeBytes)"
        }
        switch keyframe.withUnsafeBytes({ Bitstream.codedSize(codec, $0) }) {
        case .fits: return nil
        case .tooLarge(let width, let height):
            return "the keyframe has \(width) x \(height) pixels; "
                + "an image is made of at most \(CodedSize.maximumPixels)"
        case .unreadable: return "the keyframe has a header that cannot be read"
        }
    }

    /// Decodes, scales, turns upright and encodes; nil if the bytes are no frame.
    ///
    /// Blocks for up to a few seconds. Only in a process that does nothing else: decoders get what a peer sent.
    public static func jpeg(of keyframe: [UInt8], codec: MediaCodec, rotation: VideoRotation = .upright) -> [UInt8]? {
        guard let decoder = VideoDecoder.launch(codec) else { return nil }
        let format = codec == .h264 ? ",stream-format=byte-stream,alignment=au" : ""
        let (side, other) = rotation.isSideways ? ("height", "width") : ("width", "height")
        let size = "\(side)=\(Self.width),\(other)=[1,\(4 * Self.width)],pixel-aspect-ratio=1/1"
        let turn =
            switch rotation {
            case .upright: ""
            case .quarter: "! videoflip video-direction=90r "
            case .half: "! videoflip video-direction=180 "
            case .threeQuarters: "! videoflip video-direction=90l "
            }
        return Still.convert(
            keyframe,
            through: """
                appsrc name=in format=time caps="video/x-\(codec.rawValue)\(format)" ! \(decoder) \
                ! videoconvertscale ! video/x-raw,\(size) \(turn)! jpegenc quality=75 ! appsink name=out sync=false
                """,
            limit: Self.limit
        )
    }
}
