// SPDX-License-Identifier: Apache-2.0

public import Basics

/// The RTSP server.
public struct RTSPConfiguration: Sendable, Hashable {
    /// Somebody who may watch.
    public struct User: Sendable, Hashable {
        /// The user's name, unique.
        public var name: String
        /// The password.
        public var password: Secret
        /// The rooms that the user sees; empty: all of them.
        public var rooms: [String]
    }

    /// Where multicast clients are sent to.
    public struct Multicast: Sendable, Hashable {
        /// First address, of the family of the last.
        public var firstAddress: String
        /// Last address.
        public var lastAddress: String
        /// Ports: two for each stream.
        public var ports: ClosedRange<UInt16>
        /// Routers that a packet may pass, 1 to 255.
        public var timeToLive = 1
    }

    /// Address or host name that is listened on; IPv6 without brackets.
    public var host = "127.0.0.1"
    /// TCP port.
    public var port = 8554
    /// Who may watch; empty only on loopback, where then everybody may.
    public var users: [User] = []
    /// Certificate and key; `nil` serves without TLS.
    public var tls: TLSFiles?
    /// Where multicast clients are sent to; `nil`: they are refused.
    public var multicast: Multicast?
    /// The rooms that are served; empty: all of them.
    public var rooms: [String] = []
    /// The most participants of a room that are served, 1 to 64.
    public var participants = 8
    /// The most clients at a time, 1 to 1024.
    public var maximumClients = 64

    /// Every key at its default.
    public init() {}

    /// Whether a room is served.
    public func serves(_ room: String) -> Bool { self.rooms.isEmpty || self.rooms.contains(room) }
}
