// SPDX-License-Identifier: Apache-2.0

internal import Basics

extension Reader {
    /// An event of the walk over a segment.
    enum Event {
        /// A cluster begins.
        case clusterOpened(OpenCluster)
        /// A whole block of a track that we know, or one frame of a laced block.
        case block(BlockHead)
        /// A whole block of another track.
        case foreignBlock
        /// The cluster that was open ends before this offset.
        case clusterClosed(end: UInt64)
        /// A whole element outside the clusters.
        case passed(id: UInt32, end: UInt64)
    }

    /// The end of what may be looked at.
    var limit: UInt64 { min(self.head.end ?? self.window.count, self.window.count) }

    /// Advances to the next event; nil once the walk is over.
    ///
    /// Each step moves on by at least two bytes, or over damage.
    mutating func nextEvent() throws(MatroskaError) -> Event? {
        if let frame = self.lace.popLast() { return .block(frame) }
        while !self.isOver {
            let event = self.cluster == nil ? try self.stepBetweenClusters() : try self.stepInCluster()
            if let event { return event }
        }
        return nil
    }

    private mutating func stepBetweenClusters() throws(MatroskaError) -> Event? {
        let start = self.position
        guard start < self.limit else {
            // Nothing belongs behind the Segment.
            if self.limit < self.window.count { return self.endTorn(at: self.limit) }
            self.isOver = true
            return nil
        }
        guard let element = try Self.element(&self.window, at: start, limit: self.limit),
            element.id != ElementID.ebml, element.id != ElementID.segment
        else { return try self.tear(at: start) }
        guard element.id == ElementID.cluster else {
            guard let end = element.end, try self.isBelievable(element.id, end: end, inCluster: false) else {
                return try self.tear(at: start)
            }
            try self.takeDescription(element, end: end)
            self.position = end
            return .passed(id: element.id, end: end)
        }
        let cluster = OpenCluster(
            start: start,
            sizeOffset: element.sizeOffset,
            sizeWidth: element.sizeWidth,
            dataStart: element.contentOffset,
            end: element.end
        )
        self.cluster = cluster
        self.position = element.contentOffset
        return .clusterOpened(cluster)
    }

    /// Chapters and tags behind the clusters; those in the head are known already.
    private mutating func takeDescription(_ element: Element, end: UInt64) throws(MatroskaError) {
        let size = end - element.contentOffset
        guard size <= Self.maximumDescriptionSize else { return }
        switch element.id {
        case ElementID.chapters where self.chapters.isEmpty:
            let content = try self.window.peek(offset: element.contentOffset, limit: Int(size))
            self.chapters = HeaderDecoding.chapters(content)
        case ElementID.tags where self.tags.isEmpty:
            let content = try self.window.peek(offset: element.contentOffset, limit: Int(size))
            self.tags = HeaderDecoding.tags(content)
        default: break
        }
    }

    private mutating func stepInCluster() throws(MatroskaError) -> Event? {
        guard let cluster = self.cluster else { return nil }
        let start = self.position
        let limit = min(cluster.end ?? self.limit, self.limit)
        guard start < limit else {
            // Cut between the head of the cluster and its first block: the head alone is worth nothing.
            if !cluster.hasBlock, limit == self.window.count, cluster.end != limit { return try self.tear(at: start) }
            return self.closeCluster(end: start)
        }
        let bytes = try self.window.peek(
            offset: start,
            limit: Int(min(UInt64(ElementHead.maximumLength), limit - start))
        )
        guard let head = ElementHead(bytes) else { return try self.tear(at: start) }
        if ElementID.endsCluster(head.id) {
            // A cluster of known size cannot hold a top element: its size, or this id, is damaged.
            return cluster.end == nil ? self.closeCluster(end: start) : try self.tear(at: start)
        }
        let content = start + UInt64(head.length)
        guard let size = head.size, size <= limit - min(content, limit) else { return try self.tear(at: start) }
        let end = content + size
        switch head.id {
        case ElementID.timestamp:
            guard size <= 8, let ticks = try self.window.peek(offset: content, limit: Int(size)).ebmlUnsigned,
                ticks <= UInt64(Int64.max) / 2 / self.info.timestampScaleNanoseconds
            else { return try self.tear(at: start) }
            self.cluster?.ticks = ticks
            self.position = end
            return nil
        case ElementID.simpleBlock:
            return try self.takeBlock(element: start, content: content..<end, end: end, group: nil)
        case ElementID.blockGroup:
            return try self.takeGroup(element: start, content: content..<end)
        default:
            guard try self.isBelievable(head.id, end: end, inCluster: true) else { return try self.tear(at: start) }
            self.position = end
            return nil
        }
    }

    private mutating func closeCluster(end: UInt64) -> Event {
        self.cluster = nil
        return .clusterClosed(end: end)
    }

    /// Treats the data at an offset as damage: the walk continues at the next cluster, or is over if there is none.
    private mutating func tear(at offset: UInt64) throws(MatroskaError) -> Event? {
        guard let next = try self.nextCluster(from: offset) else { return self.endTorn(at: offset) }
        let start = self.tornStart(offset)
        self.damage.note(DamagedRange(offset: start, end: next, startNanoseconds: self.lastNanoseconds))
        self.position = next
        return self.cluster == nil ? nil : self.closeCluster(end: offset)
    }

    /// Ends the walk.
    private mutating func endTorn(at offset: UInt64) -> Event? {
        self.isOver = true
        self.tornTailOffset = self.tornStart(offset)
        return self.cluster == nil ? nil : self.closeCluster(end: offset)
    }

    /// Where what is torn at an offset begins: a cluster without a whole block is torn from its start.
    private func tornStart(_ offset: UInt64) -> UInt64 {
        self.cluster.flatMap { $0.hasBlock ? nil : $0.start } ?? offset
    }

    private struct Group {
        var hasReference = false
        var durationTicks: UInt64?
    }

    /// Finds the Block in a BlockGroup and what the group says about it (RFC 9559 section 5.1.3.5).
    private mutating func takeGroup(element: UInt64, content: Range<UInt64>) throws(MatroskaError) -> Event? {
        var group = Group()
        var block: Range<UInt64>?
        var position = content.lowerBound
        while position < content.upperBound {
            guard let child = try Self.element(&self.window, at: position, limit: content.upperBound),
                let end = child.end, end <= content.upperBound
            else { return try self.tear(at: element) }
            switch child.id {
            case ElementID.block: block = child.contentOffset..<end
            case ElementID.referenceBlock: group.hasReference = true
            case ElementID.blockDuration where end - child.contentOffset <= 8:
                group.durationTicks =
                    try self.window.peek(offset: child.contentOffset, limit: Int(end - child.contentOffset))
                    .ebmlUnsigned
            default: break
            }
            position = end
        }
        guard let block else { return try self.tear(at: element) }
        return try self.takeBlock(element: element, content: block, end: content.upperBound, group: group)
    }

    /// Decodes the head of a block (RFC 9559 section 10.1) and splits laces.
    private mutating func takeBlock(
        element: UInt64,
        content: Range<UInt64>,
        end: UInt64,
        group: Group?
    ) throws(MatroskaError) -> Event? {
        let size = content.upperBound - content.lowerBound
        let start = try self.window.peek(offset: content.lowerBound, limit: Int(min(size, 11)))
        guard size <= UInt64(Writer.maximumPayloadSize) + 11, let clusterTicks = self.cluster?.ticks,
            let number = VariableInteger(start), number.value > 0, start.count >= number.width + 3
        else { return try self.tear(at: element) }
        let fields = start.dropFirst(number.width)
        let relative = Int16(truncatingIfNeeded: fields.prefix(2).reduce(0) { $0 << 8 | Int($1) })
        let flags = fields[fields.startIndex + 2]
        let payloadOffset = content.lowerBound + UInt64(number.width + 3)
        let payloadSize = Int(content.upperBound - payloadOffset)
        guard let track = Int(exactly: number.value), let walk = self.walkTracks[track] else {
            self.cluster?.hasBlock = true
            self.position = end
            return .foreignBlock
        }
        // Cannot overflow: the cluster's time is at most half of what fits, see above.
        let scale = Int64(self.info.timestampScaleNanoseconds)
        var head = BlockHead(
            track: track,
            timeNanoseconds: (Int64(clusterTicks) + Int64(relative)) * scale,
            isKeyframe: walk.codec.kind == .audio || (group.map { !$0.hasReference } ?? (flags & 0x80 != 0)),
            isDiscardable: group == nil && flags & 0x01 != 0,
            offset: element,
            payloadOffset: payloadOffset,
            payloadSize: payloadSize
        )
        if flags & 0x06 != 0 {
            let payload = try self.window.peek(offset: payloadOffset, limit: payloadSize)
            guard let frames = Lacing.frames(flags: flags, content: payload) else {
                self.search.bytes -= min(self.search.bytes, UInt64(payloadSize))
                return try self.tear(at: element)
            }
            var heads: [BlockHead] = []
            for frame in frames {
                head.payloadOffset = payloadOffset + UInt64(frame.lowerBound - payload.startIndex)
                head.payloadSize = frame.count
                heads.append(head)
                head.timeNanoseconds += Self.duration(
                    of: payload[frame],
                    track: walk,
                    group: group,
                    count: frames.count,
                    scale: scale
                )
            }
            self.lace = heads.reversed()
            head = self.lace.popLast() ?? head
        }
        self.cluster?.hasBlock = true
        self.position = end
        self.delivered(head)
        return .block(head)
    }

    private mutating func delivered(_ head: BlockHead) {
        self.damage.goesOn(at: head.timeNanoseconds)
        self.lastNanoseconds = max(self.lastNanoseconds ?? head.timeNanoseconds, head.timeNanoseconds)
    }

    /// Duration of one frame of a lace, in nanoseconds; zero if unknown.
    ///
    /// Only sums of laces use it.
    private static func duration(
        of frame: ArraySlice<UInt8>,
        track: WalkTrack,
        group: Group?,
        count: Int,
        scale: Int64
    ) -> Int64 {
        guard count > 1 else { return 0 }
        if let duration = track.defaultDurationNanoseconds { return duration }
        if let ticks = group?.durationTicks, ticks <= 3_600_000_000_000 / UInt64(scale) {
            return Int64(ticks) * scale / Int64(count)
        }
        return frame.withUnsafeBytes { Bitstream.inspect(track.codec, $0)?.durationNanoseconds ?? 0 }
    }
}
