// SPDX-License-Identifier: Apache-2.0

/// The session that an endpoint made for us, and the candidates that it does not know yet (RFC 9725 section 4.3).
struct WHIPSession: Sendable {
    /// Candidates kept at most until they can be sent.
    static let maximumCandidates = 64

    /// Where the session is; nil if the endpoint did not say, so that it can be neither changed nor ended.
    var url: WebURL?
    /// The entity tag of its ICE session, quotes included; nil without one.
    var tag: String?
    /// The ICE session of our description.
    private var fragment: WHIPFragment
    /// Candidates of ours that the endpoint knows.
    private var known: Set<Substring>
    private var waiting: [ICECandidate] = []
    /// Candidates in the open request.
    private var sent: [ICECandidate] = []
    private(set) var isTrickling = true
    /// Whether the endpoint has taken candidates, and so knows the session and the method.
    private(set) var hasTaken = false
    private var isRepeated = false

    /// A session whose description of ours is the given text.
    init(url: WebURL?, tag: String?, description: String) {
        self.url = url
        self.tag = tag
        self.fragment = WHIPFragment(of: description)
        self.known = WHIPDescription.candidates(in: description)
        self.isTrickling = url != nil
    }

    /// The same session after the endpoint took another description of ours.
    func described(_ description: String) -> WHIPSession {
        var session = WHIPSession(url: self.url, tag: self.tag, description: description)
        for candidate in self.waiting { session.add(candidate) }
        return session
    }

    /// Whether something waits to be sent, and may be.
    var isReady: Bool { self.isTrickling && self.sent.isEmpty && !self.waiting.isEmpty }

    /// Keeps a candidate; what the endpoint knows already is dropped.
    mutating func add(_ candidate: ICECandidate) {
        guard self.isTrickling, self.waiting.count < Self.maximumCandidates,
            self.known.count < 4 * Self.maximumCandidates, self.known.insert(Substring(candidate.line)).inserted
        else { return }
        self.waiting.append(candidate)
    }

    /// Takes everything that waits as the body of one request; nil if there is nothing to send now.
    mutating func takeFragment() -> String? {
        guard self.isReady else { return nil }
        (self.sent, self.waiting) = (self.waiting, [])
        return self.fragment.text(self.sent)
    }

    /// The endpoint took the open request.
    mutating func taken(tag: String?) {
        self.sent = []
        self.hasTaken = true
        self.tag = tag ?? self.tag
    }

    /// Puts what the open request carried back; false if it was put back before, and nothing more is sent.
    mutating func repeats(tag: String?) -> Bool {
        guard !self.isRepeated else {
            self.stopTrickling()
            return false
        }
        self.isRepeated = true
        self.tag = tag
        (self.sent, self.waiting) = ([], self.sent + self.waiting)
        return true
    }

    /// The endpoint takes no candidates.
    mutating func stopTrickling() {
        self.isTrickling = false
        self.sent = []
        self.waiting = []
    }
}
