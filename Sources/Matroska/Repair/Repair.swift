// SPDX-License-Identifier: Apache-2.0

internal import Basics

/// The changes that complete an unfinished file.
///
/// Apply in this order: truncate, append, patch.
public struct RepairPlan: Sendable, Hashable {
    /// The size of the file when it was looked at, in bytes.
    public var originalSize: UInt64
    /// The size to cut the file to: the end of its last whole block, or its size if nothing is to be cut.
    public var truncateTo: UInt64
    /// Goes to the end of the file after the cut.
    public var append: [UInt8]
    /// Go into places that exist already, in this order, after `append`.
    ///
    /// The Segment's size comes last: to be safe from power loss, sync the file before it.
    public var patches: [Patch]
    /// Whether there is nothing to do.
    public var isEmpty: Bool {
        self.truncateTo == self.originalSize && self.append.isEmpty && self.patches.isEmpty
    }
}

/// Completes files whose writer died.
public enum Repair {
    /// Whether the file was not finished: its Segment then states no size.
    ///
    /// Only its head is read.
    ///
    /// - Throws: `notMatroska`, `sourceFailed`.
    public static func isNeeded<S: Source>(_ source: S) throws(MatroskaError) -> Bool {
        try Reader(source).head.end == nil
    }

    /// Looks at a file and says what would complete it; changes nothing.
    ///
    /// A file whose Segment states a size that is there was finished: its plan is empty, and only its head is read.
    /// Otherwise all heads of blocks are read, the torn tail is cut off, what is damaged before it stays, and cues,
    /// duration and sizes are added as `Writer.finish()` would have done: for files of `Writer` the result is the same
    /// byte for byte. Files of other writers get as much as their head has room for. If applying a plan was
    /// interrupted, planning again finds the rest; after it was applied the next plan is empty.
    ///
    /// - Throws: `notMatroska` if the head of the file is torn (there is no block to save then), `sourceFailed`.
    public static func plan<S: Source>(_ source: S) throws(MatroskaError) -> RepairPlan {
        var reader = try Reader(source)
        let size = reader.window.count
        if let end = reader.head.end, end <= size {
            return RepairPlan(originalSize: size, truncateTo: size, append: [], patches: [])
        }
        let layout = try Self.layout(&reader)
        let scan = try Self.scan(&reader)

        var completion = layout.completion(index: scan.index, dataEnd: scan.dataEnd, hasCues: scan.hasCues)
        completion.patches = scan.clusterPatches + completion.patches
        var patches: [Patch] = []
        for patch in completion.patches {
            let existing = try reader.window.peek(offset: patch.offset, limit: patch.bytes.count)
            if !existing.elementsEqual(patch.bytes) { patches.append(patch) }
        }
        // A crash between appending and patching leaves cues that are right already.
        if size == scan.dataEnd + UInt64(completion.append.count),
            try reader.window.peek(offset: scan.dataEnd, limit: completion.append.count)
                .elementsEqual(completion.append)
        {
            return RepairPlan(originalSize: size, truncateTo: size, append: [], patches: patches)
        }
        return RepairPlan(
            originalSize: size,
            truncateTo: scan.dataEnd,
            append: completion.append,
            patches: patches
        )
    }

    private struct Scan {
        var index: SegmentIndex
        var clusterPatches: [Patch] = []
        /// The end of what stays.
        var dataEnd: UInt64
        var hasCues = false
    }

    /// Walks over all blocks.
    private static func scan<S: Source>(_ reader: inout Reader<S>) throws(MatroskaError) -> Scan {
        let scale = reader.info.timestampScaleNanoseconds
        var trackIndex: [Int: Int] = [:]
        for (index, track) in reader.tracks.enumerated() { trackIndex[track.number] = index }
        var scan = Scan(
            index: SegmentIndex(
                tracks: reader.tracks.map { ($0.number, $0.codec.kind == .video) },
                timestampScaleNanoseconds: scale
            ),
            dataEnd: reader.head.firstCluster
        )
        var cluster: Reader<S>.OpenCluster?
        var hasBlock = false
        var cuesBefore = reader.head.elements.contains { $0.id == ElementID.cues }
        while let event = try reader.nextEvent() {
            switch event {
            case .clusterOpened(let opened):
                cluster = opened
                hasBlock = false
            case .foreignBlock: hasBlock = true
            case .block(let block):
                hasBlock = true
                guard let cluster, let track = trackIndex[block.track] else { continue }
                scan.index.note(
                    track: track,
                    ticks: block.timeNanoseconds / Int64(scale),
                    isKeyframe: block.isKeyframe,
                    clusterStart: cluster.start,
                    relativePosition: block.offset - cluster.dataStart
                )
            case .clusterClosed(let end):
                if let cluster, hasBlock {
                    scan.dataEnd = end
                    scan.hasCues = cuesBefore
                    // A cluster with damage in it keeps its size: readers find the next one by it.
                    let isCut = cluster.end.map { $0 > reader.window.count } ?? true
                    if isCut, let patch = Self.sizePatch(cluster, end: end),
                        scan.clusterPatches.count < Writer.maximumClusterCount
                    {
                        scan.clusterPatches.append(patch)
                    }
                }
                cluster = nil
            case .passed(let id, let end):
                // Cues that an interrupted finish left at the end are replaced; all other elements of other writers
                // stay.
                if id == ElementID.cues {
                    cuesBefore = true
                } else if id != ElementID.void {
                    scan.dataEnd = end
                    scan.hasCues = cuesBefore
                }
            }
        }
        return scan
    }

    /// Gives a cluster its true size, if its size field has room for it.
    private static func sizePatch<S: Source>(_ cluster: Reader<S>.OpenCluster, end: UInt64) -> Patch? {
        let size = end - cluster.dataStart
        guard cluster.end != end, [UInt8].elementSizeWidth(size) <= cluster.sizeWidth else { return nil }
        var bytes: [UInt8] = []
        bytes.appendElementSize(size, width: cluster.sizeWidth)
        return Patch(offset: cluster.sizeOffset, bytes: bytes)
    }

    /// Finds the places that completing the file fills in.
    private static func layout<S: Source>(_ reader: inout Reader<S>) throws(MatroskaError) -> SegmentLayout {
        let head = reader.head
        var reserve: Range<UInt64>?
        for element in head.elements {
            guard element.id == ElementID.void || element.id == ElementID.seekHead else { break }
            reserve = (reserve?.lowerBound ?? element.offset)..<element.end
        }
        let listed = [ElementID.info, ElementID.tracks, ElementID.chapters, ElementID.tags, ElementID.attachments]
        var slot: UInt64?
        if let info = head.elements.first(where: { $0.id == ElementID.info }) {
            slot = try Self.durationSlot(&reader.window, content: info.contentOffset..<info.end)
        }
        return SegmentLayout(
            segmentSizeOffset: head.sizeOffset,
            segmentSizeWidth: head.sizeWidth,
            segmentDataStart: head.dataStart,
            seekReserve: reserve,
            durationSlot: slot,
            elements: head.elements.filter { listed.contains($0.id) }.map { ($0.id, $0.offset) }
        )
    }

    /// A Duration of 8 bytes, or a Void of the same size; nil if a checksum covers the information.
    private static func durationSlot<S: Source>(
        _ window: inout Window<S>,
        content: Range<UInt64>
    ) throws(MatroskaError) -> UInt64? {
        var slot: UInt64?
        var position = content.lowerBound
        while let element = try Reader<S>.element(&window, at: position, limit: content.upperBound),
            let end = element.end, end <= content.upperBound
        {
            if element.id == ElementID.crc32 { return nil }
            if element.id == ElementID.duration || (element.id == ElementID.void && slot == nil),
                end - position == UInt64(SegmentLayout.durationElementSize)
            {
                slot = position
            }
            position = end
        }
        return slot
    }
}
