// SPDX-License-Identifier: Apache-2.0

import Basics
import Cluster
import Model

extension RoomNews {
    /// What a worker's status says of the members of its room.
    ///
    /// Other recorders are not listed, and take their places: a room that looks as if it had one may be full.
    ///
    /// - Parameter record: what is recorded; nil if nothing is.
    init(_ status: RoomStatus, _ record: RecordSpec?) {
        let count = status.participants.count
        self = .members(
            isOccupied: count > 0,
            takesOneMore: (status.capacity ?? 0) > count + 1,
            areHeard: status.hearsAll(record ?? RecordSpec())
        )
    }
}

extension RoomStatus {
    /// Whether all kinds of media that participants said they may send arrive, and are in a file where they are recorded.
    fileprivate func hearsAll(_ record: RecordSpec) -> Bool {
        guard self.participants.allSatisfy(\.isConnected) else { return false }
        guard self.recordingState == .recording || self.recordingState == .waiting else { return true }
        let open = self.tracks.filter(\.isOpen)
        return self.participants.allSatisfy { participant in
            let tracks = open.filter { $0.participant == participant.id }
            let awaited = participant.awaitedKinds.filter { $0 == .video ? record.video : record.audio }
            return !tracks.isEmpty && tracks.allSatisfy { $0.units > 0 }
                && Set(awaited.map(\.rawValue)).isSubset(of: tracks.map(\.kind))
        }
    }
}
