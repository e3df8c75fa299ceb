// SPDX-License-Identifier: Apache-2.0

/// The parameter sets that a sender of H.264 has sent so far: the newest of each id.
///
/// A sender may state them in the description (`sprop-parameter-sets`, RFC 6184 section 8.1), send them once, in
/// separate access units, or before each keyframe, and replace them at any time (H.264 section 7.4.1.2.1).
public struct H264KnownSets: Sendable, Hashable {
    private struct PictureSet: Sendable, Hashable {
        var sequenceID: Int
        var bytes: [UInt8]
    }

    /// Bytes of all sets of one sender; those on top are not kept, and real ones have some hundred bytes.
    private static let mostBytes = 1 << 16

    private var sequence: [Int: [UInt8]] = [:]
    private var picture: [Int: PictureSet] = [:]
    private var bytes = 0
    private var newestPicture: Int?
    /// How often a set was added or replaced.
    public private(set) var changes: UInt64 = 0

    /// No sets.
    public init() {}

    /// Whether there are none.
    public var isEmpty: Bool { self.sequence.isEmpty && self.picture.isEmpty }

    /// Takes sets that came; sets that cannot be read are left out.
    public mutating func note(_ sets: H264ParameterSets) {
        for bytes in sets.sequence { self.noteSequence(bytes) }
        for bytes in sets.picture { self.notePicture(bytes) }
    }

    private mutating func noteSequence(_ bytes: [UInt8]) {
        guard bytes.first.map({ $0 & 0x1F }) == 7, let id = Self.ids(bytes, behind: 4, count: 1)?.first, id <= 31
        else { return }
        guard self.sequence[id] != bytes, self.takes(bytes, insteadOf: self.sequence[id]) else { return }
        self.sequence[id] = bytes
    }

    private mutating func notePicture(_ bytes: [UInt8]) {
        guard bytes.first.map({ $0 & 0x1F }) == 8, let ids = Self.ids(bytes, behind: 1, count: 2), ids[0] <= 255,
            ids[1] <= 31
        else { return }
        self.newestPicture = ids[0]
        let old = self.picture[ids[0]]?.bytes
        guard old != bytes, self.takes(bytes, insteadOf: old) else { return }
        self.picture[ids[0]] = PictureSet(sequenceID: ids[1], bytes: bytes)
    }

    private mutating func takes(_ bytes: [UInt8], insteadOf old: [UInt8]?) -> Bool {
        let total = self.bytes + bytes.count - (old?.count ?? 0)
        guard total <= Self.mostBytes else { return false }
        self.bytes = total
        self.changes &+= 1
        return true
    }

    /// The numbers at the beginning of a set (H.264 sections 7.3.2.1.1 and 7.3.2.2), after this many bytes.
    private static func ids(_ bytes: [UInt8], behind offset: Int, count: Int) -> [Int]? {
        guard bytes.count > offset else { return nil }
        return bytes.withUnsafeBytes { bytes in
            var bits = BitReader(UnsafeRawBufferPointer(rebasing: bytes.dropFirst(offset).prefix(8)))
            var ids: [Int] = []
            for _ in 0..<count {
                guard let id = bits.readUnsignedExpGolomb() else { return nil }
                ids.append(Int(id))
            }
            return ids
        }
    }

    /// The sets that a frame needs for its PPS, or the newest ones if it does not name one; nil if
    /// they are not known.
    public func needed(pictureSetID: Int?) -> H264ParameterSets? {
        guard let picture = (pictureSetID ?? self.newestPicture).flatMap({ self.picture[$0] }),
            let sequence = self.sequence[picture.sequenceID]
        else { return nil }
        return H264ParameterSets(sequence: [sequence], picture: [picture.bytes])
    }

    /// All that one file can begin with, those that its first frame needs in front; nil if they are not known.
    public func all(pictureSetID: Int?) -> H264ParameterSets? {
        guard var sets = self.needed(pictureSetID: pictureSetID) else { return nil }
        for id in self.sequence.keys.sorted() {
            guard let bytes = self.sequence[id], !sets.sequence.contains(bytes) else { continue }
            sets.sequence.append(bytes)
        }
        for id in self.picture.keys.sorted() {
            guard let set = self.picture[id], !sets.picture.contains(set.bytes), self.sequence[set.sequenceID] != nil
            else { continue }
            sets.picture.append(set.bytes)
        }
        sets.sequence = Array(sets.sequence.prefix(H264.maximumParameterSets))
        sets.picture = Array(sets.picture.prefix(H264.maximumParameterSets))
        return sets
    }

    /// Those that another one lacks, or has in another version.
    public func lacking(in other: H264KnownSets) -> H264ParameterSets {
        H264ParameterSets(
            sequence: self.sequence.keys.sorted().compactMap { id in
                self.sequence[id].flatMap { other.sequence[id] == $0 ? nil : $0 }
            },
            picture: self.picture.keys.sorted().compactMap { id in
                self.picture[id].flatMap { other.picture[id] == $0 ? nil : $0.bytes }
            }
        )
    }
}
