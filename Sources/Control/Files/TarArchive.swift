// SPDX-License-Identifier: Apache-2.0

import Basics

/// An archive in the pax form of tar (POSIX.1-2017, pax, "pax Interchange Format"): every byte has a known place before any file
/// is read.
///
/// No ZIP, which has a checksum of each file before or behind it: no part could be sent without reading all that is before it.
///
/// Pure: it knows names, sizes and times, and says what is at an offset. Heads are made when they are asked for, so an archive
/// of 10,000 files of any size takes little memory.
struct TarArchive: Sendable, Hashable {
    /// A file of the archive.
    struct Entry: Sendable, Hashable {
        /// Its path in the archive, as UTF-8 without a slash at either end.
        var name: String
        /// Its size; not negative.
        var bytes: Int64
        /// Seconds since 1970 of its last change.
        var modified: Int64
    }

    /// The content at an offset.
    enum Piece: Sendable, Hashable {
        /// These bytes, at least one.
        case bytes(ArraySlice<UInt8>)
        /// This many bytes, at least one, of the file of that index, from an offset of the file on.
        case file(index: Int, offset: Int64, count: Int)
    }

    private static let blockBytes = 512
    /// The largest number of a field of eleven octal digits.
    private static let largestField: Int64 = 0o777_7777_7777

    /// The files, in order.
    let entries: [Entry]
    /// Where the head of each begins.
    private let starts: [Int64]
    /// Its length in bytes.
    let length: Int64

    /// The archive of some files.
    init(_ entries: [Entry]) {
        var starts: [Int64] = []
        var position: Int64 = 0
        for entry in entries {
            starts.append(position)
            position += Int64(Self.head(of: entry).count) + Self.padded(entry.bytes)
        }
        self.entries = entries
        self.starts = starts
        // Two blocks of zeros are the end.
        self.length = position + Int64(2 * Self.blockBytes)
    }

    /// The content at an offset, up to `count` bytes of it; both within the archive and positive.
    func piece(at offset: Int64, count: Int) -> Piece {
        let index = self.starts.partitioningIndex { $0 > offset } - 1
        guard index >= 0 else { return .bytes(Self.zeros(count)) }
        let entry = self.entries[index]
        let head = Self.head(of: entry)
        let place = offset - self.starts[index]
        if place < Int64(head.count) { return .bytes(head[Int(place)...].prefix(count)) }
        let inside = place - Int64(head.count)
        let rest = entry.bytes - inside
        if rest > 0 { return .file(index: index, offset: inside, count: Int(min(Int64(count), rest))) }
        let end = index + 1 < self.starts.count ? self.starts[index + 1] : self.length
        return .bytes(Self.zeros(Int(min(Int64(count), end - offset))))
    }

    /// The block before a file, with an extended one before that for what does not fit.
    private static func head(of entry: Entry) -> [UInt8] {
        let name = Array(entry.name.utf8)
        var records: [UInt8] = []
        if name.count > 100 || name.contains(where: { $0 >= 0x80 }) { records += Self.record("path", name) }
        if entry.bytes > Self.largestField { records += Self.record("size", Array(String(entry.bytes).utf8)) }
        let head = Self.block(name: name, bytes: entry.bytes, modified: entry.modified, type: "0")
        guard !records.isEmpty else { return head }
        let extended = Self.block(
            name: Array("PaxHeader".utf8),
            bytes: Int64(records.count),
            modified: entry.modified,
            type: "x"
        )
        let padding = Int(Self.padded(Int64(records.count))) - records.count
        return extended + records + [UInt8](repeating: 0, count: padding) + head
    }

    /// One head of the form "ustar".
    private static func block(name: [UInt8], bytes: Int64, modified: Int64, type: Unicode.Scalar) -> [UInt8] {
        var head = [UInt8](repeating: 0, count: Self.blockBytes)
        func put(_ text: some Collection<UInt8>, at offset: Int, longest: Int) {
            for (index, byte) in text.prefix(longest).enumerated() { head[offset + index] = byte }
        }
        func put(_ number: Int64, at offset: Int, digits: Int) {
            let text = String(min(max(number, 0), Self.largestField), radix: 8)
            put((String(repeating: "0", count: max(0, digits - text.count)) + text).utf8, at: offset, longest: digits)
        }
        put(name.map { $0 < 0x80 ? $0 : UInt8(ascii: "_") }, at: 0, longest: 100)
        put(0o644, at: 100, digits: 7)
        put(0, at: 108, digits: 7)
        put(0, at: 116, digits: 7)
        put(bytes > Self.largestField ? 0 : bytes, at: 124, digits: 11)
        put(modified, at: 136, digits: 11)
        // The sum counts its own field as spaces.
        put([UInt8](repeating: UInt8(ascii: " "), count: 8), at: 148, longest: 8)
        head[156] = UInt8(ascii: type)
        put("ustar\u{0}00".utf8, at: 257, longest: 8)
        put(Int64(head.reduce(0) { $0 + Int($1) }), at: 148, digits: 6)
        head[154] = 0
        return head
    }

    /// A record of an extended head, whose length counts its own digits.
    private static func record(_ key: String, _ value: [UInt8]) -> [UInt8] {
        let rest = Array(" \(key)=".utf8) + value + [UInt8(ascii: "\n")]
        var length = rest.count
        while length != rest.count + String(length).utf8.count { length = rest.count + String(length).utf8.count }
        return Array(String(length).utf8) + rest
    }

    private static func padded(_ bytes: Int64) -> Int64 {
        (bytes + Int64(Self.blockBytes) - 1) / Int64(Self.blockBytes) * Int64(Self.blockBytes)
    }

    private static func zeros(_ count: Int) -> ArraySlice<UInt8> { [UInt8](repeating: 0, count: count)[...] }
}
