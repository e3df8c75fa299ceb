// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Synchronization
public import Timeline

/// Appends records to a recording's journal: one line and one `write(2)` each, nothing buffered.
///
/// From any thread; a call may wait for another's system call. Records that `append` returned from survive `kill -9`. A
/// power cut spares those that `synchronise` returned from, on any file system once the folder is synchronised too
/// (`RecordingFolder.synchronise`).
public final class JournalWriter: Sendable {
    /// The longest line, in bytes; the reader skips longer ones.
    static let maximumLineLength = 1 << 20

    /// Bytes of lines that wait for room on the disk.
    private static let maximumWaitingBytes = 1 << 20

    /// The last chained line is looked for in this many bytes: a few torn lines of the greatest length.
    private static let greatestTail: UInt64 = 4 << 20
    /// Bytes that chaining adds to a line, at most.
    private static let chainRoom = 64

    private let file: File
    private let state: Mutex<State>

    private struct State {
        /// Whether the file ends in a torn line, which the next line must not continue.
        var endsTorn: Bool
        /// Whether lines were written since `takeUnsynchronised`.
        var isUnsynchronised = true
        /// The value that the next line follows; `nil` before the first line of this writer.
        var chain: String?
        /// Objects that could not be written yet: they are chained when they are.
        var waiting: [[UInt8]] = []
        var waitingBytes = 0
        var failure: StorageError?
    }

    /// Creates the recording's journal or continues it; a torn last line stays and is skipped by readers.
    public init(folder: RecordingFolder) throws(StorageError) {
        self.file = try File(folder.journalPath, .append)
        let size = self.file.count
        let last = size == 0 ? nil : (try? self.file.read(offset: size - 1, count: 1))?.first
        self.state = Mutex(State(endsTorn: size > 0 && last != UInt8(ascii: "\n")))
    }

    /// Appends one record, after those that wait.
    ///
    /// After an error the record is not in the journal.
    ///
    /// - Parameters:
    ///   - record: what happened.
    ///   - monotonicNanoseconds: when, on this host's monotonic clock (`CLOCK_MONOTONIC`).
    public func append(_ record: JournalRecord, monotonicNanoseconds: Int64) throws(StorageError) {
        let line = try self.line(record, monotonicNanoseconds)
        try self.withState { state throws(StorageError) in
            try self.writeWaiting(&state)
            try self.write(line, &state)
        }
    }

    /// Appends one record, or keeps it until there is room for it: it goes into the file before the next one does.
    ///
    /// Records that wait are kept up to 1 MB in all; what comes on top is lost. `takeFailure()` reports either.
    ///
    /// - Parameters:
    ///   - record: what happened.
    ///   - monotonicNanoseconds: when, on this host's monotonic clock (`CLOCK_MONOTONIC`).
    public func note(_ record: JournalRecord, monotonicNanoseconds: Int64) {
        self.state.withLock { state in
            var line: [UInt8] = []
            do throws(StorageError) {
                line = try self.line(record, monotonicNanoseconds)
                try self.writeWaiting(&state)
                try self.write(line, &state)
            } catch {
                state.failure = state.failure ?? error
                guard !line.isEmpty, state.waitingBytes + line.count <= Self.maximumWaitingBytes else { return }
                state.waiting.append(line)
                state.waitingBytes += line.count
            }
        }
    }

    /// Why records could not be written at once since the last call, if there was a reason; tries again first.
    public func takeFailure() -> StorageError? {
        self.state.withLock { state in
            do throws(StorageError) {
                try self.writeWaiting(&state)
            } catch {
                state.failure = state.failure ?? error
            }
            defer { state.failure = nil }
            return state.failure
        }
    }

    private func line(_ record: JournalRecord, _ monotonicNanoseconds: Int64) throws(StorageError) -> [UInt8] {
        if let line = JournalLine.text(record, at: monotonicNanoseconds) { return line }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let entry = JournalEntry(record, monotonicNanoseconds: monotonicNanoseconds)
        guard let line = try? encoder.encode(entry), line.count < Self.maximumLineLength - Self.chainRoom
        else {
            throw StorageError(.invalid, "a journal record is too long to write", path: self.file.path)
        }
        return Array(line)
    }

    private func writeWaiting(_ state: inout State) throws(StorageError) {
        var written = 0
        defer {
            state.waitingBytes -= state.waiting.prefix(written).reduce(0) { $0 + $1.count }
            state.waiting.removeFirst(written)
        }
        for line in state.waiting {
            try self.write(line, &state)
            written += 1
        }
    }

    private func write(_ line: [UInt8], _ state: inout State) throws(StorageError) {
        // Not when the file was opened: a process that held it may have written since.
        let previous = state.chain ?? self.lastValue()
        state.chain = previous
        let (chained, value) = JournalChain.chained(line, after: previous)
        let bytes = (state.endsTorn ? [UInt8(ascii: "\n")] : []) + chained + [UInt8(ascii: "\n")]
        let written = try self.file.append(bytes)
        guard written == bytes.count else {
            if written > 0 { self.takeBack(written, &state) }
            throw StorageError(.noSpace, "no space left for \(self.file.path)", path: self.file.path)
        }
        state.endsTorn = false
        state.isUnsynchronised = true
        state.chain = value
    }

    /// The value of the last chained line in the file; empty if it has none.
    private func lastValue() -> String {
        let size = self.file.count
        var length: UInt64 = 1 << 16
        while true {
            let start = size - min(size, length)
            guard let bytes = try? self.file.read(offset: start, count: Int(size - start)) else { return "" }
            // The first line of a part of the file may be cut; its end, where the value is, is not.
            if let value = JournalChain.lastValue(in: bytes) { return value }
            if start == 0 || length >= Self.greatestTail { return "" }
            length *= 4
        }
    }

    /// Takes back a part of a line; where that fails too, the next line begins on its own.
    private func takeBack(_ written: Int, _ state: inout State) {
        do throws(StorageError) {
            try self.file.truncate(to: self.file.count - min(self.file.count, UInt64(written)))
        } catch {
            state.endsTorn = true
        }
    }

    /// `withLock` that keeps the type of the error.
    private func withState(_ body: (inout State) throws(StorageError) -> Void) throws(StorageError) {
        let result = self.state.withLock { state -> Result<Void, StorageError> in
            do throws(StorageError) {
                return .success(try body(&state))
            } catch {
                return .failure(error)
            }
        }
        try result.get()
    }

    /// Takes the journal for this writer alone, until it is let go; false when a recorder holds it.
    ///
    /// A recording whose journal is held is still in progress.
    public func lock() throws(StorageError) -> Bool {
        try self.file.lock()
    }

    /// The file, if lines went into it since the last call; the caller may force them to the disk, on any thread.
    public func takeUnsynchronised() -> File? {
        self.state.withLock { state in
            defer { state.isUnsynchronised = false }
            return state.isUnsynchronised ? self.file : nil
        }
    }

    /// Whether the journal is no longer in the recording's folder, or the folder no longer at its path.
    public func isGone() -> Bool { self.file.isGone() }

    /// Returns when all records so far are on the disk.
    public func synchronise() throws(StorageError) {
        try self.file.synchronise()
    }
}
