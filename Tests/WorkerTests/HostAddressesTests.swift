// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Worker

@Suite struct HostAddressesTests {
    private static func bridges(_ count: Int) -> [HostAddress] {
        (0..<count).map { HostAddress(text: "172.17.\($0).1", isBridge: true) }
    }

    @Test func aFewAreAllUsed() {
        let addresses = HostAddresses(Self.bridges(31) + [HostAddress(text: "192.0.2.7", hasDefaultRoute: true)])
        #expect(addresses.leftOut == 0 && addresses.chosen.count == 32)
        #expect(addresses.chosen.first == "192.0.2.7" && addresses.chosen[1] == "172.17.0.1")
    }

    @Test func bridgesAreLeftOutFirst() {
        let real = [
            HostAddress(text: "fe80::1%eth0", hasDefaultRoute: true),
            HostAddress(text: "198.51.100.3"),
            HostAddress(text: "192.0.2.7", hasDefaultRoute: true, isBridge: true),
            HostAddress(text: "2001:db8::7", hasDefaultRoute: true),
        ]
        let addresses = HostAddresses(Self.bridges(100) + real)
        #expect(addresses.chosen.count == HostAddresses.most && addresses.leftOut == 72)
        #expect(addresses.chosen.prefix(4) == ["192.0.2.7", "2001:db8::7", "198.51.100.3", "fe80::1%eth0"])
        #expect(addresses.chosen.dropFirst(4).elementsEqual(Self.bridges(28).map(\.text)))
    }

    @Test func loopbackStaysWhereItIsWanted() {
        let addresses = HostAddresses(Self.bridges(40) + [HostAddress(text: "127.0.0.1", isLoopback: true)])
        #expect(addresses.chosen.first == "127.0.0.1" && addresses.leftOut == 9)
    }

    @Test func thisHostHasLoopback() {
        #expect(HostAddress.all.contains { $0.text == "127.0.0.1" && $0.isLoopback && !$0.isBridge })
    }
}
