// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import HummingbirdTesting
import Model
import NIOCore
import Testing

@testable import Control

/// Archives are read back by foreign programs: Python's `tarfile` and GNU tar.
@Suite struct ArchiveTests {
    private static let names = [
        "call/empty", "call/one block", "call/tracks/001-Zoë – video.mkv",
        "call/" + String(repeating: "long", count: 40),
        "call/" + String(repeating: "ä", count: 99) + ".mkv",
    ]
    private static let sizes: [Int64] = [0, 512, 511, 513, 70_000]

    private static func content(_ index: Int, _ offset: Int64, _ count: Int) -> [UInt8] {
        (0..<Int64(count)).map { UInt8(truncatingIfNeeded: (offset + $0) &* 31 &+ Int64(index)) }
    }

    /// The bytes of an archive, asked for in pieces.
    private static func bytes(_ archive: TarArchive, pieces: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        while Int64(bytes.count) < archive.length {
            let rest = Int(min(Int64(pieces), archive.length - Int64(bytes.count)))
            switch archive.piece(at: Int64(bytes.count), count: rest) {
            case .bytes(let some):
                #expect((1...rest).contains(some.count))
                bytes += some
            case .file(let index, let offset, let count):
                #expect((1...rest).contains(count))
                bytes += Self.content(index, offset, count)
            }
        }
        return bytes
    }

    /// Runs a program with a file as its last argument; what it prints.
    private static func run(_ arguments: [String], on bytes: [UInt8]) throws -> String {
        let path = NSTemporaryDirectory() + "archive-\(UUID().uuidString).tar"
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = arguments + [path]
        process.environment = ["PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
        return text
    }

    private static let list = """
        import sys, tarfile, zlib
        for member in tarfile.open(sys.argv[1], "r:"):
            content = tarfile.open(sys.argv[1], "r:").extractfile(member).read()
            print(member.name, member.size, member.mtime, zlib.crc32(content), sep="|")
        """

    @Test(arguments: [1 << 17, 512, 77])
    func foreignProgramsReadBackWhatIsInIt(pieces: Int) throws {
        let entries = zip(Self.names, Self.sizes).map { TarArchive.Entry(name: $0, bytes: $1, modified: 1_795_230_746) }
        let archive = TarArchive(entries)
        let bytes = Self.bytes(archive, pieces: pieces)
        #expect(Int64(bytes.count) == archive.length && bytes.count.isMultiple(of: 512))
        let found = try Self.run(["python3", "-c", Self.list], on: bytes).split(separator: "\n").map(String.init)
        let expected = try entries.enumerated().map { index, entry in
            let content = Self.content(index, 0, Int(entry.bytes))
            let sum = try Self.run(
                ["python3", "-c", "import sys, zlib; print(zlib.crc32(open(sys.argv[1], 'rb').read()))"],
                on: content
            )
            return "\(entry.name)|\(entry.bytes)|\(entry.modified)|\(sum.split(separator: "\n").joined())"
        }
        #expect(found == expected)
        let listed = try Self.run(["tar", "--quoting-style=literal", "-tf"], on: bytes)
        #expect(listed.split(separator: "\n").map(String.init) == Self.names)
    }

    @Test func aFileOfAnySizeHasItsPlace() throws {
        let size: Int64 = 20_000_000_000_000
        let archive = TarArchive([
            .init(name: "a/large", bytes: size, modified: 0), .init(name: "a/b", bytes: 1, modified: 0),
        ])
        // An extended head of two blocks, a head; a head and a block; the end.
        #expect(archive.length == 3 * 512 + (size + 511) / 512 * 512 + 2 * 512 + 1024)
        guard case .bytes(let head) = archive.piece(at: 0, count: 1 << 16) else {
            Issue.record("no head")
            return
        }
        let told = try Self.run(
            [
                "python3", "-c",
                "import sys, tarfile; print(tarfile.open(sys.argv[1], 'r:', ignore_zeros=True).next().size)",
            ],
            on: Array(head)
        )
        #expect(told == "\(size)\n")
        let last = archive.piece(at: 3 * 512 + size - 1, count: 100)
        #expect(last == .file(index: 0, offset: size - 1, count: 1))
    }

    @Test func anArchiveOfNothingIsTwoBlocksOfZeros() {
        #expect(Self.bytes(TarArchive([]), pieces: 1000) == [UInt8](repeating: 0, count: 1024))
    }

    // MARK: Over HTTP

    private static let path = "/v1/recordings/r1/archive.tar"

    private func withFolder(_ body: @Sendable (any TestClientProtocol, Fixture, String) async throws -> Void)
        async throws
    {
        let folder = NSTemporaryDirectory() + "control-\(UUID().uuidString)/20261121T060000Z-r1"
        try FileManager.default.createDirectory(atPath: folder + "/tracks", withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try Data(Self.content(0, 0, 300_000)).write(to: URL(fileURLWithPath: folder + "/tracks/a.mkv"))
        try Data("{}".utf8).write(to: URL(fileURLWithPath: folder + "/manifest.json"))
        let fixture = try Fixture()
        fixture.backend.set { state in
            state.folder = folder
            state.recordings[0].files.append(.init(name: "manifest.json", bytes: 2, type: "application/json"))
            // Gone since it was listed.
            state.recordings[0].files.append(.init(name: "call.mkv", bytes: 9, type: "video/x-matroska"))
        }
        try await fixture.test { try await body($0, fixture, folder) }
    }

    @Test func allFilesComeInOneWhoseLengthIsKnown() async throws {
        try await self.withFolder { client, _, folder in
            let whole = try await client.send(.get, Self.path)
            #expect(whole.status == .ok)
            #expect(whole.headers[.contentType] == "application/x-tar")
            #expect(whole.headers[.contentLength] == String(whole.body.readableBytes))
            #expect(whole.headers[.contentDisposition]?.hasSuffix("-20261121T060000Z-r1.tar\"") == true)
            let bytes = Array(whole.body.readableBytesView)
            let found = try Self.run(["tar", "-tf"], on: bytes)
            #expect(found == "20261121T060000Z-r1/tracks/a.mkv\n20261121T060000Z-r1/manifest.json\n")
            let head = try await client.send(.head, Self.path)
            #expect(head.headers[.contentLength] == whole.headers[.contentLength])
            // A download that was cut off continues.
            for start in [1, 600, 131_071, bytes.count - 1025, bytes.count - 1] {
                let tag = try #require(whole.headers[.eTag])
                let rest = try await client.send(.get, Self.path, headers: [.range: "bytes=\(start)-", .ifRange: tag])
                #expect(rest.status == .partialContent)
                #expect(Array(rest.body.readableBytesView) == Array(bytes[start...]))
            }
            try Data("{ }".utf8).write(to: URL(fileURLWithPath: folder + "/manifest.json"))
            let changed = try await client.send(.get, Self.path)
            #expect(changed.headers[.eTag] != whole.headers[.eTag])
        }
    }

    @Test func aRecordingThatGoesOnHasNoArchive() async throws {
        try await self.withFolder { client, fixture, _ in
            fixture.backend.set { $0.recordings[0].state = "recording" }
            let going = try await client.send(.get, Self.path)
            #expect(going.status == .conflict)
            fixture.backend.set { $0.recordings[0].state = "unfinished" }
            let unfinished = try await client.send(.get, Self.path)
            #expect(unfinished.status == .ok)
            let asked = try await client.send(.get, Self.path + "?download=1")
            #expect(asked.status == .badRequest)
        }
    }

    @Test func aFileThatChangesEndsTheAnswer() throws {
        let folder = NSTemporaryDirectory() + "control-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let file = URL(fileURLWithPath: folder + "/a")
        try Data("12345".utf8).write(to: file)
        let archive = try RecordingArchive(folder: folder, names: [try #require(FileName(["a"]))])
        #expect(try archive.read(offset: 512, count: 9) == Array("12345".utf8))
        try Data("123456".utf8).write(to: file)
        #expect(throws: ServedFile.Failure.missing) { try archive.read(offset: 512, count: 9) }
        try FileManager.default.removeItem(at: file)
        try FileManager.default.createSymbolicLink(atPath: file.path, withDestinationPath: "/etc/passwd")
        #expect(throws: ServedFile.Failure.missing) { try archive.read(offset: 512, count: 9) }
    }

    @Test(arguments: [
        (Self.path, "read-secret", 403), (Self.path, "media-secret", 200),
        ("/v1/recordings/r1/thumbnail.jpg", "read-secret", 403),
        ("/v1/recordings/r1/thumbnail.jpg", "media-secret", 200),
        ("/v1/recordings/r1/levels", "read-secret", 403), ("/v1/recordings/r1/levels", "media-secret", 200),
        ("/v1/recordings/r1/timeline", "read-secret", 200), ("/v1/recordings/r1/timeline", "media-secret", 403),
    ])
    func scopes(_ path: String, _ secret: String, _ status: Int) async throws {
        let fixture = try Fixture(tokens: [Fixture.reader, Fixture.viewer])
        let folder = NSTemporaryDirectory() + "control-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder + "/tracks", withIntermediateDirectories: true)
        try Data([1]).write(to: URL(fileURLWithPath: folder + "/tracks/a.mkv"))
        fixture.backend.set { $0.folder = folder }
        try await fixture.test { client in
            let response = try await client.send(.get, path, token: secret)
            #expect(response.status.code == status)
        }
        try? FileManager.default.removeItem(atPath: folder)
    }
}
