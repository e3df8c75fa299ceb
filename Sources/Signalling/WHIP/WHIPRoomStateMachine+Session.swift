// SPDX-License-Identifier: Apache-2.0

/// The exchange of descriptions and candidates.
extension WHIPRoomStateMachine {
    private static let description = "application/sdp"
    private static let fragment = "application/trickle-ice-sdpfrag"

    // MARK: - Our offer

    mutating func offer(_ sdp: String) -> [SignallingAction] {
        guard case .offering = self.state else { return Self.late("an offer") }
        let posting = Posting(url: self.endpoint, offer: WHIPDescription.conforming(sdp))
        return [.cancelTimer(Self.offerTimer)] + self.post(posting)
    }

    private mutating func post(_ posting: Posting) -> [SignallingAction] {
        self.state = .posting(posting)
        let headers = [HTTPField("Content-Type", Self.description), HTTPField("Accept", Self.description)]
        return [.request(self.request(.offer, "POST", posting.url, headers: headers, body: posting.offer))]
    }

    mutating func offerAnswered(_ answer: HTTPAnswer) -> [SignallingAction] {
        switch self.state {
        case .posting(let posting): return self.offerAnswered(answer, posting)
        case .leaving:
            // We left in between.
            let url = answer.values(of: "Location").first.flatMap { self.sessionURL($0, from: self.endpoint) }
            guard let url, answer.isSuccess || answer.status == 406 else { return self.left(forgets: false) }
            return self.end(url)
        case .idle, .asking, .offering, .waiting, .answering, .active, .ended: return []
        }
    }

    private mutating func offerAnswered(_ answer: HTTPAnswer, _ posting: Posting) -> [SignallingAction] {
        switch answer.status {
        case 307, 308: return self.redirected(answer, posting)
        case 200...299: return self.created(answer, posting)
        case 406 where self.direction == .play && answer.mediaType == Self.description:
            return self.counterOffered(answer, posting)
        default: return self.refused(answer, posting.url)
        }
    }

    /// Follows the redirect of an offer; nothing else is redirected (RFC 9725 section 4.5).
    private mutating func redirected(_ answer: HTTPAnswer, _ posting: Posting) -> [SignallingAction] {
        guard posting.redirects < Self.maximumRedirects else {
            return self.fail(self.wrong("redirects in a circle", posting.url))
        }
        guard let location = answer.values(of: "Location").first, let url = posting.url.resolving(location),
            !url.isWebSocket
        else { return self.fail(self.wrong("redirects to nowhere", posting.url)) }
        guard url.isSecure || !posting.url.isSecure else {
            return self.fail(self.wrong("redirects to \(url.address) without TLS, which is refused", posting.url))
        }
        guard self.mayGo(to: url) else {
            let what = "redirects to \(url.address), another host without a certificate to check, which is refused"
            return self.fail(self.wrong(what, posting.url))
        }
        var posting = posting
        posting.url = url
        posting.redirects += 1
        return self.post(posting)
    }

    private mutating func created(_ answer: HTTPAnswer, _ posting: Posting) -> [SignallingAction] {
        let type = answer.mediaType
        guard type.isEmpty || type == Self.description, let sdp = Self.description(answer) else {
            return self.fail(self.wrong("answers an offer with something else than a description", posting.url))
        }
        var (session, actions) = self.session(answer, posting)
        for candidate in posting.candidates { session.add(candidate) }
        let servers = LinkHeader.iceServers(of: answer)
        // They come too late for this connection; the next one has them.
        if !servers.isEmpty { actions += self.learn(servers) }
        actions += self.joined()
        actions.append(.event(.answerReceived(from: self.peer, sdp: sdp)))
        return actions + self.trickle(session)
    }

    /// The endpoint wants to be the offerer (WHEP draft, section 4.3.2).
    private mutating func counterOffered(_ answer: HTTPAnswer, _ posting: Posting) -> [SignallingAction] {
        guard let sdp = Self.description(answer) else {
            return self.fail(self.wrong("makes an offer that is no description", posting.url))
        }
        let (session, actions) = self.session(answer, posting)
        guard session.url != nil else {
            return self.fail(self.wrong("makes an offer and does not say where to answer it", posting.url))
        }
        self.state = .answering(session, answer: nil)
        return actions + self.joined() + [
            .startTimer(Self.offerTimer, after: Self.descriptionLimit),
            .event(.offerReceived(from: self.peer, sdp: sdp)),
        ]
    }

    /// The session that an answer names, noted for later runs.
    private func session(_ answer: HTTPAnswer, _ posting: Posting) -> (WHIPSession, [SignallingAction]) {
        let location = answer.values(of: "Location").first
        let url = location.flatMap { self.sessionURL($0, from: posting.url) }
        let tag = answer.values(of: "ETag").first
        let session = WHIPSession(url: url, tag: tag, description: posting.offer)
        if let url { return (session, [.note("\(url)")]) }
        let what = "The endpoint names no session that can be ended"
        return (session, [.event(.ignored(what: what, detail: String((location ?? "").prefix(200))))])
    }

    private mutating func refused(_ answer: HTTPAnswer, _ url: WebURL) -> [SignallingAction] {
        let hasToken = self.options.secret != nil && url.origin == self.endpoint.origin
        let refusal = WHIPRefusal(
            answer,
            direction: self.direction,
            url: url,
            hasToken: hasToken,
            policy: self.options.policy
        )
        guard refusal.wait > .zero, refusal.error.isRetriable else { return self.fail(refusal.error) }
        if case .answering(let session, _) = self.state { self.leftover = session.url ?? self.leftover }
        self.state = .waiting(refusal.error)
        // The offer is void, and must not wait for an answer.
        return [.event(.peerLeft(self.peer)), .startTimer(Self.retryTimer, after: refusal.wait)]
    }

    private static func description(_ answer: HTTPAnswer) -> String? {
        guard answer.body.count <= PeerMessage.maximumDescriptionBytes, let text = answer.text, text.hasPrefix("v=0")
        else { return nil }
        return text
    }

    private func wrong(_ what: String, _ url: WebURL) -> SignallingError {
        SignallingError(
            .protocolViolation,
            "The \(WHIPRefusal.name(self.direction)) endpoint at \(url.address) \(what).",
            blame: .peer
        )
    }

    private static func late(_ what: String) -> [SignallingAction] {
        [.event(.ignored(what: "A command does not fit the state of the session", detail: what))]
    }

    // MARK: - Our answer

    mutating func answer(_ sdp: String) -> [SignallingAction] {
        guard case .answering(let session, answer: nil) = self.state, let url = session.url else {
            return Self.late("an answer")
        }
        self.state = .answering(session, answer: sdp)
        var headers = [HTTPField("Content-Type", Self.description)]
        if let tag = session.tag { headers.append(HTTPField("If-Match", tag)) }
        return [
            .cancelTimer(Self.offerTimer),
            .request(self.request(.answer, "PATCH", url, headers: headers, body: sdp)),
        ]
    }

    mutating func answerAnswered(_ answer: HTTPAnswer) -> [SignallingAction] {
        guard case .answering(let session, let sdp?) = self.state, let url = session.url else { return [] }
        guard answer.isSuccess else { return self.refused(answer, url) }
        return self.trickle(session.described(sdp))
    }

    // MARK: - Our candidates

    mutating func candidate(_ candidate: ICECandidate) -> [SignallingAction] {
        guard !candidate.line.isEmpty else { return [] }
        switch self.state {
        case .posting(var posting):
            if posting.candidates.count < WHIPSession.maximumCandidates { posting.candidates.append(candidate) }
            self.state = .posting(posting)
            return []
        case .answering(var session, let answer):
            session.add(candidate)
            self.state = .answering(session, answer: answer)
            return []
        case .active(var session):
            let wasReady = session.isReady
            session.add(candidate)
            self.state = .active(session)
            return session.isReady && !wasReady ? [.startTimer(Self.trickleTimer, after: Self.trickleDelay)] : []
        case .idle, .asking, .offering, .waiting, .leaving, .ended:
            return []
        }
    }

    /// Stays in the session, and sends the candidates that wait as one fragment (RFC 9725 section 4.3.2).
    mutating func trickle(_ session: WHIPSession) -> [SignallingAction] {
        var session = session
        defer { self.state = .active(session) }
        guard let url = session.url, let body = session.takeFragment() else { return [] }
        var headers = [HTTPField("Content-Type", Self.fragment)]
        if let tag = session.tag { headers.append(HTTPField("If-Match", tag)) }
        return [.request(self.request(.trickle, "PATCH", url, headers: headers, body: body))]
    }

    mutating func trickleAnswered(_ answer: HTTPAnswer) -> [SignallingAction] {
        guard case .active(var session) = self.state else { return [] }
        let tag = answer.values(of: "ETag").first
        switch answer.status {
        case 200...299:
            session.taken(tag: tag)
            return self.trickle(session)
        case 404 where session.hasTaken, 410 where session.hasTaken:
            // It knew the session before: the endpoint restarted. Elsewhere 404 only means that it has no PATCH.
            return self.begin()
        case 412 where tag != nil && tag != session.tag:
            return self.trickle(again: &session, tag: tag)
        case 428 where session.tag == nil:
            return self.trickle(again: &session, tag: "*")
        case 429, 503:
            guard session.repeats(tag: session.tag) else { return self.stopTrickling(session, answer.status) }
            self.state = .active(session)
            let wait = max(WHIPRefusal.wait(answer, policy: self.options.policy), Self.trickleDelay)
            return [.startTimer(Self.trickleTimer, after: min(wait, WHIPRefusal.longestCountedWait))]
        default:
            return self.stopTrickling(session, answer.status)
        }
    }

    /// If the network fails twice, only the candidates in the descriptions are used.
    mutating func trickleFailed() -> [SignallingAction] {
        guard case .active(var session) = self.state else { return [] }
        guard session.repeats(tag: session.tag) else { return self.stopTrickling(session, nil) }
        self.state = .active(session)
        return [.startTimer(Self.trickleTimer, after: .seconds(1))]
    }

    private mutating func trickle(again session: inout WHIPSession, tag: String?) -> [SignallingAction] {
        guard session.repeats(tag: tag) else { return self.stopTrickling(session, 412) }
        return self.trickle(session)
    }

    /// Only the candidates inside our description are used.
    private mutating func stopTrickling(_ session: WHIPSession, _ status: Int?) -> [SignallingAction] {
        var session = session
        session.stopTrickling()
        self.state = .active(session)
        let detail = status.map { "HTTP \($0)" } ?? "no answer"
        return [.event(.ignored(what: "The endpoint takes no more candidates", detail: detail))]
    }
}
