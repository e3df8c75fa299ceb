// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A range of a file that makes no sense, though what is behind it does.
public struct DamagedRange: Sendable, Hashable {
    /// Where it begins: at a whole block's end.
    public var offset: UInt64
    /// Where it ends: the beginning of a cluster.
    public var end: UInt64
    /// The latest time of a block before it; nil if there is none.
    public var startNanoseconds: Int64?
    /// The time of the first block behind it; nil if none was read yet.
    public var endNanoseconds: Int64?

    /// Its size.
    public var bytes: UInt64 { self.end - self.offset }
    /// How long what is missing lasted, as far as times show.
    public var durationNanoseconds: Int64 {
        guard let endNanoseconds else { return 0 }
        let length = endNanoseconds.subtractingReportingOverflow(self.startNanoseconds ?? 0)
        return length.overflow ? 0 : max(0, length.partialValue)
    }
}

/// Parts of a file that a walk skipped because they make no sense.
public struct Damage: Sendable, Hashable {
    /// The most ranges that are listed.
    public static let maximumListed = 100

    /// How many ranges there are.
    public private(set) var count = 0
    /// Their size together.
    public private(set) var bytes: UInt64 = 0
    /// The first of them.
    public private(set) var ranges: [DamagedRange] = []
    private var isOpen = false

    mutating func note(_ range: DamagedRange) {
        self.count += 1
        self.bytes &+= range.bytes
        self.isOpen = self.ranges.count < Self.maximumListed
        if self.isOpen { self.ranges.append(range) }
    }

    /// The first block behind the last range has that time.
    mutating func goesOn(at nanoseconds: Int64) {
        guard self.isOpen else { return }
        self.isOpen = false
        self.ranges[self.ranges.count - 1].endNanoseconds = nanoseconds
    }
}

/// Limit of the work that a walk may spend on finding readable data after damage.
struct SearchBudget {
    /// Bytes that are looked through: minutes of video, or as many as a disk reads in some seconds.
    var bytes: UInt64 = 256 << 20
    /// Places with the name of a cluster that begin none.
    var strangers = 100_000
}

extension Reader {
    /// Bytes that are looked through at a time.
    private static var searchStep: Int { 64 << 10 }
    /// Bytes in which a cluster's time and the head of its first block are.
    private static var longestOpening: Int { 256 }

    /// Where the first cluster at or behind an offset begins of which the first block is whole; nil if there is none, or
    /// the search takes too long.
    mutating func nextCluster(from offset: UInt64) throws(MatroskaError) -> UInt64? {
        var position = offset
        while position < self.limit, self.search.bytes > 0, self.search.strangers > 0 {
            let wanted = min(self.limit - position, UInt64(Self.searchStep), self.search.bytes)
            let bytes = try self.window.peek(offset: position, limit: Int(wanted))
            guard bytes.count >= ElementID.clusterName.count else { return nil }
            let found = bytes.firstPlace(of: ElementID.clusterName)
            // The name may be cut at the end of the step.
            let passed = found ?? bytes.count - ElementID.clusterName.count + 1
            self.search.bytes -= UInt64(passed)
            position += UInt64(passed)
            guard found != nil else { continue }
            if try self.isCluster(at: position) { return position }
            self.search.bytes -= min(self.search.bytes, 1)
            position += 1
        }
        return nil
    }

    /// Whether a cluster begins at an offset, and its first block is whole and of a track of the file.
    private mutating func isCluster(at offset: UInt64) throws(MatroskaError) -> Bool {
        let length = Int(min(UInt64(Self.longestOpening), self.limit - offset))
        let bytes = try self.window.peek(offset: offset, limit: length)
        guard let cluster = ElementHead(bytes), cluster.id == ElementID.cluster else { return false }
        self.search.strangers -= 1
        var rest = bytes.dropFirst(cluster.length)
        var hasTime = false
        while let head = ElementHead(rest), let size = head.size {
            let content = rest.dropFirst(head.length)
            let end = offset + UInt64(content.startIndex - bytes.startIndex) &+ size
            guard end <= self.limit, end >= offset else { return false }
            switch head.id {
            case ElementID.simpleBlock, ElementID.blockGroup:
                guard hasTime, self.isBlock(head.id, content.prefix(Int(size))) else { return false }
                // It began a cluster, after all.
                self.search.strangers += 1
                return true
            case ElementID.timestamp: hasTime = size <= 8
            default: guard ElementID.isInCluster(head.id) else { return false }
            }
            guard size <= UInt64(content.count) else { return false }
            rest = content.dropFirst(Int(size))
        }
        return false
    }

    /// Whether the beginning of a SimpleBlock, or of the block of a group, names a track of the file.
    private func isBlock(_ id: UInt32, _ content: ArraySlice<UInt8>) -> Bool {
        var block = content
        if id == ElementID.blockGroup {
            guard let head = ElementHead(content), head.id == ElementID.block else { return false }
            block = content.dropFirst(head.length)
        }
        guard let number = VariableInteger(block), block.count >= number.width + 3,
            let track = Int(exactly: number.value)
        else { return false }
        return self.walkTracks[track] != nil || self.unsupportedTracks.contains { $0.number == number.value }
    }

    /// Whether an element is one, and no damage that looks like it.
    mutating func isBelievable(_ id: UInt32, end: UInt64, inCluster: Bool) throws(MatroskaError) -> Bool {
        // A block behind its cluster: the cluster's size is damaged.
        if !inCluster, ElementID.isInCluster(id), !ElementID.isFiller(id) { return false }
        let stop = inCluster ? min(self.cluster?.end ?? self.limit, self.limit) : self.limit
        return try Self.isBelievable(id, end: end, stop: stop, inCluster: inCluster, &self.window)
    }

    /// Whether an element is genuine and not damage that looks like one: an element with an id that any byte may be, or
    /// that is unknown, must be followed by one that belongs there.
    static func isBelievable(
        _ id: UInt32,
        end: UInt64,
        stop: UInt64,
        inCluster: Bool,
        _ window: inout Window<S>
    ) throws(MatroskaError) -> Bool {
        let belongs = { (id: UInt32) in inCluster ? ElementID.isInCluster(id) : ElementID.isBetweenClusters(id) }
        if !ElementID.isFiller(id), belongs(id) { return true }
        guard end < stop else { return end == stop }
        guard let next = ElementHead(try window.peek(offset: end, limit: ElementHead.maximumLength)) else {
            return false
        }
        return ElementID.endsCluster(next.id) || belongs(next.id)
    }
}

extension ElementID {
    fileprivate static let clusterName = withUnsafeBytes(of: Self.cluster.bigEndian) { Array($0) }
}

extension ArraySlice<UInt8> {
    /// How far behind the beginning some bytes are for the first time; nil if they are not there.
    fileprivate func firstPlace(of name: [UInt8]) -> Int? {
        self.withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress, let first = name.first else { return nil }
            var offset = 0
            while offset + name.count <= bytes.count,
                let found = memchr(start + offset, Int32(first), bytes.count - name.count + 1 - offset)
            {
                offset = UnsafeRawPointer(found) - start
                if memcmp(found, name, name.count) == 0 { return offset }
                offset += 1
            }
            return nil
        }
    }
}
