// SPDX-License-Identifier: Apache-2.0

/// The data of a relayed `message` event: a description or a candidate (protocols.md A4).
public struct SocketIORoomMessage: Sendable, Hashable {
    /// What a message says.
    public enum Content: Sendable, Hashable {
        /// A session description that asks.
        case offer(sdp: String)
        /// A session description that answers.
        case answer(sdp: String)
        /// One trickled candidate.
        case candidate(ICECandidate)
        /// An empty candidate.
        case endOfCandidates
    }

    /// Why a message was not taken.
    public enum ReadingError: Error, Sendable, Hashable {
        /// The data are no object.
        case notAnObject
        /// The `type` is missing or unknown.
        case unknownType(String)
        /// A description without text.
        case missingDescription
        /// A candidate's line does not look like one.
        case invalidCandidate
    }

    /// Longest description taken, in bytes.
    public static let maximumDescriptionBytes = 256 * 1024
    /// Longest candidate line taken, in bytes.
    public static let maximumCandidateBytes = 2048

    /// What the message says.
    public var content: Content
    /// The receiver, if the sender named one (our extension for rooms of more than two).
    public var to: PeerID?
    /// The sender, if it named itself (our extension for rooms of more than two).
    public var from: PeerID?

    /// A message with each part given.
    public init(_ content: Content, to: PeerID? = nil, from: PeerID? = nil) {
        self.content = content
        self.to = to
        self.from = from
    }

    /// Reads a message the tolerant way of protocols.md 1.1: labels as integer, whole float or decimal string, lines
    /// under `candidate` or `sdp`, flat or nested, descriptions as text or object.
    public init(_ data: JSONValue) throws(ReadingError) {
        guard case .object(let object) = data else { throw .notAnObject }
        let type = object["type"]?.string ?? ""
        switch type.lowercased() {
        case "offer": self.init(.offer(sdp: try Self.description(object)))
        case "answer": self.init(.answer(sdp: try Self.description(object)))
        case "candidate": self.init(try Self.candidate(object))
        case "" where object["candidate"] != nil: self.init(try Self.candidate(object))
        default: throw .unknownType(String(type.prefix(64)))
        }
        self.to = object["to"]?.string.map { PeerID($0) }
        self.from = object["from"]?.string.map { PeerID($0) }
    }

    /// The superset that every known reader takes: a candidate's line under `candidate` and `sdp`, its m-line as the
    /// integer `label` and the string `id`.
    ///
    /// An end of candidates has no form that all peers survive: nil.
    public var data: JSONValue? {
        var object: [String: JSONValue]
        switch self.content {
        case .offer(let sdp):
            object = ["type": "offer", "sdp": .string(sdp)]
        case .answer(let sdp):
            object = ["type": "answer", "sdp": .string(sdp)]
        case .candidate(let candidate):
            let index = candidate.mLineIndex ?? 0
            object = [
                "type": "candidate",
                "label": .integer(index),
                "id": .string(candidate.mid ?? String(index)),
                "candidate": .string(candidate.line),
                "sdp": .string(candidate.line),
            ]
        case .endOfCandidates:
            return nil
        }
        object["to"] = self.to.map { .string($0.rawValue) }
        object["from"] = self.from.map { .string($0.rawValue) }
        return .object(object)
    }

    private static func description(_ object: [String: JSONValue]) throws(ReadingError) -> String {
        let sdp = object["sdp"]
        guard let text = sdp?.string ?? sdp?["sdp"]?.string, !text.isEmpty,
            text.utf8.count <= Self.maximumDescriptionBytes
        else { throw .missingDescription }
        return text
    }

    private static func candidate(_ object: [String: JSONValue]) throws(ReadingError) -> Content {
        let inner = object["candidate"]?.object ?? [:]
        let texts = [object["candidate"], object["sdp"], inner["candidate"], inner["sdp"]].compactMap { $0?.string }
        let trimmed = texts.map(Self.trimmed)
        guard let text = trimmed.first(where: { !$0.isEmpty && $0 != "candidate:" && $0 != "a=candidate:" }) else {
            return .endOfCandidates
        }
        guard let line = Self.line(text) else { throw .invalidCandidate }
        let indices = [object["label"], object["sdpMLineIndex"], inner["label"], inner["sdpMLineIndex"]]
        let mids = [object["id"], object["sdpMid"], inner["id"], inner["sdpMid"]]
        return .candidate(
            ICECandidate(
                line: line,
                mLineIndex: indices.lazy.compactMap { $0 }.compactMap(Self.index).first,
                mid: mids.lazy.compactMap { $0?.string }.first { !$0.isEmpty && $0.utf8.count <= 256 }
            )
        )
    }

    private static func trimmed(_ text: String) -> String {
        let bytes = text.utf8
        guard let first = bytes.firstIndex(where: { $0 > 0x20 }), let last = bytes.lastIndex(where: { $0 > 0x20 })
        else { return "" }
        return String(Substring(bytes[first...last]))
    }

    /// The line with its prefix `candidate:`, or nil if the text is no candidate (RFC 8839 section 5.1).
    private static func line(_ text: String) -> String? {
        guard text.utf8.count <= Self.maximumCandidateBytes, text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7f })
        else { return nil }
        var body = Substring(text)
        if body.hasPrefix("a=") { body = body.dropFirst(2) }
        if body.hasPrefix("candidate:") { body = body.dropFirst("candidate:".count) }
        let fields = body.split(separator: " ")
        guard fields.count >= 8, fields[6] == "typ", UInt16(fields[1]) != nil, UInt32(fields[3]) != nil,
            UInt16(fields[5]) != nil
        else { return nil }
        return "candidate:" + body
    }

    /// An m-line's index from an integer, a whole float or a decimal string; 0 to 255.
    private static func index(_ value: JSONValue) -> Int? {
        let index: Int?
        switch value {
        case .integer(let integer): index = integer
        case .number(let number): index = Int(exactly: number)
        case .string(let string): index = Int(string)
        case .null, .bool, .array, .object: index = nil
        }
        return index.flatMap { (0...255).contains($0) ? $0 : nil }
    }
}
