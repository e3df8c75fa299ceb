// SPDX-License-Identifier: Apache-2.0

/// Where one coded unit is in a file, without its bytes.
public struct BlockHead: Sendable, Hashable {
    /// The number of its track.
    public var track: Int
    /// When it is shown, in nanoseconds from the file's time zero; may be negative in files of other writers.
    public var timeNanoseconds: Int64
    /// Whether a decoder can start here; always true for audio.
    public var isKeyframe: Bool
    /// Whether no other unit refers to it.
    public var isDiscardable: Bool
    /// Where its SimpleBlock or BlockGroup element begins, in bytes from the start of the file.
    public var offset: UInt64
    /// Where its payload begins.
    public var payloadOffset: UInt64
    /// How many bytes the payload has.
    public var payloadSize: Int
}

/// One coded unit of a file.
public struct Block: Sendable, Hashable {
    /// The number of its track.
    public var track: Int
    /// When it is shown, in nanoseconds from the file's time zero; may be negative in files of other writers.
    public var timeNanoseconds: Int64
    /// Whether a decoder can start here; always true for audio.
    public var isKeyframe: Bool
    /// Whether no other unit refers to it.
    public var isDiscardable: Bool
    /// The coded unit.
    public var payload: [UInt8]
    /// Where its SimpleBlock or BlockGroup element begins, in bytes from the start of the file.
    public var offset: UInt64

    /// A unit of which head and bytes are known.
    public init(_ head: BlockHead, payload: [UInt8]) {
        self.track = head.track
        self.timeNanoseconds = head.timeNanoseconds
        self.isKeyframe = head.isKeyframe
        self.isDiscardable = head.isDiscardable
        self.payload = payload
        self.offset = head.offset
    }
}

/// A track in a codec that this module does not know; its blocks are passed over.
public struct UnsupportedTrack: Sendable, Hashable {
    /// The number that its blocks carry.
    public var number: Int
    /// Its CodecID.
    public var codecID: String
}
