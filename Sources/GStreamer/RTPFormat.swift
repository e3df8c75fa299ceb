// SPDX-License-Identifier: Apache-2.0

internal import CGStreamer

/// Identity of a received RTP stream, from the caps of webrtcbin's source pad.
public struct RTPFormat: Sendable, Hashable {
    /// `audio` or `video`.
    public var media: String
    /// RTP encoding name in upper case, for example `VP8`.
    public var encodingName: String
    /// RTP clock in Hz.
    public var clockRateHz: Int
    /// RTP payload type, 0 to 127.
    public var payloadType: Int
    /// Synchronisation source, if the caps carry it.
    public var ssrc: UInt32?
    /// Audio channels (`encoding-params`), if the caps carry them.
    public var channels: Int?
    /// Profile and level of H.264 (RFC 6184 section 8.1), if the caps carry them.
    public var profileLevelID: String?
    /// Whether the sender takes requests for packets that are missing (`nack`, RFC 4585 section 6.2.1).
    public var takesNACK: Bool

    init?(caps: UnsafeMutablePointer<GstCaps>) {
        guard gst_caps_get_size(caps) > 0, let structure = gst_caps_get_structure(caps, 0),
            let media = gst_structure_get_string(structure, "media"),
            let encodingName = gst_structure_get_string(structure, "encoding-name")
        else { return nil }
        var clockRate: gint = 0
        var payloadType: gint = -1
        var ssrc: guint = 0
        gst_structure_get_int(structure, "clock-rate", &clockRate)
        gst_structure_get_int(structure, "payload", &payloadType)
        self.media = String(cString: media)
        self.encodingName = String(cString: encodingName).uppercased()
        self.clockRateHz = Int(clockRate)
        self.payloadType = Int(payloadType)
        self.ssrc = gst_structure_get_uint(structure, "ssrc", &ssrc) != 0 ? ssrc : nil
        self.channels = gst_structure_get_string(structure, "encoding-params").flatMap { Int(String(cString: $0)) }
        self.takesNACK = gst_structure_has_field(structure, "rtcp-fb-nack") != 0
        self.profileLevelID = gst_structure_get_string(structure, "profile-level-id").map { String(cString: $0) }
    }
}
