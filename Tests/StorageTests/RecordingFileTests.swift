// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import Storage
import TestSupport
import Testing

@Suite struct RecordingFileTests {
    private let storage: TemporaryStorage
    private let folder: RecordingFolder

    init() throws {
        self.storage = try TemporaryStorage()
        self.folder = try self.storage.makeFolder()
        try self.put("call.mkv", bytes: 5)
        try self.put("manifest.json", bytes: 2)
        try self.put("tracks/001-alice-video.mkv", bytes: 7)
        try self.put(".manifest-half.json", bytes: 1)
        try self.put("tracks/.hidden.mkv", bytes: 1)
        try FileManager.default.createDirectory(
            atPath: self.folder.path + "/.cache/a/b/c/d",
            withIntermediateDirectories: true
        )
        try self.put(".cache/secret.txt", bytes: 3)
        try FileManager.default.createDirectory(
            atPath: self.folder.path + "/a/b/c",
            withIntermediateDirectories: true
        )
        try self.put("a/b/shown.txt", bytes: 1)
        try self.put("a/b/c/too-deep.txt", bytes: 1)
        try self.link("outside.txt", to: "/etc/passwd")
        try self.link("inside.mkv", to: "call.mkv")
        try self.link("elsewhere", to: "/etc")
        try self.link("again", to: "tracks")
        #expect(mkfifo(self.folder.path + "/pipe.mkv", 0o600) == 0)
    }

    private func put(_ name: String, bytes: Int) throws {
        try Data(repeating: 1, count: bytes).write(to: URL(filePath: self.folder.path + "/" + name))
    }

    private func link(_ name: String, to target: String) throws {
        try FileManager.default.createSymbolicLink(
            atPath: self.folder.path + "/" + name,
            withDestinationPath: target
        )
    }

    @Test func listsRegularFilesOnly() throws {
        #expect(
            try self.folder.files() == [
                RecordingFile(name: "a/b/shown.txt", bytes: 1, mediaType: "text/plain; charset=utf-8"),
                RecordingFile(name: "call.mkv", bytes: 5, mediaType: "video/x-matroska"),
                RecordingFile(name: "manifest.json", bytes: 2, mediaType: "application/json"),
                RecordingFile(name: "tracks/001-alice-video.mkv", bytes: 7, mediaType: "video/x-matroska"),
            ]
        )
    }

    @Test func leadsToEveryFileThatItLists() throws {
        for file in try self.folder.files() {
            #expect(try self.folder.path(of: file.name) == self.folder.path + "/" + file.name)
        }
    }

    @Test(arguments: [
        "", "/", ".", "..", "...", "../..", "../../../../../../etc/passwd", "/etc/passwd", "//etc/passwd",
        "tracks/../../../../etc/passwd", "tracks/../call.mkv", "tracks/./001-alice-video.mkv", "./call.mkv",
        "tracks//001-alice-video.mkv", "call.mkv/", "/call.mkv", "call.mkv/..", "tracks", "tracks/", "a/b",
        "%2e%2e/%2e%2e/etc/passwd", "..%2fcall.mkv", "%2fetc%2fpasswd", "..\\call.mkv", "tracks\\001-alice-video.mkv",
        "call.mkv\0", "call.mkv\0.txt", "\0", "tracks/\0", "call.mkv\n", "CALL.MKV", " call.mkv", "call.mkv ",
        "outside.txt", "inside.mkv", "elsewhere/passwd", "again/001-alice-video.mkv", "pipe.mkv",
        ".manifest-half.json", "tracks/.hidden.mkv", ".cache/secret.txt", "a/b/c/too-deep.txt", "nothing.mkv",
        String(repeating: "a", count: 100_000), String(repeating: "a/", count: 50_000), "～", "tracks/．．/call.mkv",
    ])
    func leadsNowhereElse(name: String) {
        #expect { try self.folder.path(of: name) } throws: { ($0 as? StorageError)?.code == .notFound }
    }

    @Test func doesNotFollowALinkInThePlaceOfAFolder() throws {
        let other = try self.storage.makeFolder()
        try FileManager.default.removeItem(atPath: other.path)
        try FileManager.default.createSymbolicLink(atPath: other.path, withDestinationPath: self.folder.path)
        #expect { try other.files() } throws: { ($0 as? StorageError)?.code == .notFound }
        #expect { try other.path(of: "call.mkv") } throws: { ($0 as? StorageError)?.code == .notFound }
        #expect { try other.delete() } throws: { ($0 as? StorageError)?.code == .notFound }
        #expect(try self.folder.files().count == 4)
    }

    @Test func doesNotFollowALinkInThePlaceOfARoom() throws {
        let room = self.storage.path + "/recordings/standup"
        try FileManager.default.moveItem(atPath: room, toPath: self.storage.path + "/elsewhere")
        try FileManager.default.createSymbolicLink(
            atPath: room,
            withDestinationPath: self.storage.path + "/elsewhere"
        )
        #expect { try self.folder.files() } throws: { ($0 as? StorageError)?.code == .notFound }
        #expect { try self.folder.path(of: "call.mkv") } throws: { ($0 as? StorageError)?.code == .notFound }
        #expect { try self.folder.delete() } throws: { ($0 as? StorageError)?.code == .notFound }
    }

    @Test func deletesWhatIsInsideAndNothingElse() throws {
        let outside = self.storage.path + "/outside"
        try FileManager.default.createDirectory(atPath: outside + "/deep", withIntermediateDirectories: true)
        try Data("kept".utf8).write(to: URL(filePath: outside + "/deep/file"))
        try self.link("way-out", to: outside)
        try self.link("tracks/way-out", to: outside + "/deep/file")
        let neighbour = try self.storage.makeFolder()
        try self.folder.delete()
        #expect(access(self.folder.path, F_OK) != 0)
        #expect(try RecordingFolder.list(storage: self.storage.path) == [neighbour])
        #expect(try String(contentsOf: URL(filePath: outside + "/deep/file"), encoding: .utf8) == "kept")
        let room = self.storage.path + "/recordings/standup"
        #expect(try FileManager.default.contentsOfDirectory(atPath: room).count == 1)
        #expect { try self.folder.delete() } throws: { ($0 as? StorageError)?.code == .notFound }
    }

    @Test func makesAStorageDirectoryOnce() throws {
        let path = self.storage.path + "/a/b"
        for _ in 0..<2 { try RecordingFolder.makeStorage(path) }
        #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o750)
        try Data().write(to: URL(filePath: path + "/file"))
        #expect { try RecordingFolder.makeStorage(path + "/file") } throws: { ($0 as? StorageError)?.code == .invalid }
    }

    @Test func deletesManyFiles() throws {
        for number in 0..<5000 { try self.put("tracks/\(number)", bytes: 0) }
        try self.folder.delete()
        #expect(try FileManager.default.contentsOfDirectory(atPath: self.storage.path + "/recordings/standup").isEmpty)
    }

    @Test func endsDeletionsThatWereInterrupted() throws {
        // As a crash after the renaming leaves it.
        let name = try #require(self.folder.path.split(separator: "/").last)
        let room = self.storage.path + "/recordings/standup"
        try FileManager.default.moveItem(atPath: self.folder.path, toPath: room + "/.deleting-\(name)-x")
        #expect(try RecordingFolder.list(storage: self.storage.path).isEmpty)
        let kept = try self.storage.makeFolder()
        #expect(try RecordingFolder.removeLeftovers(storage: self.storage.path) == 1)
        #expect(try RecordingFolder.removeLeftovers(storage: self.storage.path) == 0)
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: room) == [
                kept.path.split(separator: "/").last.map(String.init)
            ]
        )
        #expect(try RecordingFolder.removeLeftovers(storage: self.storage.path + "/none") == 0)
    }

    /// In no order that is known before: twenty of the others do not all come first.
    @Test func oneThatCannotBeDeletedKeepsNoOther() throws {
        let room = self.storage.path + "/recordings/standup/"
        let stuck = room + ".deleting-10"
        let folders = (0..<20).map { room + ".deleting-\($0)" } + [stuck + String(repeating: "/d", count: 40)]
        for folder in folders {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        }
        #expect {
            try RecordingFolder.removeLeftovers(storage: self.storage.path)
        } throws: {
            ($0 as? StorageError)?.code == .invalid
        }
        let left = try FileManager.default.contentsOfDirectory(atPath: room).filter { $0.hasPrefix(".deleting-") }
        #expect(left == [".deleting-10"])
    }

    @Test func refusesToDeleteWhatIsNestedTooDeep() throws {
        let deep = self.folder.path + String(repeating: "/d", count: 40)
        try FileManager.default.createDirectory(atPath: deep, withIntermediateDirectories: true)
        #expect { try self.folder.delete() } throws: { ($0 as? StorageError)?.code == .invalid }
        #expect(try RecordingFolder.list(storage: self.storage.path).isEmpty)
    }
}
