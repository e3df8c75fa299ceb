// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Synchronization
public import Timeline

/// Appends records to a recording's journal: one line and one `write(2)` each, nothing buffered.
///
/// From any thread; a call may wait for another's system call. What `append` returned from survives `kill -9`; power
/// loss spares what `synchronise` returned from.
public final class JournalWriter: Sendable {
    /// The longest line, in bytes; the reader skips longer ones.
    static let maximumLineLength = 1 << 20

    private let file: File
    /// Whether the file ends in a torn line, which the next line must not continue.
    private let endsTorn: Mutex<Bool>

    /// Creates the recording's journal or continues it; a torn last line stays and is skipped by readers.
    public init(folder: RecordingFolder) throws(StorageError) {
        self.file = try File(folder.journalPath, .append)
        let size = self.file.count
        let last = size == 0 ? nil : (try? self.file.read(offset: size - 1, count: 1))?.first
        self.endsTorn = Mutex(size > 0 && last != UInt8(ascii: "\n"))
    }

    /// Appends one record.
    ///
    /// After an error the journal may end in a part of the line; the next record begins a new one.
    ///
    /// - Parameters:
    ///   - record: what happened.
    ///   - monotonicNanoseconds: when, on this host's monotonic clock (`CLOCK_MONOTONIC`).
    public func append(_ record: JournalRecord, monotonicNanoseconds: Int64) throws(StorageError) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let entry = JournalEntry(record, monotonicNanoseconds: monotonicNanoseconds)
        guard let line = try? encoder.encode(entry), line.count < Self.maximumLineLength else {
            throw StorageError(.invalid, "a journal record is too long to write", path: self.file.path)
        }
        let result = self.endsTorn.withLock { endsTorn -> Result<Void, StorageError> in
            let bytes = (endsTorn ? [UInt8(ascii: "\n")] : []) + Array(line) + [UInt8(ascii: "\n")]
            do throws(StorageError) {
                let written = try self.file.append(bytes)
                endsTorn = written == 0 ? endsTorn : written < bytes.count
                guard written == bytes.count else {
                    throw StorageError(.noSpace, "no space left for \(self.file.path)", path: self.file.path)
                }
                return .success(())
            } catch {
                return .failure(error)
            }
        }
        try result.get()
    }

    /// Takes the journal for this writer alone, until it is let go; false when a recorder holds it.
    ///
    /// A recording whose journal is held still goes on.
    public func lock() throws(StorageError) -> Bool {
        try self.file.lock()
    }

    /// Returns when all records so far are on the disk.
    public func synchronise() throws(StorageError) {
        try self.file.synchronise()
    }
}
