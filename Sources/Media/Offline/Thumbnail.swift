// SPDX-License-Identifier: Apache-2.0

public import Codecs
internal import GStreamer

/// A small JPEG image of a keyframe.
public enum Thumbnail {
    /// Width in pixels; the height keeps the picture's shape.
    public static let width = 320
    private static let limit = Duration.seconds(3)

    /// Decodes, scales and encodes; nil if the bytes are no picture.
    ///
    /// Blocks for up to a few seconds: a thread of its own, never one of media.
    public static func jpeg(of keyframe: [UInt8], codec: MediaCodec) -> [UInt8]? {
        let decoder: String
        switch codec {
        case .vp8: decoder = "appsrc name=in format=time caps=video/x-vp8 ! vp8dec"
        case .vp9: decoder = "appsrc name=in format=time caps=video/x-vp9 ! vp9dec"
        case .h264:
            let element = Runtime.missingElements(["avdec_h264"]).isEmpty ? "avdec_h264" : "openh264dec"
            decoder = """
                appsrc name=in format=time caps="video/x-h264,stream-format=byte-stream,alignment=au" ! h264parse \
                ! \(element)
                """
        case .opus, .pcmu, .pcma: return nil
        }
        return Still.convert(
            keyframe,
            through: """
                \(decoder) ! videoconvertscale ! video/x-raw,width=\(Self.width),pixel-aspect-ratio=1/1 \
                ! jpegenc quality=75 ! appsink name=out sync=false
                """,
            limit: Self.limit
        )
    }
}
