// SPDX-License-Identifier: Apache-2.0

import Catalogue
import Storage

/// Recordings that an earlier life of the daemon left: which of them are read, and which are waited for.
///
///     left ── read ──▶ finished, or no process holds it ──▶ (settled)
///      ▲          └──▶ a worker of then holds it ── released: it is repaired ──┐
///      └───────────────────────────────────────────────────────────────────────┘
///
/// Pure. The keeper reports the ends of settled ones that are finished, and orders their exports; a room continues any other, or
/// `AbandonedRecordings` has it closed.
struct EarlierRecordings: Sendable, Hashable {
    /// The search for recordings that the catalogue does not know goes back from the newest to this many known ones.
    private static let knownThatEndTheSearch = 50
    /// The most recordings that are taken over.
    private static let most = 1000

    private var left: [RecordingID: RecordingFolder] = [:]
    private var knownInARow = 0

    /// Those that are to be read, or are waited for, oldest of each room first.
    var folders: [RecordingFolder] { self.left.values.sorted { $0.path < $1.path } }
    /// Whether nothing is waited for.
    var isEmpty: Bool { self.left.isEmpty }
    /// Whether no older folder is to be looked at.
    var isSearchOver: Bool { self.knownInARow >= Self.knownThatEndTheSearch || self.left.count >= Self.most }

    /// Takes one that the catalogue knows, and not as finished.
    mutating func isUnfinished(_ folder: RecordingFolder) {
        self.left[folder.id] = folder
    }

    /// Takes the next older folder of the storage.
    mutating func found(_ folder: RecordingFolder, isKnown: Bool) {
        self.knownInARow = isKnown ? self.knownInARow + 1 : 0
        if !isKnown { self.left[folder.id] = folder }
    }

    /// Takes what the folder of one says.
    ///
    /// - Parameters:
    ///   - state: nil if it could not be read, or if this life has it in hand.
    ///   - isHeld: whether a process still completes it.
    mutating func wasRead(_ id: RecordingID, _ state: RecordingEntry.State?, isHeld: Bool) {
        if state == nil || state == .finished || !isHeld { self.left[id] = nil }
    }

    /// Takes which of those that are waited for this life continues; returns which of the others no process holds any more.
    mutating func look(ours: Set<RecordingID>, isHeld: (RecordingFolder) -> Bool) -> Set<RecordingID> {
        self.left = self.left.filter { !ours.contains($0.key) }
        return Set(self.left.values.filter { !isHeld($0) }.map(\.id))
    }
}
