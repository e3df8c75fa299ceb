// SPDX-License-Identifier: Apache-2.0

import Basics
import Catalogue
import Storage

/// One round of retention: a policy decides on what the catalogue knows, and again when a folder says otherwise.
///
///     decide ──▶ each folder is looked at ── all are free ──▶ settled
///        ▲                                └─ one is held or unreadable ─┐
///        └──────────────────────────────────────────────────────────────┘
///
/// Pure. Without the recordings that are left out, what is freed is decided again.
struct RetentionRound: Sendable, Hashable {
    /// What the catalogue knows at one time, and this life of the daemon.
    struct Facts: Sendable, Hashable {
        /// Recordings that are finished as the catalogue has it.
        var finished: [RecordingEntry] = []
        /// Bytes of these together.
        ///
        /// Recordings in progress are the governor's business: what one participant sends deletes nothing of others.
        var totalBytes: Int64 = 0
        /// Recordings in progress.
        var active: Set<RecordingID> = []
        /// Recordings that exports read which run or are to run.
        var exported: Set<RecordingID> = []
        /// Recordings of which an export that was wanted was not made.
        var unexported: Set<RecordingID> = []
        /// Recordings that are to be uploaded, and are not as far as is known.
        var notUploaded: Set<RecordingID> = []
        /// When the journals of recordings that `mayBeTooOld` were last written, as far as is known.
        var lastWrites: [RecordingID: UTCTime] = [:]
    }

    /// What the folder of a recording is found to be.
    enum Folder: Sendable, Hashable {
        /// It may be deleted, or is gone: nothing in it is of use to a person.
        case free
        /// A process holds its journal: it is in use, whatever the catalogue says.
        case held
        /// It has a file that is not uploaded.
        case notUploaded
        /// It cannot be read.
        case unreadable
    }

    private let policy: RetentionPolicy
    private var held: Set<RecordingID> = []
    private var unreadable: Set<RecordingID> = []
    private var notUploaded: Set<RecordingID> = []
    /// Whether nothing is left to decide.
    private(set) var isSettled: Bool
    /// What was left to a person at the last decision, oldest first.
    private(set) var heldBack: [RetentionPolicy.HeldBack] = []

    /// A round that is settled at once where the policy keeps everything.
    init(_ policy: RetentionPolicy) {
        self.policy = policy
        self.isSettled = policy.keep == nil && policy.keepBytes == nil
    }

    /// Whether a recording is too old by its times: `Facts.lastWrites` is asked for then.
    func mayBeTooOld(_ entry: RecordingEntry, at now: UTCTime) -> Bool {
        self.policy.keep.map { (entry.end ?? entry.start) < now.adding(.zero - $0) } ?? false
    }

    /// The recordings that are deleted if their folders are free, oldest first, and why.
    mutating func decide(_ facts: Facts, at now: UTCTime) -> [(RecordingEntry, RetentionPolicy.Reason)] {
        let candidates = facts.finished.map { entry in
            let end = entry.end ?? entry.start
            return RetentionPolicy.Candidate(
                id: entry.id,
                // The clock may have been set after the recording had begun, as on machines that keep none.
                end: max(end, facts.lastWrites[entry.id] ?? end),
                bytes: entry.bytes,
                isFinished: !facts.active.contains(entry.id) && !self.held.contains(entry.id),
                isBeingExported: facts.exported.contains(entry.id),
                isUnexported: facts.unexported.contains(entry.id),
                isNotUploaded: facts.notUploaded.contains(entry.id) || self.notUploaded.contains(entry.id),
                isReadable: !self.unreadable.contains(entry.id)
            )
        }
        let decision = self.policy.decision(on: candidates, totalBytes: facts.totalBytes, now: now)
        self.heldBack = decision.heldBack
        self.isSettled = true
        let entries = Dictionary(facts.finished.map { ($0.id, $0) }) { first, _ in first }
        return decision.deletions.compactMap { deletion in entries[deletion.id].map { ($0, deletion.reason) } }
    }

    /// Takes what the folder of a recording is; whether the recording is deleted.
    mutating func found(_ folder: Folder, of id: RecordingID) -> Bool {
        switch folder {
        case .free: return true
        case .held: self.held.insert(id)
        case .notUploaded: self.notUploaded.insert(id)
        case .unreadable: self.unreadable.insert(id)
        }
        self.isSettled = false
        return false
    }
}
