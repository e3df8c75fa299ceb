// SPDX-License-Identifier: Apache-2.0

/// A host and its cluster, as metrics show them.
public struct ClusterMeasurement: Sendable, Hashable {
    /// Hosts that live, as this host sees them.
    public var hosts: Int
    /// Rooms of the cluster that no host has.
    public var unclaimedRooms: Int
    /// Rooms that this host certainly has.
    public var heldClaims: Int
    /// Rooms that this host has, unless another has them since.
    public var uncertainClaims: Int
    /// Seconds since the store last confirmed that this host lives.
    public var renewalAgeSeconds: Double

    /// A measurement with each part given.
    public init(
        hosts: Int = 0,
        unclaimedRooms: Int = 0,
        heldClaims: Int = 0,
        uncertainClaims: Int = 0,
        renewalAgeSeconds: Double = 0
    ) {
        (self.hosts, self.unclaimedRooms) = (hosts, unclaimedRooms)
        (self.heldClaims, self.uncertainClaims) = (heldClaims, uncertainClaims)
        self.renewalAgeSeconds = renewalAgeSeconds
    }
}
