// SPDX-License-Identifier: Apache-2.0

internal import Basics

extension NegotiationState {
    /// Takes the offer that webrtcbin made for the driver's transceivers, one m-line per kind.
    ///
    /// The peer gets every codec of the policy on each m-line; from webrtcbin come the ICE credentials, the directions
    /// and its sources. One offer per negotiation: whatever comes later is the peer's to offer.
    /// - Parameter inner: the text that create-offer made.
    /// - Returns: `inner` for set-local-description, `outer` for the peer.
    /// - Throws: `.wrongState` if anything was negotiated before, `.unexpectedInner` if the text has no media, or media
    ///   that the policy has no codec for.
    public mutating func offerCreated(inner: String) throws(SDPError) -> (inner: String, outer: SessionDescription) {
        guard self.phase == .stable, self.remote == nil, self.sections.isEmpty else {
            throw SDPError(.wrongState, "only the first description of a peer connection may be our offer")
        }
        let offer = try SessionDescription(parsing: inner)
        guard let first = offer.media.first, let ice = offer.iceCredentials(of: first) else {
            throw SDPError(.unexpectedInner, "webrtcbin's offer has no media or no ICE credentials")
        }
        var next = self
        for (index, media) in offer.media.enumerated() {
            guard let kind = media.kind, let mid = media.mid else {
                throw SDPError(
                    .unexpectedInner,
                    "webrtcbin offers m-line \(index) (\(media.media)) without kind or mid"
                )
            }
            let stated = offer.direction(of: media)
            let direction = Direction(
                sends: stated.sends && !self.policy.sent(kind).isEmpty,
                receives: stated.receives && !self.policy.received(kind).isEmpty
            )
            let codecs = self.offeredCodecs(kind, direction: direction)
            guard !codecs.isEmpty else {
                throw SDPError(.unexpectedInner, "webrtcbin offers \(kind.rawValue), for which no codec is allowed")
            }
            var line = InnerLine(
                mid: mid,
                kind: kind,
                codec: nil,
                sources: [],
                carriesOurTrack: direction.sends,
                localDirection: stated
            )
            line.localSources = media.sourceLines
            line.offered = OfferedFormats.formats(for: codecs, policy: self.policy)
            next.innerLines.append(line)
            next.sections.append(
                Section(
                    media: kind.rawValue,
                    protocolName: "UDP/TLS/RTP/SAVPF",
                    formats: line.offered.map { String($0.payloadType) },
                    mid: String(index),
                    isBundled: true,
                    use: .taken(
                        TakenMedia(innerIndex: index, remoteDirection: direction.reversed, ourDirection: direction)
                    )
                )
            )
        }
        next.localICE = ice
        next.bundleTag = 0
        next.phase = .offering
        let outer = next.makeOuter(setup: .actpass)
        self = next
        return (offer.text, outer)
    }

    /// Codecs that an m-line of ours lists: where we send and receive, only those possible both ways, if there are any.
    private func offeredCodecs(_ kind: MediaKind, direction: Direction) -> [MediaCodec] {
        let received = direction.receives ? self.policy.received(kind) : []
        let sent = direction.sends ? self.policy.sent(kind) : []
        if received.isEmpty { return sent }
        let both = received.filter(sent.contains)
        return both.isEmpty ? received : both
    }

    /// Takes the peer's answer to our offer.
    /// - Returns: the inner answer for set-remote-description. M-lines that the peer refused look accepted in it:
    ///   webrtcbin would otherwise move the BUNDLE transport; nothing will flow on them.
    /// - Throws: `.wrongState` if no answer is awaited (drop it), `.mismatchedAnswer`, `.noMedia`, `.noBundle`,
    ///   `.noFingerprint`, `.noICE`: nothing has changed, a right answer may still come.
    public mutating func answerReceived(_ answer: SessionDescription) throws(SDPError) -> String {
        guard self.phase == .offering else { throw SDPError(.wrongState, "an answer came, but no offer is open") }
        let answer = answer.withExtensionsOfAll
        guard answer.media.count == self.sections.count else {
            throw SDPError(
                .mismatchedAnswer,
                "answer has \(answer.media.count) m-lines, the offer had \(self.sections.count)"
            )
        }
        var next = self
        for index in answer.media.indices {
            try next.settle(answer.media[index], of: answer, at: index)
        }
        let taken = next.sections.indices.filter { next.sections[$0].taken != nil }
        let group = answer.bundleGroups.first
        if taken.count > 1, group == nil {
            throw SDPError(
                .noBundle,
                "answer has \(taken.count) media and no a=group:BUNDLE: one transport was offered"
            )
        }
        next.bundleTag = taken.first
        guard let tag = next.bundleTag else {
            let reasons = next.refusedMedia.map { "\($0.media): \($0.reason)" }.joined(separator: "; ")
            throw SDPError(.noMedia, "the peer's answer takes nothing that we offered; \(reasons)")
        }
        let unkeyed = answer.fingerprints(of: answer.media[tag]).isEmpty
        if unkeyed, answer.media[tag].hasCrypto {
            throw SDPError(.sdesOnly, "answer uses SDES (a=crypto) and has no a=fingerprint: DTLS-SRTP is needed")
        }
        var session = try next.remoteSession(answer, media: answer.media[tag])
        // An answer must choose; one that does not leaves the client's part to the answerer (RFC 5763 section 5).
        if session.setup == .actpass { session.setup = .active }
        next.remote = session
        next.ourRole = session.setup == .active ? .passive : .active
        for index in next.innerLines.indices where next.innerLines[index].codec == nil {
            next.innerLines[index].codec = next.innerLines[index].offered.first.flatMap {
                next.offeredCodec($0, at: index)
            }
        }
        next.innerVersion &+= 1
        let usable = answer.candidates(ofTransport: tag).filter { next.verdict(on: $0) == nil }
        let inner = next.makeInner(remote: session, candidates: usable, version: next.innerVersion).text
        next.phase = .stable
        // A later offer of the peer compares with the offer that would have led here.
        for index in next.innerLines.indices {
            next.innerLines[index].answeredDirection = next.innerLines[index].localDirection
            next.innerLines[index].localDirection = nil
        }
        next.appliedInner = next.makeInner(remote: session, candidates: [], version: 0)
        self = next
        return inner
    }

    /// Takes what the answer says about one m-line.
    private mutating func settle(
        _ media: MediaDescription,
        of answer: SessionDescription,
        at index: Int
    ) throws(SDPError) {
        guard case .taken(var taken) = self.sections[index].use else { return }
        let offered = self.sections[index]
        guard media.media == offered.media, media.mid == nil || media.mid == offered.mid else {
            throw SDPError(
                .mismatchedAnswer,
                "answer's m-line \(index) is \(media.media.excerpt(16)) \(media.mid ?? "-"), offered was "
                    + "\(offered.media) \(offered.mid ?? "-")"
            )
        }
        guard media.port != 0 || media.isBundleOnly else {
            self.sections[index].use = .refused(reason: "the peer refused it")
            return
        }
        guard media.hasRTCPMux else {
            self.sections[index].use = .refused(reason: "the answer has no a=rtcp-mux")
            return
        }
        let line = self.innerLines[taken.innerIndex]
        let answered = media.rtpFormats
        let matches = answered.compactMap { format in
            line.offered.first {
                $0.payloadType == format.payloadType && $0.codec != nil && $0.codec == format.codec
            }.flatMap { self.offeredCodec($0, at: taken.innerIndex) }
        }
        // Whatever it takes, it may send all that we offered.
        let sendable = line.carriesOurTrack ? matches.first { self.policy.canSend($0) } : nil
        guard var codec = sendable ?? matches.first,
            let format = answered.first(where: { $0.payloadType == codec.payloadType })
        else {
            self.sections[index].use = .refused(reason: "the answer has no codec that was offered")
            return
        }
        codec.parameters = format.parameters
        codec.usesNACK = codec.usesNACK && format.feedback.contains("nack")
        codec.usesPLI = codec.usesPLI && format.feedback.contains("nack pli")
        codec.usesFIR = codec.usesFIR && format.feedback.contains("ccm fir")
        codec.rtxPayloadType = codec.rtxPayloadType.flatMap { rtx in
            answered.contains { $0.isRTX && $0.payloadType == rtx && $0.associatedPayloadType == codec.payloadType }
                ? rtx : nil
        }
        codec.transportCCID = codec.transportCCID.flatMap { id in
            media.headerExtensions[id] == transportCCURI && format.feedback.contains("transport-cc") ? id : nil
        }
        codec.audioLevelID = codec.audioLevelID.flatMap { media.headerExtensions[$0] == audioLevelURI ? $0 : nil }
        codec.orientationID = codec.orientationID.flatMap { media.headerExtensions[$0] == orientationURI ? $0 : nil }
        self.innerLines[taken.innerIndex].codec = codec
        self.innerLines[taken.innerIndex].add(media.sources)
        taken.remoteDirection = answer.direction(of: media)
        taken.ourDirection = taken.ourDirection.intersection(taken.remoteDirection.reversed)
        if line.carriesOurTrack, sendable == nil {
            self.innerLines[taken.innerIndex].carriesOurTrack = false
            taken.ourDirection = taken.ourDirection.intersection(.recvonly)
        }
        taken.streamID = media.msid.map(\.stream) ?? media.sources.lazy.compactMap(\.streamID).first
        taken.trackID = media.msid.flatMap(\.track) ?? media.sources.lazy.compactMap(\.trackID).first
        self.sections[index].use = .taken(taken)
        self.sections[index].isBundled = true
    }

    /// One of the formats of our offer, as if the answer had taken all of it.
    private func offeredCodec(_ format: OuterFormat, at index: Int) -> NegotiatedCodec? {
        guard let codec = format.codec else { return nil }
        let rtx = self.innerLines[index].offered.first {
            $0.codec == nil && $0.parameters == "apt=\(format.payloadType)"
        }
        let own = RTPFormat(
            payloadType: format.payloadType,
            map: format.map,
            parameters: format.parameters,
            feedback: format.feedback
        )
        return NegotiatedCodec(
            codec: codec,
            payloadType: format.payloadType,
            channels: own.channels,
            parameters: format.parameters,
            packetizationMode: own.packetizationMode,
            rtxPayloadType: rtx?.payloadType,
            transportCCID: format.feedback.contains("transport-cc") ? OfferedFormats.transportCCID : nil,
            audioLevelID: codec.kind == .audio && !self.policy.receivedAudio.isEmpty
                ? OfferedFormats.audioLevelID : nil,
            orientationID: self.policy.offeredOrientationID(codec.kind),
            usesNACK: format.feedback.contains("nack"),
            usesPLI: format.feedback.contains("nack pli"),
            usesFIR: format.feedback.contains("ccm fir")
        )
    }
}
