// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import HummingbirdTesting
import Testing

@testable import Control

/// Texts that have led out of folders, ended strings early or crashed decoders elsewhere.
private let hostileSegments = [
    "..", ".", "...", "%2e%2e", "%2E%2E", ".%2e", "..%2f..%2f..%2fetc%2fpasswd", "%2e%2e%2fetc%2fpasswd",
    "..%5c..%5cetc%5cpasswd", "..\\..\\etc\\passwd", "%252e%252e%252fetc%252fpasswd", "%00", "a%00.mkv", "%c0%ae%c0%ae",
    "%c0%af", "%e0%80%af", "%f0%80%80%af", "%ed%a0%80", "%ff", "%fe%fe", "%c3", "%", "%2", "%zz", "%u002e",
    "%0a", "%0d%0aSet-Cookie:x=1", "%7f", "%1b%5b31m", "~", "~root", "$HOME", "%24%7bjndi:ldap%7d", "a;b", "a%3fb",
    "%e2%80%ae", "%ef%bb%bf", "file:%2f%2f%2fetc%2fpasswd", "%2fetc%2fpasswd", "nul", "con", "*", "a%20b",
    "'%20or%201=1",
    String(repeating: "a", count: 5000), String(repeating: "..%2f", count: 1000), String(repeating: "%61", count: 600),
]

@Suite struct PathTraversalTests {
    private static let templates = [
        "/v1/rooms/X", "/v1/rooms/X/graphs", "/v1/rooms/X/participants/alice/thumbnail.jpg",
        "/v1/rooms/standup/participants/X/thumbnail.jpg", "/v1/recordings/X", "/v1/recordings/X/exports",
        "/v1/recordings/X/files/tracks/a.mkv", "/v1/recordings/r1/files/X", "/v1/recordings/r1/files/tracks/X",
        "/v1/recordings/r1/files/X/a.mkv", "/X", "/v1/X",
    ]

    @Test(arguments: Self.templates, hostileSegments)
    func nothingIsFound(_ template: String, _ segment: String) async throws {
        let fixture = try Fixture()
        fixture.backend.set { $0.folder = "/etc" }
        try await fixture.test { client in
            let path = template.split(separator: "X", maxSplits: 1, omittingEmptySubsequences: false)
                .joined(separator: segment)
            let response = try await client.send(.get, path)
            // A fake thumbnail knows no rooms; every room name is as good to it.
            let isFake = template.hasSuffix("X/participants/alice/thumbnail.jpg") && response.status == .ok
            #expect(isFake || [400, 404, 414].contains(response.status.code), "\(path)")
            #expect(!response.text.contains("root:"))
            #expect(isFake || response.headers[.contentType] == "application/problem+json")
        }
    }

    @Test func namesArriveDecodedOnce() async throws {
        let fixture = try Fixture()
        try await fixture.test { client in
            for name in ["a%20b", "%252e", "a%2Fb", "..%2Fx", "%C3%A9", "a+b", "%2b"] {
                _ = try await client.send(.get, "/v1/rooms/\(name)")
            }
        }
        #expect(
            fixture.backend.calls
                == ["room a b", "room %2e", "room a/b", "room ../x", "room é", "room a+b", "room +"]
        )
    }

    @Test(arguments: [
        (["a.mkv"], "a.mkv"), (["tracks", "a.mkv"], "tracks/a.mkv"), (["tracks/a.mkv"], "tracks/a.mkv"),
        (["..."], "..."), (["a..b"], "a..b"), ([".hidden"], ".hidden"),
    ])
    func fileNames(_ segments: [String], _ text: String) {
        #expect(FileName(segments)?.text == text)
    }

    @Test(arguments: [
        [], [""], ["."], [".."], ["a", ".."], ["a", ""], ["", "a"], ["/a"], ["a/"], ["a//b"], ["a/../b"], ["../a"],
        ["a\0"], [String(repeating: "a", count: 1025)], Array(repeating: "a", count: 9),
    ])
    func fileNamesThatLeadOut(_ segments: [String]) {
        #expect(FileName(segments) == nil)
    }
}

@Suite struct QueryTests {
    @Test func valuesAreDecoded() throws {
        var query = Query("a=1+2&b=%C3%A9%26&limit=20&flag&empty=&")
        #expect(query.text("a") == "1 2")
        #expect(query.text("b") == "é&")
        #expect(query.integer("limit", in: 1...200) == 20)
        #expect(query.flag("flag") == true)
        #expect(query.text("empty") == nil)
        #expect(query.text("missing") == nil)
        try query.finish()
    }

    @Test(arguments: [
        "limit=0", "limit=201", "limit=-1", "limit=1e2", "limit=+5", "limit=", "limit=99999999999999999999", "limt=5",
        "limit=5&limit=6", "%ff=1", "room=%ff", "room=%", "room=a%00", "room=%0a", "from=yesterday", "from=",
        "from=2026-13-01T00:00:00Z", "from=2026-01-01T00:00:00+01:00", "to=2026-01-01", "&x", "=",
    ])
    func whatIsWrongIsRefused(_ text: String) async throws {
        #expect(throws: Problem.self) { try Endpoints.query(text) }
    }

    @Test func everythingIsSaidAtOnce() throws {
        let problem = #expect(throws: Problem.self) { try Endpoints.query("limit=0&from=x&rom=1") }
        #expect(problem?.problems.count == 3)
    }
}
