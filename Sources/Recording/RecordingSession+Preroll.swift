// SPDX-License-Identifier: Apache-2.0

internal import Matroska

/// Media that come while nothing is recorded, and recordings that begin with them.
extension RecordingSession {
    /// Whether what is left out now may be the beginning of a recording that is ordered later.
    var keepsWhatIsLeftOut: Bool {
        switch self.machine.phase {
        case .off, .waiting: self.preroll != nil
        case .recording, .paused: false
        }
    }

    /// Packets of a unit that is not recorded are not of the file that begins next.
    func passOver(_ track: OpenTrack) {
        switch self.machine.phase {
        case .off, .waiting: track.countedBefore = track.counters
        case .recording, .paused: break
        }
    }

    /// A unit is not recorded, and kept where a recording may begin with it.
    mutating func leaveOut(_ unit: InspectedUnit, _ track: OpenTrack) {
        self.passOver(track)
        guard self.keepsWhatIsLeftOut else { return }
        self.preroll?.keep(
            PrerollBuffer.Unit(
                track: track.id,
                rtpTime: unit.unit.rtpTime,
                arrivalNanoseconds: unit.unit.arrivalNanoseconds,
                lostPackets: unit.unit.lostPackets,
                isTruncated: unit.unit.isTruncated,
                packets: track.countedBefore.received,
                repairedPackets: track.countedBefore.repaired,
                bytes: Array(unit.bytes),
                inspection: unit.inspection,
                sets: unit.sets,
                unitPackets: unit.unit.packets,
                rotation: unit.unit.rotation
            ),
            isVideo: track.isVideo,
            isWholeKeyframe: track.isWholeKeyframe(unit)
        )
    }

    /// Begins a recording with what came before it was ordered, if anything is kept; otherwise the next unit begins it.
    mutating func beginInThePast() {
        guard let start = self.preroll?.start else { return }
        switch self.machine.mediaCame(now: UInt64(clamping: start)) {
        case .begin:
            guard self.beginRecording(start) else { return self.machine.beginningFailed() }
            self.writePreroll()
        case .write, .leaveOut:
            break
        }
    }

    /// Writes what is kept, and lets it go.
    mutating func writePreroll() {
        let units = self.preroll?.take() ?? []
        var begun: Set<UInt64> = []
        for unit in units {
            guard let track = self.tracks[unit.track], self.isWanted(track) else { continue }
            if begun.insert(unit.track).inserted {
                // Losses before the first of them are not of the recording. Its video continues to the present.
                let lost = units.reduce(0) { $0 + ($1.track == unit.track ? $1.lostPackets : 0) } - unit.lostPackets
                let counters = track.counters
                track.countedBefore = PacketCounters(
                    received: unit.packets - min(unit.packets, 1),
                    lost: counters.lost - min(counters.lost, UInt64(clamping: lost)),
                    repaired: unit.repairedPackets
                )
                track.awaitsKeyframe = false
            }
            let received = ReceivedUnit(
                track: unit.track,
                rtpTime: unit.rtpTime,
                arrivalNanoseconds: unit.arrivalNanoseconds,
                lostPackets: unit.lostPackets,
                isTruncated: unit.isTruncated,
                packets: unit.unitPackets,
                rotation: unit.rotation
            )
            track.takeBack(unit.unitPackets)
            let outcome = unit.bytes.withUnsafeBytes { bytes in
                self.write(
                    InspectedUnit(unit: received, bytes: bytes, inspection: unit.inspection, sets: unit.sets),
                    track
                )
            }
            self.note(outcome, received, track)
        }
    }

    /// Video is only dropped up to a keyframe, which must therefore come.
    mutating func requestPrerollKeyframes(_ now: Int64) {
        guard self.preroll != nil else { return }
        for track in self.tracks.values where track.isVideo && self.isWanted(track) {
            if self.preroll?.keyframeIsDue(track: track.id, now: now) == true { self.requestKeyframe(track) }
        }
    }
}
