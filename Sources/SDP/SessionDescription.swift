// SPDX-License-Identifier: Apache-2.0

/// One line of a description: its type letter and what follows the equals sign.
public struct SDPLine: Sendable, Hashable {
    /// The type letter, for example `a`.
    public var type: Character
    /// Everything behind `=`, without line end.
    public var value: String

    /// A line of any type.
    public init(_ type: Character, _ value: String) {
        self.type = type
        self.value = value
    }

    /// An attribute line, `a=name` or `a=name:value`.
    public static func attribute(_ name: String, _ value: String? = nil) -> SDPLine {
        SDPLine("a", value.map { "\(name):\($0)" } ?? name)
    }

    /// The text behind the colon if this is an attribute of that name; an inner nil if it has no colon.
    func value(ofAttribute name: String) -> Substring?? {
        guard self.type == "a", self.value.hasPrefix(name), let (found, value) = self.attribute, found == name[...]
        else {
            return nil
        }
        return .some(value)
    }

    /// The attribute's name and value; nil if this is no attribute.
    public var attribute: (name: Substring, value: Substring?)? {
        guard self.type == "a" else { return nil }
        guard let colon = self.value.utf8.firstIndex(of: UInt8(ascii: ":")) else { return (self.value[...], nil) }
        return (self.value[..<colon], self.value[self.value.utf8.index(after: colon)...])
    }
}

/// Reads attributes from lines, at session or media level.
protocol AttributeHolder {
    /// The lines in the order of the text.
    var lines: [SDPLine] { get }
}

extension AttributeHolder {
    /// Whether the attribute is there, with or without a value.
    func hasAttribute(_ name: String) -> Bool {
        self.lines.contains { $0.value(ofAttribute: name) != nil }
    }

    /// The trimmed value of the first attribute of that name; nil if absent or empty.
    func attribute(_ name: String) -> String? {
        for line in self.lines {
            guard let value = line.value(ofAttribute: name) ?? nil else { continue }
            let trimmed = value.trimmed
            if !trimmed.isEmpty { return trimmed }
        }
        return nil
    }

    /// The trimmed values of all attributes of that name, in order.
    func attributes(_ name: String) -> [String] {
        self.lines.compactMap { ($0.value(ofAttribute: name) ?? nil)?.trimmed }
    }

    /// The first direction that these lines state; nil if they state none.
    var statedDirection: Direction? {
        for line in self.lines {
            if line.type == "a", line.value.utf8.count < 12, let found = Direction(rawValue: line.value.trimmed) {
                return found
            }
        }
        return nil
    }

    /// The fingerprints these lines state, in order; malformed ones and unknown hashes are left out.
    var statedFingerprints: [Fingerprint] {
        self.attributes("fingerprint").compactMap(Fingerprint.init(attribute:))
    }
}

/// A session description (RFC 8866): parsed with tolerance, printed exactly.
///
/// Lines that mean nothing to us are kept, so parsing and printing changes nothing but line ends, blank lines and
/// repeated formats of an m-line.
public struct SessionDescription: Sendable, Hashable, AttributeHolder {
    /// The lines before the first m-line, in order.
    public var lines: [SDPLine]
    /// The m-lines with what belongs to each.
    public var media: [MediaDescription]

    /// A description with each part given.
    public init(lines: [SDPLine], media: [MediaDescription]) {
        self.lines = lines
        self.media = media
    }

    /// The creator of the description and its version; nil if the `o=` line is malformed.
    public var origin: Origin? {
        self.lines.first { $0.type == "o" }.flatMap { Origin($0.value) }
    }

    /// The identification tags of each BUNDLE group (RFC 9143), in order, within `SDPLimits`.
    public var bundleGroups: [[String]] {
        self.attributes("group").prefix(SDPLimits.groups).compactMap { value in
            // Words beyond the limit stay together as one more word.
            let words = value.split(separator: " ", maxSplits: 1 + SDPLimits.mediaLines)
            guard words.first?.uppercased() == "BUNDLE" else { return nil }
            return words.dropFirst().prefix(SDPLimits.mediaLines).map(String.init)
        }
    }

    /// The same description, in which each m-line has the header extensions that hold for all (RFC 8285 section 5).
    var withExtensionsOfAll: SessionDescription {
        let extensions = self.lines.filter { $0.value(ofAttribute: "extmap") != nil }.prefix(SDPLimits.extensionsOfAll)
        guard !extensions.isEmpty else { return self }
        var copy = self
        for index in copy.media.indices where copy.media[index].isRTP { copy.media[index].lines += extensions }
        return copy
    }

    /// Whether the sender runs ICE-lite (RFC 8839 section 5.3).
    public var isICELite: Bool { self.hasAttribute("ice-lite") }

    /// The direction of an m-line, inherited from the session level, `sendrecv` by default.
    public func direction(of media: MediaDescription) -> Direction {
        media.statedDirection ?? self.statedDirection ?? .sendrecv
    }

    /// The DTLS role of an m-line, inherited from the session level; nil if absent or unknown.
    public func setup(of media: MediaDescription) -> Setup? {
        (media.attribute("setup") ?? self.attribute("setup")).flatMap(Setup.init(rawValue:))
    }

    /// The fingerprints that hold for an m-line: its own, or the session's if it has none (RFC 8122 section 5).
    public func fingerprints(of media: MediaDescription) -> FingerprintSet {
        let own = media.statedFingerprints
        return FingerprintSet(own.isEmpty ? self.statedFingerprints : own)
    }

    /// The ICE credentials of an m-line, inherited from the session level; nil if absent or malformed.
    public func iceCredentials(of media: MediaDescription) -> ICECredentials? {
        guard let ufrag = media.attribute("ice-ufrag") ?? self.attribute("ice-ufrag"),
            let password = media.attribute("ice-pwd") ?? self.attribute("ice-pwd")
        else { return nil }
        return ICECredentials(ufrag: ufrag, password: password)
    }

    /// Replaces the ICE credentials.
    mutating func replaceICECredentials(with credentials: ICECredentials) {
        func replaced(_ line: SDPLine) -> SDPLine {
            switch line.attribute?.name {
            case "ice-ufrag": .attribute("ice-ufrag", credentials.ufrag)
            case "ice-pwd": .attribute("ice-pwd", credentials.password)
            default: line
            }
        }
        self.lines = self.lines.map(replaced)
        for index in self.media.indices { self.media[index].lines = self.media[index].lines.map(replaced) }
    }

    /// The text, every line ended by CR LF.
    public var text: String {
        var text = ""
        for line in self.lines { text += "\(line.type)=\(line.value)\r\n" }
        for media in self.media {
            text += "m=\(media.media) \(media.port) \(media.protocolName) \(media.formats.joined(separator: " "))\r\n"
            for line in media.lines { text += "\(line.type)=\(line.value)\r\n" }
        }
        return text
    }
}

/// The `o=` line (RFC 8866 section 5.2).
public struct Origin: Sendable, Hashable {
    /// The user name, `-` for browsers.
    public var user: String
    /// The session identifier; kept as text as some peers exceed 64 bits.
    public var sessionID: String
    /// The version, which grows with each change; nil if it is not a number of 64 bits.
    public var version: UInt64?
    /// The address of the host; empty if the line is too short.
    public var address: String

    /// Reads the value of an `o=` line; nil if it has fewer than three words.
    init?(_ value: String) {
        let words = value.split(separator: " ")
        guard words.count >= 3 else { return nil }
        self.user = String(words[0])
        self.sessionID = String(words[1])
        self.version = UInt64(words[2])
        self.address = words.count > 5 ? String(words[5]) : ""
    }
}

/// A user name fragment and its password (RFC 8839 section 5.4).
public struct ICECredentials: Sendable, Hashable {
    /// 4 to 256 ICE characters.
    public var ufrag: String
    /// 22 to 256 ICE characters.
    public var password: String

    /// Credentials; nil if a length or a character is not allowed.
    public init?(ufrag: String, password: String) {
        func isICEText(_ text: String, minimum: Int) -> Bool {
            (minimum...256).contains(text.utf8.count)
                && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
        }
        guard isICEText(ufrag, minimum: 4), isICEText(password, minimum: 22) else { return nil }
        self.ufrag = ufrag
        self.password = password
    }
}

extension StringProtocol {
    /// The text without blanks, tabs and line ends around it.
    package var trimmed: String {
        var view = Substring(self).utf8
        if let first = view.first, let last = view.last, first > 0x20, last > 0x20 { return String(self) }
        while let first = view.first, first <= 0x20 { view.removeFirst() }
        while let last = view.last, last <= 0x20 { view.removeLast() }
        return String(decoding: view, as: UTF8.self)
    }

    /// Whether an m-line of this transport lists RTP payload types.
    var isRTPProtocol: Bool { self.uppercased().contains("RTP/") }

    /// Whether this is a token (RFC 8866 section 9) of at most 64 characters.
    var isToken: Bool {
        let bytes = self.utf8
        return !bytes.isEmpty && bytes.count <= 64
            && bytes.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"):
                    true
                default: "!#$%&'*+-./^_`{|}~".utf8.contains(byte)
                }
            }
    }
}
