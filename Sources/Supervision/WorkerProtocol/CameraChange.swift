// SPDX-License-Identifier: Apache-2.0

/// What is changed of what we send while the call goes on; what is `nil` stays.
///
/// Encoded, it is the body of `PATCH /v1/rooms/{name}/camera`.
public struct CameraChange: Sendable, Hashable, Encodable {
    /// Another capture for pictures.
    public var video: String?
    /// Another capture for sound.
    public var audio: String?
    /// Values for parameters of the capture files; `nil` with another capture: none.
    public var parameters: [String: String]?
    /// Picture width in pixels.
    public var width: Int?
    /// Picture height in pixels.
    public var height: Int?
    /// Frames a second.
    public var framesPerSecond: Int?
    /// Video bits a second.
    public var bitsPerSecond: Int?
    /// Sound bits a second.
    public var audioBitsPerSecond: Int?
    /// Whether pictures are black.
    public var videoMuted: Bool?
    /// Whether there is silence.
    public var audioMuted: Bool?
    /// Whether the last picture stands still.
    public var frozen: Bool?

    /// Nothing is changed.
    public init() {}

    /// What is sent with the change.
    public func applied(to order: CameraOrder) -> CameraOrder {
        var changed = order
        changed.video = self.video ?? order.video
        changed.audio = self.audio ?? order.audio
        let isOther = changed.video != order.video || changed.audio != order.audio
        changed.parameters = self.parameters ?? (isOther ? nil : order.parameters)
        changed.width = self.width ?? order.width
        changed.height = self.height ?? order.height
        changed.framesPerSecond = self.framesPerSecond ?? order.framesPerSecond
        changed.bitsPerSecond = self.bitsPerSecond ?? order.bitsPerSecond
        // What is sent in any case cannot be more than all.
        changed.minimumBitsPerSecond = min(order.minimumBitsPerSecond, changed.bitsPerSecond)
        changed.audioBitsPerSecond = self.audioBitsPerSecond ?? order.audioBitsPerSecond
        changed.videoMuted = self.videoMuted ?? order.videoMuted
        changed.audioMuted = self.audioMuted ?? order.audioMuted
        changed.frozen = self.frozen ?? order.frozen
        return changed
    }
}
