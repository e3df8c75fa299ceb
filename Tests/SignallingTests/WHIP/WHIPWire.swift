// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Signalling

/// Messages of an endpoint, byte for byte, and a machine that gets them.
enum WHIPWire {
    static let endpoint = "https://media.example.org/whep/cam1"

    /// A machine for an endpoint.
    static func machine(
        _ direction: WHIPDirection = .play,
        _ text: String = endpoint,
        policy: JoinPolicy = .oneShot,
        secret: String? = nil
    ) throws -> WHIPRoomStateMachine {
        let url = try RoomURL(parsing: (direction == .publish ? "whip+" : "whep+") + text)
        let options = SignallingOptions(
            policy: policy,
            sends: direction == .publish,
            receives: direction == .play,
            secret: secret
        )
        let machine =
            switch url.address {
            case let address as RoomURL.WHIP: address.makeMachine(options)
            case let address as RoomURL.WHEP: address.makeMachine(options)
            default: nil as WHIPRoomStateMachine?
            }
        return try #require(machine)
    }

    /// Reads an answer as it came over the wire: a status line, headers, an empty line and the body.
    static func answer(_ text: String) throws -> HTTPAnswer {
        let end = text.firstRange(of: "\r\n\r\n") ?? text.endIndex..<text.endIndex
        let (head, body) = (text[..<end.lowerBound], text[end.upperBound...])
        var lines = head.split(separator: "\r\n")
        let status = try #require(Int(lines.removeFirst().split(separator: " ")[1]))
        let headers = lines.compactMap { line -> HTTPField? in
            let parts = line.split(separator: ":", maxSplits: 1)
            return parts.count == 2 ? HTTPField(String(parts[0]), String(parts[1].drop { $0 == " " })) : nil
        }
        return HTTPAnswer(status: status, headers: headers, body: Array(body.utf8))
    }

    /// An answer with a description.
    static func created(
        _ sdp: String = description(),
        location: String? = "/session/1",
        extra: String = "ETag: \"t1\"\r\n"
    ) throws -> HTTPAnswer {
        try self.answer(
            "HTTP/1.1 201 Created\r\nContent-Type: application/sdp\r\n"
                + (location.map { "Location: \($0)\r\n" } ?? "") + extra + "\r\n" + sdp
        )
    }

    /// The endpoint's description number `session`.
    static func description(session: String = "7", version: Int = 1, media: String = Self.media) -> String {
        "v=0\r\no=- \(session) \(version) IN IP4 192.0.2.1\r\ns=-\r\nt=0 0\r\na=group:BUNDLE 0\r\n" + media
    }

    static let media =
        "m=audio 9 UDP/TLS/RTP/SAVPF 111\r\nc=IN IP4 0.0.0.0\r\na=mid:0\r\na=ice-ufrag:theirs\r\n"
        + "a=ice-pwd:theirpasswordtheirpassword\r\na=fingerprint:sha-256 AB:CD\r\na=setup:passive\r\na=sendonly\r\n"
        + "a=rtcp-mux\r\na=rtpmap:111 opus/48000/2\r\na=candidate:1 1 udp 1 192.0.2.1 5000 typ host\r\n"

    /// Our offer: two m-lines and one candidate, as the session layer writes it.
    static let offer =
        "v=0\r\no=- 42 1 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\na=group:BUNDLE 0 1\r\na=ice-options:trickle\r\n"
        + "m=audio 9 UDP/TLS/RTP/SAVPF 111\r\nc=IN IP4 0.0.0.0\r\na=mid:0\r\na=ice-ufrag:ours\r\na=ice-pwd:secret\r\n"
        + "a=rtcp-mux\r\na=candidate:1 1 udp 1 192.0.2.9 6000 typ host\r\n"
        + "m=video 9 UDP/TLS/RTP/SAVPF 96\r\nc=IN IP4 0.0.0.0\r\na=mid:1\r\na=ice-ufrag:ours\r\na=ice-pwd:secret\r\n"
        + "a=rtcp-mux\r\n"

    static func candidate(_ number: Int) -> ICECandidate {
        ICECandidate(line: "candidate:\(number) 1 udp 1 192.0.2.9 \(6000 + number) typ srflx", mLineIndex: 0, mid: "0")
    }
}

extension [SignallingAction] {
    var requests: [HTTPRequest] {
        self.compactMap { if case .request(let request) = $0 { request } else { nil } }
    }

    var events: [RoomEvent] {
        self.compactMap { if case .event(let event) = $0 { event } else { nil } }
    }

    /// Why the attempt ended, if it did.
    var failure: SignallingError? {
        self.lazy.compactMap { if case .attemptFailed(let error) = $0 { error } else { nil } }.first
    }
}

extension HTTPRequest {
    func header(_ name: String) -> String? { self.headers.first { $0.name == name }?.value }

    var text: String { String(decoding: self.body ?? [], as: UTF8.self) }
}

/// A machine and the request that is open, to answer what it asked last.
struct WHIPBench {
    var machine: WHIPRoomStateMachine
    private(set) var open: [HTTPRequest] = []
    private(set) var last: [SignallingAction] = []

    init(_ machine: WHIPRoomStateMachine) {
        self.machine = machine
    }

    @discardableResult
    mutating func feed(_ input: SignallingInput) -> [SignallingAction] {
        if case .attempt = input { self.open = [] }
        self.last = self.machine.handle(input)
        self.open += self.last.requests
        return self.last
    }

    /// Answers the oldest open request with this method.
    @discardableResult
    mutating func answer(_ method: String, _ answer: HTTPAnswer) throws -> [SignallingAction] {
        let index = try #require(self.open.firstIndex { $0.method == method })
        return self.feed(.answered(self.open.remove(at: index).id, answer))
    }

    /// Fails the oldest open request with this method.
    @discardableResult
    mutating func fail(
        _ method: String,
        _ code: SignallingError.Code = .unreachable
    ) throws -> [SignallingAction] {
        let index = try #require(self.open.firstIndex { $0.method == method })
        let error = SignallingError(code, "test", blame: .network)
        return self.feed(.requestFailed(self.open.remove(at: index).id, error))
    }

    /// Begins, and makes the offer.
    @discardableResult
    mutating func post(note: String? = nil) throws -> HTTPRequest {
        self.feed(.attempt(note: note))
        try self.answer("OPTIONS", HTTPAnswer(status: 204))
        self.feed(.command(.offer(to: self.machine.peer, sdp: WHIPWire.offer)))
        return try #require(self.last.requests.first)
    }

    /// Gets into a session.
    mutating func join() throws {
        try self.post()
        try self.answer("POST", try WHIPWire.created())
    }
}
