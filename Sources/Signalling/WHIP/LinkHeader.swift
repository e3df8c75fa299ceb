// SPDX-License-Identifier: Apache-2.0

/// One link of a `Link` header (RFC 8288 section 3).
struct LinkHeader: Sendable, Hashable {
    /// Most links read from one answer.
    static let maximumLinks = 32
    /// Longest header read, in bytes.
    static let maximumBytes = 8192

    /// Between the angle brackets, as it was written.
    var target: String
    /// Names in lower case; of equal names the first counts.
    var parameters: [String: String]

    /// Every link of some header values; text that is no link ends the value that it is in.
    static func links(in values: [String]) -> [LinkHeader] {
        var links: [LinkHeader] = []
        for value in values where value.utf8.count <= Self.maximumBytes {
            var text = Substring(value)
            while links.count < Self.maximumLinks, let link = Self.next(&text) { links.append(link) }
        }
        return links
    }

    /// The relations that the link states, in lower case.
    var relations: [String] {
        self.parameters["rel"]?.split(separator: " ").map { $0.lowercased() } ?? []
    }

    /// The STUN and TURN servers among the links of an answer (RFC 9725 section 4.6).
    static func iceServers(of answer: HTTPAnswer) -> [ICEServer] {
        Self.links(in: answer.values(of: "Link")).filter { $0.relations.contains("ice-server") }.compactMap { link in
            let scheme = link.target.prefix { $0 != ":" }.lowercased()
            guard ["stun", "stuns", "turn", "turns"].contains(scheme),
                link.parameters["credential-type"].map({ $0.lowercased() == "password" }) ?? true
            else { return nil }
            return ICEServer(
                urls: [link.target],
                username: link.parameters["username"],
                credential: link.parameters["credential"]
            )
        }
    }

    /// Takes one link off the front, and the comma behind it.
    private static func next(_ text: inout Substring) -> LinkHeader? {
        Self.skip(&text, " \t,")
        guard text.first == "<", let end = text.firstIndex(of: ">") else { return nil }
        var link = LinkHeader(target: String(text[..<end].dropFirst()), parameters: [:])
        text = text[end...].dropFirst()
        while true {
            Self.skip(&text, " \t")
            guard text.first == ";" else { break }
            text = text.dropFirst()
            Self.skip(&text, " \t")
            let name = text.prefix { !" \t=;,".contains($0) }.lowercased()
            text = text.drop { !" \t=;,".contains($0) }
            Self.skip(&text, " \t")
            var value = ""
            if text.first == "=" {
                text = text.dropFirst()
                Self.skip(&text, " \t")
                value = Self.value(&text)
            }
            if !name.isEmpty, link.parameters[name] == nil { link.parameters[name] = value }
        }
        // Anything else up to the next comma belongs to nothing.
        text = text.drop { $0 != "," }
        return link
    }

    /// Takes a token or a quoted string (RFC 9110 section 5.6.4) off the front.
    private static func value(_ text: inout Substring) -> String {
        guard text.first == "\"" else {
            let token = text.prefix { !" \t;,".contains($0) }
            text = text.dropFirst(token.count)
            return String(token)
        }
        text = text.dropFirst()
        var value = ""
        while let character = text.popFirst(), character != "\"" {
            if character == "\\" {
                guard let escaped = text.popFirst() else { break }
                value.append(escaped)
            } else {
                value.append(character)
            }
        }
        return value
    }

    private static func skip(_ text: inout Substring, _ blanks: String) {
        text = text.drop { blanks.contains($0) }
    }
}
