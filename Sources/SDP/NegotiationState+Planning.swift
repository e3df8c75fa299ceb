// SPDX-License-Identifier: Apache-2.0

internal import Basics

extension NegotiationState {
    /// Decides on every m-line of an offer; adds inner m-lines for what is new and remembers the BUNDLE transport.
    mutating func planSections(_ offer: SessionDescription) throws(SDPError) -> [Section] {
        let group = offer.bundleGroups.first
        try self.checkTransport(of: offer, hasGroup: group != nil)
        var sections: [Section] = []
        // The m-lines that need an inner one.
        var new: [Int] = []
        let bundled = group.map { Set($0) }
        // Where the first m-line with each mid is.
        var places: [String: Int] = [:]
        for (index, media) in offer.media.enumerated() {
            let mid = media.mid
            let isRepeated = mid.map { places[$0] != nil } ?? false
            if let mid, !isRepeated { places[mid] = index }
            let isBundled = mid.map { bundled?.contains($0) ?? false } ?? false
            var section = Section(
                media: media.media,
                protocolName: media.protocolName,
                formats: media.formats,
                repeatedLines: media.lines.filter(\.isRepeatedInRefusal),
                mid: mid,
                isBundled: isBundled,
                use: .refused(reason: "")
            )
            if isRepeated {
                section.use = .refused(reason: "its mid is used twice")
            } else if group != nil, !isBundled {
                section.use = .refused(reason: "it is not in the BUNDLE group")
            } else if media.kind == nil {
                section.use = self.plan(data: media, hasGroup: group != nil, isBundled: isBundled, beside: sections)
            } else if let reason = media.refusal(isBundled: isBundled) {
                section.use = .refused(reason: reason)
            } else if let taken = self.kept(media, of: offer, previous: self.before(media, at: index)) {
                section.use = .taken(taken)
            } else {
                new.append(index)
            }
            sections.append(section)
        }
        for index in self.listenedFirst(new, of: offer) {
            let previous = self.before(offer.media[index], at: index)
            let use = self.plan(offer.media[index], of: offer, previous: previous, beside: sections)
            sections[index].use = use
        }
        let hasMedia = sections.contains { $0.taken != nil }
        for index in sections.indices where sections[index].dataChannels != nil {
            // The transport is webrtcbin's, which has none without media.
            if !hasMedia { sections[index].use = .refused(reason: "there are no other media") }
        }
        let order = group?.compactMap { places[$0] } ?? Array(sections.indices)
        self.bundleTag = order.first { sections[$0].isUsed }
        return sections
    }

    /// Decides on an m-line that is neither audio nor video.
    private func plan(
        data media: MediaDescription,
        hasGroup: Bool,
        isBundled: Bool,
        beside sections: [Section]
    ) -> Section.Use {
        guard self.policy.takesDataChannels, media.media == "application" else {
            return .refused(reason: "only audio and video are taken")
        }
        guard let channels = media.dataChannels, media.port != 0 || media.isBundleOnly && isBundled else {
            return .refused(reason: "it is no open m-line of data channels")
        }
        guard hasGroup else { return .refused(reason: "it is not in the BUNDLE group") }
        guard !sections.contains(where: { $0.dataChannels != nil }) else {
            return .refused(reason: "there are data channels already")
        }
        return .dataChannels(channels)
    }

    /// Refuses what has no transport that we speak.
    private func checkTransport(of offer: SessionDescription, hasGroup: Bool) throws(SDPError) {
        let active = offer.media.filter { $0.kind != nil && $0.isRTP && ($0.port != 0 || $0.isBundleOnly) }
        let unkeyed = active.first { offer.fingerprints(of: $0).isEmpty }
        if let unkeyed {
            guard !unkeyed.hasCrypto else {
                throw SDPError(
                    .sdesOnly,
                    "offer uses SDES (a=crypto) and has no a=fingerprint: DTLS-SRTP is needed (RFC 8827 section 6.5)"
                )
            }
            throw SDPError(.noFingerprint, "\(unkeyed.media) has no a=fingerprint that can be read")
        }
        if !hasGroup, active.count > 1 {
            throw SDPError(
                .noBundle,
                "offer has \(active.count) media and no a=group:BUNDLE: only one transport is taken (RFC 9143)"
            )
        }
    }

    /// The m-line of the offer before that this one continues: the one with its mid, or the one at its place.
    ///
    /// Some apps change the order, which RFC 3264 section 8 forbids.
    private func before(_ media: MediaDescription, at index: Int) -> Section? {
        media.mid.flatMap { mid in self.sections.first { $0.mid == mid } } ?? self.sections[checked: index]
    }

    /// An m-line that keeps its inner one, because the codec of that is still offered; nil if it cannot.
    private mutating func kept(
        _ media: MediaDescription,
        of offer: SessionDescription,
        previous: Section?
    ) -> TakenMedia? {
        guard let previous, let before = previous.taken, previous.mid == media.mid, previous.media == media.media,
            let codec = self.innerLines[checked: before.innerIndex]?.codec,
            media.rtpFormats.contains(where: { $0.payloadType == codec.payloadType && $0.codec == codec.codec })
        else { return nil }
        self.innerLines[before.innerIndex].add(media.sources)
        // An answer names no extension that its offer does not.
        self.innerLines[before.innerIndex].codec?.audioLevelID = self.policy.audioLevelID(of: media)
        self.innerLines[before.innerIndex].codec?.orientationID = self.policy.orientationID(of: media)
        return TakenMedia(media, of: offer, innerIndex: before.innerIndex, payloadType: codec.payloadType)
    }

    /// The order in which m-lines get inner ones: theirs, but of a kind that we send those first where the peer
    /// listens.
    ///
    /// webrtcbin gives a sender of ours to the first new m-line that has its codec (docs/gstreamer.md, fact 57).
    private func listenedFirst(_ new: [Int], of offer: SessionDescription) -> [Int] {
        func isListened(_ index: Int) -> Bool { offer.direction(of: offer.media[index]).receives }
        var lines = Dictionary(grouping: new) { offer.media[$0].kind }
        for kind in [MediaKind.audio, .video] where !self.policy.sent(kind).isEmpty {
            guard let all = lines[kind] else { continue }
            lines[kind] = all.filter(isListened) + all.filter { !isListened($0) }
        }
        return new.compactMap { lines[offer.media[$0].kind]?.removeFirst() }
    }

    /// Decides on an m-line that needs an inner one.
    private mutating func plan(
        _ media: MediaDescription,
        of offer: SessionDescription,
        previous: Section?,
        beside sections: [Section]
    ) -> Section.Use {
        guard let kind = media.kind else { return .refused(reason: "only audio and video are taken") }
        let isListened = offer.direction(of: media).receives
        let mayCarryOurTrack =
            (isListened || !offer.hasListener(kind))
            && self.isOurTrackFree(kind, isListened: isListened, beside: sections)
        // Payload types mean one thing on a transport (RFC 9143 section 9.1), but aiortc numbers each m-line as if it
        // were alone. A new m-line must fit next to the others; a conflict on one that was in use justifies a new
        // connection.
        let meanings = previous?.taken == nil ? self.payloadTypeMeanings : [:]
        let choice = self.policy.choose(kind: kind, from: media, sends: mayCarryOurTrack, beside: meanings)
        guard let codec = choice else {
            let alone = self.policy.choose(kind: kind, from: media, sends: mayCarryOurTrack, beside: [:])
            return .refused(
                reason: alone == nil
                    ? "it offers no codec that we take" : "its payload types mean something else on another m-line"
            )
        }
        var inner = InnerLine(
            mid: "m\(self.innerLines.count)",
            kind: kind,
            codec: codec,
            sources: [],
            carriesOurTrack: mayCarryOurTrack && self.policy.canSend(codec)
        )
        inner.add(media.sources)
        self.innerLines.append(inner)
        return .taken(
            TakenMedia(media, of: offer, innerIndex: self.innerLines.count - 1, payloadType: codec.payloadType)
        )
    }

    /// Whether we send this kind and no m-line in use has it yet: there is one camera and one microphone.
    ///
    /// An m-line on which the peer listens may have it although one has it on which the peer does not.
    private func isOurTrackFree(_ kind: MediaKind, isListened: Bool, beside sections: [Section]) -> Bool {
        guard !self.policy.sent(kind).isEmpty else { return false }
        return !sections.contains { section in
            guard let taken = section.taken, let inner = self.innerLines[checked: taken.innerIndex] else {
                return false
            }
            return inner.kind == kind && inner.takesOurTrack && (taken.remoteDirection.receives || !isListened)
        }
    }

    /// Reads the peer's transport from the m-line that represents the BUNDLE group.
    func remoteSession(_ description: SessionDescription, media: MediaDescription) throws(SDPError) -> RemoteSession {
        guard let origin = description.origin else { throw SDPError(.garbage, "description has no o= line") }
        guard let ice = description.iceCredentials(of: media) else {
            throw SDPError(.noICE, "\(media.media) has no well-formed a=ice-ufrag and a=ice-pwd")
        }
        let fingerprints = description.fingerprints(of: media)
        guard !fingerprints.isEmpty else {
            throw SDPError(.noFingerprint, "\(media.media) has no a=fingerprint that can be read")
        }
        let setup: Setup =
            switch self.ourRole {
            case .active?: .passive
            case .passive?: .active
            case .actpass?, nil: description.setup(of: media) ?? .actpass
            }
        return RemoteSession(
            origin: origin,
            fingerprints: fingerprints,
            ice: ice,
            isICELite: description.isICELite,
            setup: setup
        )
    }

    /// Whether the m-line that stood for the BUNDLE group before is stopped or recycled now.
    func hasStoppedTransport(of before: NegotiationState) -> Bool {
        guard let tag = before.bundleTag, let old = before.sections[checked: tag], old.isBundled else { return false }
        return !self.sections.contains { $0.mid == old.mid && $0.media == old.media && $0.isUsed }
    }

    /// Whether each payload type means one thing on the whole transport, as webrtcbin needs.
    var payloadTypesAgree: Bool {
        var meanings: [UInt8: String] = [:]
        for format in self.innerLines.compactMap(\.codec).flatMap({ $0.outerFormats(self.policy) }) {
            if let known = meanings.updateValue(format.meaning, forKey: format.payloadType), known != format.meaning {
                return false
            }
        }
        return true
    }

    /// Meanings of payload types that webrtcbin got so far, those of our own offer included.
    private var payloadTypeMeanings: [UInt8: String] {
        // In a line, the codec that was picked counts.
        let formats = self.innerLines.flatMap { self.innerFormats($0).reversed() }
        return Dictionary(formats.map { ($0.payloadType, $0.meaning) }) { _, last in last }
    }
}

extension TakenMedia {
    /// Contents of an m-line in an offer; our part on it is decided when all m-lines are known.
    fileprivate init(
        _ media: MediaDescription,
        of offer: SessionDescription,
        innerIndex: Int,
        payloadType: UInt8
    ) {
        self.init(
            innerIndex: innerIndex,
            remoteDirection: offer.direction(of: media),
            ourDirection: .inactive,
            streamID: media.msid.map(\.stream) ?? media.sources.lazy.compactMap(\.streamID).first,
            trackID: media.msid.flatMap(\.track) ?? media.sources.lazy.compactMap(\.trackID).first,
            simulcast: media.kind == .video ? Simulcast(media, payloadType: payloadType) : nil,
            feedback: media.rtpFormats.first { $0.payloadType == payloadType }?.feedback
        )
    }
}

extension MediaDescription {
    /// Why it cannot be taken, whatever its codecs; nil if it can.
    fileprivate func refusal(isBundled: Bool) -> String? {
        guard self.port != 0 || self.isBundleOnly && isBundled else { return "it is stopped" }
        guard self.isSecureRTP else { return "its transport is not DTLS-SRTP" }
        return self.hasRTCPMux ? nil : "it has no a=rtcp-mux"
    }
}

extension SessionDescription {
    /// Whether the peer wants to receive this kind on any m-line.
    fileprivate func hasListener(_ kind: MediaKind) -> Bool {
        self.media.contains {
            $0.kind == kind && ($0.port != 0 || $0.isBundleOnly) && self.direction(of: $0).receives
        }
    }
}

extension SDPLine {
    /// Whether a refused m-line repeats it, so that the peer recognises its own formats.
    fileprivate var isRepeatedInRefusal: Bool {
        self.attribute.map { ["rtpmap", "fmtp", "rtcp-mux", "sctp-port", "sctpmap"].contains($0.name) } ?? false
    }
}

extension Array {
    /// The element, or nil behind the end.
    subscript(checked index: Int) -> Element? {
        self.indices.contains(index) ? self[index] : nil
    }
}
