// SPDX-License-Identifier: Apache-2.0

import Cluster
import Model

extension RoomNews {
    /// What a worker's status says of the members of its room.
    ///
    /// Other recorders are not listed, and take their places: a room that looks as if it had one may be full.
    init(_ status: RoomStatus) {
        let count = status.participants.count
        self = .members(
            isOccupied: count > 0,
            takesOneMore: (status.capacity ?? 0) > count + 1,
            areHeard: status.hearsAll
        )
    }
}

extension RoomStatus {
    /// Whether media of every participant arrive, and are in a file where something is recorded.
    fileprivate var hearsAll: Bool {
        guard self.participants.allSatisfy(\.isConnected) else { return false }
        guard self.recordingState == .recording || self.recordingState == .waiting else { return true }
        let open = self.tracks.filter(\.isOpen)
        return self.participants.allSatisfy { participant in
            let tracks = open.filter { $0.participant == participant.id }
            return !tracks.isEmpty && tracks.allSatisfy { $0.units > 0 }
        }
    }
}
