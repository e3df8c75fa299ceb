// SPDX-License-Identifier: Apache-2.0

import Signalling
import Testing

@Suite struct ICEServerURLTests {
    @Test(arguments: [
        ("stun:stun.example.org", "stun:stun.example.org:3478"),
        ("STUN:Stun.Example.org:19302", "stun:stun.example.org:19302"),
        ("stun:[2001:DB8::1]", "stun:[2001:db8::1]:3478"),
        ("turn:192.0.2.7?transport=udp", "turn:192.0.2.7:3478"),
        ("turn:192.0.2.7", "turn:192.0.2.7:3478"),
        ("turn:turn.example.org:443?transport=TCP", "turn:turn.example.org:443?transport=tcp"),
        ("turns:turn.example.org", "turns:turn.example.org:5349"),
        ("turns:[2001:db8::7]:443?transport=tcp", "turns:[2001:db8::7]:443"),
    ])
    func serversAreRead(_ text: String, _ written: String) throws {
        let url = try ICEServerURL(parsing: text)
        #expect(url.description == written)
        #expect(try ICEServerURL(parsing: url.description) == url)
    }

    @Test(arguments: [
        "", "stun", "stun:", "stun://stun.example.org", "http:x", "turn:user@host", "turn:host:0", "turn:host:70000",
        "turn:host:", "turn:host:3478:1", "turn:2001:db8::1", "turn:[2001:db8::1", "turn:host?transport=sctp",
        "turn:host?transport=udp&x=y", "stun:host?transport=tcp", "turn:ho st", "turn:höst", "turn:host/path",
        "turn:" + String(repeating: "a", count: 600),
    ])
    func nonsenseIsRefusedWithoutRepeatingIt(_ text: String) {
        let error = #expect(throws: SignallingError.self) { try ICEServerURL(parsing: text) }
        #expect(error?.message.hasPrefix("a server's URL is like") == true)
    }

    @Test(arguments: [("stuns:host", "STUN over TLS"), ("turns:host?transport=udp", "TURN over DTLS")])
    func whatNobodyOffersIsNamed(_ text: String, _ what: String) {
        let error = #expect(throws: SignallingError.self) { try ICEServerURL(parsing: text) }
        #expect(error?.message == "\(what) is not supported")
    }
}
