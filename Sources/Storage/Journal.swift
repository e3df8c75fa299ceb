// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
public import Timeline

/// A recording's journal as read back.
public struct Journal: Sendable, Hashable {
    /// The records, in the order of the file.
    public var entries: [JournalEntry]
    /// Lines that are torn, of a later version, or of a kind that this version does not know.
    public var skippedLines: Int

    /// A journal with each part given.
    public init(entries: [JournalEntry] = [], skippedLines: Int = 0) {
        self.entries = entries
        self.skippedLines = skippedLines
    }

    /// The most records that are read: 16 tracks for 20 hours.
    private static let maximumEntryCount = 2_000_000
    private static let chunkSize = 1 << 18

    /// Reads the journal of a recording; an absent file gives an empty one.
    public static func read(_ folder: RecordingFolder) throws(StorageError) -> Journal {
        let file: File
        do throws(StorageError) {
            file = try File(folder.journalPath, .read)
        } catch {
            guard error.code == .notFound else { throw error }
            return Journal()
        }
        var journal = Journal()
        var line: [UInt8] = []
        var offset: UInt64 = 0
        let decoder = JSONDecoder()
        while journal.entries.count < Self.maximumEntryCount {
            let chunk: [UInt8]
            do {
                chunk = try file.read(offset: offset, count: Self.chunkSize)
            } catch {
                throw error as? StorageError
                    ?? StorageError(.inputOutput, "cannot read \(file.path): \(error)", path: file.path)
            }
            if chunk.isEmpty { break }
            offset += UInt64(chunk.count)
            var rest = chunk[...]
            while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                journal.take(line + rest[..<end], decoder)
                line.removeAll(keepingCapacity: true)
                rest = rest[(end + 1)...]
            }
            // A line that is too long is cut, and then fails to decode.
            line += rest.prefix(max(0, JournalWriter.maximumLineLength - line.count))
        }
        journal.take(line, decoder)
        return journal
    }

    private mutating func take(_ line: [UInt8], _ decoder: JSONDecoder) {
        guard !line.isEmpty else { return }
        if let entry = try? decoder.decode(JournalEntry.self, from: Data(line)) {
            self.entries.append(entry)
        } else {
            self.skippedLines += 1
        }
    }
}
