// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import HummingbirdTesting
import Model
import NIOCore
import Testing

@testable import Control

@Suite struct PageFileTests {
    /// The names in index.html and the modules, found without parsing HTML or JavaScript: each name is quoted.
    private static func names(in text: String) -> Set<String> {
        let quoted = text.split(separator: "\"").map { $0.hasPrefix("./") ? $0.dropFirst(2) : $0 }
        return Set(
            quoted.filter { $0.hasSuffix(".js") || $0.hasSuffix(".css") || $0.hasSuffix(".svg") }.map(String.init)
        )
    }

    @Test func everyFileThatIsNamedIsServed() async throws {
        let fixture = try Fixture()
        try await fixture.test { client in
            var waiting: Set<String> = [""]
            var sizes: [String: Int] = [:]
            while let name = waiting.popFirst() {
                let response = try await client.send(.get, "/" + name)
                #expect(response.status == .ok, "\(name)")
                sizes[name] = response.body.readableBytes
                let found = Self.names(in: String(buffer: response.body))
                waiting.formUnion(found.subtracting(sizes.keys))
            }
            #expect(sizes.count > 20)
            #expect(sizes.values.reduce(0, +) <= 200_000)
        }
    }

    @Test(arguments: [
        ("", "text/html; charset=utf-8"), ("main.js", "text/javascript; charset=utf-8"),
        ("base.css", "text/css; charset=utf-8"), ("icon.svg", "image/svg+xml"),
    ])
    func filesHaveTheirTypeAndAreKept(_ name: String, _ type: String) async throws {
        let fixture = try Fixture()
        try await fixture.test { client in
            let response = try await client.send(.get, "/" + name)
            #expect(response.headers[.contentType] == type)
            #expect(response.headers[.contentSecurityPolicy] == PageFile.contentSecurityPolicy)
            #expect(response.headers[.cacheControl] == "no-cache")
            let tag = try #require(response.headers[.eTag])
            let again = try await client.send(.get, "/" + name, headers: [.ifNoneMatch: tag])
            #expect(again.status == .notModified)
            #expect(again.body.readableBytes == 0)
        }
    }

    @Test func thePageListensToEveryKindOfEvent() async throws {
        let fixture = try Fixture()
        try await fixture.test { client in
            let kinds = String(buffer: try await client.send(.get, "/kinds.js").body)
            for kind in DaemonEvent.Kind.allCases { #expect(kinds.contains("\"\(kind.rawValue)\"")) }
            let feed = String(buffer: try await client.send(.get, "/feed.js").body)
            #expect(feed.contains("import { KINDS } from \"./kinds.js\""))
            #expect(!feed.contains("\"room.joined\""), "kinds are named once")
        }
    }

    @Test func nothingIsInlineOrFromElsewhere() async throws {
        let fixture = try Fixture()
        try await fixture.test { client in
            let page = String(buffer: try await client.send(.get, "/").body)
            #expect(!page.contains("style="))
            #expect(!page.contains("<style"))
            #expect(!page.contains(" onclick="))
            #expect(!page.contains("src=\"http"))
            #expect(!page.contains("href=\"http"))
            #expect(!page.contains("<script>"))
        }
    }
}
