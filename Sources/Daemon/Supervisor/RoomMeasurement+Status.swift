// SPDX-License-Identifier: Apache-2.0

import Model
import Observability
import Timeline

extension RoomMeasurement {
    /// The figures of a worker's status.
    init(_ status: RoomStatus) {
        self.init(
            participants: status.participants.count,
            isRecording: status.recordingState == .recording,
            recordingLagSeconds: status.recordingLagMilliseconds.map { $0 / 1000 },
            roundTripSeconds: status.participants.compactMap(\.roundTripMilliseconds).max().map { $0 / 1000 },
            refusedPackets: Dictionary(
                status.participants.map { ($0.id, $0.refusedPackets) },
                uniquingKeysWith: max
            ),
            droppedReports: Dictionary(
                status.participants.map { ($0.id, $0.droppedReports) },
                uniquingKeysWith: max
            ),
            droppedUnits: Dictionary(
                status.participants.map { ($0.id, $0.droppedUnits) },
                uniquingKeysWith: max
            ),
            unrecordedPackets: Dictionary(
                // Reasons are labels: only those that there are.
                status.participants.map {
                    ($0.id, $0.unrecordedPackets.filter { RefusalReason(rawValue: $0.key) != nil })
                },
                uniquingKeysWith: { first, _ in first }
            ),
            cameraAudio: status.camera?.sound.map(Sound.init),
            cameraBitsPerSecond: status.cameraBitsPerSecond,
            cameraReductions: status.cameraReductions,
            cameraFailures: status.cameraFailures,
            cameraDropped: status.cameraDropped,
            tracks: status.tracks.map { track in
                Track(
                    number: track.number,
                    participant: track.participant,
                    kind: track.kind,
                    codec: track.codec,
                    isOpen: track.isOpen,
                    bytes: track.bytes,
                    lostPackets: track.lostPackets,
                    keyframeRequests: track.keyframeRequests,
                    jitterSeconds: track.jitterMilliseconds.map { $0 / 1000 },
                    sound: track.sound.map(Sound.init)
                )
            },
            outputs: (status.outputs ?? []).map { output in
                Output(
                    name: output.name,
                    isFailing: output.state == "failing",
                    packets: output.packets,
                    bytes: output.bytes,
                    droppedPackets: output.droppedPackets
                )
            }
        )
    }
}

extension RoomMeasurement.Sound {
    fileprivate init(_ sound: RoomStatus.Sound) {
        self.init(decibels: sound.levelDecibels, silentSeconds: sound.silentSeconds)
    }
}
