// SPDX-License-Identifier: Apache-2.0

internal import Basics

extension TraceCoding {
    /// An input of a machine, from an object of a trace; nil if it cannot be read.
    static func input(_ value: JSONValue) -> SignallingInput? {
        guard value["direction"]?.string == "in", let transport = value["transport"]?.string,
            let kind = value["kind"]?.string
        else { return nil }
        switch (transport, kind) {
        case ("driver", "attempt"): return .attempt(note: value["note"]?.string)
        case ("session", "command"): return Self.command(value).map { .command($0) }
        case ("timer", "fired"):
            return value["timer"]?.string.map { .timerFired(SignallingTimer(rawValue: $0)) }
        case ("http", "answered"):
            guard let id = value["request"]?.string, let status = value["status"]?.integer,
                let body = Self.bytes(value["body"])
            else { return nil }
            let answer = HTTPAnswer(status: status, headers: Self.headers(value["headers"]), body: body)
            return .answered(HTTPRequest.ID(rawValue: id), answer)
        case ("http", "failed"):
            guard let id = value["request"]?.string, let error = Self.error(value["error"]) else { return nil }
            return .requestFailed(HTTPRequest.ID(rawValue: id), error)
        case ("webSocket", _): return Self.webSocketEvent(kind, value).map { .webSocket($0) }
        case ("stream", _): return Self.streamEvent(kind, value).map { .stream($0) }
        case ("xmpp", _): return Self.xmppEvent(kind, value).map { .xmpp($0) }
        default: return nil
        }
    }

    private static func webSocketEvent(_ kind: String, _ value: JSONValue) -> WebSocketEvent? {
        switch kind {
        case "opened": return .opened
        case "received":
            if let text = value["text"]?.string { return .received(.text(text)) }
            return Self.bytes(value["binary"]).map { .received(.binary($0)) }
        case "refused":
            guard let status = value["status"]?.integer, let body = Self.bytes(value["body"]) else { return nil }
            return .refused(status: status, body: body)
        case "closed": return .closed(Self.error(value["error"]))
        default: return nil
        }
    }

    private static func streamEvent(_ kind: String, _ value: JSONValue) -> StreamEvent? {
        switch kind {
        case "listening": .listening
        case "connected": value["peer"]?.string.map { .connected(peer: $0) }
        case "received": Self.bytes(value["data"]).map { .received($0) }
        case "disconnected": .disconnected(Self.error(value["error"]))
        case "failed": Self.error(value["error"]).map { .failed($0) }
        default: nil
        }
    }

    private static func command(_ value: JSONValue) -> RoomCommand? {
        let peer = value["peer"]?.string.map { PeerID($0) }
        switch (value["command"]?.string, peer) {
        case ("offer", let peer?): return value["sdp"]?.string.map { .offer(to: peer, sdp: $0) }
        case ("answer", let peer?): return value["sdp"]?.string.map { .answer(to: peer, sdp: $0) }
        case ("candidate", let peer?):
            guard let line = value["candidate"]?.string else { return nil }
            let candidate = ICECandidate(
                line: line,
                mLineIndex: value["mLineIndex"]?.integer,
                mid: value["mid"]?.string
            )
            return .candidate(to: peer, candidate)
        case ("resetCall", let peer?): return .resetCall(peer)
        case ("yield", _): return .yield
        case ("leave", _): return .leave
        default: return nil
        }
    }

    private static func headers(_ value: JSONValue?) -> [HTTPField] {
        (value?.array ?? []).compactMap { field in
            guard let text = field.string, let colon = text.firstIndex(of: ":") else { return nil }
            let name = text[..<colon]
            let isHidden = name.hasSuffix(" is")
            return HTTPField(String(isHidden ? name.dropLast(3) : name), String(text[colon...].dropFirst(2)))
        }
    }

    private static func bytes(_ value: JSONValue?) -> [UInt8]? {
        if let text = value?.string { return Array(text.utf8) }
        guard let text = value?["latin1"]?.string else { return nil }
        let bytes = text.unicodeScalars.map { UInt8(exactly: $0.value) }
        return bytes.contains(nil) ? nil : bytes.compactMap { $0 }
    }

    static func error(_ value: JSONValue?) -> SignallingError? {
        guard let code = value?["code"]?.string.flatMap({ SignallingError.Code(rawValue: $0) }),
            let message = value?["message"]?.string,
            let blame = value?["blame"]?.string.flatMap({ SignallingError.Blame(rawValue: $0) })
        else { return nil }
        return SignallingError(code, message, blame: blame)
    }
}
