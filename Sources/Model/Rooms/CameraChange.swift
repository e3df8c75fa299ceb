// SPDX-License-Identifier: Apache-2.0

/// What is changed of what we send during the call; what is `nil` stays.
///
/// Encoded, it is the body of `PATCH /v1/rooms/{name}/camera`.
public struct CameraChange: Sendable, Hashable, Encodable {
    /// Another capture for video.
    public var video: MediaSource?
    /// Another capture for audio.
    public var audio: MediaSource?
    /// Values for parameters of the capture files; `nil` with another capture: none.
    public var parameters: [String: String]?
    /// Video width in pixels.
    public var width: Int?
    /// Video height in pixels.
    public var height: Int?
    /// Frames a second.
    public var framesPerSecond: Int?
    /// Video bits a second.
    public var bitsPerSecond: Int?
    /// Audio bits a second.
    public var audioBitsPerSecond: Int?
    /// Whether the video is black.
    public var isVideoMuted: Bool?
    /// Whether there is silence.
    public var isAudioMuted: Bool?
    /// Whether the last frame stands still.
    public var isFrozen: Bool?

    private enum CodingKeys: String, CodingKey {
        case video, audio, parameters, width, height, framesPerSecond, bitsPerSecond, audioBitsPerSecond
        case isVideoMuted = "videoMuted", isAudioMuted = "audioMuted", isFrozen = "frozen"
    }

    /// Nothing is changed.
    public init() {}

    /// What is sent with the change.
    public func applied(to order: SendSpec) -> SendSpec {
        var changed = order
        changed.video = self.video ?? order.video
        changed.audio = self.audio ?? order.audio
        let isOther = changed.video != order.video || changed.audio != order.audio
        changed.parameters = self.parameters ?? (isOther ? [:] : order.parameters)
        changed.width = self.width ?? order.width
        changed.height = self.height ?? order.height
        changed.framesPerSecond = self.framesPerSecond ?? order.framesPerSecond
        changed.bitsPerSecond = self.bitsPerSecond ?? order.bitsPerSecond
        // What is sent in any case cannot be more than all.
        changed.minimumBitsPerSecond = min(order.minimumBitsPerSecond, changed.bitsPerSecond)
        changed.audioBitsPerSecond = self.audioBitsPerSecond ?? order.audioBitsPerSecond
        changed.isVideoMuted = self.isVideoMuted ?? order.isVideoMuted
        changed.isAudioMuted = self.isAudioMuted ?? order.isAudioMuted
        changed.isFrozen = self.isFrozen ?? order.isFrozen
        return changed
    }
}
