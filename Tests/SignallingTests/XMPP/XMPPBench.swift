// SPDX-License-Identifier: Apache-2.0

import Basics

@testable import Signalling

/// The wire format of the XMPP suites.
enum XMPPBench {
    static let line = "candidate:1 1 udp 2122260223 192.0.2.31 51000 typ host"
    static let alice = "alice@example.org/iOS"
    static let peer = PeerID(Self.alice)
    static let own = JID("recorder@example.org/tapedeck")

    static func address(_ query: String = "peer=alice@example.org") -> RoomURL.XMPP? {
        try? RoomURL(parsing: "xmpp://recorder@example.org/?\(query)").address as? RoomURL.XMPP
    }

    static func machine(_ query: String = "peer=alice@example.org", secret: String? = "pw") -> XMPPRoomStateMachine? {
        Self.address(query)?.makeMachine(SignallingOptions(policy: .persistent, secret: secret, seed: 5))
    }

    /// A bench whose machine is signed in.
    static func online(_ query: String = "peer=alice@example.org") -> CallBench<XMPPRoomStateMachine>? {
        guard let machine = Self.machine(query), let own else { return nil }
        var bench = CallBench(machine)
        bench.feed(.attempt(note: nil))
        bench.feed(.xmpp(.opened(own)))
        return bench
    }

    /// A bench whose machine called Alice's phone, and whose offer is out.
    static func calling() -> CallBench<XMPPRoomStateMachine>? {
        var bench = Self.online("peer=alice@example.org&call")
        bench?.feed(Self.presence())
        return bench
    }

    /// A chat message with this body.
    static func chat(_ body: String, from: String = Self.alice) -> SignallingInput {
        Self.stanza(XMPPStanza(.message, type: "chat", from: JID(from), to: Self.own, body: body))
    }

    static func presence(_ type: String? = nil, from: String = Self.alice) -> SignallingInput {
        Self.stanza(XMPPStanza(.presence, type: type, from: JID(from), to: Self.own))
    }

    static func stanza(_ stanza: XMPPStanza) -> SignallingInput { .xmpp(.received(stanza)) }

    /// A description of a peer; `session` is the `o=` line's id.
    static func sdp(session: Int = 7, media: String = "m=audio 9 UDP/TLS/RTP/SAVPF 111\r\na=mid:audio\r\n") -> String {
        "v=0\r\no=- \(session) 2 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\na=group:BUNDLE audio\r\n"
            + "a=ice-ufrag:them\r\na=ice-pwd:theirpasswordtheirpassword\r\na=fingerprint:sha-256 TH:E\(session)\r\n\(media)"
    }

    /// A description as the known apps write it.
    static func description(_ type: String, _ sdp: String = Self.sdp()) -> SignallingInput {
        Self.chat(#"{"type":"\#(type)","sdp":"\#(sdp.replacing("\r\n", with: #"\r\n"#))"}"#)
    }

    static let offer = Self.description("offer")
    static let answer = Self.description("answer")
    static let candidate = Self.chat(#"{"type":"candidate","label":0,"id":"audio","sdp":"\#(Self.line)"}"#)
    static let bye = Self.chat(#"{"type":"bye"}"#)
    static let room = Self.chat(#"{"roomId":"482913377"}"#)

    /// The stanzas of some actions.
    static func stanzas(_ actions: [SignallingAction]) -> [XMPPStanza] {
        actions.compactMap { if case .sendXMPP(let stanza) = $0 { stanza } else { nil } }
    }

    /// The messages of some actions by their kind: `roomId`, or the `type`; with their addressees.
    static func said(_ actions: [SignallingAction]) -> [(kind: String, to: String)] {
        Self.stanzas(actions).compactMap { stanza in
            guard stanza.kind == .message, let body = stanza.body, let value = try? JSONValue(parsing: body) else {
                return nil
            }
            return (value["roomId"] == nil ? value["type"]?.string ?? "?" : "roomId", stanza.to.map { "\($0)" } ?? "")
        }
    }

    static func kinds(_ bench: CallBench<XMPPRoomStateMachine>) -> [String] { Self.said(bench.sent).map(\.kind) }
}
