// SPDX-License-Identifier: Apache-2.0

internal import CTapedeck

extension WebRTCBin {
    /// Parts that the first connection of a process creates, in addition to its own pipeline.
    private static let parts = [
        "webrtcbin", "rtpbin", "dtlssrtpdec", "dtlssrtpenc", "srtpdec", "srtpenc", "nicesrc", "nicesink",
        "rtprtxreceive", "rtpstorage", "rtph264depay", "appsink", "fakesink",
    ]

    /// Creates once the parts that the first peer connection of a process would otherwise wait for: plug-ins are loaded,
    /// and dtlssrtpdec 1.22 makes an RSA key for the whole process, 100 to 300 ms long, although it is never used.
    ///
    /// Control thread, while the room is being joined. Parts that cannot be made are missed by the connection that
    /// needs them.
    public static func warmUp() {
        CTapedeck_use_packet_sources()
        for part in Self.parts { _ = try? Element(factory: part) }
    }
}
