// SPDX-License-Identifier: Apache-2.0

import Storage

/// Recordings that no worker continues: which of them a repair closes, and when that is tried again.
///
///     in progress ── missing ──▶ suspect ── missing again, not held ──▶ being closed ── repaired ──▶ closed
///                                   │ a worker continues it                │ the repair failed
///                                   ▼                                      ▼
///                              in progress        being closed ◀── due ── left
///
/// Pure. A recording that is deleted is not missing any more, and forgotten. What a repair leaves is known by the catalogue,
/// and given by the recovery when it is due; what the catalogue does not know goes back to where it was found.
struct AbandonedRecordings: Sendable, Hashable {
    /// The wait after a repair that failed: the next one may fail in the same way.
    private let interval: Duration
    /// Those that were missing at the last look.
    private var suspects: Set<RecordingID> = []
    /// When what a repair has left is repaired again; nil if there is none.
    private var nextRepair: ContinuousClock.Instant?
    /// What is being closed, or was to be and is left: nothing else waits for the next repair.
    private var unrepaired: Set<RecordingID> = []

    /// None yet.
    init(repairInterval: Duration) {
        self.interval = repairInterval
    }

    /// Whether what a repair has left is to be looked for, and repaired with the look that follows; once for each repair.
    mutating func takesUpWhatIsLeft(at now: ContinuousClock.Instant) -> Bool {
        guard let next = self.nextRepair, now >= next else { return false }
        (self.nextRepair, self.unrepaired) = (nil, [])
        return true
    }

    /// Takes who is missing now; which recordings are to be closed by one repair.
    ///
    /// - Parameters:
    ///   - missing: Recordings in progress as far as is known, that no worker writes or will write.
    ///   - left: What an earlier repair has left, where that was to be looked for.
    ///   - isHeld: Whether a process still completes one.
    mutating func look(
        missing: Set<RecordingID>,
        left: Set<RecordingID>,
        at now: ContinuousClock.Instant,
        isHeld: (RecordingID) -> Bool
    ) -> Set<RecordingID> {
        let isPutOff = self.nextRepair.map { now < $0 } ?? false
        let abandoned = missing.intersection(self.suspects).filter { id in
            !(isPutOff && self.unrepaired.contains(id)) && !isHeld(id)
        }
        self.suspects = missing.subtracting(abandoned)
        let due = abandoned.union(left)
        self.unrepaired.formUnion(due)
        return due
    }

    /// Takes that a repair closed these.
    mutating func repaired(_ recordings: Set<RecordingID>) {
        self.unrepaired.subtract(recordings)
    }

    /// Takes that a repair failed, whatever it was to close, or that what one has left could not be looked for.
    mutating func failed(at now: ContinuousClock.Instant) {
        self.nextRepair = now + self.interval
    }

    /// Takes that a recording is in progress, as far as is known, that a repair could not close.
    mutating func wentBack(_ recording: RecordingID) {
        self.suspects.insert(recording)
    }

    /// Whether a recording was to be closed and is not.
    func isLeft(_ recording: RecordingID) -> Bool { self.unrepaired.contains(recording) }
}
