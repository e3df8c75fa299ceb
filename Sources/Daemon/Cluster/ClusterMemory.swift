// SPDX-License-Identifier: Apache-2.0

import Cluster

/// The facts of a cluster that a host keeps from one run of its daemon to the next.
struct ClusterMemory: Sendable, Hashable, Codable {
    /// The id of the cluster; `nil` until its etcd was reached.
    var id: String?
    /// The highest epoch of each room.
    var epochs: [String: Int] = [:]
    /// When the drain ends that `undrain` has not ended: RFC 3339, UTC.
    var drain: String?

    /// The name under which the catalogue has them: another cluster has others.
    static func fact(of cluster: String) -> String { "cluster \(cluster)" }
}
