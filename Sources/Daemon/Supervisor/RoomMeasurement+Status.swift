// SPDX-License-Identifier: Apache-2.0

import Observability
import Supervision

extension RoomMeasurement {
    /// The figures of a worker's status.
    init(_ status: RoomStatus) {
        self.init(
            participants: status.participants.count,
            isRecording: status.recordingState == .recording,
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
                    jitterSeconds: track.jitterMilliseconds.map { $0 / 1000 }
                )
            }
        )
    }
}
