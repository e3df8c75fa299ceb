// SPDX-License-Identifier: Apache-2.0

internal import Basics

/// Inputs and outputs of a machine, as JSON objects of a trace.
///
/// Every object has `direction` (`in` to the machine, `out` of it), `transport` and `kind`; the rest depends on these.
enum TraceCoding {
    /// An input of a machine.
    static func object(_ input: SignallingInput) -> [String: JSONValue] {
        switch input {
        case .attempt(let note): Self.input("driver", "attempt", ["note": Self.optional(note)])
        case .command(let command): Self.input("session", "command", Self.members(command))
        case .timerFired(let timer): Self.input("timer", "fired", ["timer": .string(timer.rawValue)])
        case .webSocket(let event): Self.object(event)
        case .answered(let id, let answer):
            Self.input(
                "http",
                "answered",
                [
                    "request": .string(id.rawValue), "status": .integer(answer.status),
                    "headers": Self.headers(answer.headers), "body": Self.bytes(answer.body),
                ]
            )
        case .requestFailed(let id, let error):
            Self.input("http", "failed", ["request": .string(id.rawValue), "error": Self.value(error)])
        case .stream(let event): Self.object(event)
        case .xmpp(let event): Self.object(event)
        }
    }

    private static func object(_ event: WebSocketEvent) -> [String: JSONValue] {
        switch event {
        case .opened: Self.input("webSocket", "opened")
        case .received(let message): Self.input("webSocket", "received", Self.members(message))
        case .refused(let status, let body):
            Self.input("webSocket", "refused", ["status": .integer(status), "body": Self.bytes(body)])
        case .closed(let error): Self.input("webSocket", "closed", ["error": error.map(Self.value) ?? .null])
        }
    }

    private static func object(_ event: StreamEvent) -> [String: JSONValue] {
        switch event {
        case .listening: Self.input("stream", "listening")
        case .connected(let peer): Self.input("stream", "connected", ["peer": .string(peer)])
        case .received(let bytes): Self.input("stream", "received", ["data": Self.bytes(bytes)])
        case .disconnected(let error): Self.input("stream", "disconnected", ["error": error.map(Self.value) ?? .null])
        case .failed(let error): Self.input("stream", "failed", ["error": Self.value(error)])
        }
    }

    /// An action of a machine.
    static func object(_ action: SignallingAction) -> [String: JSONValue] {
        switch action {
        case .event(let event): Self.output("session", "event", Self.members(event))
        case .openWebSocket(let request):
            Self.output(
                "webSocket",
                "open",
                [
                    "url": .string("\(request.url)"), "headers": Self.headers(request.headers),
                    "subprotocol": Self.optional(request.subprotocol),
                    "maximumMessageBytes": .integer(request.maximumMessageBytes),
                ]
            )
        case .sendWebSocket(let message): Self.output("webSocket", "send", Self.members(message))
        case .closeWebSocket: Self.output("webSocket", "close")
        case .request(let request):
            Self.output(
                "http",
                "request",
                [
                    "request": .string(request.id.rawValue), "method": .string(request.method),
                    "url": .string("\(request.url)"), "headers": Self.headers(request.headers),
                    "body": request.body.map(Self.bytes) ?? .null, "timeout": Self.milliseconds(request.timeout),
                ]
            )
        case .openStream(.dial(let host, let port)):
            Self.output("stream", "dial", ["host": .string(host), "port": .integer(port)])
        case .openStream(.listen(let host, let port)):
            Self.output("stream", "listen", ["host": .string(host), "port": .integer(port)])
        case .sendStream(let bytes): Self.output("stream", "send", ["data": Self.bytes(bytes)])
        case .closeStream: Self.output("stream", "close")
        case .openXMPP(let request): Self.object(request)
        case .sendXMPP(let stanza): Self.object(sending: stanza)
        case .closeXMPP: Self.output("xmpp", "close")
        case .startTimer(let timer, let after, let isSpread):
            Self.output(
                "timer",
                "start",
                ["timer": .string(timer.rawValue), "after": Self.milliseconds(after), "spread": .bool(isSpread)]
            )
        case .cancelTimer(let timer): Self.output("timer", "cancel", ["timer": .string(timer.rawValue)])
        case .note(let text): Self.output("driver", "note", ["note": Self.optional(text)])
        case .attemptFailed(let error): Self.output("driver", "attemptFailed", ["error": Self.value(error)])
        case .finished(let error): Self.output("driver", "finished", ["error": error.map(Self.value) ?? .null])
        }
    }

    // MARK: - Parts

    static func input(
        _ transport: JSONValue,
        _ kind: JSONValue,
        _ members: [String: JSONValue] = [:]
    ) -> [String: JSONValue] {
        members.merging(["direction": "in", "transport": transport, "kind": kind]) { first, _ in first }
    }

    static func output(
        _ transport: JSONValue,
        _ kind: JSONValue,
        _ members: [String: JSONValue] = [:]
    ) -> [String: JSONValue] {
        members.merging(["direction": "out", "transport": transport, "kind": kind]) { first, _ in first }
    }

    static func optional(_ text: String?) -> JSONValue { text.map { .string($0) } ?? .null }

    /// Whole milliseconds; machines have no finer waits.
    static func milliseconds(_ duration: Duration) -> JSONValue {
        .integer(Int(duration.milliseconds))
    }

    /// Text, or `{"latin1": …}`, where each character means the byte of the same number.
    private static func bytes(_ bytes: [UInt8]) -> JSONValue {
        if let text = String(validating: bytes, as: UTF8.self) { return .string(text) }
        return .object(["latin1": .string(String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) })))])
    }

    private static func members(_ message: WebSocketMessage) -> [String: JSONValue] {
        switch message {
        case .text(let text): ["text": .string(text)]
        case .binary(let bytes): ["binary": Self.bytes(bytes)]
        }
    }

    /// `Name: value` each; of cookies and credentials the value is taken out, for only here they are known as such.
    private static func headers(_ fields: [HTTPField]) -> JSONValue {
        .array(
            fields.map { field in
                switch field.name.lowercased() {
                case "cookie":
                    let cookies = field.value.split(separator: ";", omittingEmptySubsequences: false)
                    return .string("\(field.name): \(cookies.map(Self.withoutValue).joined(separator: ";"))")
                case "set-cookie":
                    let end = field.value.firstIndex(of: ";") ?? field.value.endIndex
                    return .string("\(field.name): \(Self.withoutValue(field.value[..<end]))\(field.value[end...])")
                case "authorization", "proxy-authorization":
                    let scheme = field.value.prefix { $0 != " " }
                    let rest = field.value.dropFirst(scheme.count + 1)
                    // Not to be found as a name and value by `TraceRedaction`, which would take the scheme for the secret.
                    return .string("\(field.name) is: \(scheme) \(Self.hidden(rest))")
                default: return .string("\(field.name): \(field.value)")
                }
            }
        )
    }

    private static func withoutValue(_ cookie: Substring) -> String {
        guard let equals = cookie.firstIndex(of: "=") else { return Self.hidden(cookie) }
        return cookie[...equals] + Self.hidden(cookie[equals...].dropFirst())
    }

    private static func hidden(_ text: Substring) -> String { String(repeating: "x", count: text.utf8.count) }

    static func value(_ error: SignallingError) -> JSONValue {
        .object([
            "code": .string(error.code.rawValue), "message": .string(error.message),
            "blame": .string(error.blame.rawValue),
        ])
    }

    private static func members(_ candidate: ICECandidate) -> [String: JSONValue] {
        [
            "candidate": .string(candidate.line), "mid": Self.optional(candidate.mid),
            "mLineIndex": candidate.mLineIndex.map { .integer($0) } ?? .null,
        ]
    }

    private static func members(_ command: RoomCommand) -> [String: JSONValue] {
        switch command {
        case .offer(let peer, let sdp): ["command": "offer", "peer": .string(peer.rawValue), "sdp": .string(sdp)]
        case .answer(let peer, let sdp): ["command": "answer", "peer": .string(peer.rawValue), "sdp": .string(sdp)]
        case .candidate(let peer, let candidate):
            ["command": "candidate", "peer": .string(peer.rawValue)].merging(Self.members(candidate)) { first, _ in
                first
            }
        case .resetCall(let peer): ["command": "resetCall", "peer": .string(peer.rawValue)]
        case .yield: ["command": "yield"]
        case .leave: ["command": "leave"]
        }
    }

    private static func members(_ event: RoomEvent) -> [String: JSONValue] {
        func peer(_ name: JSONValue, _ peer: PeerID, _ more: [String: JSONValue] = [:]) -> [String: JSONValue] {
            more.merging(["event": name, "peer": .string(peer.rawValue)]) { first, _ in first }
        }
        switch event {
        case .joined(let ownID, _): return ["event": "joined", "ownID": Self.optional(ownID?.rawValue)]
        case .peerArrived(let id): return peer("peerArrived", id)
        case .peerAwaited(let id): return peer("peerAwaited", id)
        case .publishPointArrived(let id): return peer("publishPointArrived", id)
        case .publishPointRefused(let id, let reason):
            return peer("publishPointRefused", id, ["reason": .string(reason)])
        case .peerNamed(let id, let name): return peer("peerNamed", id, ["name": .string(name)])
        case .iceServersReceived(let servers):
            return ["event": "iceServersReceived", "servers": .array(servers.map(Self.value))]
        case .offerReceived(let id, let sdp): return peer("offerReceived", id, ["sdp": .string(sdp)])
        case .answerReceived(let id, let sdp): return peer("answerReceived", id, ["sdp": .string(sdp)])
        case .candidateReceived(let id, let candidate): return peer("candidateReceived", id, Self.members(candidate))
        case .endOfCandidatesReceived(let id): return peer("endOfCandidatesReceived", id)
        case .peerLeft(let id): return peer("peerLeft", id)
        case .full: return ["event": "full"]
        case .joinFailed(let reason): return ["event": "joinFailed", "reason": .string(reason)]
        case .signallingLost(let reason): return ["event": "signallingLost", "reason": .string(reason)]
        case .attemptsSpent(let error): return ["event": "attemptsSpent", "reason": .string(error.message)]
        case .left: return ["event": "left"]
        case .yielded: return ["event": "yielded"]
        case .removed: return ["event": "removed"]
        case .ignored(let what, let detail):
            return ["event": "ignored", "what": .string(what), "detail": .string(detail)]
        }
    }

    private static func value(_ server: ICEServer) -> JSONValue {
        .object([
            "urls": .array(server.urls.map { .string($0) }), "username": Self.optional(server.username),
            "credential": Self.optional(server.credential),
        ])
    }
}
