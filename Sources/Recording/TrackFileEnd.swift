// SPDX-License-Identifier: Apache-2.0

internal import Matroska
internal import Storage
internal import Timeline

/// The work that remains for a track's file that takes no more units: its index, and the journal's record that it is
/// complete.
public struct TrackFileEnd: Sendable {
    let file: File
    let folder: RecordingFolder
    /// Where the last block ends.
    let size: UInt64
    let finish: Writer.Finish
    let journal: JournalWriter
    let record: TrackClosed
    let monotonicNanoseconds: Int64

    /// Writes cues, duration and sizes, syncs the file twice and its folder, and journals its end; waits for the disk.
    ///
    /// After an error the file is as its last unit left it, and the journal says why.
    public func complete() throws(RecordingError) {
        do throws(StorageError) {
            try self.file.write(self.finish.append, at: self.size)
            // The last patch marks the file as finished: everything else is on the disk before it.
            for patch in self.finish.patches.dropLast() { try self.file.write(patch.bytes, at: patch.offset) }
            try self.file.synchronise()
            for patch in self.finish.patches.suffix(1) { try self.file.write(patch.bytes, at: patch.offset) }
            try self.file.synchronise()
            try RecordingFolder.synchronise(folders: [self.folder.tracksPath])
        } catch {
            // Best effort: what matters is in the file, and the first error is the one to tell.
            try? self.file.truncate(to: self.size)
            var record = self.record
            record.reason = error.code.rawValue
            self.journal.note(.trackClosed(record), monotonicNanoseconds: self.monotonicNanoseconds)
            throw RecordingError(.track(record.track), error)
        }
        self.journal.note(.trackClosed(self.record), monotonicNanoseconds: self.monotonicNanoseconds)
    }
}
