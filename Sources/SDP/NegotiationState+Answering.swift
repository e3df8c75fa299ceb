// SPDX-License-Identifier: Apache-2.0

internal import Basics

/// The action for a peer's offer.
public enum OnOffer: Sendable, Hashable {
    /// Give `inner` to webrtcbin as remote offer, prepare what is sent, create an answer, call `answerCreated`.
    case apply(inner: String)
    /// Send `outer` to the peer; webrtcbin gets only `onNewCandidates`.
    case reply(outer: SessionDescription)
    /// Throw this peer connection and state away, and feed the same offer to new ones.
    case rebuild(RebuildReason)
    /// Send `outer` to the peer: it refuses every m-line, for this reason (RFC 3264 section 6).
    ///
    /// Nothing was negotiated: a later offer of the peer, which may add what we take, finds the state as it was.
    case decline(outer: SessionDescription, reason: String)
}

/// Why an offer cannot be answered from the peer connection that is there.
public enum RebuildReason: String, Sendable, Hashable, CaseIterable {
    /// The peer started a new session: other `o=` line and other ICE credentials.
    case newSession
    /// The peer has another certificate.
    case newCertificate
    /// The m-line that represents the BUNDLE group was stopped: Chromium then drops the transport and starts another,
    /// although its offer still shows the old ICE credentials.
    case transportStopped
    /// Both sides offered; we are polite.
    case glare
    /// The new m-lines do not fit next to those that webrtcbin has: too many, or a payload type with two meanings.
    case noRoom
}

extension NegotiationState {
    /// Takes an offer of the peer, first or later.
    ///
    /// An ICE restart of the same session and certificate is applied, not rebuilt: the DTLS association survives it on
    /// the peer's side. `restartsICE` is then true: the agent must restart before `inner` is set.
    /// - Throws: `.sdesOnly`, `.noFingerprint`, `.noICE`, `.noMedia`, `.noBundle`: the offer is at fault and nothing has
    ///   changed. `.wrongState`: an answer is still to be created.
    public mutating func offerReceived(_ received: SessionDescription) throws(SDPError) -> OnOffer {
        switch self.phase {
        case .answering:
            throw SDPError(.wrongState, "an offer came while the answer to the one before is not made yet")
        case .offering:
            return .rebuild(.glare)
        case .stable:
            break
        }
        self.newCandidates = []
        if let answer = self.lastOuterAnswer, received == self.lastRemoteOffer { return .reply(outer: answer) }

        var (next, offer) = try self.planned(received)
        guard let tag = next.bundleTag, offer.media.indices.contains(tag) else {
            guard let role = self.ourRole else { return try self.decline(offer, next) }
            // The peer stopped all it had and waits for an answer; its transport goes with its media.
            next.hasLostTransport = true
            next.lastRemoteOffer = received
            let outer = next.makeOuter(setup: role)
            next.lastOuterAnswer = outer
            self = next
            return .reply(outer: outer)
        }
        let session = try next.remoteSession(offer, media: offer.media[tag])
        if let known = self.remote {
            if !known.fingerprints.overlaps(session.fingerprints) { return .rebuild(.newCertificate) }
            let isSameOrigin =
                known.origin.user == session.origin.user && known.origin.sessionID == session.origin.sessionID
            if !isSameOrigin, known.ice != session.ice { return .rebuild(.newSession) }
            if self.hasLostTransport || next.hasStoppedTransport(of: self) { return .rebuild(.transportStopped) }
        }
        let fits = next.innerLines.count <= SDPLimits.mediaLines && (next.sourcesFit || self.remote == nil)
        guard fits, next.payloadTypesAgree else { return .rebuild(.noRoom) }
        next.restartsICE = self.localICE != nil && self.remote.map { $0.ice != session.ice } ?? false
        next.remote = session

        let bare = next.makeInner(remote: session, candidates: [], version: 0)
        next.lastRemoteOffer = received
        if bare == self.appliedInner, let role = self.ourRole {
            next.refreshDirections()
            let known = Set(self.lastRemoteOffer?.media.flatMap(\.candidates) ?? [])
            next.newCandidates = offer.candidates(ofTransport: tag).filter { !known.contains($0) }
            let outer = next.makeOuter(setup: role)
            next.lastOuterAnswer = outer
            self = next
            return .reply(outer: outer)
        }
        next.phase = .answering
        next.appliedInner = bare
        next.innerVersion &+= 1
        let usable = offer.candidates(ofTransport: tag).filter { next.verdict(on: $0) == nil }
        let inner = next.makeInner(remote: session, candidates: usable, version: next.innerVersion).text
        self = next
        return .apply(inner: inner)
    }

    /// Takes webrtcbin's answer to the inner offer.
    /// - Parameters:
    ///   - inner: the text that create-answer made.
    ///   - renewed: our new credentials after a restart of ICE. webrtcbin 1.22 keeps those of its last answer, or makes
    ///     new ones if the description before was an offer; the valid ones replace them, here and later.
    /// - Returns: `inner` for set-local-description, `outer` for the peer.
    /// - Throws: `.unexpectedInner` if webrtcbin refused an m-line or said something that was not asked: rebuild.
    ///   `.wrongState` if no answer is awaited.
    public mutating func answerCreated(
        inner: String,
        ice renewed: ICECredentials? = nil
    ) throws(SDPError) -> (inner: String, outer: SessionDescription) {
        guard self.phase == .answering else { throw SDPError(.wrongState, "no answer is awaited") }
        var answer = try SessionDescription(parsing: inner)
        guard answer.media.count == self.innerLines.count else {
            throw SDPError(
                .unexpectedInner,
                "webrtcbin answered \(answer.media.count) of \(self.innerLines.count) m-lines"
            )
        }
        if let credentials = renewed ?? self.localICE { answer.replaceICECredentials(with: credentials) }
        self.restartsICE = false
        for index in self.innerLines.indices {
            try self.take(&answer.media[index], of: answer, at: index)
        }
        guard let first = answer.media.first, let ice = answer.iceCredentials(of: first),
            let role = answer.setup(of: first), role != .actpass
        else {
            throw SDPError(.unexpectedInner, "webrtcbin's answer has no ICE credentials or no DTLS role")
        }
        self.localICE = ice
        self.ourRole = role
        // From here on the peer's role is known: later inner offers say it, so that webrtcbin never changes ours.
        self.remote?.setup = role == .active ? .passive : .active
        if let remote = self.remote {
            self.appliedInner = self.makeInner(remote: remote, candidates: [], version: 0)
        }
        self.refreshDirections()
        self.phase = .stable
        let outer = self.makeOuter(setup: role)
        self.lastOuterAnswer = outer
        return (answer.text, outer)
    }

    /// Checks one m-line of webrtcbin's answer, learns from it, and adds properties that webrtcbin has no way to state.
    private mutating func take(
        _ media: inout MediaDescription,
        of answer: SessionDescription,
        at index: Int
    ) throws(SDPError) {
        let line = self.innerLines[index]
        guard var codec = line.codec, media.port != 0, media.media == line.kind.rawValue, media.mid == line.mid,
            media.formats.first == String(codec.payloadType)
        else {
            throw SDPError(
                .unexpectedInner,
                "webrtcbin refused m-line \(index) (\(line.kind.rawValue)): port \(media.port), formats "
                    + media.formats.joined(separator: " ").excerpt()
            )
        }
        let formats = media.rtpFormats
        let feedback = formats.first { $0.payloadType == codec.payloadType }?.feedback ?? []
        codec.usesNACK = codec.usesNACK && feedback.contains("nack")
        if let rtx = codec.rtxPayloadType, !formats.contains(where: { $0.payloadType == rtx && $0.isRTX }) {
            codec.rtxPayloadType = nil
        }
        if let id = codec.transportCCID, media.headerExtensions[id] == nil {
            media.lines.append(.attribute("extmap", "\(id) \(transportCCURI)"))
        }
        // webrtcbin adds what the peer did not offer, and would send it.
        media.lines.removeAll { $0.attribute?.name == "rtcp-fb" }
        for format in codec.outerFormats(self.policy) {
            media.lines += format.innerFeedback.map { .attribute("rtcp-fb", "\(format.payloadType) \($0)") }
        }
        self.innerLines[index].codec = codec
        self.innerLines[index].localSources = media.sourceLines
        self.innerLines[index].answeredDirection = answer.direction(of: media)
    }

    /// Sets what we do on each m-line from what the peer does now and what webrtcbin settled.
    mutating func refreshDirections() {
        for kind in [MediaKind.audio, .video] { self.placeOurTrack(kind) }
        for index in self.sections.indices {
            guard case .taken(var taken) = self.sections[index].use, self.innerLines.indices.contains(taken.innerIndex)
            else { continue }
            let inner = self.innerLines[taken.innerIndex]
            let able = Direction(
                sends: self.trackPlaces[inner.kind] == taken.innerIndex,
                receives: !self.policy.received(inner.kind).isEmpty && (inner.answeredDirection?.receives ?? true)
            )
            taken.ourDirection = able.intersection(taken.remoteDirection.reversed)
            self.sections[index].use = .taken(taken)
        }
    }

    /// Chooses the m-line on which what we send of a kind goes out: of those that can carry it and where the peer
    /// listens, the one it is on, or else the first.
    private mutating func placeOurTrack(_ kind: MediaKind) {
        let listened = self.sections.compactMap(\.taken).filter { taken in
            guard let inner = self.innerLines[checked: taken.innerIndex] else { return false }
            return inner.kind == kind && inner.takesOurTrack && taken.remoteDirection.receives
        }.map(\.innerIndex)
        if let place = self.trackPlaces[kind], listened.contains(place) { return }
        self.trackPlaces[kind] = listened.first
    }

    /// Refuses a first offer of which nothing is taken: only a data channel, only codecs that we do not have.
    private func decline(_ offer: SessionDescription, _ next: NegotiationState) throws(SDPError) -> OnOffer {
        guard let first = offer.media.first else { throw SDPError(.noMedia, "the offer has no m-lines") }
        let reasons = next.refusedMedia.map { "m-line \($0.outerIndex) (\($0.media.excerpt(16))): \($0.reason)" }
        var next = next
        let outer = next.makeOuter(setup: offer.setup(of: first) == .active ? .passive : .active)
        return .decline(
            outer: outer,
            reason: "no audio or video that we can take; \(reasons.joined(separator: "; "))"
        )
    }
}

extension MediaDescription {
    /// The `ssrc` and `ssrc-group` lines.
    var sourceLines: [SDPLine] {
        self.lines.filter { $0.attribute.map { $0.name == "ssrc" || $0.name == "ssrc-group" } ?? false }
    }
}
