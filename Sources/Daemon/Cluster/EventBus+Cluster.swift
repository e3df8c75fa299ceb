// SPDX-License-Identifier: Apache-2.0

import Cluster
import Model

extension EventBus {
    /// Publishes what clients and webhooks hear of a cluster; the rest is in the log alone.
    ///
    /// - Parameter host: this host's name.
    func publish(_ event: ClusterEvent, host: String) {
        switch event {
        case .hostLost(let lost, _, _): self.publish(.hostLost, ["host": lost])
        case .claimed(let room, let epoch, let previous?):
            self.publish(.roomMoved, room: room, ["from": previous, "to": host, "epoch": "\(epoch)"])
        case .claimed, .connected, .disconnected, .storeFailed, .notInitialised, .otherCluster, .tooOld, .nameTaken,
            .unusable, .uncertain, .heldAgain, .lost, .regressed, .released, .drained:
            break
        }
    }
}
