// SPDX-License-Identifier: Apache-2.0

/// Where the tracks of a room are sent on as RTP.
public struct RTPOutputConfiguration: Sendable, Hashable {
    /// A host name or an address, multicast too.
    public var host: String
    /// RTP port of the first participant's pictures, 1 to 65 534; `nil` sends none.
    public var videoPort: UInt16?
    /// RTP port of the first participant's sound, 1 to 65 534; `nil` sends none.
    public var audioPort: UInt16?
    /// How many participants are sent at the same time, 1 to 64.
    public var participants = 1
    /// Ports from one participant to the next, 2 to 1024.
    public var portStep = 4
    /// The only participant that is sent, by id or name; `nil`: whoever comes first.
    public var participant: String?
    /// Our own first port, 1024 to 65 532; `nil`: any.
    public var sourcePort: UInt16?
    /// The interface of multicast packets; `nil` leaves it to the routing table.
    public var interface: String?
    /// Routers that a packet may pass, 1 to 255; `nil`: 1 for a group, 64 for a host.
    public var timeToLive: Int?
    /// Payload type of pictures, 0 to 127; `nil`: one for each codec.
    public var videoPayloadType: UInt8?
    /// Payload type of sound, 0 to 127; `nil`: one for each codec.
    public var audioPayloadType: UInt8?
    /// Where the session description is written: an absolute path, with `{place}` in it for several participants.
    public var sdpFile: String?
    /// Whether packets are encrypted, with keys that only `sdpFile` tells.
    public var isEncrypted = false

    /// An output without ports.
    public init(host: String) {
        self.host = host
    }
}
