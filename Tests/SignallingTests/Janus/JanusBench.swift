// SPDX-License-Identifier: Apache-2.0

import Basics
import Session
import Testing

@testable import Signalling

/// A Janus machine with a session behind it, and the server's side of the wire as text.
struct JanusBench {
    static let feed = PeerID("7")
    static let place = JanusRoomStateMachine.publishPoint
    static let line = "candidate:1 1 udp 2122260223 192.0.2.7 50000 typ host"

    var call: CallBench<JanusRoomStateMachine>
    /// Messages looked at before are not looked at again.
    private var seen = 0

    init(
        _ url: String = "janus+ws://h/?room=1234",
        sends: Bool = false,
        receives: Bool = true,
        policy: JoinPolicy = .persistent,
        secret: String? = nil
    ) throws {
        let options = SignallingOptions(
            policy: policy,
            displayName: "recorder",
            sends: sends,
            receives: receives,
            secret: secret
        )
        let address = try #require(try RoomURL(parsing: url).address as? RoomURL.Janus)
        self.call = CallBench(address.makeMachine(options))
    }

    // MARK: Our requests

    /// Every message on the WebSocket and every body of a request.
    var sent: [JSONValue] {
        self.call.sent.compactMap { action in
            switch action {
            case .sendWebSocket(let message): message.text.flatMap { try? JSONValue(parsing: $0) }
            case .request(let request):
                request.body.flatMap { try? JSONValue(parsing: String(decoding: $0, as: UTF8.self)) }
            default: nil
            }
        }
    }

    /// Our messages in words: what they ask for, and of which handle.
    var words: [String] { self.sent.map(Self.word) }

    /// The words of what we sent since this was asked last.
    mutating func news() -> [String] {
        let sent = self.sent
        defer { self.seen = sent.count }
        return sent.dropFirst(self.seen).map(Self.word)
    }

    private static func word(_ message: JSONValue) -> String {
        let handle = message["handle_id"]?.integer.map { " \($0)" } ?? ""
        let request = message["body"]?["request"]?.string
        let candidate = message["candidate"]?["completed"]?.bool == true ? " completed" : ""
        return (request ?? message["janus"]?.string ?? "?") + candidate + handle
    }

    /// The last message that asks for this.
    func last(_ word: String) throws -> JSONValue {
        try #require(self.sent.last { Self.word($0).split(separator: " ").first.map(String.init) == word })
    }

    // MARK: Messages of the server

    mutating func receive(_ text: String) {
        self.call.feed(.webSocket(.received(.text(text))))
    }

    /// Answers our last message that asks for `word`.
    mutating func answer(_ word: String, _ members: String) throws {
        let transaction = try #require(try self.last(word)["transaction"]?.string)
        self.receive(#"{"transaction":"\#(transaction)",\#(members)}"#)
    }

    /// A message of the plugin on a handle.
    mutating func event(_ handle: Int, _ data: String, jsep: String? = nil) {
        let description = jsep.map { #","jsep":\#($0)"# } ?? ""
        self.receive(
            #"{"janus":"event","session_id":11,"sender":\#(handle),"plugindata":{"plugin":"janus.plugin.videoroom","#
                + #""data":\#(data)}\#(description)}"#
        )
    }

    static func jsep(_ type: String, _ sdp: String) -> String {
        JSONValue.object(["type": .string(type), "sdp": .string(sdp)]).text
    }

    /// A description of the server's, or of a publisher through it.
    static func sdp(session: Int = 5, version: Int = 1, media: String = "m=audio 9 UDP/TLS/RTP/SAVPF 111\r\n") -> String
    {
        "v=0\r\no=- \(session) \(version) IN IP4 192.0.2.1\r\ns=VideoRoom 1234\r\nt=0 0\r\n\(media)"
            + "a=ice-ufrag:u\(session)\r\na=fingerprint:sha-256 AA:BB\r\n"
    }

    // MARK: The way in

    /// Begins, up to our membership; `publishers` is a JSON array.
    mutating func join(publishers: String = "[]", id: String = "99") throws {
        self.call.feed(.attempt(note: nil))
        try self.enter(publishers: publishers, id: id)
    }

    /// From the open WebSocket to our membership.
    mutating func enter(publishers: String = "[]", id: String = "99") throws {
        self.call.feed(.webSocket(.opened))
        try self.create()
        try self.answer(
            "join",
            #""janus":"event","session_id":11,"sender":21,"plugindata":{"data":{"videoroom":"joined","room":1234,"#
                + #""id":\#(id),"private_id":5,"publishers":\#(publishers)}}"#
        )
    }

    /// Answers `create` and `attach`.
    mutating func create() throws {
        try self.answer("create", #""janus":"success","data":{"id":11}"#)
        try self.answer("attach", #""janus":"success","session_id":11,"data":{"id":21}"#)
    }

    /// A publisher appears, and its handle attaches.
    mutating func publish(id: String = "7", handle: Int = 31, name: String = "Ada") throws {
        self.event(
            21,
            #"{"videoroom":"event","room":1234,"publishers":[{"id":\#(id),"display":"\#(name)","streams":["#
                + #"{"type":"audio","mid":"0"},{"type":"video","mid":"1"},{"type":"data","mid":"2"}]}]}"#
        )
        try self.answer("attach", #""janus":"success","session_id":11,"data":{"id":\#(handle)}"#)
    }

    /// A publisher appears, and the server offers.
    mutating func offer(_ sdp: String = JanusBench.sdp(), id: String = "7", handle: Int = 31) throws {
        try self.publish(id: id, handle: handle)
        self.event(
            handle,
            #"{"videoroom":"attached","room":1234,"streams":[]}"#,
            jsep: Self.jsep("offer", sdp)
        )
    }

    /// The server takes our answer.
    mutating func start(handle: Int = 31) throws {
        try self.answer(
            "start",
            #""janus":"event","session_id":11,"sender":\#(handle),"plugindata":{"data":{"videoroom":"event","started":"ok"}}"#
        )
    }

    /// The server answers what we publish.
    mutating func configured(_ sdp: String = JanusBench.sdp(session: 6)) throws {
        try self.answer(
            "publish",
            #""janus":"event","session_id":11,"sender":21,"plugindata":{"data":{"videoroom":"event","configured":"ok"}},"#
                + #""jsep":\#(Self.jsep("answer", sdp))"#
        )
    }

    /// The plugin refuses our last message that asks for `word`.
    mutating func refuse(_ word: String, _ code: Int, sender: Int = 21) throws {
        try self.answer(
            word,
            #""janus":"event","session_id":11,"sender":\#(sender),"plugindata":{"data":{"videoroom":"event","#
                + #""error_code":\#(code),"error":"no \#(code)"}}"#
        )
    }

    /// Details of what the machine ignored.
    var ignored: [String] {
        self.call.events.compactMap { if case .ignored(let what, _) = $0 { what } else { nil } }
    }

    /// The message of the error that ended the attempt or the run.
    var failure: SignallingError? {
        switch self.call.end {
        case .attemptFailed(let error): error
        case .finished(let error): error
        default: nil
        }
    }
}
