// SPDX-License-Identifier: Apache-2.0

internal import Basics

/// Writes a Matroska file (RFC 9559) that is playable at every moment, as bytes; the caller does the I/O.
///
/// The caller writes `header()` at the start of an empty file and then, for each coded unit, the bytes of `blockHead`
/// and the payload itself, in one gathering write. Nothing else may be written between. When the recording ends it
/// appends `finish().append` and applies `finish().patches` in order. After a block it may apply `takeClusterPatch()`: then
/// little is left for the end of a long recording. If a write fails, the writer is ahead of the
/// file: close it, and complete it with `Repair.plan(_:)`, which cuts off what was written of the last block.
///
/// Until then Segment and clusters have unknown size (RFC 9559 section 4.4), so a file cut anywhere loses only the
/// block that the cut is in. A new cluster begins after 1 s, after 32 MB, or where a block's time does not fit into
/// 16 bits relative to its cluster. Times need not rise.
///
/// A value type without locks: one thread at a time. Memory stays bounded however long the recording (see
/// `SegmentIndex`); cluster positions take 8 bytes a second, and beyond `maximumClusterCount` clusters keep their
/// unknown size, which every reader accepts.
public struct Writer: Sendable {
    /// The changes that complete a file.
    public struct Finish: Sendable, Hashable {
        /// Goes to the end of the file.
        public var append: [UInt8]
        /// Go into places that exist already, in this order, after `append`.
        ///
        /// The last one gives the Segment its size, which marks the file as complete: to be safe from power loss,
        /// sync the file before it.
        public var patches: [Patch]
    }

    /// The largest payload of one block, in bytes; the reader takes larger ones for damage.
    public static let maximumPayloadSize = 64 << 20
    /// The highest track number: as many streams as ffmpeg opens (its `max_streams`).
    public static let maximumTrackNumber = 1_000
    /// The longest piece of text, in bytes.
    public static let maximumTextSize = 1 << 16
    /// Clusters beyond this number keep their unknown size: 72 hours at one a second.
    static let maximumClusterCount = 262_144
    private static let maximumClusterSize: UInt64 = 32 << 20
    private static let clusterHeadSize: UInt64 = 12

    private struct Cluster: Sendable {
        var start: UInt64
        var ticks: Int64
    }

    /// Where the next byte goes: the size of the file when all bytes handed out so far are written.
    public private(set) var offset: UInt64

    private let headerBytes: [UInt8]
    private let layout: SegmentLayout
    private let scale: Int64
    private let clusterSpan: Int64
    private let kinds: [MediaKind]
    /// Track number to index into `kinds`.
    private let trackIndex: [Int?]
    private let textNumbers: Set<Int>
    /// Whether the head of the file has chapters.
    private let hasChapters: Bool
    private var lateChapters: [Chapter] = []
    private var index: SegmentIndex
    private var cluster: Cluster?
    private var clusterStarts: [UInt64] = []
    /// How many of them have had their size handed out.
    private var sizedClusters = 0
    /// Where the last known-position cluster ends, once there are too many.
    private var clustersEnd: UInt64?

    /// Prepares a file.
    ///
    /// - Parameters:
    ///   - info: times are stored in its unit; 1 ms suits every player.
    ///   - tracks: 1…1000 tracks with different numbers and uids.
    ///   - texts: additional tracks of plain text, with separate numbers and uids; not in WebM.
    ///   - chapters: written before the clusters, in this order.
    ///   - tags: written before the clusters.
    /// - Throws: `MatroskaError.Code.invalidDescription` with a message that says what is wrong.
    public init(
        info: SegmentInfo,
        tracks: [Track],
        texts: [TextTrack] = [],
        chapters: [Chapter] = [],
        tags: [Tag] = []
    ) throws(MatroskaError) {
        try DescriptionCheck.check(info: info, tracks: tracks, texts: texts, chapters: chapters, tags: tags)
        let header = HeaderEncoding.encode(info: info, tracks: tracks, texts: texts, chapters: chapters, tags: tags)
        self.hasChapters = !chapters.isEmpty
        self.textNumbers = Set(texts.map(\.number))
        self.headerBytes = header.bytes
        self.layout = header.layout
        self.offset = UInt64(header.bytes.count)
        self.scale = Int64(info.timestampScaleNanoseconds)
        self.clusterSpan = min(max(1, 1_000_000_000 / self.scale), Int64(Int16.max))
        self.kinds = tracks.map(\.codec.kind)
        var trackIndex = [Int?](repeating: nil, count: (tracks.map(\.number).max() ?? 0) + 1)
        for (index, track) in tracks.enumerated() { trackIndex[track.number] = index }
        self.trackIndex = trackIndex
        self.index = SegmentIndex(
            tracks: tracks.map { ($0.number, $0.codec.kind == .video) },
            timestampScaleNanoseconds: info.timestampScaleNanoseconds
        )
    }

    /// The bytes before the first cluster: EBML head, Segment head, room for a SeekHead, Info, Tracks, Chapters, Tags.
    public func header() -> [UInt8] { self.headerBytes }

    /// The bytes that go before a payload: a Cluster head when a new one is due, and the SimpleBlock head.
    ///
    /// - Parameters:
    ///   - track: the number of a declared track.
    ///   - timeNanoseconds: when the unit is shown, from the file's time zero; not negative. Stored to the nearest
    ///     multiple of `SegmentInfo.timestampScaleNanoseconds`.
    ///   - isKeyframe: whether a decoder can start here. Audio always counts as a keyframe.
    ///   - isDiscardable: whether no other unit refers to this one.
    ///   - payloadSize: the number of bytes that follow.
    /// - Throws: `unknownTrack`, `timeOutOfRange` or `payloadTooLarge`; then nothing has changed and the next unit
    ///   may be written.
    public mutating func blockHead(
        track: Int,
        timeNanoseconds: Int64,
        isKeyframe: Bool,
        isDiscardable: Bool = false,
        payloadSize: Int
    ) throws(MatroskaError) -> [UInt8] {
        guard self.trackIndex.indices.contains(track), let trackIndex = self.trackIndex[track] else {
            throw MatroskaError(.unknownTrack, "track \(track) is not declared in this file")
        }
        try self.requireStorable(timeNanoseconds)
        guard (0...Self.maximumPayloadSize).contains(payloadSize) else {
            throw MatroskaError(.payloadTooLarge, "a payload of \(payloadSize) bytes is larger than a block may be")
        }
        let ticks = (timeNanoseconds + self.scale / 2) / self.scale
        let isKeyframe = isKeyframe || self.kinds[trackIndex] == .audio
        var bytes: [UInt8] = []
        bytes.reserveCapacity(40)
        let cluster = self.cluster(for: ticks, appendingTo: &bytes)
        self.index.note(
            track: trackIndex,
            ticks: ticks,
            isKeyframe: isKeyframe,
            clusterStart: cluster.start,
            relativePosition: self.offset + UInt64(bytes.count) - cluster.start - Self.clusterHeadSize
        )
        bytes.append(UInt8(ElementID.simpleBlock))
        // The track number is coded like a size (RFC 9559 section 10.1).
        let number = UInt64(track)
        bytes.appendElementSize(UInt64(payloadSize + [UInt8].elementSizeWidth(number) + 3))
        bytes.appendElementSize(number)
        bytes.appendBigEndian(UInt64(bitPattern: ticks - cluster.ticks) & 0xFFFF, count: 2)
        bytes.append((isKeyframe ? 0x80 : 0) | (isDiscardable ? 0x01 : 0))
        self.offset += UInt64(bytes.count) + UInt64(payloadSize)
        return bytes
    }

    /// The bytes of a piece of text: a Cluster head when a new one is due, and the whole BlockGroup.
    ///
    /// - Parameters:
    ///   - text: the number of a declared track of text.
    ///   - timeNanoseconds: when it is shown; not negative.
    ///   - durationNanoseconds: for how long; not negative.
    ///   - content: what is shown, as UTF-8 text.
    /// - Throws: as `blockHead`.
    public mutating func textBlock(
        text: Int,
        timeNanoseconds: Int64,
        durationNanoseconds: Int64,
        _ content: String
    ) throws(MatroskaError) -> [UInt8] {
        guard self.textNumbers.contains(text) else {
            throw MatroskaError(.unknownTrack, "text track \(text) is not declared in this file")
        }
        try self.requireStorable(timeNanoseconds)
        guard durationNanoseconds >= 0, content.utf8.count <= Self.maximumTextSize else {
            throw MatroskaError(.payloadTooLarge, "a text of \(content.utf8.count) bytes cannot be stored")
        }
        let ticks = (timeNanoseconds + self.scale / 2) / self.scale
        var bytes: [UInt8] = []
        let cluster = self.cluster(for: ticks, appendingTo: &bytes)
        bytes.appendMaster(ElementID.blockGroup) { group in
            var block: [UInt8] = []
            block.appendElementSize(UInt64(text))
            block.appendBigEndian(UInt64(bitPattern: ticks - cluster.ticks) & 0xFFFF, count: 2)
            block.append(0)
            block.append(contentsOf: content.utf8)
            group.appendBinary(ElementID.block, block)
            group.appendUnsigned(ElementID.blockDuration, UInt64(durationNanoseconds / self.scale))
        }
        self.index.noteText(ticks: ticks)
        self.offset += UInt64(bytes.count)
        return bytes
    }

    /// Sets chapters that are known only when the last block is written; `finish` puts them behind the clusters.
    ///
    /// - Throws: `MatroskaError.Code.invalidDescription`, also when the head of the file has chapters already.
    public mutating func setChapters(_ chapters: [Chapter]) throws(MatroskaError) {
        guard !self.hasChapters else {
            throw MatroskaError(.invalidDescription, "the head of the file has chapters already")
        }
        try DescriptionCheck.check(chapters)
        self.lateChapters = chapters
    }

    private func requireStorable(_ timeNanoseconds: Int64) throws(MatroskaError) {
        guard timeNanoseconds >= 0, timeNanoseconds <= Int64.max - self.scale else {
            throw MatroskaError(.timeOutOfRange, "a block time of \(timeNanoseconds) ns cannot be stored")
        }
    }

    /// The open cluster if the block fits, or a new one whose head is appended to `bytes`.
    private mutating func cluster(for ticks: Int64, appendingTo bytes: inout [UInt8]) -> Cluster {
        if let cluster = self.cluster {
            let relative = ticks - cluster.ticks
            if relative >= Int64(Int16.min), relative < self.clusterSpan,
                self.offset - cluster.start < Self.maximumClusterSize
            {
                return cluster
            }
        }
        let cluster = Cluster(start: self.offset, ticks: ticks)
        self.cluster = cluster
        if self.clusterStarts.count < Self.maximumClusterCount {
            self.clusterStarts.append(cluster.start)
        } else if self.clustersEnd == nil {
            self.clustersEnd = cluster.start
        }
        bytes.appendElementID(ElementID.cluster)
        bytes.appendUnknownElementSize()
        bytes.appendUnsigned(ElementID.timestamp, UInt64(ticks))
        return cluster
    }

    /// The size of the oldest cluster that has ended, once; `nil` in most calls, as one cluster ends in a second.
    ///
    /// For after a block is written: the cluster's page is in memory still, and need not be read again when the recording
    /// ends. A cluster whose patch is not applied keeps its unknown size, which every reader accepts.
    public mutating func takeClusterPatch() -> Patch? {
        guard let patch = self.sizePatch(cluster: self.sizedClusters) else { return nil }
        self.sizedClusters += 1
        return patch
    }

    /// The size of a cluster; `nil` for one that is still growing, unless the file ends here.
    private func sizePatch(cluster index: Int, endsHere: Bool = false) -> Patch? {
        guard index < self.clusterStarts.count else { return nil }
        let isLast = index + 1 == self.clusterStarts.count
        let next = isLast ? self.clustersEnd ?? (endsHere ? self.offset : nil) : self.clusterStarts[index + 1]
        guard let end = next else { return nil }
        let start = self.clusterStarts[index]
        var bytes: [UInt8] = []
        bytes.appendElementSize(end - start - Self.clusterHeadSize, width: 8)
        return Patch(offset: start + 4, bytes: bytes)
    }

    /// The changes that complete the file at this point: chapters and Cues at the end; cluster sizes, Duration,
    /// SeekHead and Segment size in place.
    ///
    /// Changes nothing, so it may be called again after a failure to write.
    ///
    /// - Parameter endNanoseconds: Where the media end, if that is known: the writer does not know how long the only block
    ///   of a track lasts.
    public func finish(endNanoseconds: Int64 = 0) -> Finish {
        let open = self.sizedClusters..<self.clusterStarts.count
        let patches = open.compactMap { self.sizePatch(cluster: $0, endsHere: true) }
        let completion = self.layout.completion(
            index: self.index,
            dataEnd: self.offset,
            leastTicks: endNanoseconds / self.scale,
            chapters: self.lateChapters
        )
        return Finish(append: completion.append, patches: patches + completion.patches)
    }
}
