// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import Storage

/// Recordings, from their first unit to the last line of their journals, and what goes wrong with them.
extension RecordingSession {
    /// Begins a recording whose first unit came at an instant.
    mutating func beginRecording(_ start: Int64, after previous: ActiveRecording? = nil) -> Bool {
        let now = self.now
        guard now >= self.retryAt else { return false }
        do throws(RecordingError) {
            let recording = try ActiveRecording.create(self.settings, at: start, after: previous)
            self.closed = []
            if previous == nil, let followed = self.settings.follows {
                (self.followed, self.settings.follows) = (followed, nil)
            }
            self.took(recording)
            return true
        } catch {
            self.retryAt = now + Self.pauseAfterFailure.nanoseconds
            self.failed(error)
            return false
        }
    }

    /// Makes a recording the present one.
    mutating func took(_ recording: ActiveRecording) {
        self.writeGathered()
        self.accountsBegin(asSegment: self.recording != nil)
        self.recording = recording
        self.noteRefusedMedia()
        self.flooders = []
        self.segments.segmentBegan(at: UInt64(clamping: recording.beganAt))
        self.folder = recording.folder
        let isAutomatic = self.settings.isAutomatic
        for message in self.early.take(since: recording.beganAt, isAutomatic: isAutomatic) { self.write(message) }
        self.actions.append(.tellStarted(recording.folder, part: recording.part, recording.place))
    }

    /// Has every file and the journal completed; tracks stay open for the next recording.
    mutating func finishRecording(reason: String) {
        let now = self.now
        for id in self.tracks.keys.sorted() { self.closeFile(id, reason: reason, now) }
        self.segments.recordingEnded()
        self.finishOlderSegment(now)
        guard let recording = self.recording else { return }
        self.closeAccounts(of: recording, ofOlder: false, now)
        self.finish(recording, reason: reason, now)
        self.recording = nil
        if !self.isEnding { self.failure = nil }
    }

    /// Ends the journal of a recording whose files are ended, when they are complete.
    mutating func finish(_ recording: ActiveRecording, reason: String, _ now: Int64) {
        let work = RecordingCompletion.Work.recording(reason: reason, nanoseconds: now)
        self.complete(RecordingCompletion(recording: recording, work: work))
    }

    /// Has a file or a recording completed when its turn comes.
    mutating func complete(_ completion: RecordingCompletion) {
        self.completions.add(completion)
        self.beginCompletions()
    }

    private mutating func beginCompletions() {
        while let completion = self.completions.next() { self.actions.append(.complete(completion)) }
    }

    /// A completion was performed.
    ///
    /// - Parameter failure: what it threw.
    public mutating func completed(_ completion: RecordingCompletion, failure: RecordingError?) {
        self.completions.ended(completion)
        self.beginCompletions()
        if let failure {
            if self.completesLater(completion) { return }
            self.failed(failure, of: completion.recording)
        }
        guard case .recording(let reason, _) = completion.work, let recording = completion.recording else { return }
        self.actions.append(.tellFinished(recording.folder, part: recording.part, reason: reason))
    }

    /// Whether the end of a recording that the disk lost waits until the disk takes it.
    private mutating func completesLater(_ completion: RecordingCompletion) -> Bool {
        guard case .recording = completion.work, completion.recording?.isLost == true, !self.isEnding,
            self.unfinished.count < Self.mostUnfinished
        else { return false }
        self.unfinished.append((completion, self.now + Self.pauseAfterFailure.nanoseconds))
        return true
    }

    private static let mostUnfinished = 16

    /// Tries again to end recordings that the disk lost, those whose time has come by then.
    mutating func completeUnfinished(until now: Int64) {
        let due = self.unfinished.filter { $0.at <= now }
        self.unfinished.removeAll { $0.at <= now }
        for (completion, _) in due { self.complete(completion) }
    }

    // MARK: Failures

    /// Something of a recording could not be stored; nil for the present recording.
    ///
    /// If that recording is already over, it alone is incomplete: the one after it continues and is not affected.
    mutating func failed(_ error: RecordingError, of ended: ActiveRecording? = nil) {
        guard ended?.isLost != true else { return }
        let other = ended?.folder.id == self.recording?.folder.id ? nil : ended
        let isFirst = self.failure == nil
        if isFirst, other == nil || self.isEnding { self.failure = error }
        if other?.isDegraded != true { self.degraded(error.message, of: other, byDisk: error.isOfDisk) }
        if isFirst || other != nil { self.actions.append(.logIncomplete(error, other?.folder)) }
    }

    /// The disk lost media, of the present recording or of another one; said once for the present one.
    ///
    /// - Parameter byDisk: false if a file was moved or deleted.
    mutating func degraded(_ reason: String, of other: ActiveRecording? = nil, byDisk: Bool = true) {
        if other == nil {
            guard self.recording?.isDegraded != true else { return }
            self.recording?.isDegraded = true
        }
        let recording = other ?? self.recording
        self.actions.append(
            .tellDegraded(recording?.folder, part: recording?.part ?? 0, reason: reason, byDisk: byDisk)
        )
    }
}
