// SPDX-License-Identifier: Apache-2.0

/// Bytes that replace others of the same number in a file.
public struct Patch: Sendable, Hashable {
    /// Where they go, from the start of the file.
    public var offset: UInt64
    /// The new bytes.
    public var bytes: [UInt8]

    /// A patch with each part given.
    public init(offset: UInt64, bytes: [UInt8]) {
        self.offset = offset
        self.bytes = bytes
    }
}

/// Where the places are that completing a file fills in.
struct SegmentLayout: Sendable {
    /// Where the Segment's size field is, and its width in bytes.
    var segmentSizeOffset: UInt64
    var segmentSizeWidth: Int
    /// Where the Segment's content begins: the origin of SeekHead and cue positions.
    var segmentDataStart: UInt64
    /// Void or earlier SeekHead that a new SeekHead may fill.
    var seekReserve: Range<UInt64>?
    /// 11 bytes in Info for the Duration element.
    var durationSlot: UInt64?
    /// Top-level elements before the clusters, for the SeekHead.
    var elements: [(id: UInt32, offset: UInt64)]

    /// The SeekHead of five entries takes 110 bytes; what is left stays Void.
    static let seekReserveSize = 128
    static let durationElementSize = 11

    /// The changes that complete a segment whose clusters end at `dataEnd`.
    ///
    /// The Segment size is the last patch. No cues are appended if the file has them elsewhere. Chapters go between
    /// the clusters and the cues. It lasts at least `leastTicks`.
    func completion(
        index: SegmentIndex,
        dataEnd: UInt64,
        leastTicks: Int64 = 0,
        hasCues: Bool = false,
        chapters: [Chapter] = []
    ) -> (append: [UInt8], patches: [Patch]) {
        var append: [UInt8] = []
        if !chapters.isEmpty { HeaderEncoding.appendChapters(chapters, to: &append) }
        let cuesOffset = dataEnd + UInt64(append.count)
        let cues = hasCues ? [] : self.cues(index)
        append += cues
        var patches: [Patch] = []
        let endTicks = max(index.endTicks, leastTicks)
        if let slot = self.durationSlot, endTicks > 0 {
            var bytes: [UInt8] = []
            bytes.appendFloat(ElementID.duration, Double(endTicks))
            patches.append(Patch(offset: slot, bytes: bytes))
        }
        if let reserve = self.seekReserve {
            var entries = self.elements
            if !chapters.isEmpty { entries.append((ElementID.chapters, dataEnd)) }
            if !cues.isEmpty { entries.append((ElementID.cues, cuesOffset)) }
            if let bytes = self.seekHead(entries, total: Int(clamping: reserve.upperBound - reserve.lowerBound)) {
                patches.append(Patch(offset: reserve.lowerBound, bytes: bytes))
            }
        }
        let size = dataEnd + UInt64(append.count) - self.segmentDataStart
        if [UInt8].elementSizeWidth(size) <= self.segmentSizeWidth {
            var bytes: [UInt8] = []
            bytes.appendElementSize(size, width: self.segmentSizeWidth)
            patches.append(Patch(offset: self.segmentSizeOffset, bytes: bytes))
        }
        return (append, patches)
    }

    /// Cues in order of time (RFC 9559 section 5.1.5); nothing at all without a cue.
    private func cues(_ index: SegmentIndex) -> [UInt8] {
        guard !index.cues.isEmpty else { return [] }
        let sorted = index.cues.sorted { ($0.ticks, $0.clusterStart) < ($1.ticks, $1.clusterStart) }
        var points: [UInt8] = []
        points.reserveCapacity(sorted.count * 32)
        for cue in sorted {
            points.appendMaster(ElementID.cuePoint) { point in
                point.appendUnsigned(ElementID.cueTime, cue.ticks)
                point.appendMaster(ElementID.cueTrackPositions) { positions in
                    positions.appendUnsigned(ElementID.cueTrack, UInt64(cue.trackNumber))
                    positions.appendUnsigned(
                        ElementID.cueClusterPosition,
                        cue.clusterStart - self.segmentDataStart
                    )
                    positions.appendUnsigned(ElementID.cueRelativePosition, UInt64(cue.relativePosition))
                }
            }
        }
        var bytes: [UInt8] = []
        bytes.appendBinary(ElementID.cues, points)
        return bytes
    }

    /// A SeekHead and a Void that together take `total` bytes; nil if they do not fit.
    private func seekHead(_ entries: [(id: UInt32, offset: UInt64)], total: Int) -> [UInt8]? {
        var bytes = Self.seekHead(entries, origin: self.segmentDataStart, sizeWidth: nil)
        // One byte cannot hold a Void: a wider size field takes it.
        if total - bytes.count == 1 { bytes = Self.seekHead(entries, origin: self.segmentDataStart, sizeWidth: 2) }
        let rest = total - bytes.count
        guard rest >= 0, rest != 1 else { return nil }
        if rest > 0 { bytes.appendVoid(total: rest) }
        return bytes
    }

    private static func seekHead(
        _ entries: [(id: UInt32, offset: UInt64)],
        origin: UInt64,
        sizeWidth: Int?
    ) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.appendMaster(ElementID.seekHead, sizeWidth: sizeWidth) { head in
            for entry in entries where entry.offset >= origin {
                head.appendMaster(ElementID.seek) { seek in
                    var id: [UInt8] = []
                    id.appendElementID(entry.id)
                    seek.appendBinary(ElementID.seekID, id)
                    seek.appendUnsigned(ElementID.seekPosition, entry.offset - origin, minimumWidth: 8)
                }
            }
        }
        return bytes
    }
}
