// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Matroska
internal import Platform
public import Timeline

/// State of a recording's journal as a file; its records are passed on while it is read.
public struct Journal: Sendable, Hashable {
    /// Lines that are records.
    public var records = 0
    /// Lines that are torn, of a later version, or of a kind that this version does not know.
    public var skippedLines = 0
    /// How its lines hang together.
    public var chain = JournalChain()
    /// The file; `nil` if there is none.
    public var digest: Certificate.FileDigest?

    /// The journal of a recording that has none.
    public init() {}

    /// Reads the journal of a recording; an absent file has no records.
    ///
    /// Nothing but the line at hand is kept in memory. Blocks.
    ///
    /// - Parameter body: is given the records, in the order of the file.
    public static func read(
        _ folder: RecordingFolder,
        _ body: (JournalEntry) -> Void
    ) throws(StorageError) -> Journal {
        var journal = Journal()
        guard let opened = try Self.open(folder) else { return journal }
        let file = HashingFile(opened)
        let decoder = JournalDecoder()
        let hash = SHA256Hash()
        var number = 0
        let rest = try Self.scan(file, path: opened.path) { line, _ in
            number += 1
            journal.take(line, number: number, decoder, hash, body)
        }
        rest.withUnsafeBufferPointer { journal.take($0, number: number + 1, decoder, hash, body) }
        do {
            journal.digest = .init(name: "journal.jsonl", bytes: file.count, sha256: try file.sha256())
        } catch {
            throw StorageError(error, reading: opened.path)
        }
        return journal
    }

    /// How a recording began, by the first line of its journal; `nil` if that does not say so or is not there.
    public static func beginning(of folder: RecordingFolder) -> RecordingStarted? {
        guard let file = try? File(folder.journalPath, .read),
            let bytes = try? file.read(offset: 0, count: Self.chunkSize),
            let line = bytes.split(separator: UInt8(ascii: "\n"), maxSplits: 1).first,
            let entry = line.withUnsafeBufferPointer({ JournalDecoder().entry($0) }),
            case .recordingStarted(let record) = entry.record
        else { return nil }
        return record
    }

    /// The last record of a recording's journal, without a look at what is before it; `nil` if the last few lines are none.
    public static func end(of folder: RecordingFolder) -> JournalEntry? {
        guard let file = try? File(folder.journalPath, .read) else { return nil }
        return Self.last(in: 0..<file.count, of: file, JournalDecoder())
    }

    /// Passes on the events of a recording, from its journal; an absent file gives none.
    ///
    /// Clock anchors, sender reports and packet counts are skipped undecoded: a day has millions. The last record of
    /// the file is decoded whatever it is, because its time is the end of the journal. Nothing but the line at hand is
    /// kept in memory. Blocks, for about a second per gigabyte.
    ///
    /// - Parameter body: is given the records, in the order of the file.
    public static func events(of folder: RecordingFolder, _ body: (JournalEntry) -> Void) throws(StorageError) {
        if let last = try Self.events(of: folder, from: 0, body).last { body(last) }
    }

    /// The same for what was appended since the journal had `offset` bytes, which are whole lines.
    ///
    /// - Returns: how many bytes of whole lines it has now, and the record of its last line if that was passed over or
    ///   has no end: it is read again with what follows. Zero bytes if the journal is not the one it was.
    static func events(
        of folder: RecordingFolder,
        from offset: UInt64,
        _ body: (JournalEntry) -> Void
    ) throws(StorageError) -> (bytes: UInt64, last: JournalEntry?) {
        guard let file = try Self.open(folder), file.count >= offset else { return (0, nil) }
        let decoder = JournalDecoder()
        var bytes = offset
        /// Where the last event ends; what is behind it was passed over.
        var eventsEnd = offset
        let rest = try Self.scan(file, path: file.path, from: offset) { line, end in
            bytes = end
            guard !JournalLine.isOfClocks(line), let entry = decoder.entry(line) else { return }
            eventsEnd = end
            body(entry)
        }
        if let entry = rest.withUnsafeBufferPointer({ decoder.entry($0) }) { return (bytes, entry) }
        return (bytes, Self.last(in: eventsEnd..<bytes, of: file, decoder))
    }

    /// The history of a recording, by the records that `events(of:_:)` hands over.
    public static func history(of folder: RecordingFolder) throws(StorageError) -> RecordingHistory {
        var history = RecordingHistory()
        try Self.events(of: folder) { history.take($0) }
        return history
    }

    /// The last record in a range of whole lines; `nil` if none of the last few is one.
    private static func last(in range: Range<UInt64>, of file: File, _ decoder: JournalDecoder) -> JournalEntry? {
        let count = min(range.count, Self.chunkSize)
        guard let tail = try? file.read(offset: range.upperBound - UInt64(count), count: count) else { return nil }
        var rest = tail.dropLast()
        // A torn or damaged end is a line or two, or what a file system fills in.
        for _ in 0..<Self.mostTornLines {
            let start = rest.lastIndex(of: UInt8(ascii: "\n"))
            // The part that the tail cuts is no record.
            let line = rest[(start.map { $0 + 1 } ?? rest.startIndex)...]
            if let entry = line.withUnsafeBufferPointer({ decoder.entry($0) }) { return entry }
            guard let start else { return nil }
            rest = rest[..<start]
        }
        return nil
    }

    private static let mostTornLines = 8

    private static func open(_ folder: RecordingFolder) throws(StorageError) -> File? {
        do throws(StorageError) {
            return try File(folder.journalPath, .read)
        } catch {
            guard error.code == .notFound else { throw error }
            return nil
        }
    }

    private mutating func take(
        _ line: UnsafeBufferPointer<UInt8>,
        number: Int,
        _ decoder: JournalDecoder,
        _ hash: SHA256Hash,
        _ body: (JournalEntry) -> Void
    ) {
        guard !line.isEmpty else { return }
        let entry = decoder.entry(line)
        self.chain.take(line, number: number, isRecord: entry != nil, hash)
        if let entry {
            self.records += 1
            body(entry)
        } else {
            self.skippedLines += 1
        }
    }

    private static let chunkSize = 1 << 18

    /// Hands over the lines of a file without their ends, and where the next one begins; returns what is behind the last
    /// end.
    ///
    /// Lines that are too long are cut, and then fail to decode.
    private static func scan(
        _ file: some Source,
        path: String,
        from start: UInt64 = 0,
        _ body: (UnsafeBufferPointer<UInt8>, UInt64) -> Void
    ) throws(StorageError) -> [UInt8] {
        var begun: [UInt8] = []
        var offset = start
        let size = file.count
        while offset < size {
            let chunk: [UInt8]
            do {
                chunk = try file.read(offset: offset, count: Int(min(UInt64(Self.chunkSize), size - offset)))
            } catch {
                throw StorageError(error, reading: path)
            }
            if chunk.isEmpty { break }
            chunk.withUnsafeBufferPointer { bytes in
                var rest = bytes
                while let end = JournalLine.end(in: rest) {
                    let line = UnsafeBufferPointer(rebasing: rest[..<end])
                    offset += UInt64(end) + 1
                    if begun.isEmpty {
                        body(line, offset)
                    } else {
                        begun += line
                        begun.withUnsafeBufferPointer { body($0, offset) }
                        begun.removeAll(keepingCapacity: true)
                    }
                    rest = UnsafeBufferPointer(rebasing: rest[(end + 1)...])
                }
                begun += rest.prefix(max(0, JournalWriter.maximumLineLength - begun.count))
                offset += UInt64(rest.count)
            }
        }
        return begun
    }
}

/// Decodes the lines of a journal.
private struct JournalDecoder {
    private let decoder = JSONDecoder()

    /// The record of a line; `nil` if it has none that this version understands.
    func entry(_ line: UnsafeBufferPointer<UInt8>) -> JournalEntry? {
        if let entry = JournalLine.clockEntry(line) { return entry }
        guard !line.isEmpty else { return nil }
        return try? self.decoder.decode(JournalEntry.self, from: Data(line))
    }
}
