// SPDX-License-Identifier: Apache-2.0

import Basics
import Catalogue
import Model
import Storage

/// Which exports of the queue run, and what the others wait for.
///
/// Pure. The queue itself is the catalogue's; what is known of it here is for this life.
struct ExportQueue: Sendable {
    /// What becomes of an export whose turn it is.
    enum Turn: Sendable, Hashable {
        /// It begins.
        case begins
        /// It waits: so many bytes more are needed, and were not before.
        case isPutOff(missing: Int64)
        /// It waits on, or it was cancelled.
        case waits
    }

    /// An export that runs.
    private struct Running {
        var recording: RecordingID
        /// How many bytes it may write.
        var bytes: Int64
    }

    let policy: ExportPolicy
    /// Exports that run at a time, 1 and up.
    private let limit: Int
    private var running: [String: Running] = [:]
    /// When there may be space for exports that wait for it, or the catalogue may take again what it refused.
    private var waiting: [String: UTCTime] = [:]
    /// Exports that were cancelled, until the queue was read without them.
    private var cancelled: Set<String> = []

    /// A queue of which nothing runs.
    init(limit: Int, policy: ExportPolicy = ExportPolicy()) {
        self.limit = limit
        self.policy = policy
    }

    /// Whether nothing runs.
    var isIdle: Bool { self.running.isEmpty }
    /// Whether no other export may begin now.
    var isFull: Bool { self.running.count >= self.limit }
    /// The ids of those that run.
    var runningExports: Set<String> { Set(self.running.keys) }

    /// The ids of those that run, of one recording.
    func exportsRunning(of recording: RecordingID) -> [String] {
        self.running.filter { $0.value.recording == recording }.map(\.key)
    }

    /// Whether an export runs.
    func runs(_ id: String) -> Bool { self.running[id] != nil }

    /// The ids of exports that wait for space, or for a catalogue that takes what came of them.
    var waitingExports: Set<String> { Set(self.waiting.keys) }

    /// When an export that waits for a time or for space may begin; nil for one that may now.
    ///
    /// Of one that is not over and does not run; one whose end could not be noted may say that it runs.
    func due(_ export: ExportEntry, at now: UTCTime) -> UTCTime? {
        [export.due, self.waiting[export.id]].compactMap { $0 }.filter { !Catalogue.isDue($0, at: now) }.max()
    }

    /// When the next of these may begin, of those that wait for a time or for space.
    func nextDue(of pending: [ExportEntry], at now: UTCTime) -> UTCTime? {
        pending.filter { !self.runs($0.id) }.compactMap { self.due($0, at: now) }.min()
    }

    /// Takes what the queue has: what is known of others is forgotten.
    mutating func wasRead(_ pending: [ExportEntry]) {
        let ids = Set(pending.map(\.id))
        self.waiting = self.waiting.filter { ids.contains($0.key) }
        self.cancelled.formIntersection(ids)
    }

    /// Whether an export may begin, where there is space.
    func mayBegin(_ export: ExportEntry, at now: UTCTime) -> Bool {
        guard !self.isFull, self.due(export, at: now) == nil, !self.cancelled.contains(export.id) else { return false }
        // Each writes down its file in the manifest of the recording, and would lose what another one wrote at the time.
        return self.exportsRunning(of: export.recording).isEmpty
    }

    /// Begins an export if it may, and if there is space next to those that run.
    ///
    /// - Parameters:
    ///   - bytes: how many it may write; nil if that is not known, which keeps it from nothing.
    ///   - disk: nil before it was measured.
    mutating func begin(_ export: ExportEntry, bytes: Int64?, on disk: DiskUsage?, at now: UTCTime) -> Turn {
        guard self.mayBegin(export, at: now) else { return .waits }
        var missing: Int64 = 0
        if let bytes, let disk {
            missing = self.policy.missingBytes(
                exportBytes: bytes + self.running.values.reduce(0) { $0 + $1.bytes },
                freeBytes: disk.freeBytes,
                minimumFreeBytes: disk.minimumFreeBytes
            )
        }
        guard missing > 0 else {
            self.waiting[export.id] = nil
            self.running[export.id] = Running(recording: export.recording, bytes: bytes ?? 0)
            return .begins
        }
        let hasWaited = self.waiting[export.id] != nil
        self.putOff(export.id, at: now)
        // Said once: the catalogue is on the same disk.
        return hasWaited ? .waits : .isPutOff(missing: missing)
    }

    /// Has an export wait until there may be space, or the catalogue may take something; until when.
    @discardableResult
    mutating func putOff(_ id: String, at now: UTCTime) -> UTCTime {
        let next = now.adding(self.policy.spaceInterval)
        self.waiting[id] = next
        return next
    }

    /// Takes that an export does not run any more.
    mutating func ended(_ id: String) {
        self.running[id] = nil
    }

    /// Takes that an export is being cancelled: it does not begin.
    mutating func cancel(_ id: String) {
        self.cancelled.insert(id)
    }

    /// Takes that an export could not be cancelled.
    mutating func takeBackCancel(_ id: String) {
        self.cancelled.remove(id)
    }
}
