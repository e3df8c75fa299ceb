// SPDX-License-Identifier: Apache-2.0

/// The pipeline files that are part of the program.
public enum BundledPipelines {
    /// A file as it was when the program was built.
    public struct File: Sendable, Hashable {
        /// Its folder: `capture`, `encode` or `output`.
        public var folder: String
        /// Its name without `.yaml`.
        public var name: String
        /// Its text.
        public var text: String

        fileprivate init(_ folder: String, _ name: String, _ bytes: [UInt8]) {
            self.folder = folder
            self.name = name
            self.text = String(decoding: bytes, as: UTF8.self)
        }
    }

    /// Every file.
    public static var files: [File] {
        [
            File("capture", "alsa", PackageResources.alsa_yaml),
            File("capture", "file", PackageResources.file_yaml),
            File("capture", "image", PackageResources.image_yaml),
            File("capture", "rtp", PackageResources.rtp_yaml),
            File("capture", "rtsp", PackageResources.rtsp_yaml),
            File("capture", "screen", PackageResources.screen_yaml),
            File("capture", "slate", PackageResources.slate_yaml),
            File("capture", "test", PackageResources.test_yaml),
            File("capture", "v4l2", PackageResources.v4l2_yaml),
            File("encode", "nvh264enc", PackageResources.nvh264enc_yaml),
            File("encode", "openh264enc", PackageResources.openh264enc_yaml),
            File("encode", "opusenc", PackageResources.opusenc_yaml),
            File("encode", "v4l2h264enc", PackageResources.v4l2h264enc_yaml),
            File("encode", "vah264enc", PackageResources.vah264enc_yaml),
            File("encode", "vp8enc", PackageResources.vp8enc_yaml),
            File("encode", "vp9enc", PackageResources.vp9enc_yaml),
            File("encode", "x264enc", PackageResources.x264enc_yaml),
            File("output", "hls", PackageResources.hls_yaml),
            File("output", "rtmp", PackageResources.rtmp_yaml),
            File("output", "shm", PackageResources.shm_yaml),
            File("output", "srt", PackageResources.srt_yaml),
            File("output", "v4l2loopback", PackageResources.v4l2loopback_yaml),
        ]
    }
}
