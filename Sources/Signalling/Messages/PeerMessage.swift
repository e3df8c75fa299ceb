// SPDX-License-Identifier: Apache-2.0

public import Basics

/// A message between peers in every protocol: a description or a candidate.
public enum PeerMessage: Sendable, Hashable {
    /// A session description that asks.
    case offer(sdp: String)
    /// A session description that answers.
    case answer(sdp: String)
    /// One trickled candidate.
    case candidate(ICECandidate)
    /// An empty candidate.
    case endOfCandidates

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

    /// Reads a message that names its `type`, the tolerant way: labels as integer, whole float or decimal string, lines
    /// under `candidate` or `sdp`, flat or nested, descriptions as text or object.
    public init(_ data: JSONValue) throws(ReadingError) {
        guard case .object(let object) = data else { throw .notAnObject }
        let type = object["type"]?.string ?? ""
        switch type.lowercased() {
        case "offer": self = .offer(sdp: try Self.description(data))
        case "answer": self = .answer(sdp: try Self.description(data))
        case "candidate": self = try Self.candidate(data)
        case "" where object["candidate"] != nil: self = try Self.candidate(data)
        default: throw .unknownType(String(type.prefix(64)))
        }
    }

    /// The name that a peer gives itself with a description, in the member `name`: our extension of every protocol whose
    /// descriptions are JSON, one line of at most 256 bytes; nil if there is none.
    public static func name(_ data: JSONValue) -> String? {
        data["name"]?.string.flatMap(DisplayName.line)
    }

    /// Whether the sender of a description says that it is there to record, in the member `recorder`: our extension of
    /// Socket.IO and SkyRTC rooms.
    public static func isOfRecorder(_ data: JSONValue) -> Bool { data["recorder"]?.bool ?? false }

    /// Whether it is an offer or an answer.
    public var isDescription: Bool {
        switch self {
        case .offer, .answer: true
        case .candidate, .endOfCandidates: false
        }
    }

    /// The members that every known reader of a candidate takes: its line under `candidate` and `sdp`, its m-line as the
    /// integer `label` and the string `id`.
    public static func members(of candidate: ICECandidate) -> [String: JSONValue] {
        let index = candidate.mLineIndex ?? 0
        return [
            "label": .integer(index),
            "id": .string(candidate.mid ?? String(index)),
            "candidate": .string(candidate.line),
            "sdp": .string(candidate.line),
        ]
    }

    /// The description under `sdp`, as text or as an object with `sdp` in it, whatever its type says.
    public static func description(_ data: JSONValue) throws(ReadingError) -> String {
        let sdp = data["sdp"]
        guard let text = sdp?.string ?? sdp?["sdp"]?.string, !text.isEmpty,
            text.utf8.count <= Self.maximumDescriptionBytes
        else { throw .missingDescription }
        return text
    }

    /// A candidate, whatever its type says: `candidate` or `endOfCandidates`.
    public static func candidate(_ data: JSONValue) throws(ReadingError) -> PeerMessage {
        guard let object = data.object else { throw .notAnObject }
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

    /// The line with its prefix `candidate:`, or nil if the text is no candidate (RFC 8839 section 5.1), which is ASCII.
    private static func line(_ text: String) -> String? {
        guard text.utf8.count <= Self.maximumCandidateBytes, text.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7f })
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
