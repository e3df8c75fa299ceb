// SPDX-License-Identifier: Apache-2.0

import Basics
import Session
import Testing

@testable import Signalling

/// A machine and a session in an AppRTC room, with a server that is played by hand.
struct AppRTCBench {
    static let line = "candidate:1 1 udp 2122260223 192.0.2.31 51000 typ host"
    static let candidate = #"{"type":"candidate","label":0,"id":"audio","candidate":"\#(Self.line)"}"#
    static let bye = #"{"type":"bye"}"#

    var bench: CallBench<AppRTCRoomStateMachine>
    private var answered: Set<String> = []

    init(_ url: String = "apprtc+https://appr.example.org/r/lab7", policy: JoinPolicy = .persistent) throws {
        let room = try #require(try RoomURL(parsing: url).address as? RoomURL.AppRTC)
        self.bench = CallBench(room.makeMachine(SignallingOptions(policy: policy)))
    }

    /// A member whose WebSocket is open; `messages` are JSON strings as the server writes them.
    static func member(
        isInitiator: Bool,
        messages: [String] = [],
        extra: String = "",
        policy: JoinPolicy = .persistent
    ) throws -> AppRTCBench {
        var room = try AppRTCBench(policy: policy)
        room.bench.feed(.attempt(note: nil))
        room.answer("join", Self.joined(isInitiator: isInitiator, messages: messages, extra: extra))
        room.bench.feed(.webSocket(.opened))
        return room
    }

    /// First in the room, with a peer that answered our offer.
    static func called() throws -> AppRTCBench {
        var room = try Self.member(isInitiator: true)
        room.takePosts()
        room.hear(Self.description("answer"))
        return room
    }

    /// The body of an answer to a join.
    static func joined(isInitiator: Bool, client: String = "40271866", messages: [String] = [], extra: String = "")
        -> String
    {
        let stored = messages.map { JSONValue.string($0).text }.joined(separator: ",")
        return
            #"{"result":"SUCCESS","params":{"client_id":"\#(client)","room_id":"lab7","is_initiator":"\#(isInitiator)","#
            + #""messages":[\#(stored)],"wss_url":"wss://ws.example.org/ws","wss_post_url":"https://ws.example.org""#
            + #"\#(extra.isEmpty ? "" : ",\(extra)")}}"#
    }

    /// A description of the other member as JSON.
    static func description(_ type: String, session: Int = 7, media: String = Media.audio) -> String {
        JSONValue.object(["type": .string(type), "sdp": .string(Self.sdp(session: session, media: media))]).text
    }

    static func sdp(session: Int = 7, media: String = Media.audio) -> String {
        "v=0\r\no=- \(session) 2 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\na=fingerprint:sha-256 AA:\(session)\r\n\(media)"
    }

    enum Media {
        static let audio = "m=audio 9 UDP/TLS/RTP/SAVPF 111\r\na=mid:audio\r\n"
    }

    /// Feeds a message of the other member as the collider wraps it.
    mutating func hear(_ message: String) {
        self.frame(#"{"msg":\#(JSONValue.string(message).text),"error":""}"# + "\n")
    }

    mutating func frame(_ text: String) {
        self.bench.feed(.webSocket(.received(.text(text))))
    }

    /// The unanswered requests, in order.
    var open: [HTTPRequest] {
        self.requests.filter { !self.answered.contains($0.id.rawValue) }
    }

    var requests: [HTTPRequest] {
        self.bench.sent.compactMap { if case .request(let request) = $0 { request } else { nil } }
    }

    /// Answers the oldest open request whose name begins like this.
    mutating func answer(_ name: String, _ body: String = "", status: Int = 200) {
        guard let request = self.open.first(where: { $0.id.rawValue.hasPrefix(name) }) else {
            Issue.record("no request \(name) among \(self.open.map(\.id.rawValue))")
            return
        }
        self.answered.insert(request.id.rawValue)
        self.bench.feed(.answered(request.id, HTTPAnswer(status: status, body: Array(body.utf8))))
    }

    mutating func fail(_ name: String) {
        guard let request = self.open.first(where: { $0.id.rawValue.hasPrefix(name) }) else {
            Issue.record("no request \(name)")
            return
        }
        self.answered.insert(request.id.rawValue)
        self.bench.feed(.requestFailed(request.id, SignallingError(.unreachable, "test", blame: .network)))
    }

    /// Takes every posted message, as a server does; their types.
    @discardableResult
    mutating func takePosts() -> [String] {
        var types: [String] = []
        while let post = self.open.first(where: { $0.id.rawValue.hasPrefix("message") }) {
            types.append(Self.type(String(decoding: post.body ?? [], as: UTF8.self)))
            self.answer("message", #"{"result":"SUCCESS"}"#)
        }
        return types
    }

    /// Answers everything that leaving asks for.
    mutating func takeLeaving() {
        self.answer("leave")
        self.bench.feed(.webSocket(.closed(nil)))
        if self.open.contains(where: { $0.id.rawValue.hasPrefix("removal") }) { self.answer("removal", "OK") }
    }

    /// The frames sent on the WebSocket: `register`, or the type of a message.
    var frames: [String] {
        self.bench.sent.compactMap { action in
            guard case .sendWebSocket(.text(let text)) = action, let value = try? JSONValue(parsing: text) else {
                return nil
            }
            return value["cmd"] == "send" ? Self.type(value["msg"]?.string ?? "") : value["cmd"]?.string
        }
    }

    var ignored: [String] {
        self.bench.events.compactMap { if case .ignored(let what, _) = $0 { what } else { nil } }
    }

    private static func type(_ text: String) -> String {
        (try? JSONValue(parsing: text))?["type"]?.string ?? "?"
    }
}
