// SPDX-License-Identifier: Apache-2.0

/// Requirements of the protocol on our descriptions, as text (RFC 9725 section 4.4).
enum WHIPDescription {
    /// Our offer as an endpoint wants it: every m-line but the first only within the bundle (RFC 9143 section 6), RTP and
    /// RTCP on one port and nothing else (RFC 8858 section 3).
    static func conforming(_ offer: String) -> String {
        var lines: [Substring] = []
        var index = -1
        var isMarkDue = false
        for var line in Self.lines(of: offer) where line != "a=rtcp-mux-only" {
            if line.hasPrefix("m=") {
                index += 1
                var fields = line.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
                isMarkDue = index > 0 && fields.count == 3 && fields[1] != "0"
                if isMarkDue {
                    fields[1] = "0"
                    line = Substring(fields.joined(separator: " "))
                }
            } else if isMarkDue, line.hasPrefix("a=") {
                lines.append("a=bundle-only")
                isMarkDue = false
            }
            lines.append(line)
            if line == "a=rtcp-mux" { lines.append("a=rtcp-mux-only") }
        }
        return lines.joined(separator: "\r\n") + "\r\n"
    }

    /// The candidates of a description, beginning with `candidate:`.
    static func candidates(in description: String) -> Set<Substring> {
        Set(Self.lines(of: description).filter { $0.hasPrefix("a=candidate:") }.map { $0.dropFirst(2) })
    }

    /// Lines with either end, without empty ones; CR LF is one character in Swift.
    static func lines(of text: String) -> [Substring] { text.split(whereSeparator: \.isNewline) }
}

/// The ICE session of a description of ours, to write fragments for it (RFC 8840 section 4.4).
struct WHIPFragment: Sendable, Hashable {
    private var session: [Substring] = []
    private var media: [Substring] = []

    /// Reads the description's first m-line: with everything bundled, only that one has candidates.
    init(of description: String) {
        var index = -1
        var isEnded = false
        for line in WHIPDescription.lines(of: description) where !isEnded {
            if line.hasPrefix("m=") {
                index += 1
                isEnded = index > 0
                if !isEnded { self.media.append(line) }
            } else if line.hasPrefix("a=ice-ufrag:") || line.hasPrefix("a=ice-pwd:") {
                // Credentials may be above the m-lines, and count for them.
                self.media.append(line)
            } else if index < 0, line.hasPrefix("a=group:BUNDLE") || line.hasPrefix("a=ice-options:") {
                self.session.append(line)
            } else if index == 0, line.hasPrefix("a=mid:") {
                self.media.append(line)
            }
        }
        self.media = self.media.filter { $0.hasPrefix("m=") } + self.media.filter { !$0.hasPrefix("m=") }
    }

    /// The body of a request that adds candidates.
    func text(_ candidates: [ICECandidate]) -> String {
        let lines = self.session + self.media + candidates.map { "a=\($0.line)" }
        return lines.map { $0 + "\r\n" }.joined()
    }
}
