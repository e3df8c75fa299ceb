// SPDX-License-Identifier: Apache-2.0

/// How a WebRTCBin is set up.
public struct WebRTCSettings: Sendable {
    /// How long a packet may be missing; 500 ms for recording lets retransmissions arrive.
    public var latency: Duration = .milliseconds(500)
    /// Whether TCP candidates are gathered.
    public var gathersTCP = false
    /// Local UDP ports; nil leaves the choice to the system.
    public var portRange: ClosedRange<UInt16>?
    /// Addresses to gather from, loopback included; empty means every interface but loopback.
    public var hostAddresses: [String] = []
    /// `stun://host:port`; nil for none.
    public var stunServer: String?
    /// `turn://user:password@address:port?transport=…`, `udp` or `tcp`, user and password percent-encoded.
    ///
    /// `turns` is useless: libnice then speaks TCP without TLS.
    public var turnServers: [String] = []
    /// Whether only relayed candidates are used: peers learn no address of this host.
    public var relaysOnly = false
    /// Streams one connection may ever carry, those that are gone included.
    ///
    /// A bound against peers that change SSRC for ever. It exceeds the number that a description may name before the
    /// connection is replaced (`SDPLimits.sources`), because a stream beyond it is dropped silently.
    public var maximumStreams = 320
    /// Sources (SSRC) that one connection may ever have: those of each stream and of its retransmissions.
    ///
    /// Each takes 6 kB in GStreamer and libsrtp for as long as the connection lives.
    public var maximumSources: Int { 2 * self.maximumStreams }

    /// Whether received packets go through all parts of webrtcbin, where they otherwise go around the receive queue, srtpdec
    /// and most of rtpbin, and gather in the kernel: for who wants to know whether one of these ways is at fault.
    public var takesWholeWay = false

    /// How many packets are read from a connection's sockets before they are looked at; nil for as many as suits floods.
    var packetsPerLook: Int?

    /// The defaults for recording.
    public init() {}
}
