// SPDX-License-Identifier: Apache-2.0

public import Basics

/// The decoders of video for files and images.
public enum VideoDecoder {
    /// Whether this host decodes H.264 with ffmpeg's library; without it OpenH264 does, which knows fewer profiles.
    ///
    /// After `Runtime.initialise()`.
    public static var hasFFmpeg: Bool { Runtime.missingElements(["avdec_h264"]).isEmpty }

    /// From frames to images, in the syntax of gst-launch; nil for audio.
    ///
    /// Each has one thread: more keep frames back, and on a large host those of many tracks need gigabytes of address space.
    public static func launch(_ codec: MediaCodec) -> String? {
        switch codec {
        case .vp8: "vp8dec threads=1"
        case .vp9: "vp9dec threads=1"
        case .h264: "h264parse ! \(Self.hasFFmpeg ? "avdec_h264 max-threads=1" : "openh264dec")"
        case .opus, .pcmu, .pcma: nil
        }
    }
}
