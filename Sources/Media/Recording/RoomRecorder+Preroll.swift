// SPDX-License-Identifier: Apache-2.0

internal import GStreamer
internal import Matroska
internal import Session

/// What comes while nothing is recorded, and recordings that begin with it. Everything runs with the lock held.
extension RoomRecorder {
    /// A unit is not recorded: it may be the beginning of a recording that is ordered later.
    func leaveOut(_ unit: ReceivedItem.Unit, _ bytes: UnsafeRawBufferPointer) {
        guard let track = self.state.tracks[unit.tap] else { return }
        let counters = track.tap.counters
        switch self.state.machine.phase {
        case .paused, .recording:
            return
        case .off, .waiting:
            track.countedBefore = (counters.packets, counters.lostPackets, counters.repairedPackets)
        }
        self.state.preroll?.keep(
            PrerollBuffer.Unit(
                track: unit.tap,
                rtpTime: unit.rtpTime,
                arrivalNanoseconds: unit.arrivalNanoseconds,
                lostPackets: unit.lostPackets,
                isTruncated: unit.isTruncated,
                packets: counters.packets,
                repairedPackets: counters.repairedPackets,
                bytes: Array(bytes)
            ),
            isVideo: track.isVideo,
            isWholeKeyframe: track.isVideo && track.isWholeKeyframe(unit, bytes)
        )
    }

    /// Begins a recording with what came before it was ordered, if anything is kept; otherwise the next unit begins it.
    func beginInThePast() {
        guard let start = self.state.preroll?.start else { return }
        switch self.state.machine.mediaCame(now: UInt64(clamping: start)) {
        case .begin:
            guard self.beginRecording(start) else { return self.state.machine.beginningFailed() }
            self.writePreroll()
        case .write, .leaveOut:
            break
        }
    }

    /// Writes what is kept, and lets it go.
    func writePreroll() {
        let units = self.state.preroll?.take() ?? []
        var begun: Set<UInt64> = []
        for unit in units {
            guard let track = self.state.tracks[unit.track], self.isWanted(track) else { continue }
            if begun.insert(unit.track).inserted {
                // What came before the first of them is not of the recording. Its pictures go on to the present.
                let lost = units.reduce(0) { $0 + ($1.track == unit.track ? $1.lostPackets : 0) } - unit.lostPackets
                let counters = track.tap.counters
                track.countedBefore = (
                    unit.packets - min(unit.packets, 1),
                    counters.lostPackets - min(counters.lostPackets, UInt64(clamping: lost)),
                    unit.repairedPackets
                )
                track.awaitsKeyframe = false
            }
            let captured = ReceivedItem.Unit(
                tap: unit.track,
                rtpTime: unit.rtpTime,
                arrivalNanoseconds: unit.arrivalNanoseconds,
                lostPackets: unit.lostPackets,
                isTruncated: unit.isTruncated
            )
            unit.bytes.withUnsafeBytes { self.write(captured, $0, track) }
        }
    }

    /// Keyframes are what pictures are let go at: some have to come.
    func requestPrerollKeyframes(_ now: Int64) {
        guard self.state.preroll != nil else { return }
        for (id, track) in self.state.tracks where track.isVideo && self.isWanted(track) {
            if self.state.preroll?.keyframeIsDue(track: id, now: now) == true { track.requestKeyframe() }
        }
    }
}
