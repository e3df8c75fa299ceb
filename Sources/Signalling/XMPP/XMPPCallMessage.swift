// SPDX-License-Identifier: Apache-2.0

internal import Basics

/// The meaning of a chat message's body.
public enum XMPPCallMessage: Sendable, Hashable {
    /// A peer begins a call, and names the room that is booked for it.
    case room(String)
    /// A description, with the name of its sender if it has one, or a candidate.
    case peer(PeerMessage, name: String?)
    /// The call is over.
    case bye

    /// Why a body is no such message.
    public enum ReadingError: Error, Sendable, Hashable {
        /// A person wrote it, or another program: not for us.
        case unrelated
        /// Signalling that cannot be read; the reason is a constant text.
        case unreadable(String)
    }

    /// Longest name of a room taken, in bytes.
    public static let maximumRoomBytes = 64

    /// Reads a body.
    public init(body: String) throws(ReadingError) {
        let value: JSONValue
        do {
            value = try JSONValue(parsing: body)
        } catch {
            throw error == .tooLarge ? ReadingError.unreadable("it is too large") : .unrelated
        }
        guard let object = value.object else { throw .unrelated }
        if let room = object["roomId"] {
            guard let name = room.string ?? room.integer.map(String.init), !name.isEmpty,
                name.utf8.count <= Self.maximumRoomBytes
            else { throw .unreadable("its roomId is no name") }
            self = .room(name)
            return
        }
        guard object["type"] != nil || object["sdp"] != nil || object["candidate"] != nil else { throw .unrelated }
        if object["type"]?.string?.lowercased() == "bye" {
            self = .bye
            return
        }
        do {
            self = .peer(try PeerMessage(value), name: PeerMessage.name(value))
        } catch {
            switch error {
            case .notAnObject: throw .unrelated
            case .unknownType: throw .unreadable("its type is unknown")
            case .missingDescription: throw .unreadable("it has no description")
            case .invalidCandidate: throw .unreadable("its candidate is none")
            }
        }
    }

    /// The body that says it: a JSON object, ASCII only.
    public var body: String {
        switch self {
        case .room(let name): JSONValue.object(["roomId": .string(name)]).text
        case .bye: JSONValue.object(["type": "bye"]).text
        case .peer(.offer(let sdp), let name): Self.description("offer", sdp, name)
        case .peer(.answer(let sdp), let name): Self.description("answer", sdp, name)
        case .peer(.candidate(let candidate), _):
            JSONValue.object(PeerMessage.members(of: candidate).merging(["type": "candidate"]) { $1 }).text
        case .peer(.endOfCandidates, _): JSONValue.object(["type": "candidate", "candidate": "", "sdp": ""]).text
        }
    }

    private static func description(_ type: String, _ sdp: String, _ name: String?) -> String {
        var members: [String: JSONValue] = ["type": .string(type), "sdp": .string(sdp)]
        members["name"] = name.map { .string($0) }
        return JSONValue.object(members).text
    }

    /// Whether a description has keys for SDES (RFC 4568) and no certificate: nothing that DTLS-SRTP can answer.
    static func requiresSDES(_ sdp: String) -> Bool {
        func has(_ line: String) -> Bool {
            sdp.utf8.split(whereSeparator: { $0 == 0x0A || $0 == 0x0D }).contains { $0.starts(with: line.utf8) }
        }
        return has("a=crypto:") && !has("a=fingerprint:")
    }
}
