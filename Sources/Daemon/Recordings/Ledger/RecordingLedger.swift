// SPDX-License-Identifier: Apache-2.0

import Model
import Storage
import Synchronization

/// Which recordings this life of the daemon has seen, and how far each is.
///
///     (unknown) ── began ──▶ in progress ── ended ──▶ ending ── everything noted ──▶ (forgotten)
///                             │   ▲                    │   ▲
///                    abandoned│   │taken back          ▼   │noted again
///                             ▼   │                 incomplete
///                            closing ── closed ──▶ (forgotten)
///
/// A recording may begin or end in each of them, as its worker says. Any thread; it never waits, and may change between two calls.
final class RecordingLedger: Sendable {
    private enum Phase {
        case inProgress
        /// No worker continues it; a repair closes it, or has left it for the next one.
        case closing
        /// The keeper notes its end in the catalogue.
        case ending
        /// The catalogue did not take everything of its end.
        case incomplete
    }

    private struct Entry {
        var folder: String
        /// The exports that it gets.
        var exports: [ExportSpec]
        var phase: Phase
    }

    private let entries = Mutex<[RecordingID: Entry]>([:])
    private let deleting = Mutex<Set<RecordingID>>([])

    /// The folders of the recordings in progress.
    var active: [RecordingID: String] {
        self.entries.withLock { $0.filter { $0.value.phase == .inProgress }.mapValues(\.folder) }
    }

    /// Whether a recording is in progress.
    func isActive(_ id: RecordingID) -> Bool { self.entries.withLock { $0[id]?.phase == .inProgress } }

    /// Whether a recording is in progress, or its end is noted: its exports are ordered then.
    func isInHand(_ id: RecordingID) -> Bool {
        self.entries.withLock { entries in entries[id].map { $0.phase != .closing } ?? false }
    }

    /// The exports that a recording gets; nil if its beginning was not seen.
    func exports(of id: RecordingID) -> [ExportSpec]? { self.entries.withLock { $0[id]?.exports } }

    /// Takes that a recording is in progress.
    func began(_ id: RecordingID, in folder: String, exports: [ExportSpec]) {
        self.entries.withLock { $0[id] = Entry(folder: folder, exports: exports, phase: .inProgress) }
    }

    /// Takes that a recording ended, which is noted now; returns the exports that it gets.
    ///
    /// - Parameter exports: nil for those that it began with.
    func ended(_ id: RecordingID, in folder: String, exports: [ExportSpec]?) -> [ExportSpec] {
        self.entries.withLock { entries in
            let exports = exports ?? entries[id]?.exports ?? []
            entries[id] = Entry(folder: folder, exports: exports, phase: .ending)
            return exports
        }
    }

    /// Takes whether the catalogue took everything of an end.
    func noted(_ id: RecordingID, isDone: Bool) { self.move(id, from: .ending, to: isDone ? nil : .incomplete) }

    /// The recordings whose ends are to be noted again, which is done now.
    func takeIncomplete() -> [(id: RecordingID, folder: String, exports: [ExportSpec])] {
        self.entries.withLock { entries in
            entries.filter { $0.value.phase == .incomplete }.map { id, entry in
                entries[id]?.phase = .ending
                return (id, entry.folder, entry.exports)
            }
        }
    }

    /// Takes that a recording in progress is being closed; false for any other.
    func closes(_ id: RecordingID) -> Bool { self.move(id, from: .inProgress, to: .closing) }

    /// Takes that a recording could not be closed: it is in progress as far as is known; false if it began or ended since.
    func takeBack(_ id: RecordingID) -> Bool { self.move(id, from: .closing, to: .inProgress) }

    /// Takes that a recording was closed.
    func closed(_ id: RecordingID) { self.move(id, from: .closing, to: nil) }

    /// Whether a recording is being deleted.
    func isDeleting(_ id: RecordingID) -> Bool { self.deleting.withLock { $0.contains(id) } }

    /// Takes that a recording is being deleted, or is no longer.
    func deletes(_ id: RecordingID, _ isDeleting: Bool) {
        self.deleting.withLock { if isDeleting { $0.insert(id) } else { $0.remove(id) } }
    }

    /// Moves a recording that is in one phase to another, or forgets it; false if it is in none or another one by now.
    @discardableResult
    private func move(_ id: RecordingID, from phase: Phase, to next: Phase?) -> Bool {
        self.entries.withLock { entries in
            guard entries[id]?.phase == phase else { return false }
            if let next { entries[id]?.phase = next } else { entries[id] = nil }
            return true
        }
    }
}
