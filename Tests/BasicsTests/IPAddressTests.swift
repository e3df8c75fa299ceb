// SPDX-License-Identifier: Apache-2.0

import Basics
import Testing

@Suite struct IPAddressTests {
    @Test(arguments: [
        ("192.0.2.7", "192.0.2.7"), ("0.0.0.0", "0.0.0.0"), ("::", "0:0:0:0:0:0:0:0"), ("::1", "0:0:0:0:0:0:0:1"),
        ("2001:DB8::a", "2001:db8:0:0:0:0:0:a"), ("1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8"), ("1::", "1:0:0:0:0:0:0:0"),
        ("1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"), ("::ffff:192.0.2.7", "0:0:0:0:0:ffff:c000:207"),
        ("1:2:3:4:5:6:192.0.2.7", "1:2:3:4:5:6:c000:207"),
    ])
    func readsAndWrites(_ text: String, _ written: String) throws {
        let address = try #require(IPAddress(text))
        #expect(address.description == written)
        #expect(IPAddress(written) == address)
        #expect(IPAddress(bytes: address.bytes) == address)
        #expect(address.family == (text.contains(":") ? .ipv6 : .ipv4))
    }

    /// Texts that `inet_pton` also refuses.
    @Test(arguments: [
        "", "1", "127.1", "1.2.3", "1.2.3.4.5", "1.2.3.256", "01.2.3.4", "1.2.3.+4", "1.2.3.4 ", "1..3.4", "1.2.3.4\0",
        ":", ":::", "1:2", "::1::", "12345::", "1:2:3:4:5:6:7:8::", "1:2:3:4::5:6:7:8", "1:2:3:4:5:6:7:8:9", ":1::2",
        "1::2:", "::256.0.0.1", "192.0.2.7::", "::1.2.3.04", "[::1]", "fe80::1%eth0", "::g", "example.org",
    ])
    func refuses(_ text: String) {
        #expect(IPAddress(text) == nil)
    }

    @Test func takesFourOrSixteenBytes() {
        for count in [0, 3, 5, 15, 17] { #expect(IPAddress(bytes: [UInt8](repeating: 0, count: count)) == nil) }
    }

    @Test func bracketsAreForIPv6() {
        #expect(IPAddress.bracketed("::1") == "[::1]" && IPAddress.bracketed("[::1]") == "[::1]")
        #expect(IPAddress.bracketed("192.0.2.7") == "192.0.2.7" && IPAddress.bracketed("example.org") == "example.org")
    }

    @Test func knowsLoopback() {
        for host in ["localhost", "127.0.0.1", "127.255.255.254", "::1", "0:0:0:0:0:0:0:1"] {
            #expect(IPAddress.isLoopback(host: host))
        }
        for host in ["", "127.1", "127.0.0.256", "127.0.0.1.example.org", "128.0.0.1", "::", "::ffff:127.0.0.1"] {
            #expect(!IPAddress.isLoopback(host: host))
        }
        #expect(IPAddress.isLoopback(host: "127.1", shortened: true))
        #expect(!IPAddress.isLoopback(host: "127.example.org", shortened: true))
        #expect(!IPAddress.isLoopback(host: "10.1", shortened: true))
    }

    @Test(arguments: [
        ("224.0.0.1", true), ("239.255.255.255", true), ("223.9.9.9", false), ("240.0.0.1", false), ("FF02::1", true),
        ("ff02::1", true), ("fe80::1", false), ("2001:db8::1", false),
    ])
    func knowsGroups(_ text: String, _ isGroup: Bool) {
        #expect(IPAddress(text)?.isMulticast == isGroup)
    }
}
