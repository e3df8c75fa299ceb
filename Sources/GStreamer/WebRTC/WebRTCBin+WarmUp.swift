// SPDX-License-Identifier: Apache-2.0

internal import CTapedeck

extension WebRTCBin {
    /// What the first connection of a process makes, beside its own pipeline.
    private static let parts = [
        "webrtcbin", "rtpbin", "dtlssrtpdec", "dtlssrtpenc", "srtpdec", "srtpenc", "nicesrc", "nicesink",
        "rtprtxreceive", "rtpstorage", "rtph264depay", "appsink", "fakesink",
    ]

    /// Makes once what the first peer connection of a process would have to wait for: plug-ins are loaded, and
    /// dtlssrtpdec 1.22 makes an RSA key for the whole process, 100 to 300 ms long, although nobody uses it.
    ///
    /// Control thread, while the room is being joined. What cannot be made is missed by the connection that needs it.
    public static func warmUp() {
        CTapedeck_use_packet_sources()
        for part in Self.parts { _ = try? Element(factory: part) }
    }
}
