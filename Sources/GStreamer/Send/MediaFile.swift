// SPDX-License-Identifier: Apache-2.0

internal import CGStreamer
internal import CTapedeck

/// Contents of a media file that can be played here.
public struct MediaFile: Sendable, Hashable {
    /// Whether there is moving video.
    public var hasVideo: Bool
    /// Whether there is audio.
    public var hasAudio: Bool
    /// Whether the only video is still images.
    public var isStill: Bool

    /// Looks into a file with the demuxer and the decoders that would play it.
    ///
    /// Blocks for 15 s at most; any thread that may.
    /// - Throws: why it cannot be played.
    public init(inspecting path: String) throws(GStreamerError) {
        try Runtime.initialise()
        var facts = CTapedeckMediaFacts()
        if let text = CTapedeck_inspect_media(path, &facts) {
            defer { g_free(text) }
            throw GStreamerError(.parse, String(cString: text))
        }
        self.hasVideo = facts.has_video
        self.hasAudio = facts.has_audio
        self.isStill = facts.is_still
    }
}
