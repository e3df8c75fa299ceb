// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import Storage
internal import Timeline

/// The steps of the session that time alone causes.
extension RecordingSession {
    private static let countingInterval = Duration.seconds(5)

    /// Sends keyframe requests that are due, journals packet counts, looks at the disk, and ends recordings of empty
    /// rooms.
    ///
    /// Called every 50 to 100 ms, whether anything comes or not, and every second while the session is idle.
    ///
    /// - Parameter droppedUnits: how many units were dropped in front of the session so far, because it was too slow.
    public mutating func tick(droppedUnits: UInt64) {
        self.writeGathered()
        let now = self.now
        if self.machine.endsForEmptiness(now: UInt64(clamping: now)) { self.finishRecording(reason: "empty") }
        self.turnSegments(now)
        self.requestDueKeyframes(now)
        if droppedUnits > self.droppedUnits {
            self.droppedUnits = droppedUnits
            self.unitsWereDropped(now)
        }
        self.completeUnfinished(until: now)
        let recordings = [self.recording, self.older].compactMap { $0 }
        guard !recordings.isEmpty else { return }
        for recording in recordings {
            if let failure = recording.journal.takeFailure() { self.failed(RecordingError(.journal, failure)) }
        }
        self.synchroniseIfDue(recordings, now)
        if now - self.lastCounted >= Self.countingInterval.nanoseconds {
            self.lastCounted = now
            for track in self.tracks.values {
                self.note(track.damageLines.takeDue(at: now), of: track)
                self.recording(of: track)?.count(track, now)
                track.rate.count(at: now, track.counters)
            }
            self.noteGrowingAccounts(now)
        }
    }

    /// Reports the reason: the disk was too slow, unless all dropped units are of participants that send more than any
    /// real sender.
    private mutating func unitsWereDropped(_ now: Int64) {
        var flooders: Set<String> = []
        var isSlow = false
        for track in self.tracks.values {
            switch track.rate.look(at: now, track.counters) {
            case .nothing: break
            case .few: isSlow = true
            case .flood: flooders.insert(track.received.participant)
            }
        }
        guard !isSlow, !flooders.isEmpty else { return self.degraded("units were lost: the disk is too slow") }
        for participant in flooders.subtracting(self.flooders).sorted() {
            let reason = "\(participant) sends more units than can be written: what is too much is left out"
            self.tellLeftOut(reason)
        }
        self.flooders.formUnion(flooders)
    }

    /// The process stood still until now: no one received the packets that were sent in that time.
    ///
    /// - Parameter isSuspended: whether the machine did, and its monotonic clock with it.
    public mutating func stoodStill(for duration: Duration, isSuspended: Bool = false) {
        guard self.machine.phase == .recording, let recording = self.recording else { return }
        let now = self.now
        self.older?.stoodStill(for: duration, isSuspended, now)
        recording.stoodStill(for: duration, isSuspended, now)
        let tenths = (duration.nanoseconds + 50_000_000) / 100_000_000
        let what = isSuspended ? "the machine was suspended" : "the recorder stood still"
        let reason = "\(what) for \(tenths / 10).\(tenths % 10) s: media of that time are missing"
        self.actions.append(.tellDegraded(recording.folder, part: recording.part, reason: reason, byDisk: false))
    }

    private mutating func synchroniseIfDue(_ recordings: [ActiveRecording], _ now: Int64) {
        let interval = UInt64(clamping: self.settings.synchroniseEvery.nanoseconds)
        guard self.synchronisation.begins(now: UInt64(clamping: now), interval: interval) else { return }
        self.actions.append(.synchronise(SynchronisationRound(recordings: recordings.map { self.files(of: $0) })))
        self.recording?.isNew = false
        self.older?.isNew = false
    }

    func files(of recording: ActiveRecording) -> SynchronisationRound.Files {
        var files = SynchronisationRound.Files(recording: recording.folder.id, journal: recording.journal)
        var hasNewFile = false
        for track in self.tracks.values where track.recording == recording.folder.id {
            guard let writer = track.writer, let (file, isNew) = writer.takeUnsynchronised() else { continue }
            files.tracks.append((writer.track.number, file))
            hasNewFile = hasNewFile || isNew
        }
        if hasNewFile { files.folders.append(recording.folder.tracksPath) }
        if recording.isNew { files.folders += recording.changedFolders.reversed() }
        files.lines = recording.journal.takeUnsynchronised()
        return files
    }

    /// A round of synchronisation was performed.
    ///
    /// - Parameter cost: for how long the disk was at work on it, and on what it waited for.
    public mutating func synchronised(failures: [SynchronisationRound.Failure], cost: Duration) {
        let now = self.now
        self.synchronisation.ended(now: UInt64(clamping: now), cost: UInt64(clamping: cost.nanoseconds))
        for failure in failures {
            switch failure.error.part {
            case .track(let number): self.lost(track: number, of: failure.recording, failure.error, now)
            case .journal, .folder: self.lost(failure.recording, failure.error, now)
            }
        }
    }

    /// The disk may have lost units of a track's file: the file ends as it is, and the track continues in the next one.
    ///
    /// The kernel reports a lost page once. From then on it says of the same file that all is well.
    private mutating func lost(track number: Int, of recording: RecordingID, _ error: RecordingError, _ now: Int64) {
        let found = self.tracks.values.first { $0.recording == recording && $0.writer?.track.number == number }
        if let track = found, let writer = track.writer, writer.takesUnits {
            writer.fail(error.cause, monotonicNanoseconds: now)
            track.pause(until: now + track.failures.failed(at: now).nanoseconds, for: .disk)
            track.hasFailed = true
        }
        self.failed(error, of: self.older?.folder.id == recording ? self.older : nil)
    }

    /// A recording lost its folder, or lines of its journal: it ends, and the next media begin another.
    private mutating func lost(_ id: RecordingID, _ error: RecordingError, _ now: Int64) {
        if let older = self.older, older.folder.id == id {
            self.failed(error, of: older)
            self.endCut()
            return
        }
        guard let recording = self.recording, recording.folder.id == id else { return }
        // While nothing is written nothing more is lost: it ends when the pause does.
        guard self.machine.phase == .recording else { return self.failed(error) }
        self.degraded(error.message, of: recording, byDisk: error.isOfDisk)
        self.actions.append(.logIncomplete(error, recording.folder))
        self.recording?.isLost = true
        self.finishRecording(reason: error.cause.code.rawValue)
        self.machine.recordingLost()
        let pause = self.losses.failed(at: now)
        // A folder that was moved away once says nothing of the disk.
        let isSingle = !error.isOfDisk && pause == FailurePause.shortest
        self.retryAt = isSingle ? now : now + pause.nanoseconds
    }

    private mutating func requestDueKeyframes(_ now: Int64) {
        switch self.machine.phase {
        case .off: return self.requestPrerollKeyframes(now)
        case .paused: return
        case .waiting, .recording: break
        }
        // While a track waits for room on the disk, a keyframe would be of no use.
        for track in self.tracks.values where track.isVideo && track.resumesAt == nil && self.isWanted(track) {
            // One for searching is of use in a file only.
            guard track.writer != nil || track.keyframes.nextRequest != nil else { continue }
            if track.keyframes.requestIsDue(at: UInt64(clamping: now)) { self.requestKeyframe(track) }
        }
    }
}
