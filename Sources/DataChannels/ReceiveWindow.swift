// SPDX-License-Identifier: Apache-2.0

/// Puts the DATA chunks of an association in the order of their transmission sequence numbers.
///
/// A sender numbers what it sends in order, and the fragments of a message without a gap (RFC 9260 section 6.9): in
/// this order every stream's messages are whole and in theirs. Missing chunks hold up all streams, because no one waits
/// for any of them.
struct ReceiveWindow: Sendable {
    /// One DATA chunk (RFC 9260 section 3.3.1).
    struct Fragment: Sendable, Hashable {
        var stream: UInt16
        var protocolIdentifier: UInt32
        var isFirst: Bool
        var isLast: Bool
        /// A copy: a slice would keep the whole packet as long as it waits.
        var bytes: [UInt8]
        var arrivalNanoseconds: Int64
    }

    /// One piece of what is taken out of the window.
    enum Piece: Sendable, Hashable {
        case fragment(Fragment)
        /// The sender gave something up: what was begun has no end.
        case gap
    }

    /// Bytes that may wait for something missing.
    static let maximumBytes: UInt32 = 131_072
    private static let maximumFragments: UInt32 = 512
    private static let maximumBlocks = 32

    /// The last number up to which everything came.
    private(set) var cumulative: UInt32
    private var waiting: [UInt32: Fragment] = [:]
    private var waitingBytes: UInt32 = 0

    /// A window before a peer's first chunk, which has the number `initial`.
    init(initial: UInt32) {
        self.cumulative = initial &- 1
    }

    /// Bytes that the sender may have under way.
    var credit: UInt32 { Self.maximumBytes - min(self.waitingBytes, Self.maximumBytes) }

    /// Takes a chunk; what does not fit is not acknowledged, and comes again.
    mutating func take(_ number: UInt32, _ fragment: Fragment) {
        let distance = number &- self.cumulative &- 1
        guard distance < Self.maximumFragments, self.waiting[number] == nil else { return }
        // The next one always fits: with it the window gets free.
        guard distance == 0 || self.waitingBytes < Self.maximumBytes else { return }
        self.waiting[number] = fragment
        self.waitingBytes += UInt32(clamping: fragment.bytes.count)
    }

    /// Takes out what is complete, in order.
    mutating func drain() -> [Piece] {
        var pieces: [Piece] = []
        while let fragment = self.remove(self.cumulative &+ 1) {
            self.cumulative &+= 1
            pieces.append(.fragment(fragment))
        }
        return pieces
    }

    /// The sender gave up everything to a number that has not come (RFC 3758 section 3.6).
    mutating func forward(to number: UInt32) -> [Piece] {
        guard number.isBehind(self.cumulative) else { return [] }
        var pieces: [Piece] = []
        let start = self.cumulative
        let reached = self.waiting.keys.filter { !$0.isBehind(number) }.sorted { $0 &- start < $1 &- start }
        for next in reached {
            if next != self.cumulative &+ 1 { pieces.append(.gap) }
            if let fragment = self.remove(next) { pieces.append(.fragment(fragment)) }
            self.cumulative = next
        }
        if self.cumulative != number {
            pieces.append(.gap)
            self.cumulative = number
        }
        return pieces + self.drain()
    }

    /// The SACK chunk that says what came (RFC 9260 section 3.3.4).
    var acknowledgement: SCTPChunk {
        var blocks: [(first: UInt32, last: UInt32)] = []
        for offset in self.waiting.keys.map({ $0 &- self.cumulative }).sorted() {
            if let last = blocks.last?.last, offset == last + 1 {
                blocks[blocks.count - 1].last = offset
            } else if blocks.count < Self.maximumBlocks {
                blocks.append((offset, offset))
            } else {
                break
            }
        }
        var writer = ByteWriter()
        writer.append(self.cumulative)
        writer.append(self.credit)
        writer.append(UInt16(clamping: blocks.count))
        writer.append(UInt16(0))
        for block in blocks {
            writer.append(UInt16(clamping: block.first))
            writer.append(UInt16(clamping: block.last))
        }
        return SCTPChunk(.selectiveAcknowledgement, writer.bytes)
    }

    private mutating func remove(_ number: UInt32) -> Fragment? {
        guard let fragment = self.waiting.removeValue(forKey: number) else { return nil }
        self.waitingBytes -= min(self.waitingBytes, UInt32(clamping: fragment.bytes.count))
        return fragment
    }
}
