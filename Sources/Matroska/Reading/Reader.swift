// SPDX-License-Identifier: Apache-2.0

internal import Basics

/// Reads a Matroska or WebM file block by block, also one that is cut off or still being written.
///
/// Takes clusters of known and unknown size, simple blocks and block groups, and all kinds of lacing. Behind bytes that make
/// no sense it continues at the next cluster, and says what it passed over; where no cluster follows it stops, and says
/// where. Reads 256 kB at a time and keeps no more, whatever the file's size. Never traps, whatever the bytes.
///
/// Blocks come in file order. A value type: one thread at a time; reading blocks the caller.
public struct Reader<S: Source> {
    /// Properties of the whole file.
    public private(set) var info: SegmentInfo
    /// The tracks whose codec we know, in file order.
    ///
    /// Track numbers and uids may be any in files of other writers.
    public let tracks: [Track]
    /// The tracks whose blocks are passed over.
    public let unsupportedTracks: [UnsupportedTrack]
    /// The chapters found so far: those before the clusters at once, those behind when the walk is over.
    public internal(set) var chapters: [Chapter] = []
    /// The tags found so far, as with `chapters`.
    public internal(set) var tags: [Tag] = []
    /// The duration that the file states; nil while it is being written, or after a crash.
    public let durationNanoseconds: Int64?
    /// The first byte behind the last whole block that makes no sense; known once the walk is over, nil if nothing is torn.
    public internal(set) var tornTailOffset: UInt64?
    /// Parts skipped so far because they make no sense.
    public internal(set) var damage = Damage()

    /// Where the Segment ends as its size says, perhaps beyond the file's end; nil if that is unknown.
    ///
    /// A file that is cut between two blocks has no torn tail: only this value reveals the cut.
    public var statedEnd: UInt64? { self.head.end }

    var window: Window<S>
    let head: SegmentHead
    /// Track number to what the walk needs of the track.
    let walkTracks: [Int: WalkTrack]
    var position: UInt64
    var isOver = false
    var cluster: OpenCluster?
    /// Frames of a laced block that are not delivered yet, the next one last.
    var lace: [BlockHead] = []
    var search = SearchBudget()
    /// The latest time of a block so far.
    var lastNanoseconds: Int64?

    struct WalkTrack {
        var codec: MediaCodec
        var defaultDurationNanoseconds: Int64?
    }

    /// The top elements before the clusters, for repair.
    struct SegmentHead {
        struct Element {
            var id: UInt32
            var offset: UInt64
            var end: UInt64
            var contentOffset: UInt64
        }

        var sizeOffset: UInt64
        var sizeWidth: Int
        var dataStart: UInt64
        /// Where the Segment ends as its size says; nil if that is unknown.
        var end: UInt64?
        var elements: [Element] = []
        /// Where the walk over clusters begins.
        var firstCluster: UInt64 = 0
    }

    struct OpenCluster {
        var start: UInt64
        var sizeOffset: UInt64
        var sizeWidth: Int
        var dataStart: UInt64
        /// Where it ends as its size says; nil if that is unknown.
        var end: UInt64?
        var ticks: UInt64?
        var hasBlock = false
    }

    /// Descriptions larger than this are taken for damage, in bytes.
    static var maximumDescriptionSize: UInt64 { 16 << 20 }
    private static var maximumHeadElements: Int { 1_000 }

    /// Reads the head of the file up to the first cluster.
    ///
    /// - Throws: `notMatroska` if the head or the tracks are missing or torn, `sourceFailed`.
    public init(_ source: S) throws(MatroskaError) {
        var window = Window(source)
        var head = try Self.segmentHead(&window)
        var info: (info: SegmentInfo, durationTicks: Double?)?
        var tracks: (known: [HeaderDecoding.Entry], unsupported: [UnsupportedTrack])?
        var chapters: [Chapter] = []
        var tags: [Tag] = []
        var position = head.dataStart
        let limit = min(head.end ?? window.count, window.count)
        while head.elements.count < Self.maximumHeadElements {
            guard let element = try Self.element(&window, at: position, limit: limit),
                element.id != ElementID.cluster, let end = element.end,
                try Self.isBelievable(element.id, end: end, stop: limit, inCluster: false, &window)
            else { break }
            let content: ArraySlice<UInt8>
            switch element.id {
            case ElementID.info, ElementID.tracks, ElementID.chapters, ElementID.tags:
                guard end - element.contentOffset <= Self.maximumDescriptionSize else {
                    throw MatroskaError(.notMatroska, "the description of the file is too large", offset: position)
                }
                content = try window.peek(
                    offset: element.contentOffset,
                    limit: Int(end - element.contentOffset)
                )
            default: content = []
            }
            switch element.id {
            case ElementID.info:
                info = HeaderDecoding.info(content)
                guard info != nil else {
                    throw MatroskaError(.notMatroska, "the timestamp scale makes no sense", offset: position)
                }
            case ElementID.tracks where tracks == nil: tracks = HeaderDecoding.tracks(content)
            case ElementID.chapters where chapters.isEmpty: chapters = HeaderDecoding.chapters(content)
            case ElementID.tags where tags.isEmpty: tags = HeaderDecoding.tags(content)
            default: break
            }
            head.elements.append(
                .init(id: element.id, offset: position, end: end, contentOffset: element.contentOffset)
            )
            position = end
        }
        guard let tracks else {
            throw MatroskaError(.notMatroska, "the file has no track list, or it is torn", offset: position)
        }
        head.firstCluster = position
        let known = info ?? (SegmentInfo(writingApp: "", muxingApp: ""), nil)
        self.info = known.info
        self.durationNanoseconds = Self.nanoseconds(known.durationTicks, scale: known.info.timestampScaleNanoseconds)
        self.tracks = tracks.known.map(\.track)
        self.unsupportedTracks = tracks.unsupported
        self.walkTracks = Dictionary(
            tracks.known.map { entry in
                let walk = WalkTrack(
                    codec: entry.track.codec,
                    defaultDurationNanoseconds: entry.defaultDurationNanoseconds
                )
                return (entry.track.number, walk)
            },
            uniquingKeysWith: { first, _ in first }
        )
        self.chapters = chapters
        self.tags = tags
        self.window = window
        self.head = head
        self.position = position
    }

    /// The next block, with its bytes; nil at the end of the file, or where nothing that makes sense follows.
    ///
    /// - Throws: `sourceFailed` only.
    public mutating func next() throws(MatroskaError) -> Block? {
        guard let head = try self.nextHead() else { return nil }
        return Block(head, payload: try self.payload(of: head))
    }

    /// The next block without its bytes; advances the same walk as `next()`.
    ///
    /// - Throws: `sourceFailed` only.
    public mutating func nextHead() throws(MatroskaError) -> BlockHead? {
        while let event = try self.nextEvent() {
            if case .block(let head) = event { return head }
        }
        return nil
    }

    /// The bytes of a block of this file.
    ///
    /// - Throws: `sourceFailed`, also for a head that is not of this file.
    public mutating func payload(of head: BlockHead) throws(MatroskaError) -> [UInt8] {
        let bytes = try self.window.peek(offset: head.payloadOffset, limit: max(0, head.payloadSize))
        guard bytes.count == head.payloadSize else {
            throw MatroskaError(.sourceFailed, "the file ended while it was read", offset: head.payloadOffset)
        }
        return Array(bytes)
    }

    /// Goes back to the first block.
    public mutating func rewind() {
        self.position = self.head.firstCluster
        self.isOver = false
        self.cluster = nil
        self.lace = []
        self.search = SearchBudget()
        self.lastNanoseconds = nil
        self.damage = Damage()
        self.tornTailOffset = nil
    }

    private static func nanoseconds(_ ticks: Double?, scale: UInt64) -> Int64? {
        guard let ticks, ticks > 0 else { return nil }
        return Int64(exactly: (ticks * Double(scale)).rounded())
    }

    /// Reads the EBML head and the Segment's head.
    private static func segmentHead(_ window: inout Window<S>) throws(MatroskaError) -> SegmentHead {
        guard let ebml = try Self.element(&window, at: 0, limit: window.count), ebml.id == ElementID.ebml,
            let end = ebml.end, end - ebml.contentOffset <= 4_096,
            HeaderDecoding.isReadable(
                try window.peek(offset: ebml.contentOffset, limit: Int(end - ebml.contentOffset))
            )
        else { throw MatroskaError(.notMatroska, "the file does not begin with a Matroska head", offset: 0) }
        var position = end
        // Void may be between the two; nothing else is expected (RFC 8794 section 11.3).
        for _ in 0..<16 {
            let bytes = try window.peek(offset: position, limit: ElementHead.maximumLength)
            guard let head = ElementHead(bytes) else { break }
            if head.id == ElementID.segment {
                let dataStart = position + UInt64(head.length)
                return SegmentHead(
                    sizeOffset: position + UInt64(head.idLength),
                    sizeWidth: head.sizeWidth,
                    dataStart: dataStart,
                    end: head.size.map { dataStart + $0 }
                )
            }
            guard head.id == ElementID.void, let size = head.size else { break }
            position += UInt64(head.length) + size
        }
        throw MatroskaError(.notMatroska, "the file has no segment", offset: position)
    }

    /// The element at `position`; nil if its head is torn or its known size goes beyond `limit`, but for clusters.
    static func element(
        _ window: inout Window<S>,
        at position: UInt64,
        limit: UInt64
    ) throws(MatroskaError) -> Element? {
        guard position < limit else { return nil }
        let length = Int(min(UInt64(ElementHead.maximumLength), limit - position))
        guard let head = ElementHead(try window.peek(offset: position, limit: length)) else { return nil }
        let contentOffset = position + UInt64(head.length)
        let end = head.size.map { contentOffset + $0 }
        // A cluster may be cut: its whole blocks still count.
        if head.id != ElementID.cluster, let end, end > limit { return nil }
        return Element(
            id: head.id,
            contentOffset: contentOffset,
            end: end,
            sizeOffset: position + UInt64(head.idLength),
            sizeWidth: head.sizeWidth
        )
    }

    /// One element in the file; `end` is nil if its size is unknown.
    struct Element {
        var id: UInt32
        var contentOffset: UInt64
        var end: UInt64?
        var sizeOffset: UInt64
        var sizeWidth: Int
    }
}
