// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Matroska
public import Timeline

/// A recording's journal as read back.
public struct Journal: Sendable, Hashable {
    /// The records, in the order of the file.
    public var entries: [JournalEntry]
    /// Lines that are torn, of a later version, or of a kind that this version does not know.
    public var skippedLines: Int
    /// How its lines hang together.
    public var chain = JournalChain()
    /// The file; `nil` if there is none.
    public var digest: Certificate.FileDigest?

    /// A journal with each part given.
    public init(entries: [JournalEntry] = [], skippedLines: Int = 0) {
        self.entries = entries
        self.skippedLines = skippedLines
    }

    /// The most records that are decoded: 16 tracks for 20 hours.
    private static let maximumEntryCount = 2_000_000
    private static let chunkSize = 1 << 18

    /// Which records a scan decodes.
    public enum Selection: Sendable, Hashable {
        /// All of them.
        case everything
        /// All but clock anchors, sender reports and packet counts, of which there are thousands; the last record of
        /// the file is decoded whatever it is, as it tells how far the journal goes.
        case events
    }

    /// Reads the journal of a recording; an absent file gives an empty one.
    public static func read(_ folder: RecordingFolder) throws(StorageError) -> Journal {
        var journal = Journal()
        let file: HashingFile
        do throws(StorageError) {
            file = HashingFile(try File(folder.journalPath, .read))
        } catch {
            guard error.code == .notFound else { throw error }
            return journal
        }
        let lines = try Self.scan(file, path: folder.journalPath, .everything) { journal.entries.append($0) }
        journal.skippedLines = lines.skipped
        journal.chain = lines.chain
        do {
            journal.digest = .init(name: "journal.jsonl", bytes: file.count, sha256: try file.sha256())
        } catch {
            throw StorageError(error, reading: folder.journalPath)
        }
        return journal
    }

    /// How a recording began, by the first line of its journal; `nil` if that does not tell or is not there.
    public static func beginning(of folder: RecordingFolder) -> RecordingStarted? {
        guard let file = try? File(folder.journalPath, .read),
            let bytes = try? file.read(offset: 0, count: Self.chunkSize),
            let line = bytes.split(separator: UInt8(ascii: "\n"), maxSplits: 1).first,
            let entry = try? JSONDecoder().decode(JournalEntry.self, from: Data(line)),
            case .recordingStarted(let record) = entry.record
        else { return nil }
        return record
    }

    /// Hands over the records of a recording's journal one after the other; returns how many lines were skipped.
    ///
    /// An absent file has no records. Nothing but the line at hand is kept in memory.
    public static func scan(
        _ folder: RecordingFolder,
        including selection: Selection,
        _ body: (JournalEntry) -> Void
    ) throws(StorageError) -> Int {
        let file: File
        do throws(StorageError) {
            file = try File(folder.journalPath, .read)
        } catch {
            guard error.code == .notFound else { throw error }
            return 0
        }
        return try Self.scan(file, path: file.path, selection, body).skipped
    }

    private static func scan(
        _ file: some Source,
        path: String,
        _ selection: Selection,
        _ body: (JournalEntry) -> Void
    ) throws(StorageError) -> JournalLines {
        var lines = JournalLines(selection: selection)
        var line: [UInt8] = []
        var offset: UInt64 = 0
        let size = file.count
        while lines.count < Self.maximumEntryCount, offset < size {
            let chunk: [UInt8]
            do {
                chunk = try file.read(offset: offset, count: Int(min(UInt64(Self.chunkSize), size - offset)))
            } catch {
                throw StorageError(error, reading: path)
            }
            if chunk.isEmpty { break }
            offset += UInt64(chunk.count)
            var rest = chunk[...]
            while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                lines.take(line + rest[..<end], body)
                line.removeAll(keepingCapacity: true)
                rest = rest[(end + 1)...]
            }
            // A line that is too long is cut, and then fails to decode.
            line += rest.prefix(max(0, JournalWriter.maximumLineLength - line.count))
        }
        lines.take(line, body)
        lines.finish(body)
        return lines
    }
}

/// Decodes the lines of a journal that a selection wants.
private struct JournalLines {
    let selection: Journal.Selection
    /// Lines decoded, or tried to.
    var count = 0
    /// Lines that could not be decoded.
    var skipped = 0
    /// Only with `everything`.
    var chain = JournalChain()
    /// Lines so far, empty ones too.
    private var number = 0
    /// The last line if it was passed over.
    private var passedOver: [UInt8]?
    private let decoder = JSONDecoder()

    /// The kinds left out of `events`, as the text of a line has them: a quotation mark inside a name is escaped.
    private static let clockKinds = ["clock-anchor", "sender-report", "packets-counted"].map {
        Array("\"kind\":\"\($0)\"".utf8)
    }

    init(selection: Journal.Selection) {
        self.selection = selection
    }

    mutating func take(_ line: [UInt8], _ body: (JournalEntry) -> Void) {
        self.number += 1
        guard !line.isEmpty else { return }
        if self.selection == .events, Self.isClockRecord(line) {
            self.passedOver = line
        } else {
            self.passedOver = nil
            self.decode(line, body)
        }
    }

    mutating func finish(_ body: (JournalEntry) -> Void) {
        if let line = self.passedOver { self.decode(line, body) }
    }

    private mutating func decode(_ line: [UInt8], _ body: (JournalEntry) -> Void) {
        self.count += 1
        let entry = try? self.decoder.decode(JournalEntry.self, from: Data(line))
        if self.selection == .everything { self.chain.take(line, number: self.number, isRecord: entry != nil) }
        if let entry {
            body(entry)
        } else {
            self.skipped += 1
        }
    }

    private static func isClockRecord(_ line: [UInt8]) -> Bool {
        var rest = line[...]
        while let quote = rest.firstIndex(of: UInt8(ascii: "\"")) {
            rest = rest[quote...]
            if Self.clockKinds.contains(where: rest.starts(with:)) { return true }
            rest = rest.dropFirst()
        }
        return false
    }
}
