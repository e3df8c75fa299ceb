// SPDX-License-Identifier: Apache-2.0

import SDP

/// The few lines of a session description that show which peer connection wrote it.
struct DescriptionIdentity: Equatable, Sendable {
    /// Entries kept of each kind; a real description has one per m-line at most.
    private static let limit = 64

    /// The `o=` line (RFC 8866 section 5.2).
    private(set) var origin: Origin?
    /// `a=fingerprint` values of any level, in lower case (RFC 8122 section 5).
    private(set) var fingerprints: Set<String> = []
    /// `a=ice-ufrag` values of any level (RFC 8839 section 5.4).
    private(set) var usernameFragments: Set<String> = []
    /// Whether Tapedeck wrote the text (`a=tool`, RFC 8866 section 6.3).
    private(set) var isOurs = false
    /// The claim of a host of a cluster to the room.
    private(set) var claim: RoomClaim?
    /// Whether the writer sends on any m-line, or wants to.
    private(set) var sends = false

    /// Looks at the lines of every level.
    init(_ description: SessionDescription) {
        self.origin = description.origin
        self.take(description.lines)
        for media in description.media { self.take(media.lines) }
    }

    /// Keeps fingerprints that both have once in memory: all descriptions of a session have one certificate.
    mutating func shareFingerprints(with other: Self) {
        if self.fingerprints == other.fingerprints { self.fingerprints = other.fingerprints }
    }

    private mutating func take(_ lines: [SDPLine]) {
        for line in lines where line.type == "a" {
            guard let (name, value) = line.attribute else { continue }
            switch (name, value) {
            case ("fingerprint", let value?):
                if self.fingerprints.count < Self.limit { self.fingerprints.insert(value.trimmed.lowercased()) }
            case ("ice-ufrag", let value?):
                if self.usernameFragments.count < Self.limit { self.usernameFragments.insert(value.trimmed) }
            case ("tool", "tapedeck"?): self.isOurs = true
            case ("tapedeck-claim", let value?): self.claim = RoomClaim(value.trimmed)
            case ("sendrecv", nil), ("sendonly", nil): self.sends = true
            default: break
            }
        }
    }

    /// Whether a Tapedeck wrote it that only receives; it says so on each m-line.
    var isOfRecorder: Bool { self.isOurs && !self.sends }

    /// Whether both texts come from the same peer connection.
    ///
    /// The `o=` lines decide, with two exceptions: some peers write a new session id in every offer of one
    /// connection (then fingerprint and username fragment are the old ones), and a new fingerprint is a new connection
    /// whatever the `o=` line says. If nothing can be compared, the answer is yes: the media layer looks closer.
    func continues(_ previous: DescriptionIdentity) -> Bool {
        if self.sharesTransport(with: previous) { return true }
        let sharesFingerprint = !self.fingerprints.isDisjoint(with: previous.fingerprints)
        if !self.fingerprints.isEmpty, !previous.fingerprints.isEmpty, !sharesFingerprint { return false }
        guard let origin = self.origin, let previousOrigin = previous.origin else { return true }
        return origin.user == previousOrigin.user && origin.sessionID == previousOrigin.sessionID
            && origin.address == previousOrigin.address
    }

    /// Whether this is a description that we sent, come back to us.
    ///
    /// Servers that relay to the sender may change lines on the way: what has our fingerprint and our username fragment
    /// is ours all the same. Where both are missing, it must be equal in everything that we compare.
    func isEcho(of sent: DescriptionIdentity) -> Bool {
        self.sharesTransport(with: sent) || self.origin != nil && self == sent
    }

    private func sharesTransport(with other: DescriptionIdentity) -> Bool {
        !self.fingerprints.isDisjoint(with: other.fingerprints)
            && !self.usernameFragments.isDisjoint(with: other.usernameFragments)
    }
}
