// SPDX-License-Identifier: Apache-2.0

/// A part of a coded keyframe; the parts of one follow each other in order.
public struct KeyframePart: Sendable, Hashable, Codable {
    /// A keyframe of more bytes is not sent: an image is made of none.
    public static let maximumKeyframeBytes = 4 << 20
    /// The longest part, which fits into a line in base64.
    public static let maximumBytes = 512 << 10

    /// The name of the codec.
    public var codec: String
    /// The size of the whole keyframe.
    public var keyframeBytes: Int
    /// The bytes of this part.
    public var base64: String
    /// By how many degrees the image is turned clockwise: 0, 90, 180 or 270.
    public var rotation: Int

    /// A part with each value given.
    public init(codec: String, keyframeBytes: Int, base64: String, rotation: Int = 0) {
        self.codec = codec
        self.keyframeBytes = keyframeBytes
        self.base64 = base64
        self.rotation = rotation
    }
}
