// SPDX-License-Identifier: Apache-2.0

/// The settings of one host in a cluster.
public struct ClusterSettings: Sendable, Hashable {
    /// When rooms move to the host that would have them if all were claimed again.
    public enum Rebalancing: String, Sendable, Hashable, CaseIterable {
        /// While only we are in them.
        case empty
        /// Not at all.
        case never
        /// At any time, without a gap: the successor joins first.
        case always
    }

    /// The cluster's name.
    public var cluster: String
    /// This host's name: no other living host has it.
    public var host: String
    /// The record of this host; `isDraining` and `isStopping` are the machine's.
    public var record: HostRecord
    /// The id of the cluster, as this host knows it, perhaps from an earlier run; nil takes the first.
    public var id: String?
    /// The highest epochs that this host knows, perhaps from an earlier run, by room: no lower one is claimed.
    public var epochs: [String: Int] = [:]
    /// When rooms move.
    public var rebalancing = Rebalancing.empty

    /// How long the lease lives without renewal, in whole seconds; `leaseRange`.
    public var lease = Duration.seconds(4)
    /// What `lease` takes: below 3 s etcd's own smallest lease gets in the way.
    public static let leaseRange = Duration.seconds(3)...Duration.seconds(60)

    /// How long before its end the lease is treated as ended.
    var leaseMargin = Duration.milliseconds(500)
    /// The time between renewals.
    var renewal = Duration.seconds(1)
    /// The shortest time between a renewal and the next after it failed.
    var renewalRetry = Duration.milliseconds(250)
    /// The limit of every request but a listing.
    var requestLimit = Duration.seconds(1)
    /// The limit of a listing.
    var listLimit = Duration.seconds(5)
    /// The time between listings, which repair what a watch lost.
    var listing = Duration.seconds(60)
    /// The time before something that failed is tried again.
    var retry = Duration.seconds(1)
    /// The same where the store is full or refuses.
    var longRetry = Duration.seconds(5)
    /// How long the first host of the ranking waits before it claims.
    var claimDelay = Duration.milliseconds(500)
    /// How much longer each further host waits.
    var claimStep = Duration.milliseconds(300)
    /// How long a host that has rooms to claim may claim none.
    var claimPause = Duration.seconds(3)
    /// The most claims without an answer.
    var maximumClaims = 8
    /// The most writes about rooms without an answer, with the claims.
    var maximumWrites = 32
    /// The most claims in a second.
    var claimsPerSecond = 20
    /// How long an owner that lost a room waits for its successor to join.
    var lossLimit = Duration.seconds(10)
    /// How long a successor may take to join.
    var handoverLimit = Duration.seconds(20)
    /// How long a successor that has joined waits at most for media of all others: some participants send none.
    var hearingLimit = Duration.seconds(10)
    /// How long a successor that has joined sees no others before it takes the room for empty.
    var emptinessLimit = Duration.seconds(3)
    /// The most moves of this host at a time.
    var maximumHandovers = 4
    /// The most moves in a minute that only balance, in the whole cluster.
    var moves = 2
    /// The time for which a move counts.
    var moveWindow = Duration.seconds(60)
    /// The time between looks for a room to move, and the time that hosts must stay the same before.
    var balancing = Duration.seconds(15)
    /// How long a host must be away to be reported as lost.
    var hostLoss = Duration.seconds(10)
    /// How long the host that brings a series together must be away before another one does.
    var gathererLoss = Duration.seconds(60)
    /// How long the store remembers an event that was reported.
    var memory = Duration.seconds(7200)

    /// The settings with defaults for the rest.
    public init(cluster: String, host: String, record: HostRecord) {
        (self.cluster, self.host, self.record) = (cluster, host, record)
    }
}
