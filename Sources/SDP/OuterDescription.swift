// SPDX-License-Identifier: Apache-2.0

internal import Basics

/// A payload type as our own descriptions list it.
struct OuterFormat: Sendable, Hashable {
    var payloadType: UInt8
    /// The `rtpmap` value behind the payload type.
    var map: String
    /// The `fmtp` value behind the payload type; empty for none.
    var parameters: String
    var feedback: [String]
    /// The codec; nil for retransmissions.
    var codec: MediaCodec?

    var lines: [SDPLine] {
        var lines = [SDPLine.attribute("rtpmap", "\(self.payloadType) \(self.map)")]
        lines += self.feedback.map { .attribute("rtcp-fb", "\(self.payloadType) \($0)") }
        if !self.parameters.isEmpty { lines.append(.attribute("fmtp", "\(self.payloadType) \(self.parameters)")) }
        return lines
    }

    /// Feedback that webrtcbin may send for it: of the two requests for a keyframe the one that the peer understands,
    /// preferably PLI.
    ///
    /// Every sender understands both (RFC 8834 sections 5.1.1 and 5.1.2): one that offers neither gets PLI.
    var innerFeedback: [String] {
        guard self.codec?.kind == .video else { return self.feedback }
        let request = self.feedback.contains("ccm fir") && !self.feedback.contains("nack pli") ? "ccm fir" : "nack pli"
        return self.feedback.filter { $0 != "ccm fir" && $0 != "nack pli" } + [request]
    }

    /// The meaning of the payload type on the whole transport.
    var meaning: String { self.codec == nil ? "\(self.map) \(self.parameters)" : self.map }

    /// The retransmission format for a payload type (RFC 4588 section 8.6).
    static func rtx(_ payloadType: UInt8, for media: UInt8, clockRate: Int) -> OuterFormat {
        OuterFormat(payloadType: payloadType, map: "rtx/\(clockRate)", parameters: "apt=\(media)", feedback: [])
    }
}

/// The URI of the transport-wide sequence number header extension.
let transportCCURI = "http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01"

/// The URI of the header extension with a packet's audio level (RFC 6464 section 4).
let audioLevelURI = "urn:ietf:params:rtp-hdrext:ssrc-audio-level"

/// The URI of the header extension that says how a player turns the video (3GPP TS 26.114, 7.4.5).
let orientationURI = "urn:3gpp:video-orientation"

extension NegotiatedCodec {
    /// The formats that an answer with this codec lists: itself and its retransmissions.
    func outerFormats(_ policy: NegotiationPolicy) -> [OuterFormat] {
        var feedback: [String] = []
        if self.transportCCID != nil { feedback.append("transport-cc") }
        if self.usesNACK { feedback.append("nack") }
        if self.usesPLI { feedback.append("nack pli") }
        if self.usesFIR { feedback.append("ccm fir") }
        let channels = self.channels > 1 ? "/\(self.channels)" : ""
        let media = OuterFormat(
            payloadType: self.payloadType,
            map: "\(self.codec.encodingName)/\(self.clockRate)\(channels)",
            parameters: self.answeredParameters(policy),
            feedback: feedback,
            codec: self.codec
        )
        return [media]
            + (self.rtxPayloadType.map { [.rtx($0, for: self.payloadType, clockRate: self.clockRate)] } ?? [])
    }

    /// Our parameters of the codec, given those of the peer.
    private func answeredParameters(_ policy: NegotiationPolicy) -> String {
        switch self.codec {
        case .h264:
            // An offer without a profile means the default, and so does its answer (RFC 6184 section 8.1).
            let level = self.parameter("profile-level-id").map { ";profile-level-id=\($0)" } ?? ""
            return "level-asymmetry-allowed=1;packetization-mode=\(self.packetizationMode ?? 0)\(level)"
        case .vp9: return self.parameter("profile-id").flatMap { UInt8($0) }.map { "profile-id=\($0)" } ?? ""
        case .opus: return policy.opusParameters(inStereo: self.parameter("sprop-stereo") == "1")
        case .vp8, .pcmu, .pcma: return ""
        }
    }
}

extension NegotiationState {
    /// The next description of ours; its version is one more than the last one's.
    mutating func makeOuter(setup: Setup) -> SessionDescription {
        self.version &+= 1
        var lines = [
            SDPLine("v", "0"),
            SDPLine("o", "- \(self.sessionID) \(self.version) IN IP4 127.0.0.1"),
            SDPLine("s", "-"),
            SDPLine("t", "0 0"),
            // Two recorders know each other by it (RFC 8866 section 6.3).
            .attribute("tool", "tapedeck"),
        ]
        if let claim = self.policy.claim { lines.append(.attribute("tapedeck-claim", claim.text)) }
        let bundled = self.bundleOrder.compactMap { self.sections[$0].mid }
        if !bundled.isEmpty { lines.append(.attribute("group", "BUNDLE \(bundled.joined(separator: " "))")) }
        lines.append(.attribute("ice-options", "trickle"))
        lines.append(.attribute("msid-semantic", " WMS *"))
        let media = self.sections.map { self.makeOuterMedia($0, setup: setup) }
        return SessionDescription(lines: lines, media: media)
    }

    /// Indices of the used, bundled m-lines; the transport's own m-line first (RFC 9143 section 7.3).
    var bundleOrder: [Int] {
        let members = self.sections.indices.filter { self.sections[$0].isBundled && self.sections[$0].isUsed }
        guard let tag = self.bundleTag, members.contains(tag) else { return members }
        return [tag] + members.filter { $0 != tag }
    }

    private func makeOuterMedia(_ section: Section, setup: Setup) -> MediaDescription {
        var lines = [SDPLine("c", "IN IP4 0.0.0.0")]
        if let mid = section.mid { lines.append(.attribute("mid", mid)) }
        // Refused m-lines carry a transport too: aiortc wants one, others do not look.
        if let ice = self.localICE {
            lines += [.attribute("ice-ufrag", ice.ufrag), .attribute("ice-pwd", ice.password)]
        }
        lines += self.ourFingerprints.map { .attribute("fingerprint", $0.description) }
        lines.append(.attribute("setup", setup.rawValue))
        if let channels = section.dataChannels {
            return MediaDescription(
                media: section.media,
                port: 9,
                protocolName: section.protocolName,
                formats: channels.formats,
                lines: lines + channels.lines
            )
        }
        guard let taken = section.taken, self.innerLines.indices.contains(taken.innerIndex) else {
            lines.append(.attribute(Direction.inactive.rawValue))
            return MediaDescription(
                media: section.media,
                port: 0,
                protocolName: section.protocolName,
                formats: section.formats.isEmpty ? ["0"] : section.formats,
                lines: lines + section.repeatedLines
            )
        }
        let inner = self.innerLines[taken.innerIndex]
        var formats = inner.codec?.outerFormats(self.policy) ?? inner.offered
        if let offered = taken.feedback {
            // An answer names nothing that its own offer does not, whatever the one before said.
            for index in formats.indices { formats[index].feedback.removeAll { !offered.contains($0) } }
        }
        lines.insert(.attribute("rtcp", "9 IN IP4 0.0.0.0"), at: 1)
        let transportCC =
            inner.codec.map(\.transportCCID) ?? (self.policy.usesTransportCC ? OfferedFormats.transportCCID : nil)
        let isOffered = taken.feedback?.contains("transport-cc") ?? true
        if let id = transportCC, isOffered { lines.append(.attribute("extmap", "\(id) \(transportCCURI)")) }
        let hearsLevels = inner.kind == .audio && !self.policy.receivedAudio.isEmpty
        let audioLevel = inner.codec.map(\.audioLevelID) ?? (hearsLevels ? OfferedFormats.audioLevelID : nil)
        if let id = audioLevel { lines.append(.attribute("extmap", "\(id) \(audioLevelURI)")) }
        if let id = inner.codec.map(\.orientationID) ?? self.policy.offeredOrientationID(inner.kind) {
            lines.append(.attribute("extmap", "\(id) \(orientationURI)"))
        }
        if taken.ourDirection.receives, let simulcast = taken.simulcast { lines += simulcast.answer }
        lines.append(.attribute(taken.ourDirection.rawValue))
        if taken.ourDirection.sends {
            lines.append(.attribute("msid", "\(self.policy.streamID) \(self.trackID(of: inner.kind))"))
        }
        lines += [.attribute("rtcp-mux"), .attribute("rtcp-rsize")]
        lines += formats.flatMap(\.lines)
        if taken.ourDirection.sends {
            lines += self.outerSources(inner, withRTX: formats.contains { $0.codec == nil })
        }
        return MediaDescription(
            media: section.media,
            port: 9,
            protocolName: section.protocolName,
            formats: formats.map { String($0.payloadType) },
            lines: lines
        )
    }

    /// webrtcbin's sources, under our stream and track ids; Plan B peers read them nowhere else.
    ///
    /// webrtcbin names a retransmission source even for audio, and even while it does not know the source to be
    /// repaired (`FID 0 …`): browsers then refuse the m-line or play the wrong one, so only whole groups pass.
    private func outerSources(_ inner: InnerLine, withRTX: Bool) -> [SDPLine] {
        let sources = MediaDescription(
            media: inner.kind.rawValue,
            port: 9,
            protocolName: "",
            formats: [],
            lines: inner.localSources
        ).sources
        let repairs = inner.localSources.compactMap { line in
            line.attribute.flatMap { $0.name == "ssrc-group" ? $0.value?.split(separator: " ").last : nil }
        }.compactMap { UInt32($0) }
        let main = sources.filter { !repairs.contains($0.ssrc) }
        var lines: [SDPLine] = []
        for source in main {
            var group = [source]
            if withRTX, let repair = sources.first(where: { $0.repairs == source.ssrc }) {
                lines.append(.attribute("ssrc-group", "FID \(source.ssrc) \(repair.ssrc)"))
                group.append(repair)
            }
            for member in group {
                lines.append(.attribute("ssrc", "\(member.ssrc) cname:\(member.cname ?? self.policy.streamID)"))
                let track = self.trackID(of: inner.kind)
                lines.append(.attribute("ssrc", "\(member.ssrc) msid:\(self.policy.streamID) \(track)"))
            }
        }
        return lines
    }

    private func trackID(of kind: MediaKind) -> String { "\(self.policy.streamID)-\(kind.rawValue)" }

    /// Puts gathered candidates into a description of ours before it is sent.
    ///
    /// They are on the m-line of the BUNDLE transport, where RFC 9143 wants them.
    /// - Parameters:
    ///   - candidates: webrtcbin's lines of inner m-line 0, in any of the forms that `CandidateLine` reads.
    ///   - isComplete: whether there will be no more (RFC 8838 section 8.2).
    public func embedding(
        candidates: [String],
        isComplete: Bool,
        in outer: SessionDescription
    ) -> SessionDescription {
        guard let tag = self.bundleTag, outer.media.indices.contains(tag) else { return outer }
        var description = outer
        let lines = candidates.prefix(SDPLimits.candidates).compactMap(CandidateLine.init)
            .compactMap(self.sendable)
            .map { SDPLine("a", $0.description) }
        description.media[tag].lines += lines + (isComplete ? [.attribute("end-of-candidates")] : [])
        return description
    }
}
