// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Signalling

@Suite struct XMPPAddressTests {
    @Test(
        arguments: [
            ("xmpp://recorder@example.org/?peer=alice@example.org", nil),
            (
                "xmpp://Recorder@Example.org?peer=Alice@example.org",
                "xmpp://recorder@example.org/?peer=alice@example.org"
            ),
            ("xmpp://recorder@example.org/?peer=alice@example.org&call", nil),
            ("xmpp://recorder@example.org/?allow=*", nil),
            ("xmpp://recorder@example.org/?allow=alice@example.org,*@example.net", nil),
            ("xmpp://recorder@example.org:5223/?allow=*", nil),
            ("xmpp://recorder@example.org/?allow=*&server=192.0.2.1:5222", nil),
            (
                "xmpp://recorder@example.org/?allow=*&server=192.0.2.1",
                "xmpp://recorder@example.org/?allow=*&server=192.0.2.1:5222"
            ),
            ("xmpp://recorder@example.org/?allow=*&server=[2001:db8::1]:5223", nil),
            ("xmpp://a%20b@example.org/?allow=*", ""),
            ("xmpp://a%C3%BC@example.org/?allow=*&room_server=https://rooms.example.org/x/&insecure", nil),
        ] as [(String, String?)]
    )
    func roundTrips(text: String, canonical: String?) throws {
        guard canonical != "" else {
            #expect(throws: SignallingError.self) { try RoomURL(parsing: text) }
            return
        }
        let url = try RoomURL(parsing: text)
        #expect("\(url)" == canonical ?? text)
        #expect(try RoomURL(parsing: "\(url)") == url)
        #expect(url.address is RoomURL.XMPP)
    }

    @Test func readsEveryPart() throws {
        let text =
            "xmpp://recorder@example.org/?peer=alice@example.org&call&allow=bob@example.org&server=192.0.2.1:5299"
            + "&room_server=http://192.0.2.2:8080&insecure"
        let address = try #require(try RoomURL(parsing: text).address as? RoomURL.XMPP)
        #expect(address.account == JID("recorder@example.org"))
        #expect(address.peer == JID("alice@example.org"))
        #expect(address.isCaller && !address.verifiesCertificate)
        #expect(address.host == "192.0.2.1" && address.port == 5299)
        #expect(address.room == "alice@example.org")
        #expect(address.roomServer?.host == "192.0.2.2")
        #expect(RoomURL.XMPP.secretVariable == "TAPEDECK_XMPP_PASSWORD")
        let plain = try #require(XMPPBench.address("allow=*"))
        #expect(plain.host == "example.org" && plain.port == 5222 && plain.room == "recorder@example.org")
    }

    @Test(
        arguments: [
            ("xmpp://example.org/?peer=a@b", "user information"), ("xmpp://r@example.org/", "peer= is missing"),
            ("xmpp://r:pw@example.org/?peer=a@b", "password"), ("xmpp://r@example.org/room?peer=a@b", "path"),
            ("xmpp://r@example.org/?call&allow=*", "call needs peer"), ("xmpp://r@example.org/?peer=alice", "peer"),
            ("xmpp://r@example.org/?peer=a@b/c", "peer"), ("xmpp://r@example.org/?peer", "peer"),
            ("xmpp://r@example.org/?allow=a,,b", "allow"), ("xmpp://r@example.org/?allow=bob", "allow"),
            ("xmpp://r@example.org/?peer=a@b&server=x:99999", "server"),
            ("xmpp://r@example.org/?peer=a@b&server=", "server"),
            ("xmpp://r@example.org/?peer=a@b&room_server=ws://x", "room_server"),
            ("xmpp://r@example.org/?peer=a@b&call=yes", "call takes no value"),
            ("xmpp://r@example.org/?peer=a@b&insecure=1", "insecure takes no value"),
            ("xmpp://r@example.org/?peer=a@b&secret=pw", "unknown"),
        ]
    )
    func wrongPartsAreNamed(text: String, word: String) {
        let error = #expect(throws: SignallingError.self) { try RoomURL(parsing: text) }
        #expect(error?.code == .invalidURL)
        #expect(error?.message.contains(word) == true, "\(error?.message ?? "")")
    }

    @Test func addressesAreReadAsServersWriteThem() {
        #expect(JID("Alice@Example.org/iOS") == JID("alice@example.org/iOS"))
        #expect(JID("alice@example.org/ios") != JID("alice@example.org/iOS"))
        #expect(JID("example.org")?.domain == "example.org")
        #expect(JID("a@[2001:db8::1]/x/y@z")?.resource == "x/y@z")
        #expect(JID("a@b/c")?.account == JID("a@b"))
        for wrong in ["", "@b", "a@", "a@b/", "a b@c", "a@b c", "a:b@c", "a<b@c", "a\u{0}@c", "a@b@c"] {
            #expect(JID(wrong) == nil, "\(wrong)")
        }
        #expect(JID(String(repeating: "a", count: 1024) + "@b") == nil)
    }

    @Test func passwordsAreNotShown() throws {
        let request = XMPPRequest(account: try #require(JID("a@b")), password: "s3cret", host: nil, port: 1)
        var dumped = ""
        dump(request, to: &dumped)
        #expect(!"\(request) \(String(reflecting: request)) \(dumped)".contains("s3cret"))
    }
}
