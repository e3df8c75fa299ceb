// SPDX-License-Identifier: Apache-2.0

import Storage
import Synchronization

/// Which recordings this life of the daemon has seen, and how far each is.
///
///     (unknown) ── began ──▶ goes on ── ended ──▶ ending ── everything told ──▶ (forgotten)
///                             │   ▲                │   ▲
///                    abandoned│   │taken back      ▼   │told again
///                             ▼   │              untold
///                            closing ── closed ──▶ (forgotten)
///
/// A recording may begin or end in each of them, as its worker says. Any thread; it never waits, and may change between two calls.
final class RecordingLedger: Sendable {
    private enum Phase {
        case goesOn
        /// No room goes on with it; a repair closes it, or has left it for the next one.
        case closing
        /// The keeper tells the catalogue of its end.
        case ending
        /// The catalogue did not take everything of its end.
        case untold
    }

    private struct Entry {
        var folder: String
        /// The exports that it gets.
        var exports: [ExportSpec]
        var phase: Phase
    }

    private let entries = Mutex<[RecordingID: Entry]>([:])
    private let deleting = Mutex<Set<RecordingID>>([])

    /// The folders of the recordings that go on.
    var active: [RecordingID: String] {
        self.entries.withLock { $0.filter { $0.value.phase == .goesOn }.mapValues(\.folder) }
    }

    /// Whether a recording goes on.
    func isActive(_ id: RecordingID) -> Bool { self.entries.withLock { $0[id]?.phase == .goesOn } }

    /// Whether a recording goes on, or its end is told: its exports are ordered then.
    func isInHand(_ id: RecordingID) -> Bool {
        self.entries.withLock { entries in entries[id].map { $0.phase != .closing } ?? false }
    }

    /// The exports that a recording gets; nil if its beginning was not seen.
    func exports(of id: RecordingID) -> [ExportSpec]? { self.entries.withLock { $0[id]?.exports } }

    /// Takes that a recording goes on.
    func began(_ id: RecordingID, in folder: String, exports: [ExportSpec]) {
        self.entries.withLock { $0[id] = Entry(folder: folder, exports: exports, phase: .goesOn) }
    }

    /// Takes that a recording ended, which is told now; returns the exports that it gets.
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
    func told(_ id: RecordingID, isDone: Bool) { self.move(id, from: .ending, to: isDone ? nil : .untold) }

    /// The recordings whose ends are to be told again, which is done now.
    func takeUntold() -> [(id: RecordingID, folder: String, exports: [ExportSpec])] {
        self.entries.withLock { entries in
            entries.filter { $0.value.phase == .untold }.map { id, entry in
                entries[id]?.phase = .ending
                return (id, entry.folder, entry.exports)
            }
        }
    }

    /// Takes that a recording that goes on is being closed; false for any other.
    func closes(_ id: RecordingID) -> Bool { self.move(id, from: .goesOn, to: .closing) }

    /// Takes that a recording could not be closed: it goes on as far as is known; false if it began or ended meanwhile.
    func takeBack(_ id: RecordingID) -> Bool { self.move(id, from: .closing, to: .goesOn) }

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
