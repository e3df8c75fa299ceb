// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import Foundation
internal import GStreamer
internal import Logging
internal import Matroska
internal import Observability
internal import Session
internal import Storage

/// The recorder's thread, and what it shares with the orders.
///
/// Everything but `turn` runs with the lock held.
extension RoomRecorder {
    static let pauseAfterFailure = Duration.seconds(2)
    private static let tickInterval = Duration.milliseconds(50)
    /// Closed tracks that are remembered for the status; a recording that has more is still recorded.
    private static let maximumClosedTracks = 512

    /// Handles one item, or a tick when none comes.
    ///
    /// False ends the thread.
    func turn(_ queue: UnitQueue) -> Bool {
        let came = queue.next(timeout: .milliseconds(100)) { item, bytes in
            self.lock.withLock {
                switch item {
                case .unit(let unit): self.take(unit, bytes)
                case .senderReport(let report): self.note(report)
                }
            }
        }
        return self.lock.withLock {
            self.tick(isIdle: !came)
            return came || !self.state.isFinishing
        }
    }

    func isWanted(_ track: OpenTrack) -> Bool {
        track.isVideo ? self.state.recordsVideo : self.state.recordsAudio
    }

    private func take(_ unit: ReceivedItem.Unit, _ bytes: UnsafeRawBufferPointer) {
        guard let track = self.state.tracks[unit.tap] else { return }
        self.keepStill(unit, bytes, track)
        guard self.isWanted(track) else { return }
        switch self.state.machine.mediaCame(now: UInt64(clamping: unit.arrivalNanoseconds)) {
        case .leaveOut:
            return self.leaveOut(unit, bytes)
        case .begin:
            guard self.beginRecording(self.state.preroll?.start ?? unit.arrivalNanoseconds) else {
                self.state.machine.beginningFailed()
                return self.leaveOut(unit, bytes)
            }
            self.writePreroll()
        case .write:
            break
        }
        self.write(unit, bytes, track)
        self.state.lag.written(arrival: unit.arrivalNanoseconds, now: Runtime.monotonicNanoseconds)
    }

    /// Writes a unit of an open track to the track's file.
    func write(_ unit: ReceivedItem.Unit, _ bytes: UnsafeRawBufferPointer, _ track: OpenTrack) {
        let now = unit.arrivalNanoseconds
        if let resumesAt = track.resumesAt {
            guard now >= resumesAt else { return }
            track.resumesAt = nil
            if track.writer?.takesUnits == false {
                self.startNextFile(track, now, reason: "write failed", hasNewClock: false)
            }
        }
        // Whether it is a keyframe matters to few units; the writer finds out by itself.
        let isBehind = self.state.segments?.isBehind(unit.tap) == true
        let isInQuestion =
            track.isVideo
            && (unit.lostPackets > 0 || unit.isTruncated || track.damage.isDamaged || track.awaitsKeyframe || isBehind)
        let isWholeKeyframe = isInQuestion && track.isWholeKeyframe(unit, bytes)
        if track.isVideo, unit.lostPackets > 0, !isWholeKeyframe,
            track.keyframes.lossDetected(at: UInt64(clamping: now))
        {
            track.requestKeyframe()
        }
        if track.awaitsKeyframe {
            guard isWholeKeyframe else { return }
            track.awaitsKeyframe = false
        }
        let isCutOff = isBehind && self.cross(unit, startsFile: isWholeKeyframe || !track.isVideo, track)
        if track.writer == nil { self.startFile(track, now) }
        guard let writer = track.writer else { return }
        let isFirst = writer.statistics.units == 0
        // A file does not begin with a part of a picture.
        if isFirst, track.isVideo, unit.isTruncated, !isCutOff { return }
        var damage = TrackDamage.OnUnit.unchanged
        if isCutOff {
            damage = track.damage.beginsDamaged(lostPackets: unit.lostPackets)
        } else if track.isVideo, !isFirst {
            damage = track.damage.unitCame(lostPackets: unit.lostPackets, isWholeKeyframe: isWholeKeyframe)
            self.recording(of: track)?.note(damage, track: writer.track.number, unit)
        }
        do throws(StorageError) {
            switch try writer.write(bytes, rtpTime: unit.rtpTime, arrivalNanoseconds: now) {
            case .written(let isKeyframe):
                if track.isVideo, isKeyframe, !track.damage.isDamaged { track.keyframes.keyframeArrived() }
                if isCutOff { self.recording(of: track)?.note(damage, track: writer.track.number, unit) }
                self.written(bytes.count, track)
                if track.isVideo, let onPicture = self.onPicture {
                    let now = Runtime.monotonicNanoseconds
                    onPicture(WrittenPicture(track: writer.track.number, rtpTime: unit.rtpTime, nanoseconds: now))
                }
            case .needsKeyframe, .malformed:
                break
            case .discontinuity:
                // The unit begins the next file: only there its time makes sense.
                self.startNextFile(track, now, reason: "RTP time jumped", hasNewClock: true)
                guard track.writer?.statistics.units == 0 else { return }
                self.write(unit, bytes, track)
            }
        } catch {
            // A failed file takes no more: the track goes on in the next one when the disk may have recovered.
            track.resumesAt = now + Self.pauseAfterFailure.nanoseconds
            track.hasFailed = true
            self.failed(error)
        }
    }

    private func written(_ bytes: Int, _ track: OpenTrack) {
        if self.state.recording?.folder.id == track.recording { self.state.recording?.bytes += UInt64(bytes) }
        self.noteFirstUnit(track)
        guard track.hasFailed else { return }
        track.hasFailed = false
        // The next failure is told again.
        self.state.recording?.isDegraded = false
        self.logger.notice(
            "recording goes on",
            metadata: .tagged([.recordingPath: "\(self.state.recording?.folder.path ?? "")"])
        )
    }

    /// The recording that a track's file is in.
    func recording(of track: OpenTrack) -> ActiveRecording? {
        guard let older = self.state.older, older.folder.id == track.recording else { return self.state.recording }
        return older
    }

    private func noteFirstUnit(_ track: OpenTrack) {
        guard track.firstUnitDelay == nil,
            let parts = track.received.setup.parts(firstUnit: Runtime.monotonicNanoseconds)
        else { return }
        let delay = parts.values.reduce(.zero, +)
        track.firstUnitDelay = delay
        let (participant, kind) = (track.received.participant, track.received.codec.kind)
        self.onEvent(.firstUnit(participant: participant, kind: kind, delay: delay, parts: parts))
    }

    private func keepStill(_ unit: ReceivedItem.Unit, _ bytes: UnsafeRawBufferPointer, _ track: OpenTrack) {
        guard track.isVideo else { return }
        guard unit.arrivalNanoseconds < self.state.stillsWantedUntil else {
            track.lastKeyframe = nil
            return
        }
        guard !unit.isTruncated, Bitstream.inspect(track.received.codec, bytes)?.isKeyframe == true else { return }
        track.lastKeyframe = Array(bytes)
    }

    // MARK: Files

    func startFile(_ track: OpenTrack, _ now: Int64) {
        if self.state.segments?.isCutting == true, self.state.older == nil {
            // What begins within a cut begins in the next segment; if that cannot be made, the present one goes on.
            _ = self.beginNextSegment(now)
        }
        if let recording = self.state.recording, recording.isFull {
            self.finishRecording(reason: "as many tracks as an export takes")
            guard self.beginRecording(now, after: recording.place == nil ? nil : recording) else {
                track.resumesAt = now + Self.pauseAfterFailure.nanoseconds
                return self.state.machine.beginningFailed()
            }
        }
        if track.isVideo, track.keyframes.nextRequest == nil {
            track.keyframes = KeyframePolicy(trackAppearedAt: UInt64(clamping: now))
        }
        let name = self.state.names[track.received.participant]
        track.writer = self.state.recording?.file(for: track, name: name, now)
        track.recording = self.state.recording?.folder.id
        track.damage = TrackDamage()
        track.awaitsKeyframe = false
    }

    /// The file cannot go on, because the sender's RTP clock started anew or a write failed: the track does, in the next.
    private func startNextFile(_ track: OpenTrack, _ now: Int64, reason: String, hasNewClock: Bool) {
        self.endFile(track, reason: reason, now)
        self.remember(track)
        if hasNewClock { track.lastReport = nil }
        track.writer = nil
        track.keyframes = KeyframePolicy(trackAppearedAt: UInt64(clamping: now))
        self.startFile(track, now)
    }

    /// Counts the packets of a track's file, and has it completed.
    func endFile(_ track: OpenTrack, reason: String, _ now: Int64) {
        let recording = self.recording(of: track)
        recording?.count(track, now)
        if let end = track.writer?.end(reason: reason, monotonicNanoseconds: now) {
            self.complete(recording) { () throws(StorageError) in try end.complete() }
        }
        let counters = track.tap.counters
        track.countedBefore = (counters.packets, counters.lostPackets, counters.repairedPackets)
    }

    /// Closes the file of an open track; the track itself stays.
    func closeFile(_ id: UInt64, reason: String, _ now: Int64) {
        self.state.segments?.trackEnded(id)
        guard let track = self.state.tracks[id], track.writer != nil else { return }
        self.endFile(track, reason: reason, now)
        self.remember(track)
        track.writer = nil
        track.resumesAt = nil
    }

    private func remember(_ track: OpenTrack) {
        guard let writer = track.writer, writer.statistics.units > 0, track.recording == self.state.recording?.folder.id
        else { return }
        if self.state.closed.count >= Self.maximumClosedTracks { self.state.closed.removeFirst() }
        self.state.closed.append(TrackStatus(track, isOpen: false))
    }

    // MARK: Recordings

    /// Begins a recording whose first unit came at an instant.
    func beginRecording(_ start: Int64, after previous: ActiveRecording? = nil) -> Bool {
        let now = Runtime.monotonicNanoseconds
        guard now >= self.state.retryAt else { return false }
        do throws(StorageError) {
            let recording = try ActiveRecording.create(self.state.settings, at: start, after: previous)
            self.state.closed = []
            self.took(recording)
            return true
        } catch {
            self.state.retryAt = now + Self.pauseAfterFailure.nanoseconds
            self.failed(error)
            return false
        }
    }

    /// Makes a recording the present one.
    func took(_ recording: ActiveRecording) {
        self.state.recording = recording
        self.state.segments?.segmentBegan(at: UInt64(clamping: recording.beganAt))
        self.state.folder = recording.folder
        self.state.droppedUnits = self.queue.droppedItems
        self.logger.notice("recording started", metadata: .tagged([.recordingPath: "\(recording.folder.path)"]))
        let isAutomatic = self.state.settings.isAutomatic
        for message in self.state.early.take(since: recording.beganAt, isAutomatic: isAutomatic) { self.write(message) }
        self.onEvent(.started(recording.folder, part: recording.part))
    }

    /// Has every file and the journal completed; tracks stay open for the next recording.
    func finishRecording(reason: String) {
        let now = Runtime.monotonicNanoseconds
        for id in self.state.tracks.keys.sorted() { self.closeFile(id, reason: reason, now) }
        self.state.segments?.recordingEnded()
        self.finishOlderSegment(now)
        guard let recording = self.state.recording else { return }
        self.finish(recording, reason: reason, now)
        self.state.recording = nil
        // The owner of a recorder that ends asks for it afterwards.
        if !self.state.isFinishing { self.state.failure = nil }
    }

    /// Ends the journal of a recording whose files are ended, when they are complete.
    func finish(_ recording: ActiveRecording, reason: String, _ now: Int64) {
        self.complete(recording) { () throws(StorageError) in try recording.finish(reason: reason, now) }
        self.completions.async {
            self.logger.notice("recording finished", metadata: .tagged([.recordingPath: "\(recording.folder.path)"]))
            self.onEvent(.finished(recording.folder, part: recording.part, reason: reason))
        }
    }

    /// Does what waits for the disk on the thread for it, in the order of the calls: media are written meanwhile.
    private func complete(
        _ recording: ActiveRecording?,
        _ body: @escaping @Sendable () throws(StorageError) -> Void
    ) {
        self.completions.async {
            do throws(StorageError) {
                try body()
            } catch {
                self.lock.withLock { self.completionFailed(error, of: recording) }
            }
        }
    }

    private func completionFailed(_ error: StorageError, of recording: ActiveRecording?) {
        guard let recording, recording.folder.id != self.state.recording?.folder.id else { return self.failed(error) }
        // The recording after it goes on, and is not to blame.
        if self.state.isFinishing, self.state.failure == nil { self.state.failure = error }
        if !recording.isDegraded {
            self.onEvent(.degraded(recording.folder, part: recording.part, reason: error.message))
        }
        self.logger.error(
            "recording is incomplete",
            metadata: .tagged([.errorMessage: "\(error)", .recordingPath: "\(recording.folder.path)"])
        )
    }

    /// Pictures begin, or go on, with a keyframe, which is asked for at once.
    func startAtKeyframes(marker: String?) {
        let now = UInt64(clamping: Runtime.monotonicNanoseconds)
        for track in self.state.tracks.values where track.isVideo {
            track.keyframes = KeyframePolicy(trackAppearedAt: now)
            track.awaitsKeyframe = true
        }
        if let marker { self.mark(marker) }
        self.queue.wake()
    }

    func mark(_ name: String, text: String? = nil) {
        self.state.recording?.mark(name, text: text, Runtime.monotonicNanoseconds)
    }

    private func note(_ report: ReceivedItem.Report) {
        let found = self.state.tracks.values.filter {
            $0.connection == report.receiver && $0.received.ssrc == report.ssrc
        }
        // A sender who changed the codec has a track for each: the report is about what it sends now.
        let newest = found.max {
            ($0.tap.counters.lastPacketNanoseconds ?? 0) < ($1.tap.counters.lastPacketNanoseconds ?? 0)
        }
        guard let track = newest else { return }
        track.lastReport = report
        guard let number = track.writer?.track.number, self.state.machine.phase == .recording else { return }
        self.recording(of: track)?.note(report, track: number)
    }

    // MARK: Time

    /// Keyframe requests that are due, packet counts, the disk, and rooms in which nobody is left.
    ///
    /// While units come it need not be looked after each of them.
    private func tick(isIdle: Bool) {
        let now = Runtime.monotonicNanoseconds
        guard isIdle || now - self.state.lastTick >= Self.tickInterval.nanoseconds else { return }
        self.state.lastTick = now
        if self.state.machine.endsForEmptiness(now: UInt64(clamping: now)) {
            self.finishRecording(reason: "empty")
        }
        self.turnSegments(now)
        self.requestDueKeyframes(now)
        self.noteDroppedUnits()
        let recordings = [self.state.recording, self.state.older].compactMap { $0 }
        guard !recordings.isEmpty else { return }
        for recording in recordings {
            if let failure = recording.journal.takeFailure() { self.failed(failure) }
        }
        let interval = UInt64(clamping: self.state.settings.synchroniseEvery.nanoseconds)
        if self.state.synchronisation.begins(now: UInt64(clamping: now), interval: interval) {
            // Tracks first: what the journal tells of is there then.
            self.synchronise(
                self.state.tracks.values.compactMap { $0.writer?.takeUnsynchronised() }
                    + recordings.compactMap { $0.journal.takeUnsynchronised() }
            )
        }
        if now - self.state.lastCounted >= Duration.seconds(5).nanoseconds {
            self.state.lastCounted = now
            for track in self.state.tracks.values { self.recording(of: track)?.count(track, now) }
        }
    }

    /// Forces files to the disk, on the thread that does so for every room of the process.
    private func synchronise(_ files: [File]) {
        Self.synchroniser.async {
            for file in files {
                do throws(StorageError) {
                    try file.synchronise()
                } catch {
                    self.lock.withLock { self.failed(error) }
                }
            }
            self.lock.withLock {
                self.state.synchronisation.ended(now: UInt64(clamping: Runtime.monotonicNanoseconds))
            }
        }
    }

    private func requestDueKeyframes(_ now: Int64) {
        switch self.state.machine.phase {
        case .off: return self.requestPrerollKeyframes(now)
        case .paused: return
        case .waiting, .recording: break
        }
        // While a track waits for room on the disk, a keyframe would be of no use.
        for track in self.state.tracks.values where track.isVideo && track.resumesAt == nil && self.isWanted(track) {
            if track.keyframes.requestIsDue(at: UInt64(clamping: now)) { track.requestKeyframe() }
        }
    }

    private func noteDroppedUnits() {
        let dropped = self.queue.droppedItems
        guard dropped > self.state.droppedUnits else { return }
        self.state.droppedUnits = dropped
        self.degraded("units were lost: the disk is too slow")
    }

    // MARK: Failures

    func failed(_ error: StorageError) {
        self.degraded(error.message)
        guard self.state.failure == nil else { return }
        self.state.failure = error
        self.logger.error("recording is incomplete", metadata: .tagged([.errorMessage: "\(error)"]))
    }

    private func degraded(_ reason: String) {
        guard self.state.recording?.isDegraded != true else { return }
        self.state.recording?.isDegraded = true
        self.onEvent(.degraded(self.state.recording?.folder, part: self.state.recording?.part ?? 0, reason: reason))
    }
}
