// SPDX-License-Identifier: Apache-2.0

import Basics

@testable import Signalling

/// A member of one room and its session, fed with the wire of either dialect.
struct SkyRTCBench {
    static let candidateLine = "candidate:1 1 udp 2130706431 192.0.2.7 50000 typ host"

    let dialect: RoomURL.SkyRTC.Dialect
    var calls: CallBench<SkyRTCMachine>

    /// In the room, alone or with the peer `p`; it offers, or we do if the dialect says so.
    init(
        _ dialect: RoomURL.SkyRTC.Dialect,
        weOffer: Bool = false,
        withPeer: Bool = true,
        policy: JoinPolicy = .persistent
    ) {
        self.dialect = dialect
        var address = RoomURL.SkyRTC(isSecure: false, host: "h", path: "/ws", name: "100")
        address.dialect = dialect
        if dialect == .call {
            address.user = "us"
            address.createdSize = 4
        }
        self.calls = CallBench(address.makeMachine(SignallingOptions(policy: policy)))
        self.calls.feed(.attempt(note: nil))
        self.calls.feed(.webSocket(.opened))
        switch (dialect, weOffer) {
        case (.classic, true): self.receive("_peers", #"{"connections":\#(withPeer ? #"["p"]"# : "[]"),"you":"us"}"#)
        case (.classic, false):
            self.receive("_peers", #"{"connections":[],"you":"us"}"#)
            if withPeer { self.receive("_new_peer", #"{"socketId":"p"}"#) }
        case (.call, true):
            self.receive("__peers", #"{"connections":"","you":"us","roomSize":4}"#)
            if withPeer { self.receive("__new_peer", #"{"userID":"p"}"#) }
        case (.call, false):
            self.receive("__peers", #"{"connections":"\#(withPeer ? "p" : "")","you":"us","roomSize":4}"#)
        }
    }

    /// The messages we sent, in order.
    var sent: [SkyRTCMessage] {
        self.calls.sent.compactMap {
            guard case .sendWebSocket(let message) = $0 else { return nil }
            return try? SkyRTCMessage(message)
        }
    }

    /// The ignored messages, in order.
    var ignored: [String] {
        self.calls.events.compactMap { if case .ignored(let what, _) = $0 { what } else { nil } }
    }

    mutating func receive(_ name: String, _ data: String) {
        self.calls.feed(.webSocket(.received(.text(#"{"eventName":"\#(name)","data":\#(data)}"#))))
    }

    /// A description of the peer, as the dialect wraps it.
    mutating func describe(_ kind: String, _ sdp: String, asObject: Bool? = nil, from peer: String = "p") {
        let text = JSONValue.string(sdp).text
        let value = asObject ?? (self.dialect == .classic) ? #"{"type":"\#(kind)","sdp":\#(text)}"# : text
        switch self.dialect {
        case .classic: self.receive("_\(kind)", #"{"socketId":"\#(peer)","sdp":\#(value)}"#)
        case .call: self.receive("__\(kind)", #"{"fromID":"\#(peer)","userID":"us","sdp":\#(value)}"#)
        }
    }

    /// A candidate of the peer; `members` is JSON without braces.
    mutating func candidate(_ members: String, from peer: String = "p") {
        switch self.dialect {
        case .classic: self.receive("_ice_candidate", #"{"socketId":"\#(peer)",\#(members)}"#)
        case .call: self.receive("__ice_candidate", #"{"fromID":"\#(peer)","userID":"us",\#(members)}"#)
        }
    }

    /// A description of a peer's session `id`.
    static func description(_ id: Int = 7, version: Int = 1, lines: [String] = []) -> String {
        let media =
            lines.isEmpty
            ? [
                "m=audio 9 UDP/TLS/RTP/SAVPF 111", "a=mid:0", "a=ice-ufrag:u\(id)",
                "a=ice-pwd:passwordpasswordpassword",
                "a=fingerprint:sha-256 AA:\(id)", "a=rtpmap:111 opus/48000/2",
            ] : lines
        return (["v=0", "o=- \(id) \(version) IN IP4 127.0.0.1", "s=-", "t=0 0"] + media).joined(separator: "\r\n")
            + "\r\n"
    }
}
