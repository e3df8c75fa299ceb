// SPDX-License-Identifier: Apache-2.0

/// The action for a candidate of the peer.
public enum OnRemoteCandidate: Sendable, Hashable {
    /// Give it to webrtcbin.
    case add(mLineIndex: Int, line: String)
    /// Resolve the name, put the address in with `replacingAddress`, and give it to webrtcbin, which would wait for ever
    /// (docs/gstreamer.md, facts 19 and 20).
    case resolve(mLineIndex: Int, candidate: CandidateLine)
    /// Forget it.
    case ignore(CandidateRefusal)
}

/// Why a candidate of the peer is not used.
public enum CandidateRefusal: String, Sendable, Hashable, CaseIterable {
    /// It does not parse.
    case malformed
    /// No description of the peer is applied yet: the driver queues candidates until then.
    case tooEarly
    /// It belongs to an ICE session that is over: its `ufrag` is not the description's.
    case stale
    /// It is for RTCP on a separate port, which rtcp-mux does not use.
    case notMuxed
    /// It needs ICE-TCP, which is off.
    case tcp
    /// It is for an m-line that is not in use.
    case unusedMedia
}

extension NegotiationState {
    /// Judges a candidate that the peer trickled.
    ///
    /// All go to webrtcbin's m-line 0, whose transport carries everything. `mid` is believed if an m-line has it,
    /// `mLineIndex` otherwise, 0 if neither is there.
    public func innerCandidate(_ line: String, mLineIndex: Int?, mid: String?) -> OnRemoteCandidate {
        guard let candidate = CandidateLine(line) else { return .ignore(.malformed) }
        guard self.remote != nil else { return .ignore(.tooEarly) }
        let named = mid.flatMap { mid in self.sections.firstIndex { $0.mid == mid } }
        let index = named ?? mLineIndex ?? 0
        if let section = self.sections[checked: index], !section.isUsed, !section.isBundled {
            return .ignore(.unusedMedia)
        }
        return self.decision(on: candidate)
    }

    /// Judges the candidates inside an offer that was answered with `.reply`, those that the offer before had left out.
    public var onNewCandidates: [OnRemoteCandidate] { self.newCandidates.map(self.decision) }

    private func decision(on candidate: CandidateLine) -> OnRemoteCandidate {
        switch self.verdict(on: candidate) {
        case .refuse(let reason)?: .ignore(reason)
        case .resolve?: .resolve(mLineIndex: 0, candidate: candidate)
        case nil: .add(mLineIndex: 0, line: candidate.description)
        }
    }

    /// The candidates with names inside a description of the peer, for the driver to resolve; webrtcbin is given the rest.
    public func unresolvedCandidates(in outer: SessionDescription) -> [CandidateLine] {
        outer.media.flatMap(\.candidates).filter { self.verdict(on: $0) == .resolve }
    }

    /// The names under which one of our candidates goes to the peer; nil if it is not one to send.
    ///
    /// - Parameters:
    ///   - innerMLineIndex: webrtcbin's m-line index; only 0, the transport of everything, is sent.
    ///   - line: webrtcbin's text in any of the forms that `CandidateLine` reads.
    /// - Returns: `mid` is never empty: peers without mids get the media word.
    public func outerCandidate(innerMLineIndex: Int, line: String) -> (mLineIndex: Int, mid: String, line: String)? {
        guard innerMLineIndex == 0, let tag = self.bundleTag, let section = self.sections[checked: tag],
            let candidate = CandidateLine(line).flatMap(self.sendable)
        else { return nil }
        return (tag, section.mid ?? section.media, candidate.description)
    }

    /// A candidate of ours as it is sent to the peer; nil if the peer should not try it.
    func sendable(_ candidate: CandidateLine) -> CandidateLine? {
        guard candidate.component == 1, self.policy.usesICETCP || !candidate.isTCP else { return nil }
        guard self.policy.sendsRelayedOnly else { return candidate }
        return candidate.kind == .relayed ? candidate.hidingBase : nil
    }

    enum Verdict: Hashable {
        case refuse(CandidateRefusal)
        case resolve
    }

    /// The reason to keep a candidate from webrtcbin; nil if there is none.
    func verdict(on candidate: CandidateLine) -> Verdict? {
        if let ufrag = candidate.ufrag, let current = self.remoteICEUfrag, ufrag != current { return .refuse(.stale) }
        if candidate.component != 1 { return .refuse(.notMuxed) }
        if candidate.isTCP, !self.policy.usesICETCP { return .refuse(.tcp) }
        return candidate.hasName ? .resolve : nil
    }
}

extension SessionDescription {
    /// The candidates of the transport that the m-line `tag` represents.
    ///
    /// Many name them on the first m-line of the group alone, which may be one that we refuse.
    func candidates(ofTransport tag: Int) -> [CandidateLine] {
        let own = self.media[tag].candidates
        let credentials = self.iceCredentials(of: self.media[tag])
        guard own.isEmpty, let credentials, let group = self.bundleGroups.first else { return own }
        for media in self.media where self.iceCredentials(of: media) == credentials {
            guard let mid = media.mid, group.contains(mid) else { continue }
            let others = media.candidates
            if !others.isEmpty { return others }
        }
        return []
    }
}
