// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import Matroska
internal import Storage
internal import Timeline

/// Units and the files that they go to.
extension RecordingSession {
    static let pauseAfterFailure = Duration.seconds(2)
    /// Closed tracks that are remembered for the status; a recording that has more is still recorded.
    private static let maximumClosedTracks = 512

    /// The outcome of a unit.
    public enum OnUnit: Sendable, Hashable {
        /// It is in no file, or not yet.
        case leftOut
        /// It is audio that is in a track's file, or goes into it with `writeGathered`.
        case sound
        /// It is a frame that is in a track's file, or goes into it with `writeGathered`.
        case picture
    }

    /// A unit that a file has taken; whether the kernel took it too is not yet noted.
    struct GatheredUnit {
        let track: OpenTrack
        let writer: TrackFileWriter
        /// Which unit of the file it is, from 1.
        let number: UInt64
        let packets: Int
        let bytes: Int
        let rtpTime: Int64
        let arrivalNanoseconds: Int64
    }

    /// The outcome of a unit in the recording.
    enum UnitOutcome: Hashable {
        /// It is in the track's file, or goes into it with the next write.
        case taken(bytes: Int)
        /// It is in the file of that number, or goes into it with the next unit.
        case recorded(file: Int)
        /// It is in no file.
        case refused(RefusalReason)
        /// Nothing is recorded.
        case notRecorded
    }

    /// A unit came; its bytes are read during the call only, and are looked into at most once.
    ///
    /// `writeGathered` is to follow when nothing else has come, and before any other call that changes the session.
    public mutating func unitCame(_ unit: ReceivedUnit, _ bytes: UnsafeRawBufferPointer) -> OnUnit {
        guard let track = self.tracks[unit.track] else { return .leftOut }
        track.noteTaken(unit.packets, at: unit.arrivalNanoseconds)
        let outcome = self.take(unit, bytes, track)
        self.note(outcome, unit, track)
        guard case .taken = outcome else { return .leftOut }
        return track.isVideo ? .picture : .sound
    }

    /// Whether `writeGathered` has something to do.
    public var hasGathered: Bool { !self.gathered.isEmpty }

    /// Hands the gathered units of each file to the kernel with one write, and notes what became of them.
    public mutating func writeGathered() {
        guard !self.gathered.isEmpty else { return }
        for unit in self.gathered {
            do throws(RecordingError) {
                try unit.writer.writeGathered()
            } catch {
                self.writeFailed(error, unit.track, unit.arrivalNanoseconds)
            }
        }
        let now = self.now
        for unit in self.gathered {
            guard unit.number <= unit.writer.unitsInFile else {
                self.refuse(unit.packets, .disk, unit.arrivalNanoseconds, unit.track)
                continue
            }
            self.record(unit.packets, in: unit.writer.track.number, unit.track)
            if self.recording?.folder.id == unit.track.recording { self.recording?.bytes += UInt64(unit.bytes) }
            self.lag.written(arrival: unit.arrivalNanoseconds, now: now)
            guard let onPicture = self.onPicture, unit.track.isVideo else { continue }
            onPicture(WrittenPicture(track: unit.writer.track.number, rtpTime: unit.rtpTime, nanoseconds: now))
        }
        self.gathered.removeAll(keepingCapacity: true)
    }

    private mutating func take(
        _ unit: ReceivedUnit,
        _ bytes: UnsafeRawBufferPointer,
        _ track: OpenTrack
    ) -> UnitOutcome {
        let isWanted = self.isWanted(track)
        let decision = isWanted ? self.machine.mediaCame(now: UInt64(clamping: unit.arrivalNanoseconds)) : .leaveOut
        let isForStills = track.isVideo && unit.arrivalNanoseconds < self.stillsWantedUntil
        if !isForStills { track.lastKeyframe = nil }
        // A parameter set of H.264 may come once, long before its track is recorded.
        let isLookedAt = isForStills || isWanted && self.keepsWhatIsLeftOut || track.received.codec == .h264
        guard decision != .leaveOut || isLookedAt else {
            if isWanted { self.passOver(track) }
            return self.outcomeOfLeavingOut(track)
        }
        let inspection = Bitstream.inspect(track.received.codec, bytes)
        track.learn(inspection, lostPackets: unit.lostPackets)
        let inspected = InspectedUnit(unit: unit, bytes: bytes, inspection: inspection, sets: track.sets)
        if isForStills, !unit.isTruncated, inspected.isKeyframe { track.lastKeyframe = track.still(of: inspected) }
        guard isWanted else { return self.outcomeOfLeavingOut(track) }
        switch decision {
        case .leaveOut:
            self.leaveOut(inspected, track)
            return self.outcomeOfLeavingOut(track)
        case .begin:
            guard self.beginRecording(self.preroll?.start ?? unit.arrivalNanoseconds) else {
                self.machine.beginningFailed()
                self.leaveOut(inspected, track)
                return .notRecorded
            }
            self.writePreroll()
        case .write:
            break
        }
        return self.write(inspected, track)
    }

    /// Why a unit is left out for what the room wants.
    private func outcomeOfLeavingOut(_ track: OpenTrack) -> UnitOutcome {
        switch self.machine.phase {
        case .off, .waiting: .notRecorded
        case .paused: .refused(.paused)
        case .recording: .refused(track.isVideo ? .videoOff : .audioOff)
        }
    }

    /// Counts the packets of a unit where they went, or keeps the unit until that is known.
    mutating func note(_ outcome: UnitOutcome, _ unit: ReceivedUnit, _ track: OpenTrack) {
        switch outcome {
        case .taken(let bytes):
            guard let writer = track.writer else { return }
            self.gathered.append(
                GatheredUnit(
                    track: track,
                    writer: writer,
                    number: writer.statistics.units,
                    packets: unit.packets,
                    bytes: bytes,
                    rtpTime: unit.rtpTime,
                    arrivalNanoseconds: unit.arrivalNanoseconds
                )
            )
        case .recorded(let file):
            self.record(unit.packets, in: file, track)
        case .refused(let reason):
            self.refuse(unit.packets, reason, unit.arrivalNanoseconds, track)
        case .notRecorded:
            track.noteElsewhere(unit.packets)
        }
    }

    private func record(_ packets: Int, in file: Int, _ track: OpenTrack) {
        let ofOlder = self.older != nil && self.older?.folder.id == track.recording
        track.noteRecorded(packets, in: file, ofOlder: ofOlder)
    }

    private func refuse(_ packets: Int, _ reason: RefusalReason, _ now: Int64, _ track: OpenTrack) {
        guard self.recording != nil else { return track.noteElsewhere(packets) }
        track.noteRefused(packets, reason, at: now)
    }

    /// Writes a unit of an open track to the track's file.
    mutating func write(_ unit: InspectedUnit, _ track: OpenTrack) -> UnitOutcome {
        let lostPackets = unit.unit.lostPackets
        let now = unit.unit.arrivalNanoseconds
        guard self.hasResumed(track, now) else { return .refused(track.pauseReason) }
        let isBehind = self.segments.isBehind(track.id)
        let isWholeKeyframe = track.isWholeKeyframe(unit)
        if track.isVideo, lostPackets > 0, !isWholeKeyframe, track.keyframes.lossDetected(at: UInt64(clamping: now)) {
            self.requestKeyframe(track)
        }
        if track.awaitsKeyframe {
            guard isWholeKeyframe else { return .refused(self.reasonToWait(unit, track)) }
            track.awaitsKeyframe = false
        }
        let isCutOff = isBehind && self.cross(unit.unit, startsFile: isWholeKeyframe || !track.isVideo, track)
        if isWholeKeyframe || !track.isVideo, !isBehind, self.isNextTurn(of: track, now) {
            track.turns.count += 1
            self.startNextFile(track, now, reason: "another source of its sender sent in between")
        }
        if track.writer == nil, self.admits(track, now) { self.startFile(track, now) }
        guard let writer = track.writer else {
            return .refused(track.resumesAt == nil ? .disk : track.pauseReason)
        }
        let isFirst = writer.statistics.units == 0
        // A file does not begin with a part of a frame.
        if isFirst, track.isVideo, unit.unit.isTruncated, !isCutOff { return .refused(self.reasonToWait(unit, track)) }
        var damage = TrackDamage.OnUnit.unchanged
        if isCutOff {
            damage = track.damage.beginsDamaged(lostPackets: lostPackets)
        } else if track.isVideo, !isFirst,
            !writer.isDiscontinuity(rtpTime: unit.unit.rtpTime, arrivalNanoseconds: now)
        {
            damage = track.damage.unitCame(lostPackets: lostPackets, isWholeKeyframe: isWholeKeyframe)
            self.note(damage, unit.unit, track)
        }
        writer.know(unit.sets)
        do throws(RecordingError) {
            let result = try writer.gather(
                unit.bytes,
                unit.inspection,
                rtpTime: unit.unit.rtpTime,
                arrivalNanoseconds: now,
                packets: unit.unit.packets,
                rotation: unit.unit.rotation
            )
            switch result {
            case .taken(let isKeyframe):
                if track.isVideo, isKeyframe, !track.damage.isDamaged {
                    track.keyframes.keyframeArrived(at: UInt64(clamping: now))
                }
                if isCutOff { self.note(damage, unit.unit, track) }
                track.turns.unitTaken(at: now)
                self.taken(track)
                return .taken(bytes: unit.bytes.count)
            case .kept:
                return .recorded(file: writer.track.number)
            case .needsKeyframe:
                return .refused(.noKeyframe)
            case .needsParameterSets:
                return .refused(.noParameterSets)
            case .malformed:
                return .refused(.undecodable)
            case .discontinuity:
                track.isAdmitted = false
                track.lastReport = nil
                if let pause = track.restarts.restarted(at: now) {
                    self.pause(track, for: pause, now)
                    return .refused(.impossibleClock)
                }
                guard self.admits(track, now) else { return .refused(track.pauseReason) }
                // The unit begins the next file: only there its time makes sense.
                self.startNextFile(track, now, reason: "RTP time jumped")
                return track.writer?.statistics.units == 0 ? self.write(unit, track) : .refused(.disk)
            }
        } catch {
            self.writeFailed(error, track, now)
            return .refused(.disk)
        }
    }

    /// A failed file takes no more: the track continues in the next one when the disk may have recovered.
    private mutating func writeFailed(_ error: RecordingError, _ track: OpenTrack, _ now: Int64) {
        track.pause(until: now + Self.pauseAfterFailure.nanoseconds, for: .disk)
        track.hasFailed = true
        self.failed(error)
    }

    /// Why a file does not begin with a unit of video.
    private func reasonToWait(_ unit: InspectedUnit, _ track: OpenTrack) -> RefusalReason {
        guard let inspection = unit.inspection else { return .undecodable }
        return inspection.isKeyframe && !unit.knowsSets(track.received.codec) ? .noParameterSets : .noKeyframe
    }

    /// Whether a track is not, or not any more, in the pause that follows a failure.
    private mutating func hasResumed(_ track: OpenTrack, _ now: Int64) -> Bool {
        guard let resumesAt = track.resumesAt else { return true }
        guard now >= resumesAt else { return false }
        track.resume()
        if track.writer?.takesUnits == false {
            self.startNextFile(track, now, reason: "write failed")
        }
        return true
    }

    /// A track's file has taken a unit; the kernel has the first unit of a file already.
    private mutating func taken(_ track: OpenTrack) {
        if track.firstUnitDelay == nil, let offer = track.received.offerNanoseconds {
            let now = self.now
            track.firstUnitDelay = .nanoseconds(max(0, now - offer))
            self.actions.append(.tellFirstUnit(track: track.id, nanoseconds: now))
        }
        guard track.hasFailed else { return }
        track.hasFailed = false
        // The next failure is reported again.
        self.recording?.isDegraded = false
        if let recording = self.recording { self.actions.append(.logGoesOn(recording.folder)) }
    }

    /// Journals what a unit means to its track.
    private func note(_ damage: TrackDamage.OnUnit, _ unit: ReceivedUnit, _ track: OpenTrack) {
        let lines = track.damageLines.unitCame(damage, rtpTime: unit.rtpTime, at: unit.arrivalNanoseconds)
        self.note(lines, of: track)
    }

    func note(_ lines: [DamageLines.Line], of track: OpenTrack) {
        guard !lines.isEmpty, let number = track.writer?.track.number else { return }
        self.recording(of: track)?.note(lines, track: number)
    }

    /// The recording that a track's file is in.
    func recording(of track: OpenTrack) -> ActiveRecording? {
        guard let older = self.older, older.folder.id == track.recording else { return self.recording }
        return older
    }

    // MARK: Files

    mutating func startFile(_ track: OpenTrack, _ now: Int64) {
        if self.segments.isCutting, self.older == nil {
            // A track that begins within a cut begins in the next segment; if that cannot be made, the present one
            // continues.
            _ = self.beginNextSegment(now)
        }
        if let recording = self.recording, recording.isFull {
            self.finishRecording(reason: "as many tracks as a recording may have")
            guard self.beginRecording(now, after: recording) else {
                track.pause(until: now + Self.pauseAfterFailure.nanoseconds, for: .disk)
                return self.machine.beginningFailed()
            }
        }
        if track.isVideo, track.keyframes.nextRequest == nil {
            track.keyframes = KeyframePolicy(trackAppearedAt: UInt64(clamping: now))
        }
        let name = self.names[track.received.participant]
        track.writer = self.recording?.file(for: track, name: name, now)
        track.recording = self.recording?.folder.id
        track.damage = TrackDamage()
        track.damageLines = DamageLines()
        track.awaitsKeyframe = false
    }

    /// Ends the track's file, because the sender's RTP clock restarted or a write failed, and continues the track in
    /// the next one.
    private mutating func startNextFile(_ track: OpenTrack, _ now: Int64, reason: String) {
        self.writeGathered()
        self.remember(track)
        self.endFile(track, reason: reason, now)
        track.writer = nil
        track.keyframes = KeyframePolicy(trackAppearedAt: UInt64(clamping: now))
        self.startFile(track, now)
    }

    /// Whether another source of the same sender began to send after this track had stopped: then the track continues in another
    /// file, and an export can put the files of both into one track, one after the other.
    private func isNextTurn(of track: OpenTrack, _ now: Int64) -> Bool {
        guard track.writer != nil, self.older == nil, track.turns.mayBegin(at: now) else { return false }
        return self.tracks.values.contains { other in
            other.id != track.id && other.received.isOfSender(of: track.received)
                && other.turns.began(after: track.turns)
        }
    }

    /// Whether a track may begin another file; if not, nothing of it is recorded until its participant may begin one.
    private mutating func admits(_ track: OpenTrack, _ now: Int64) -> Bool {
        guard !track.isAdmitted else { return true }
        let participant = track.received.participant
        switch self.files.wanted(by: participant, at: now) {
        case .begins:
            track.isAdmitted = true
            return true
        case .waits(let resumesAt, let pause):
            self.closeFile(track.id, reason: "too many files of its participant", now)
            track.pause(until: resumesAt, for: .tooManyTracks)
            guard let pause else { return false }
            let reason = """
                \(participant) begins too many files: new tracks are left out for \(pause.components.seconds) s
                """
            self.tellLeftOut(reason)
            return false
        }
    }

    /// Reports that media of a participant are left out because of the participant's own behaviour.
    mutating func tellLeftOut(_ reason: String) {
        let (folder, part) = (self.recording?.folder, self.recording?.part ?? 0)
        self.actions.append(.tellDegraded(folder, part: part, reason: reason, byDisk: false))
    }

    /// Pauses a track whose sender restarts its RTP clock too often: the disk and an export then get a bearable number
    /// of files.
    private mutating func pause(_ track: OpenTrack, for pause: Duration, _ now: Int64) {
        self.closeFile(track.id, reason: "RTP time jumps too often", now)
        track.pause(until: now + pause.nanoseconds, for: .impossibleClock)
        let reason = """
            the RTP clock of \(track.received.participant)'s \(track.received.codec.kind) restarts too often: \
            left out for \(pause.components.seconds) s
            """
        self.tellLeftOut(reason)
    }

    /// Counts the packets of a track's file, and has it completed.
    mutating func endFile(_ track: OpenTrack, reason: String, _ now: Int64) {
        self.writeGathered()
        self.note(track.damageLines.takeAll(), of: track)
        let recording = self.recording(of: track)
        recording?.count(track, now)
        if let end = track.writer?.end(reason: reason, monotonicNanoseconds: now) {
            self.complete(RecordingCompletion(recording: recording, work: .file(end)))
        }
        track.noteEndOfFile()
    }

    /// Closes the file of an open track; the track itself stays.
    mutating func closeFile(_ id: UInt64, reason: String, _ now: Int64) {
        self.segments.trackEnded(id)
        guard let track = self.tracks[id], track.writer != nil else { return }
        self.writeGathered()
        self.remember(track)
        self.endFile(track, reason: reason, now)
        track.writer = nil
        track.resume()
    }

    /// Keeps the figures of a track's file for the status; called before the file ends, when counts begin again.
    private mutating func remember(_ track: OpenTrack) {
        guard let writer = track.writer, writer.statistics.units > 0, track.recording == self.recording?.folder.id
        else { return }
        if self.closed.count >= Self.maximumClosedTracks { self.closed.removeFirst() }
        self.closed.append(TrackStatus(track, isOpen: false, self.shown))
    }
}
