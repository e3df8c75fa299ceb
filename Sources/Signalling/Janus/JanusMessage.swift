// SPDX-License-Identifier: Apache-2.0

internal import Basics

/// One message of a Janus server.
struct JanusMessage: Sendable, Hashable {
    /// The kind of a message.
    enum Kind: String, Sendable, Hashable {
        /// A request came; its result comes later.
        case ack
        /// The result of a request.
        case success
        /// A request was refused.
        case error
        /// The plugin says something, perhaps with a description.
        case event
        /// The server trickles a candidate.
        case trickle
        /// ICE and DTLS of a handle are up.
        case webrtcup
        /// The peer connection of a handle is gone; the handle is not.
        case hangup
        /// A handle is gone.
        case detached
        /// The session is gone.
        case timeout
        /// Media of a handle came or stayed away.
        case media
        /// The server loses packets.
        case slowlink
        /// A long poll ended with nothing.
        case keepalive
        /// The server's description of itself.
        case serverInfo = "server_info"
    }

    /// Why a text was not taken.
    enum ReadingError: Error, Sendable, Hashable {
        case notJSON
        case notAMessage
        case unknownKind(String)
    }

    /// A description that comes with an event.
    struct Description: Sendable, Hashable {
        var isOffer: Bool
        var sdp: String
    }

    /// Why something was refused.
    struct Failure: Sendable, Hashable {
        var code: Int
        var reason: String
    }

    var kind: Kind
    var transaction: String?
    /// The session that it belongs to.
    var session: Int?
    /// The handle that it comes from.
    var sender: Int?
    /// The id that a request made.
    var id: Int?
    /// Data from the plugin.
    var data: JSONValue?
    var description: Description?
    var failure: Failure?
    /// The whole message, for a candidate.
    var raw: JSONValue
    /// Why the peer connection is gone.
    var reason: String?

    /// Reads one JSON object.
    init(_ value: JSONValue) throws(ReadingError) {
        guard let text = value["janus"]?.string else { throw .notAMessage }
        guard let kind = Kind(rawValue: text) else { throw .unknownKind(String(text.prefix(64))) }
        self.kind = kind
        self.raw = value
        self.transaction = value["transaction"]?.string
        self.session = value["session_id"]?.integer
        self.sender = value["sender"]?.integer
        self.id = value["data"]?["id"]?.integer
        self.data = value["plugindata"]?["data"]
        self.reason = value["reason"]?.string.map { String($0.prefix(200)) }
        self.failure = Self.failure(value["error"]?["code"], value["error"]?["reason"])
        if let data = self.data, self.failure == nil {
            self.failure = Self.failure(data["error_code"], data["error"])
        }
        if let jsep = value["jsep"], let sdp = try? PeerMessage.description(jsep) {
            switch jsep["type"]?.string?.lowercased() {
            case "offer": self.description = Description(isOffer: true, sdp: sdp)
            case "answer": self.description = Description(isOffer: false, sdp: sdp)
            default: break
            }
        }
    }

    /// The messages of one text: an object, or an array of them as a long poll gives.
    static func messages(_ text: String) throws(ReadingError) -> [JSONValue] {
        guard let value = try? JSONValue(parsing: text) else { throw .notJSON }
        return value.array ?? [value]
    }

    private static func failure(_ code: JSONValue?, _ reason: JSONValue?) -> Failure? {
        guard let code = code?.integer else { return nil }
        return Failure(code: code, reason: String((reason?.string ?? "").prefix(200)))
    }
}
