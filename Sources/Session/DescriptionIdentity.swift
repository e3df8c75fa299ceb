// SPDX-License-Identifier: Apache-2.0

/// The few lines of a session description that tell which peer connection wrote it.
///
/// Everything else of the text is the business of the `SDP` target.
struct DescriptionIdentity: Equatable, Sendable {
    /// The `o=` line (RFC 8866 section 5.2).
    struct Origin: Equatable, Sendable {
        var username: Substring
        var sessionID: Substring
        var version: Substring
        var address: Substring
    }

    /// Entries kept of each kind; a real description has one per m-line at most.
    private static let limit = 64

    private(set) var origin: Origin?
    /// `a=fingerprint` values of any level, in lower case (RFC 8122 section 5).
    private(set) var fingerprints: Set<String> = []
    /// `a=ice-ufrag` values of any level (RFC 8839 section 5.4).
    private(set) var usernameFragments: Set<Substring> = []
    /// Whether Tapedeck wrote the text (`a=tool`, RFC 8866 section 6.3).
    private(set) var isOurs = false
    /// Whether the writer sends on any m-line, or wants to.
    private(set) var sends = false

    /// Reads the lines it knows and skips all others.
    init(sdp: String) {
        for line in sdp.split(whereSeparator: \.isNewline) {
            if line.hasPrefix("o=") {
                if self.origin == nil { self.origin = Origin(value: line.dropFirst(2)) }
            } else if line.hasPrefix("a=fingerprint:") {
                guard self.fingerprints.count < Self.limit else { continue }
                self.fingerprints.insert(Self.trimmed(line.dropFirst(14)).lowercased())
            } else if line == "a=tool:tapedeck" {
                self.isOurs = true
            } else if line == "a=sendrecv" || line == "a=sendonly" {
                self.sends = true
            } else if line.hasPrefix("a=ice-ufrag:") {
                guard self.usernameFragments.count < Self.limit else { continue }
                self.usernameFragments.insert(Self.trimmed(line.dropFirst(12)))
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
        let sharesFingerprint = !self.fingerprints.isDisjoint(with: previous.fingerprints)
        if sharesFingerprint, !self.usernameFragments.isDisjoint(with: previous.usernameFragments) { return true }
        if !self.fingerprints.isEmpty, !previous.fingerprints.isEmpty, !sharesFingerprint { return false }
        guard let origin = self.origin, let previousOrigin = previous.origin else { return true }
        return origin.username == previousOrigin.username && origin.sessionID == previousOrigin.sessionID
            && origin.address == previousOrigin.address
    }

    /// Whether the text is the other one, perhaps with other line ends.
    func isEcho(of sent: DescriptionIdentity) -> Bool {
        self.origin != nil && self == sent
    }

    private static func trimmed(_ text: Substring) -> Substring {
        guard let first = text.firstIndex(where: { $0 != " " }),
            let last = text.lastIndex(where: { $0 != " " })
        else { return "" }
        return text[first...last]
    }
}

extension DescriptionIdentity.Origin {
    /// Reads `username sess-id sess-version nettype addrtype unicast-address`; nil if there are not six parts.
    init?(value: Substring) {
        let parts = value.split(separator: " ")
        guard parts.count == 6 else { return nil }
        self.init(username: parts[0], sessionID: parts[1], version: parts[2], address: parts[5])
    }
}
