// SPDX-License-Identifier: Apache-2.0

internal import Storage

/// Cutting a recording into segments without losing a unit; also one that soon has as many tracks as it may.
///
/// From the instant of the cut on, each track moves to the next segment separately: audio with its next unit, video
/// with its next keyframe, which is requested. Until the last has gone over, there are two recordings.
extension RecordingSession {
    /// Begins a cut that is due, and ends one in which every track has gone over.
    mutating func turnSegments(_ now: Int64) {
        guard let recording = self.recording, self.machine.phase == .recording else { return }
        let isFull = recording.isNearlyFull
        guard self.segments.isAtWork || isFull else { return }
        // Also those whose file is yet to begin: it would be in a recording that is over.
        let tracks = self.tracks.filter { $0.value.writer != nil }
        let time = UInt64(clamping: now)
        let isDue = self.segments.cutIsDue(
            now: time,
            bytes: recording.bytes,
            isFull: isFull,
            tracks: Array(tracks.keys)
        )
        if isDue {
            for track in tracks.values where track.isVideo { track.keyframes = KeyframePolicy(trackAppearedAt: time) }
        }
        let behind = self.tracks.keys.filter { self.segments.isBehind($0) }
        let hasNext = self.older != nil
        guard self.segments.cutIsOver(now: time, hasNext: hasNext) else { return }
        for id in behind { self.closeFile(id, reason: "segment", now) }
        self.finishOlderSegment(now)
    }

    /// Lets a track whose unit this is go over to the next segment, if it is time.
    ///
    /// - Parameter startsFile: whether a file can begin with the unit.
    /// - Returns: whether it went over without a keyframe.
    mutating func cross(_ unit: ReceivedUnit, startsFile: Bool, _ track: OpenTrack) -> Bool {
        var policy = self.segments
        let now = unit.arrivalNanoseconds
        let decision = policy.unitCame(track: unit.track, startsFile: startsFile, now: UInt64(clamping: now))
        guard decision != .stays, self.older != nil || self.beginNextSegment(now) else { return false }
        _ = self.segments.unitCame(track: unit.track, startsFile: startsFile, now: UInt64(clamping: now))
        let before = track.writer
        self.endFile(track, reason: "segment", now)
        track.writer = nil
        self.startFile(track, now)
        guard decision == .crossesDamaged, let before, before.statistics.units > 0 else { return false }
        track.writer?.go(on: before)
        return true
    }

    /// Makes the next segment the present recording; false if that is not possible now.
    mutating func beginNextSegment(_ start: Int64) -> Bool {
        guard let present = self.recording, self.beginRecording(start, after: present) else { return false }
        self.older = present
        for participant in present.joined.sorted() {
            let name = self.names[participant]
            self.recording?.joins(participant, name: name, start)
        }
        return true
    }

    /// Ends a cut at once, because nothing is recorded for a while; one that has no next segment yet comes later.
    mutating func endCut() {
        let now = self.now
        let behind = self.tracks.keys.filter { self.segments.isBehind($0) }
        self.segments.recordingEnded()
        guard self.older != nil else { return }
        for id in behind { self.closeFile(id, reason: "segment", now) }
        self.finishOlderSegment(now)
    }

    /// Ends the older segment, whose files are closed.
    mutating func finishOlderSegment(_ now: Int64) {
        guard let older = self.older else { return }
        self.closeAccounts(of: older, ofOlder: true, now)
        self.older = nil
        self.finish(older, reason: "segment", now)
    }
}
