// SPDX-License-Identifier: Apache-2.0

/// Data channels on an m-line of the peer (RFC 8841).
struct DataChannelMedia: Sendable, Hashable {
    /// The peer speaks the form of the drafts before RFC 8841: the port is the m-line's format, `sctpmap` explains it.
    var isLegacy: Bool

    /// Our SCTP port; the association is alone in its DTLS.
    static let port: UInt16 = 5000
    /// Bytes that a peer may send in one message (RFC 8841 section 6): as many as Chromium takes.
    ///
    /// An app that sends the same to all peers must not fail because of us; we keep less.
    static let maximumMessageSize = 262_144
    private static let application = "webrtc-datachannel"

    /// Formats of the m-line in our answer.
    var formats: [String] { [self.isLegacy ? "\(Self.port)" : Self.application] }

    /// Lines below the m-line in our answer.
    var lines: [SDPLine] {
        let size = SDPLine.attribute("max-message-size", "\(Self.maximumMessageSize)")
        guard self.isLegacy else { return [.attribute("sctp-port", "\(Self.port)"), size] }
        return [.attribute("sctpmap", "\(Self.port) \(Self.application) 1024"), size]
    }
}

extension MediaDescription {
    /// The data channels that are offered; nil if it is no m-line of them, or they are closed.
    var dataChannels: DataChannelMedia? {
        guard self.media == "application", self.protocolName.hasSuffix("DTLS/SCTP") else { return nil }
        if self.formats.contains("webrtc-datachannel") {
            return self.sctpPort.flatMap { $0 == 0 ? nil : DataChannelMedia(isLegacy: false) }
        }
        let map = self.attribute("sctpmap")?.split(separator: " ") ?? []
        guard map.count >= 2, map[1] == "webrtc-datachannel", let port = UInt16(map[0]), port != 0 else { return nil }
        return DataChannelMedia(isLegacy: true)
    }
}
