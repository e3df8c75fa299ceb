// SPDX-License-Identifier: Apache-2.0

import Basics
import Cluster
public import ConfigurationFile
public import Coordination
import HTTPRequests
import Storage

extension ClusterSettings {
    /// What the configuration file says of the cluster, for a run of the daemon.
    init(_ cluster: ClusterConfiguration, version: String, life: String) {
        self.init(
            cluster: cluster.name,
            host: cluster.host,
            record: HostRecord(
                url: cluster.url,
                version: version,
                labels: cluster.labels,
                capacity: cluster.capacity,
                boot: BootID.current ?? life,
                life: life,
                started: UTCTime.now().iso8601
            )
        )
        self.lease = .seconds(cluster.leaseSeconds)
    }
}

extension EtcdConfiguration {
    /// How a daemon and its commands reach the etcd of a cluster.
    public init(_ cluster: ClusterConfiguration) {
        self.init(
            members: cluster.members,
            user: cluster.user.map { User(name: $0.name, password: $0.password) },
            authorityFile: cluster.authority,
            identity: cluster.identity.map { HTTPClient.Identity(certificateFile: $0.certificate, keyFile: $0.key) },
            // A member that hangs is left before the machine asks again, a second after it asked.
            renewalLimit: .milliseconds(900)
        )
    }
}
