// SPDX-License-Identifier: Apache-2.0

internal import Basics

extension NegotiationState {
    /// The peer's side as webrtcbin gets it: one codec per m-line, directions pinned, one transport.
    ///
    /// `fmtp` is left out but for retransmissions: webrtcbin compares it field by field with the payloader's caps, and
    /// a level or a `sprop-*` field that differs turns the m-line into `recvonly`.
    func makeInner(remote: RemoteSession, candidates: [CandidateLine], version: UInt64) -> SessionDescription {
        var lines = [
            SDPLine("v", "0"),
            SDPLine("o", "- 1 \(version) IN IP4 127.0.0.1"),
            SDPLine("s", "-"),
            SDPLine("t", "0 0"),
            .attribute("group", "BUNDLE \(self.innerLines.map(\.mid).joined(separator: " "))"),
            .attribute("ice-options", "trickle"),
        ]
        if remote.isICELite { lines.append(.attribute("ice-lite")) }
        var media = self.innerLines.compactMap { self.makeInnerMedia($0, remote: remote) }
        if !media.isEmpty {
            media[0].lines += candidates.map { SDPLine("a", $0.description) }
        }
        return SessionDescription(lines: lines, media: media)
    }

    private func makeInnerMedia(_ inner: InnerLine, remote: RemoteSession) -> MediaDescription? {
        guard let codec = inner.codec, let fingerprint = remote.fingerprints.strongest else { return nil }
        var lines: [SDPLine] = [
            SDPLine("c", "IN IP4 0.0.0.0"),
            .attribute("mid", inner.mid),
            .attribute("ice-ufrag", remote.ice.ufrag),
            .attribute("ice-pwd", remote.ice.password),
            .attribute("fingerprint", fingerprint.description),
            .attribute("setup", remote.setup.rawValue),
            // Answering: whatever webrtcbin wants to do. Offering: the counterpart of what it offered.
            .attribute((inner.localDirection?.reversed ?? .sendrecv).rawValue),
            .attribute("rtcp-mux"),
            .attribute("rtcp-rsize"),
        ]
        if self.phase == .offering, let id = codec.transportCCID {
            lines.append(.attribute("extmap", "\(id) \(transportCCURI)"))
        }
        let formats = codec.outerFormats(self.policy) + self.spareFormats(inner, beside: codec)
        for var format in formats {
            if format.codec != nil { format.parameters = "" }
            format.feedback = format.innerFeedback
            lines += format.lines
        }
        // webrtcbin maps a source to its m-line by the cname line alone, and reads its number up to what is no digit. GstSDP
        // wants a space behind it: it would make a field of caps, and so a GQuark for ever, of each source there is.
        lines += inner.sources.map { .attribute("ssrc", "\($0.ssrc); cname:\($0.innerCNAME)") }
        return MediaDescription(
            media: inner.kind.rawValue,
            port: 9,
            protocolName: "UDP/TLS/RTP/SAVPF",
            formats: formats.map { String($0.payloadType) },
            lines: lines
        )
    }
}

extension NegotiationState {
    /// The rest of what we offered, behind the codec that the answer names first.
    ///
    /// An answer only binds what the answerer receives. Chromium sends the first codec of our offer even when its own
    /// answer leaves that codec out, and may switch codecs at any time; webrtcbin must know the payload types.
    private func spareFormats(_ inner: InnerLine, beside codec: NegotiatedCodec) -> [OuterFormat] {
        guard self.phase == .offering, !self.policy.received(inner.kind).isEmpty else { return [] }
        return inner.offered.filter {
            $0.payloadType != codec.payloadType && $0.parameters != "apt=\(codec.payloadType)"
        }
    }
}

extension RemoteSource {
    /// A name that is safe to show to webrtcbin.
    fileprivate var innerCNAME: String {
        guard let cname = self.cname, cname.utf8.count <= 64, cname.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            return "peer"
        }
        return cname
    }
}
