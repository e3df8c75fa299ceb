// SPDX-License-Identifier: Apache-2.0

public import Basics

/// A message between the two members of an AppRTC room.
enum AppRTCMessage: Sendable, Hashable {
    /// A description, with the name of its sender if it has one, or a candidate.
    case peer(PeerMessage, name: String?)
    /// The other one took candidates back; nothing depends on it.
    case removedCandidates
    /// The other one left.
    case bye
    /// Something else, and why it is not taken.
    case unknown(String)

    /// Reads a message, an object or a string that holds one; nil if it is neither.
    init?(_ value: JSONValue) {
        guard let value = AppRTCJoinAnswer.unwrapped(value), let object = value.object else { return nil }
        switch object["type"]?.string?.lowercased() {
        case "bye": self = .bye
        case "remove-candidates": self = .removedCandidates
        default:
            do {
                self = .peer(try PeerMessage(value), name: PeerMessage.name(value))
            } catch {
                self = .unknown("\(error)")
            }
        }
    }

    /// Whether it is a description, which goes before everything that waited with it.
    var isDescription: Bool {
        switch self {
        case .peer(let content, _): content.isDescription
        case .removedCandidates, .bye, .unknown: false
        }
    }

    /// The text of a description, with the name of who sends it.
    static func description(_ type: String, _ sdp: String, name: String?) -> String {
        var members: [String: JSONValue] = ["type": .string(type), "sdp": .string(sdp)]
        members["name"] = name.map { .string($0) }
        return JSONValue.object(members).text
    }

    /// The text of a candidate.
    static func candidate(_ candidate: ICECandidate) -> String {
        JSONValue.object(PeerMessage.members(of: candidate).merging(["type": "candidate"]) { $1 }).text
    }

    /// The text with which we leave.
    static let byeText = JSONValue.object(["type": "bye"]).text
    /// A message that changes nothing for any reader: the server's answer shows whether it still knows us.
    static let probeText = JSONValue.object(["type": "remove-candidates", "candidates": .array([])]).text
}

/// One frame from the collider: a message of the other member, or an error; of a server's two members one is empty.
public enum AppRTCColliderFrame: Sendable, Hashable {
    /// A message, still as JSON.
    case message(JSONValue)
    /// The collider's complaint, shortened; it closes the socket after most complaints.
    case error(String)

    /// Reads a frame; nil if it is none.
    public init?(parsing text: String) {
        guard let value = try? JSONValue(parsing: text), let object = value.object else { return nil }
        if let error = object["error"]?.string, !error.isEmpty {
            self = .error(String(error.prefix(200)))
        } else if let message = object["msg"], message != "", message != .null {
            self = .message(message)
        } else {
            return nil
        }
    }

    /// The text with which a client registers, once and first.
    static func register(_ membership: AppRTCMembership) -> String {
        let members: [String: JSONValue] = [
            "cmd": "register", "roomid": .string(membership.room), "clientid": .string(membership.client),
        ]
        return JSONValue.object(members).text
    }

    /// The text that sends a message to the other member.
    static func send(_ message: String) -> String {
        JSONValue.object(["cmd": "send", "msg": .string(message)]).text
    }
}
