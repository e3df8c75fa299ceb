// SPDX-License-Identifier: Apache-2.0

public import Basics

/// Counts the units of a track that end as end-to-end encryption leaves them, whatever their codec.
///
/// Jitsi, LiveKit and apps built on them encrypt a unit behind its first bytes and append four things: a tag of 16
/// bytes, the 12 bytes of an initialisation vector that no other unit has, the number 12, and the number of the key. A
/// unit is counted in a row of at least 10 such units with the same key, which chance does not make.
public struct SealedUnits: Sendable {
    private static let (tagSize, vectorSize, leastRow) = (16, 12, 10)

    /// The counted units.
    public private(set) var count = 0
    private var row = 0
    private var key: UInt8 = 0
    private var vector: UInt64 = 0

    /// Counts nothing yet.
    public init() {}

    /// Looks at the track's next unit, whose bytes are only read during the call.
    public mutating func note(_ unit: UnsafeRawBufferPointer, _ codec: MediaCodec) {
        guard let end = Self.end(of: unit, codec) else {
            self.row = 0
            return
        }
        let isNext = self.row > 0 && end.key == self.key && end.vector != self.vector
        self.row = isNext ? self.row + 1 : 1
        (self.key, self.vector) = end
        if self.row >= Self.leastRow { self.count += self.row == Self.leastRow ? Self.leastRow : 1 }
    }

    /// The number of the key, and the part of the vector that differs from unit to unit.
    private static func end(of unit: UnsafeRawBufferPointer, _ codec: MediaCodec) -> (key: UInt8, vector: UInt64)? {
        var (end, key) = (unit.count - 1, unit.last ?? 0)
        // A NAL unit does not end with zeros (H.264 section 7.4.1): key 0 is missing.
        if codec == .h264, key == Self.vectorSize { (end, key) = (unit.count, 0) }
        guard end > Self.tagSize + Self.vectorSize + 1, unit[end - 1] == Self.vectorSize else { return nil }
        return (key, unit.loadUnaligned(fromByteOffset: end - 9, as: UInt64.self))
    }
}
