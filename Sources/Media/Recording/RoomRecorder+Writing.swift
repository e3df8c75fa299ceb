// SPDX-License-Identifier: Apache-2.0

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
    private static let pauseAfterFailure = Duration.seconds(5)
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
            self.tick()
            return came || !self.state.isFinishing
        }
    }

    func isWanted(_ track: OpenTrack) -> Bool {
        track.isVideo ? self.state.recordsVideo : self.state.recordsAudio
    }

    private func take(_ unit: CapturedItem.Unit, _ bytes: UnsafeRawBufferPointer) {
        // Taken out while it is written, so that nothing of it is copied; it comes back at the end.
        guard var track = self.state.tracks.removeValue(forKey: unit.tap) else { return }
        defer { self.state.tracks[unit.tap] = track }
        self.keepStill(of: &track, bytes, unit.arrivalNanoseconds)
        guard self.isWanted(track) else { return }
        switch self.state.machine.mediaCame(now: UInt64(clamping: unit.arrivalNanoseconds)) {
        case .leaveOut:
            return
        case .begin:
            guard self.beginRecording(unit.arrivalNanoseconds) else { return self.state.machine.beginningFailed() }
        case .write:
            break
        }
        self.write(unit, bytes, &track)
    }

    private func write(_ unit: CapturedItem.Unit, _ bytes: UnsafeRawBufferPointer, _ track: inout OpenTrack) {
        let now = UInt64(clamping: unit.arrivalNanoseconds)
        if let resumesAt = track.resumesAt {
            guard unit.arrivalNanoseconds >= resumesAt else { return }
            track.resumesAt = nil
            self.startNextFile(&track, unit.arrivalNanoseconds, reason: "write failed")
        } else if track.writer == nil {
            self.startFile(&track, unit.arrivalNanoseconds)
        }
        if track.isVideo, unit.lostPackets > 0, track.keyframes.lossDetected(at: now) { track.requestKeyframe() }
        if track.awaitsKeyframe {
            guard Bitstream.inspect(track.received.codec, bytes)?.isKeyframe == true else { return }
            track.awaitsKeyframe = false
        }
        guard let writer = track.writer else { return }
        do throws(StorageError) {
            switch try writer.write(bytes, rtpTime: unit.rtpTime, arrivalNanoseconds: unit.arrivalNanoseconds) {
            case .written(let isKeyframe):
                if track.isVideo, isKeyframe { track.keyframes.keyframeArrived() }
                self.noteFirstUnit(&track)
            case .needsKeyframe, .malformed:
                break
            case .discontinuity:
                self.startNextFile(&track, unit.arrivalNanoseconds, reason: "RTP time jumped")
            }
        } catch {
            // A failed file takes no more: the track goes on in the next one when the disk may have recovered. If only
            // the journal failed, the file goes on.
            if error.path.hasSuffix(writer.relativePath) {
                track.resumesAt = unit.arrivalNanoseconds + Self.pauseAfterFailure.nanoseconds
            }
            self.failed(error)
        }
    }

    private func noteFirstUnit(_ track: inout OpenTrack) {
        guard track.firstUnitDelay == nil, let offer = track.received.offerNanoseconds else { return }
        let delay = Duration.nanoseconds(Runtime.monotonicNanoseconds - offer)
        track.firstUnitDelay = delay
        self.onEvent(
            .firstUnit(participant: track.received.participant, kind: track.received.codec.kind, delay: delay)
        )
    }

    private func keepStill(of track: inout OpenTrack, _ bytes: UnsafeRawBufferPointer, _ now: Int64) {
        guard track.isVideo else { return }
        guard now < self.state.stillsWantedUntil else {
            track.lastKeyframe = nil
            return
        }
        guard Bitstream.inspect(track.received.codec, bytes)?.isKeyframe == true else { return }
        track.lastKeyframe = Array(bytes)
    }

    // MARK: Files

    private func startFile(_ track: inout OpenTrack, _ now: Int64) {
        if self.state.recording?.isFull == true {
            self.finishRecording(reason: "as many tracks as an export takes")
            guard self.beginRecording(now) else { return self.state.machine.beginningFailed() }
        }
        if track.isVideo, track.keyframes.nextRequest == nil {
            track.keyframes = KeyframePolicy(trackAppearedAt: UInt64(clamping: now))
        }
        self.attempt { () throws(StorageError) in
            track.writer = try self.state.recording?.file(for: track, now)
        }
        track.awaitsKeyframe = false
        // A file that could not be begun is begun with a later unit.
        if track.writer == nil { track.resumesAt = now + Self.pauseAfterFailure.nanoseconds }
    }

    /// The file cannot go on, because the sender's RTP clock started anew or a write failed: the track does, in the next.
    private func startNextFile(_ track: inout OpenTrack, _ now: Int64, reason: String) {
        self.attempt { () throws(StorageError) in
            try self.state.recording?.count(track, now)
            try track.writer?.close(reason: reason, monotonicNanoseconds: now)
        }
        self.remember(track)
        let counters = track.tap.counters
        track.countedBefore = (counters.packets, counters.lostPackets)
        track.lastReport = nil
        track.writer = nil
        track.keyframes = KeyframePolicy(trackAppearedAt: UInt64(clamping: now))
        self.startFile(&track, now)
    }

    /// Closes the file of an open track; the track itself stays.
    func closeFile(_ id: UInt64, reason: String, _ now: Int64) {
        guard var track = self.state.tracks[id], let writer = track.writer else { return }
        self.attempt { () throws(StorageError) in
            try self.state.recording?.count(track, now)
        }
        self.attempt { () throws(StorageError) in
            try writer.close(reason: reason, monotonicNanoseconds: now)
        }
        self.remember(track)
        let counters = track.tap.counters
        track.countedBefore = (counters.packets, counters.lostPackets)
        track.writer = nil
        track.resumesAt = nil
        self.state.tracks[id] = track
    }

    private func remember(_ track: OpenTrack) {
        guard let writer = track.writer, writer.statistics.units > 0 else { return }
        if self.state.closed.count >= Self.maximumClosedTracks { self.state.closed.removeFirst() }
        self.state.closed.append(TrackStatus(track, isOpen: false))
    }

    // MARK: Recordings

    private func beginRecording(_ now: Int64) -> Bool {
        guard now >= self.state.retryAt else { return false }
        do throws(StorageError) {
            self.state.closed = []
            self.took(try ActiveRecording.create(self.settings))
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
        self.state.folder = recording.folder
        self.state.droppedUnits = self.queue.droppedItems
        self.logger.notice("recording started", metadata: .tagged([.recordingPath: "\(recording.folder.path)"]))
        self.onEvent(.started(recording.folder, part: recording.part))
    }

    /// Closes every file and the journal; tracks stay open for the next recording.
    func finishRecording(reason: String) {
        let now = Runtime.monotonicNanoseconds
        for id in self.state.tracks.keys.sorted() { self.closeFile(id, reason: reason, now) }
        guard let recording = self.state.recording else { return }
        self.attempt { () throws(StorageError) in try recording.finish(reason: reason, now) }
        self.state.recording = nil
        // The owner of a recorder that ends asks for it afterwards.
        if !self.state.isFinishing { self.state.failure = nil }
        self.logger.notice("recording finished", metadata: .tagged([.recordingPath: "\(recording.folder.path)"]))
        self.onEvent(.finished(recording.folder, part: recording.part, reason: reason))
    }

    /// Pictures begin, or go on, with a keyframe, which is asked for at once.
    func startAtKeyframes(marker: String?) {
        let now = UInt64(clamping: Runtime.monotonicNanoseconds)
        for (id, track) in self.state.tracks where track.isVideo {
            self.state.tracks[id]?.keyframes = KeyframePolicy(trackAppearedAt: now)
            self.state.tracks[id]?.awaitsKeyframe = true
        }
        if let marker { self.mark(marker) }
        self.queue.wake()
    }

    func mark(_ name: String, text: String? = nil) {
        self.attempt { () throws(StorageError) in
            try self.state.recording?.mark(name, text: text, Runtime.monotonicNanoseconds)
        }
    }

    private func note(_ report: CapturedItem.Report) {
        let found = self.state.tracks.first {
            $0.value.connection == report.receiver && $0.value.received.ssrc == report.ssrc
        }
        guard let (id, track) = found else { return }
        self.state.tracks[id]?.lastReport = report
        guard let number = track.writer?.track.number, self.state.machine.phase == .recording else { return }
        self.attempt { () throws(StorageError) in try self.state.recording?.note(report, track: number) }
    }

    // MARK: Time

    /// Keyframe requests that are due, packet counts, the disk, and rooms in which nobody is left.
    private func tick() {
        let now = Runtime.monotonicNanoseconds
        if self.state.machine.endsForEmptiness(now: UInt64(clamping: now)) {
            self.finishRecording(reason: "empty")
        }
        self.requestDueKeyframes(now)
        self.noteDroppedUnits()
        guard let recording = self.state.recording else { return }
        if now - self.state.lastSynchronised >= self.settings.synchroniseEvery.nanoseconds {
            self.state.lastSynchronised = now
            for track in self.state.tracks.values {
                self.attempt { () throws(StorageError) in try track.writer?.synchronise() }
            }
            self.attempt { () throws(StorageError) in try recording.journal.synchronise() }
        }
        if now - self.state.lastCounted >= Duration.seconds(5).nanoseconds {
            self.state.lastCounted = now
            for track in self.state.tracks.values {
                self.attempt { () throws(StorageError) in try recording.count(track, now) }
            }
        }
    }

    private func requestDueKeyframes(_ now: Int64) {
        switch self.state.machine.phase {
        case .off, .paused: return
        case .waiting, .recording: break
        }
        for (id, track) in self.state.tracks where track.isVideo && self.isWanted(track) {
            if self.state.tracks[id]?.keyframes.requestIsDue(at: UInt64(clamping: now)) == true {
                self.state.tracks[id]?.requestKeyframe()
            }
        }
    }

    private func noteDroppedUnits() {
        let dropped = self.queue.droppedItems
        guard dropped > self.state.droppedUnits else { return }
        self.state.droppedUnits = dropped
        self.degraded("units were lost: the disk is too slow")
    }

    // MARK: Failures

    /// Runs a write; its failure is kept, and the other tracks go on.
    func attempt(_ body: () throws(StorageError) -> Void) {
        do {
            try body()
        } catch {
            self.failed(error)
        }
    }

    private func failed(_ error: StorageError) {
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
