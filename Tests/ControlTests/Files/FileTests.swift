// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import HummingbirdTesting
import NIOCore
import Testing

@testable import Control

/// A recording's folder that is deleted with its owner.
private final class Folder: Sendable {
    let path: String
    let content: [UInt8]

    init(bytes: Int = 300_000) throws {
        self.path = NSTemporaryDirectory() + "control-" + UUID().uuidString
        self.content = (0..<bytes).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) }
        try FileManager.default.createDirectory(atPath: self.path + "/tracks", withIntermediateDirectories: true)
        try Data(self.content).write(to: URL(fileURLWithPath: self.path + "/tracks/a.mkv"))
    }

    deinit { try? FileManager.default.removeItem(atPath: self.path) }
}

@Suite struct FileTests {
    private static let path = "/v1/recordings/r1/files/tracks/a.mkv"

    private func withFolder(
        bytes: Int = 300_000,
        _ body: @Sendable (any TestClientProtocol, Folder) async throws -> Void
    ) async throws {
        let folder = try Folder(bytes: bytes)
        let fixture = try Fixture()
        fixture.backend.set { $0.folder = folder.path }
        try await fixture.test { try await body($0, folder) }
    }

    @Test func aWholeFile() async throws {
        try await self.withFolder { client, folder in
            for path in [Self.path, "/v1/recordings/r1/files/tracks%2Fa.mkv", Self.path + "?download=false"] {
                let response = try await client.send(.get, path)
                #expect(response.status == .ok)
                #expect(response.headers[.contentType] == "video/x-matroska")
                #expect(response.headers[.contentLength] == "300000")
                #expect(response.headers[.acceptRanges] == "bytes")
                #expect(response.headers[.xContentTypeOptions] == "nosniff")
                #expect(response.headers[.contentDisposition] == nil)
                #expect(Array(response.body.readableBytesView) == folder.content)
            }
        }
    }

    @Test func aDownload() async throws {
        try await self.withFolder { client, _ in
            for query in ["download", "download=true", "download=1"] {
                let response = try await client.send(.get, Self.path + "?" + query)
                #expect(response.headers[.contentDisposition] == #"attachment; filename="a.mkv""#)
            }
            #expect(try await client.send(.get, Self.path + "?download=yes").status == .badRequest)
            #expect(try await client.send(.get, Self.path + "?downlaod").status == .badRequest)
        }
    }

    @Test func theHeadAlone() async throws {
        try await self.withFolder { client, _ in
            let response = try await client.send(.head, Self.path)
            #expect(response.status == .ok)
            #expect(response.headers[.contentLength] == "300000")
            #expect(response.body.readableBytes == 0)
            let part = try await client.send(.head, Self.path, headers: [.range: "bytes=0-9"])
            #expect(part.status == .partialContent)
            #expect(part.headers[.contentLength] == "10")
        }
    }

    @Test(arguments: [
        ("bytes=0-0", 0..<1), ("bytes=100-299999", 100..<300_000), ("bytes=131071-131073", 131_071..<131_074),
        ("bytes=-5", 299_995..<300_000),
    ])
    func parts(_ range: String, _ expected: Range<Int>) async throws {
        try await self.withFolder { client, folder in
            let response = try await client.send(.get, Self.path, headers: [.range: range])
            #expect(response.status == .partialContent)
            let last = expected.upperBound - 1
            #expect(response.headers[.contentRange] == "bytes \(expected.lowerBound)-\(last)/300000")
            #expect(response.headers[.contentLength] == String(expected.count))
            #expect(Array(response.body.readableBytesView) == Array(folder.content[expected]))
        }
    }

    @Test func aRangeBehindTheEnd() async throws {
        try await self.withFolder { client, _ in
            let response = try await client.send(.get, Self.path, headers: [.range: "bytes=300000-"])
            #expect(response.status == .rangeNotSatisfiable)
            #expect(response.headers[.contentRange] == "bytes */300000")
            #expect(response.headers[.contentType] == "application/problem+json")
        }
    }

    @Test func anEmptyFile() async throws {
        try await self.withFolder(bytes: 0) { client, _ in
            let response = try await client.send(.get, Self.path)
            #expect(response.status == .ok)
            #expect(response.headers[.contentLength] == "0")
        }
    }

    @Test func whatIsUnchangedIsNotSentAgain() async throws {
        try await self.withFolder { client, folder in
            let first = try await client.send(.get, Self.path)
            let tag = try #require(first.headers[.eTag])
            let time = try #require(first.headers[.lastModified])
            for headers: HTTPFields in [
                [.ifNoneMatch: tag], [.ifNoneMatch: "\"other\", W/\(tag)"], [.ifNoneMatch: "*"],
                [.ifModifiedSince: time],
            ] {
                let response = try await client.send(.get, Self.path, headers: headers)
                #expect(response.status == .notModified)
                #expect(response.body.readableBytes == 0)
            }
            for headers: HTTPFields in [
                [.ifNoneMatch: "\"other\""], [.ifModifiedSince: "Sun, 06 Nov 1994 08:49:37 GMT"],
                [.ifModifiedSince: "yesterday"], [.ifNoneMatch: "\"other\"", .ifModifiedSince: time],
            ] {
                #expect(try await client.send(.get, Self.path, headers: headers).status == .ok)
            }
            try Data([1, 2, 3]).write(to: URL(fileURLWithPath: folder.path + "/tracks/a.mkv"))
            #expect(try await client.send(.get, Self.path, headers: [.ifNoneMatch: tag]).status == .ok)
        }
    }

    @Test func aFileThatIsNotWantedIsNotSent() async throws {
        try await self.withFolder { client, _ in
            let first = try await client.send(.head, Self.path)
            let tag = try #require(first.headers[.eTag])
            let time = try #require(first.headers[.lastModified])
            let old = "Sun, 06 Nov 1994 08:49:37 GMT"
            for (headers, status) in [
                ([.ifMatch: tag], 200), ([.ifMatch: "\"other\", \(tag)"], 200), ([.ifMatch: "*"], 200),
                ([.ifMatch: "\"other\""], 412), ([.ifMatch: "W/\(tag)"], 412),
                ([.ifUnmodifiedSince: time], 200), ([.ifUnmodifiedSince: old], 412),
                ([.ifUnmodifiedSince: "yesterday"], 200), ([.ifMatch: tag, .ifUnmodifiedSince: old], 200),
                ([.ifMatch: "\"other\"", .ifNoneMatch: tag], 412), ([.ifMatch: tag, .ifNoneMatch: tag], 304),
                ([.ifMatch: "\"other\"", .range: "bytes=0-1"], 412), ([.ifMatch: tag, .range: "bytes=0-1"], 206),
            ] as [(HTTPFields, Int)] {
                #expect(try await client.send(.get, Self.path, headers: headers).status.code == status, "\(headers)")
            }
            let page = try await client.send(.get, "/")
            let pageTag = try #require(page.headers[.eTag])
            #expect(try await client.send(.get, "/", headers: [.ifMatch: pageTag]).status == .ok)
            #expect(try await client.send(.get, "/", headers: [.ifMatch: tag]).status == .preconditionFailed)
        }
    }

    /// Where nothing has an entity tag, nothing has the one that is wanted.
    @Test func aConditionThatCannotBeMetChangesNothing() async throws {
        let fixture = try Fixture()
        try await fixture.test { client in
            let path = "/v1/rooms/standup"
            let refused = try await client.send(.delete, path, headers: [.ifMatch: "\"a\""])
            #expect(refused.status == .preconditionFailed && refused.text.contains("precondition-failed"))
            #expect(try await client.send(.get, path, headers: [.ifMatch: "\"a\""]).status == .preconditionFailed)
            #expect(fixture.backend.calls.allSatisfy { !"\($0)".contains("remove") })
            #expect(try await client.send(.delete, path, headers: [.ifMatch: "*"]).status == .noContent)
        }
    }

    @Test func aPartOfAnotherContentIsNotSent() async throws {
        try await self.withFolder { client, _ in
            let first = try await client.send(.head, Self.path)
            let tag = try #require(first.headers[.eTag])
            let time = try #require(first.headers[.lastModified])
            for (condition, status) in [
                (tag, 206), (time, 206), ("\"other\"", 200), ("W/" + tag, 200),
                ("Sun, 06 Nov 1994 08:49:37 GMT", 200), ("nonsense", 200),
            ] {
                let headers: HTTPFields = [.range: "bytes=0-1", .ifRange: condition]
                #expect(try await client.send(.get, Self.path, headers: headers).status.code == status)
            }
        }
    }

    @Test(arguments: ["link", "folder", "fifo", "socketless"])
    func onlyRegularFilesAreServed(_ kind: String) async throws {
        try await self.withFolder { client, folder in
            let path = folder.path + "/tracks/a.mkv"
            try FileManager.default.removeItem(atPath: path)
            switch kind {
            case "link": try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "/etc/passwd")
            case "folder": try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
            case "fifo": #expect(mkfifo(path, 0o600) == 0)
            default: break
            }
            let response = try await client.send(.get, Self.path)
            #expect(response.status == .notFound)
            #expect(!response.text.contains("root:"))
        }
    }

    @Test func noLinkIsFollowedOnTheWay() async throws {
        try await self.withFolder { client, folder in
            let real = folder.path + "/elsewhere"
            try FileManager.default.moveItem(atPath: folder.path + "/tracks", toPath: real)
            try FileManager.default.createSymbolicLink(
                atPath: folder.path + "/tracks",
                withDestinationPath: real
            )
            #expect(try await client.send(.get, Self.path).status == .notFound)
        }
    }

    @Test func namesInDispositionsAreQuoted() {
        #expect(FileResponder.disposition("a.mkv") == #"attachment; filename="a.mkv""#)
        #expect(
            FileResponder.disposition("a\"\r\né.mkv")
                == #"attachment; filename="a____.mkv"; filename*=UTF-8''a%22%0D%0A%C3%A9.mkv"#
        )
    }

    @Test func descriptorsAreClosed() async throws {
        func count() throws -> Int { try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count }
        let folder = try Folder(bytes: 10)
        for parts in [
            ["tracks", "a.mkv"], ["tracks", "none"], ["tracks"], ["none", "a.mkv"], ["tracks", "a.mkv", "x"],
        ] {
            // Other tests open and close files at the same time; a leak of a thousand stands out.
            let before = try count()
            for _ in 0..<1000 { _ = try? ServedFile(folder: folder.path, parts: parts) }
            #expect(try count() < before + 500)
        }
    }
}
