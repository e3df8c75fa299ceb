// SPDX-License-Identifier: Apache-2.0

internal import Storage

/// Tracks in the index of an MP4 file (ISO/IEC 14496-12).
struct MP4Index {
    /// One track, in the order of the file.
    struct Track: Sendable, Hashable {
        /// Its kind: `vide`, `soun`, or that of chapters, `text`.
        var handler = ""
        /// How many units it has.
        var units: UInt64 = 0
    }

    /// The file does not consist of whole boxes.
    struct Torn: Error {}

    /// All tracks.
    private(set) var tracks: [Track] = []
    private var boxes = 0

    private static let containers: Set<String> = ["moov", "trak", "mdia", "minf", "stbl"]
    /// A file of 1000 tracks has some 30 000.
    private static let mostBoxes = 1_000_000

    /// Reads the heads of boxes only, however long the file.
    ///
    /// - Throws: `Torn`, or `StorageError`.
    init(_ file: File) throws {
        try self.walk(file, 0..<file.count)
    }

    private mutating func walk(_ file: File, _ range: Range<UInt64>) throws {
        var position = range.lowerBound
        while position < range.upperBound {
            self.boxes += 1
            let head = try file.read(offset: position, count: 16)
            guard head.count >= 8, self.boxes < Self.mostBoxes else { throw Torn() }
            var (size, headSize) = (Self.number(head[0..<4]), 8 as UInt64)
            if size == 1, head.count == 16 { (size, headSize) = (Self.number(head[8..<16]), 16) }
            guard size >= headSize, size <= range.upperBound - position else { throw Torn() }
            let content = (position + headSize)..<(position + size)
            let name = String(decoding: head[4..<8], as: UTF8.self)
            if name == "trak" { self.tracks.append(Track()) }
            if Self.containers.contains(name) { try self.walk(file, content) }
            if let last = self.tracks.indices.last, name == "hdlr" || name == "stsz", size >= headSize + 12 {
                let field = try file.read(offset: content.lowerBound + 8, count: 4)
                if name == "hdlr" {
                    self.tracks[last].handler = String(decoding: field, as: UTF8.self)
                } else {
                    self.tracks[last].units = Self.number(field[...])
                }
            }
            position += size
        }
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
}
