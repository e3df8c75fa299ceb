// SPDX-License-Identifier: Apache-2.0

import Basics

@testable import Signalling

/// The wire format of the LAN suites.
enum LANBench {
    static let line = "candidate:1 1 udp 2122260223 192.0.2.31 51000 typ host"
    static let peer = PeerID("192.0.2.31")

    /// A description of a peer; `session` is the `o=` line's id.
    static func sdp(session: Int = 7, media: String = "m=audio 9 UDP/TLS/RTP/SAVPF 111\r\na=mid:audio\r\n") -> String {
        "v=0\r\no=- \(session) 2 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\na=group:BUNDLE audio\r\n"
            + "a=ice-ufrag:them\r\na=ice-pwd:theirpasswordtheirpassword\r\na=fingerprint:sha-256 TH:E\(session)\r\n\(media)"
    }

    /// Raw bytes of the wire.
    static func raw(_ text: String) -> SignallingInput { .stream(.received(Array(text.utf8))) }

    /// A message as the known app writes it.
    static func message(_ event: String, _ sdp: String, more: String = "") -> SignallingInput {
        let text = sdp.replacing("\r\n", with: #"\r\n"#)
        return Self.raw(#"{"event":"\#(event)","sdp":"\#(text)"\#(more)}|"#)
    }

    static let candidate = Self.message("candidate", Self.line, more: #","label":"0","id":"audio""#)

    /// The content of a stream action, as events with their `sdp`.
    static func sent(_ actions: [SignallingAction]) -> [(event: String, sdp: String)] {
        actions.compactMap { action in
            guard case .sendStream(let bytes) = action,
                let value = try? JSONValue(parsing: String(decoding: bytes.dropLast(), as: UTF8.self))
            else { return nil }
            return (value["event"]?.string ?? "", value["sdp"]?.string ?? "")
        }
    }

    static func dialled(isPatient: Bool = false) -> CallBench<LANRoomStateMachine> {
        var bench = CallBench(LANRoomStateMachine(RoomURL.LAN(host: "192.0.2.31"), isPatient: isPatient))
        bench.feed(.attempt(note: nil))
        bench.feed(.stream(.connected(peer: "192.0.2.31:5556")))
        return bench
    }

    static func called() -> CallBench<LANRoomStateMachine> {
        var bench = CallBench(LANRoomStateMachine(RoomURL.LAN(host: "0.0.0.0", isListening: true), isPatient: true))
        bench.feed(.attempt(note: nil))
        bench.feed(.stream(.listening))
        bench.feed(.stream(.connected(peer: "192.0.2.31:50000")))
        return bench
    }
}
