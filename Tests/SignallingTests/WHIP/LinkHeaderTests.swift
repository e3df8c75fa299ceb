// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import Signalling

@Suite struct LinkHeaderTests {
    private static func servers(_ values: String...) -> [ICEServer] {
        LinkHeader.iceServers(of: HTTPAnswer(status: 201, headers: values.map { HTTPField("link", $0) }))
    }

    @Test func readsServersOverSeveralHeaders() {
        let servers = Self.servers(
            "<stun:stun.example.net>; rel=\"ice-server\"",
            "<turn:turn.example.net?transport=udp>; rel=\"ice-server\"; username=\"user\"; credential=\"myPassword\"; "
                + "credential-type=\"password\", <turns:turn.example.net?transport=tcp>;REL=ice-server;username=user;"
                + "credential=\"a, b; \\\"c\\\" \\\\\""
        )
        #expect(
            servers == [
                ICEServer(urls: ["stun:stun.example.net"]),
                ICEServer(urls: ["turn:turn.example.net?transport=udp"], username: "user", credential: "myPassword"),
                ICEServer(
                    urls: ["turns:turn.example.net?transport=tcp"],
                    username: "user",
                    credential: "a, b; \"c\" \\"
                ),
            ]
        )
    }

    @Test(arguments: [
        "<https://example.org/sse>; rel=\"urn:ietf:params:whip:ext:example:server-sent-events\"",
        "<https://example.org/>; rel=\"ice-server\"", "<turn:t>; rel=\"ice-server\"; credential-type=\"oauth\"",
        "<stun:s>", "<stun:s>; rel=", "stun:s; rel=\"ice-server\"", "<stun:s; rel=\"ice-server\"", "", ",,,", "<", ">;",
        "<stun:s>; rel=\"ice-servers\"", "<stun:s>; anchor=\"x\"; rel=\"next\"; rel=\"ice-server\"",
    ])
    func takesNothingElse(value: String) {
        #expect(Self.servers(value).isEmpty)
    }

    @Test(arguments: [
        "<stun:s>;rel=\"next Ice-Server\"", " , <stun:s> ; rel = \"ice-server\" ; , ",
        "<stun:s>; x; rel=\"ice-server\"",
        "<stun:s>; rel=\"ice-server\" trash, ???", "<https://h/>; title=\"<a>, b\", <stun:s>; rel=ice-server",
        "<stun:s>; rel=\"ice-server", "<stun:s>; rel=\"ice-server\"; username=\"a\\",
    ])
    func readsWhatIsWrittenLoosely(value: String) {
        #expect(Self.servers(value).map(\.urls) == [["stun:s"]])
    }

    @Test func isBounded() {
        let many = Array(repeating: "<stun:s>; rel=ice-server", count: 300).joined(separator: ",")
        #expect(Self.servers(many).count == LinkHeader.maximumLinks)
        #expect(Self.servers("<stun:s>; rel=ice-server; x=" + String(repeating: "a", count: 9000)).isEmpty)
    }

    @Test func neverTrapsOnRandomBytes() {
        var random = SeededGenerator(seed: 2025)
        let alphabet = Array("<>;=,\"\\ \tarel-sticuno:\u{E9}")
        for _ in 0..<2000 {
            let length = Int.random(in: 0...60, using: &random)
            let text = String((0..<length).map { _ in alphabet.randomElement(using: &random) ?? "<" })
            #expect(LinkHeader.links(in: [text]).count <= LinkHeader.maximumLinks)
        }
    }
}
