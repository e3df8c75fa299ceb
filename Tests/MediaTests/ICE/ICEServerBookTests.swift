// SPDX-License-Identifier: Apache-2.0

import Foundation
import InMemoryLogging
import Logging
import Model
import Signalling
import Synchronization
import Testing

@testable import Media

@Suite struct ICEServerBookTests {
    private let names = [
        "stun.example.org": ["192.0.2.1", "2001:db8::1"], "six.example.org": ["2001:db8::2"],
        "turn.example.org": ["2001:db8::3", "192.0.2.3", "192.0.2.4"], "me.local": ["192.0.2.9"],
    ]

    private func book(
        _ servers: [WebRTCServer] = [],
        rules: NetworkSpec = NetworkSpec(),
        knowsMulticastNames: Bool = true,
        log: InMemoryLogHandler = InMemoryLogHandler()
    ) -> ICEServerBook {
        let resolver = HostResolver(knowsMulticastNames: knowsMulticastNames) { [names] in names[$0] ?? [] }
        return ICEServerBook(
            servers,
            rules: rules,
            resolver: resolver,
            logger: Logger(label: "test", factory: { _ in log })
        )
    }

    private func server(_ url: String) throws -> WebRTCServer {
        try WebRTCServer(url, username: "a:b", credential: "p@ss/ü")
    }

    @Test func namesAreLookedUpAndSecretsEscaped() async throws {
        let book = self.book(
            try [
                "stun:nobody.example.org", "stun:stun.example.org", "stun:192.0.2.8", "turn:turn.example.org",
                "turn:[2001:db8::5]:443?transport=tcp",
            ].map(self.server)
        )
        let found = await book.servers()
        #expect(found.stun == "stun://192.0.2.1:3478")
        #expect(
            found.turn == [
                "turn://a%3Ab:p%40ss%2F%C3%BC@192.0.2.3:3478?transport=udp",
                "turn://a%3Ab:p%40ss%2F%C3%BC@[2001:db8::3]:3478?transport=udp",
                "turn://a%3Ab:p%40ss%2F%C3%BC@[2001:db8::5]:443?transport=tcp",
            ]
        )
        #expect(found.names["192.0.2.3:3478"] == "turn:turn.example.org:3478")
        #expect(found.names["[2001:db8::5]:443"] == "turn:[2001:db8::5]:443?transport=tcp")
    }

    @Test func serversOnOneAddressAreBothNamed() async throws {
        let book = self.book(try ["turn:192.0.2.3", "turn:192.0.2.3?transport=tcp"].map(self.server))
        #expect(
            await book.servers().names == ["192.0.2.3:3478": "turn:192.0.2.3:3478 or turn:192.0.2.3:3478?transport=tcp"]
        )
    }

    @Test func tlsGoesThroughATunnelOnLoopback() async throws {
        let book = self.book([try self.server("turns:turn.example.org")])
        let found = await book.servers()
        let first = try #require(found.turn.first)
        #expect(first.hasPrefix("turn://a%3Ab:p%40ss%2F%C3%BC@127.0.0.1:") && first.hasSuffix("?transport=tcp"))
        #expect(found.names.values.allSatisfy { $0 == "turns:turn.example.org:5349" })
        // The next connection uses the same one.
        #expect(await book.servers().turn == found.turn)
        await book.close()
    }

    @Test func whatTheRoomOffersComesAfterTheOwnersAndReplacesWhatItOfferedBefore() async throws {
        let book = self.book([try self.server("turn:192.0.2.7")])
        book.offer([ICEServer(urls: ["turn:192.0.2.1"], username: "u", credential: "p")])
        book.offer([
            ICEServer(urls: ["stun:192.0.2.2", "stun:192.0.2.5"]),
            ICEServer(
                urls: ["turn:192.0.2.3?transport=udp", "turn:192.0.2.3?transport=tcp"],
                username: "u",
                credential: "p"
            ),
        ])
        let found = await book.servers()
        #expect(found.stun == "stun://192.0.2.2:3478")
        #expect(
            found.turn.dropFirst() == [
                "turn://u:p@192.0.2.3:3478?transport=udp", "turn://u:p@192.0.2.3:3478?transport=tcp",
            ]
        )
        #expect(found.turn.first?.contains("@192.0.2.7:") == true)
    }

    @Test func whatCannotBeUsedIsLoggedOnceWithoutSecrets() async throws {
        let log = InMemoryLogHandler()
        let book = self.book(log: log)
        for _ in 0..<3 {
            book.offer([
                ICEServer(urls: ["turn:192.0.2.1"], username: "hush-user", credential: nil),
                ICEServer(urls: ["turn:hush-user@x"], username: "hush-user", credential: "hush-secret"),
                ICEServer(
                    urls: ["turns:x?transport=udp", "turn:nobody.example.org"],
                    username: "u",
                    credential: "hush"
                ),
            ])
            #expect(await book.servers().turn.isEmpty)
        }
        let lines = log.entries.map { "\($0.level) \($0.message) \($0.metadata)" }
        #expect(lines.count == 4)
        #expect(lines.allSatisfy { $0.hasPrefix("warning") && !$0.contains("hush") })
    }

    @Test func theOwnersRuleHoldsForOfferedServersOnly() async throws {
        var rules = NetworkSpec()
        rules.offeredHosts = ["*.example.org", "192.0.2.3"]
        let own = [try self.server("turn:192.0.2.7")]
        let offered = [
            ICEServer(
                urls: ["turn:192.0.2.2", "turn:192.0.2.3", "turn:turn.example.org", "turn:example.org"],
                username: "u",
                credential: "p"
            )
        ]
        let book = self.book(own, rules: rules)
        book.offer(offered)
        let hosts = await book.servers().names.keys.sorted()
        #expect(hosts == ["192.0.2.3:3478", "192.0.2.7:3478", "[2001:db8::3]:3478"])
        rules.usesOffered = false
        let closed = self.book(own, rules: rules)
        closed.offer(offered)
        #expect(await closed.servers().names.keys.sorted() == ["192.0.2.7:3478"])
    }

    @Test func aRoomCannotOfferWithoutEnd() async throws {
        let book = self.book([try self.server("turn:192.0.2.200")])
        book.offer((0..<500).map { ICEServer(urls: ["turn:192.0.2.\($0 % 199)"], username: "u", credential: "p") })
        let found = await book.servers()
        #expect(found.turn.count == 8)
        #expect(found.turn.first?.contains("192.0.2.200") == true)
    }

    // MARK: Multicast names

    @Test func multicastNamesAreLookedUpWhereTheHostCan() async {
        let found = await withCheckedContinuation { continuation in
            self.book().lookUp(candidate: "me.local") { continuation.resume(returning: $0) }
        }
        #expect(found == ["192.0.2.9"])
    }

    @Test func otherNamesAreLookedUpEverywhere() async {
        let found = await withCheckedContinuation { continuation in
            self.book(knowsMulticastNames: false).lookUp(candidate: "six.example.org") {
                continuation.resume(returning: $0)
            }
        }
        #expect(found == ["2001:db8::2"])
    }

    @Test func elseItIsSaidOnce() {
        let log = InMemoryLogHandler()
        let book = self.book(knowsMulticastNames: false, log: log)
        for _ in 0..<3 { book.lookUp(candidate: "me.local") { _ in Issue.record("nobody was asked") } }
        #expect(log.entries.map(\.level) == [.notice])
    }

    @Test(arguments: [
        ("hosts: files mdns4_minimal [NOTFOUND=return] dns", true), ("hosts:\tfiles mdns dns # x", true),
        ("hosts: files dns", false), ("#hosts: files mdns4", false), ("hosts: files # mdns4", false), ("", false),
        ("passwd: files\nhosts: files mdns6", true),
    ])
    func theHostsConfigurationTells(_ text: String, _ knows: Bool) {
        #expect(HostResolver.namesMulticast(text) == knows)
    }

    @Test func aResolverThatHangsHoldsNobodyUp() async {
        let gate = Mutex(false)
        let resolver = HostResolver(knowsMulticastNames: true) { _ in
            while !gate.withLock({ $0 }) { Thread.sleep(forTimeInterval: 0.001) }
            return ["192.0.2.1"]
        }
        await withTaskGroup(of: [String].self) { group in
            for number in 0..<200 {
                group.addTask { await resolver.addresses(of: "\(number).example.org", limit: .milliseconds(50)) }
            }
            for await found in group { #expect(found.isEmpty) }
        }
        gate.withLock { $0 = true }
    }
}
