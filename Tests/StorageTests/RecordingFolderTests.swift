// SPDX-License-Identifier: Apache-2.0

import Basics
import FoundationEssentials
import Storage
import TestSupport
import Testing

@Suite struct RecordingFolderTests {
    private let storage: TemporaryStorage

    init() throws {
        self.storage = try TemporaryStorage()
    }

    @Test func createsTheContractsLayout() throws {
        let folder = try self.storage.makeFolder()
        #expect(folder.path == "\(self.storage.path)/recordings/standup/20261121T031226Z-\(folder.id)")
        var isDirectory = false
        #expect(FileManager.default.fileExists(atPath: folder.path + "/tracks", isDirectory: &isDirectory))
        #expect(isDirectory)
    }

    @Test func staysInsideTheStorageDirectory() throws {
        let folder = try self.storage.makeFolder(room: "../../../tmp/elsewhere")
        #expect(folder.path.hasPrefix(self.storage.path + "/recordings/tmp_elsewhere-"))
    }

    @Test func refusesToCreateTwice() throws {
        let folder = try self.storage.makeFolder()
        #expect {
            try RecordingFolder.create(
                storage: self.storage.path,
                room: "standup",
                start: UTCTime(nanosecondsSince1970: 1_795_230_746_000_000_000),
                id: folder.id
            )
        } throws: {
            ($0 as? StorageError)?.code == .exists
        }
    }

    @Test func opensWhatIsBelowTheStorageDirectoryOnly() throws {
        let folder = try self.storage.makeFolder()
        let relative = String(folder.path.dropFirst(self.storage.path.utf8.count + 1))
        #expect(try RecordingFolder.open(relative, in: self.storage.path) == folder)
        // The storage directory itself may be a link.
        let alias = self.storage.path + "/alias"
        try FileManager.default.createSymbolicLink(atPath: alias, withDestinationPath: self.storage.path)
        #expect(try RecordingFolder.open(relative, in: alias).path == folder.path)
        for wrong in ["\(relative)/../../../\(relative)", "./\(relative)", "alias/\(relative)", "/" + relative, ""] {
            #expect(throws: StorageError.self) { try RecordingFolder.open(wrong, in: self.storage.path) }
        }
    }

    @Test(arguments: ["room", "folder", "tracks"])
    func aLinkInItsPlaceIsNoRecording(place: String) throws {
        let folder = try self.storage.makeFolder()
        let relative = String(folder.path.dropFirst(self.storage.path.utf8.count + 1))
        let path =
            ["room": self.storage.path + "/recordings/standup", "folder": folder.path][place] ?? folder.tracksPath
        let elsewhere = self.storage.path + "/" + folder.path.split(separator: "/").suffix(1).joined()
        try FileManager.default.moveItem(atPath: path, toPath: elsewhere)
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: elsewhere)
        #expect(try RecordingFolder.list(storage: self.storage.path).isEmpty)
        #expect { try RecordingFolder.open(relative, in: self.storage.path) } throws: {
            ($0 as? StorageError)?.code == .notFound
        }
    }

    @Test func listsAndFinds() throws {
        let second = try RecordingFolder.create(
            storage: self.storage.path,
            room: "b",
            start: UTCTime(nanosecondsSince1970: 2_000_000_000_000_000_000)
        )
        let first = try self.storage.makeFolder()
        try FileManager.default.createDirectory(
            atPath: self.storage.path + "/recordings/standup/notes",
            withIntermediateDirectories: false
        )
        #expect(FileManager.default.createFile(atPath: self.storage.path + "/recordings/stray", contents: nil))
        #expect(try RecordingFolder.list(storage: self.storage.path) == [first, second])
        #expect(try RecordingFolder.find(storage: self.storage.path, first.id.rawValue) == first)
        #expect(try RecordingFolder.find(storage: self.storage.path, String(first.id.rawValue.prefix(12))) == first)
        #expect(try RecordingFolder.find(storage: self.storage.path, first.compactStart) == first)
        #expect(try RecordingFolder.find(storage: self.storage.path, "\(first.compactStart)-\(first.id)") == first)
        #expect(throws: StorageError.self) {
            try RecordingFolder.find(storage: self.storage.path, String(first.compactStart.dropLast()))
        }
        #expect(try RecordingFolder.find(storage: "/nowhere", first.path + "/") == first)
        #expect(try RecordingFolder.list(storage: self.storage.path + "/none").isEmpty)
    }

    @Test(arguments: ["", "nobody", "zzzzzzzzzzzzzzzz"])
    func findsNothing(name: String) throws {
        _ = try self.storage.makeFolder()
        #expect { try RecordingFolder.find(storage: self.storage.path, name) } throws: {
            ($0 as? StorageError)?.code == .notFound
        }
    }

    @Test func asksForMoreOfAnAmbiguousID() throws {
        for id in ["0000000000000001", "0000000000000002"] {
            _ = try RecordingFolder.create(
                storage: self.storage.path,
                room: "r",
                start: UTCTime(nanosecondsSince1970: 0),
                id: try #require(RecordingID(rawValue: id))
            )
        }
        #expect { try RecordingFolder.find(storage: self.storage.path, "0000") } throws: {
            ($0 as? StorageError)?.code == .invalid
        }
    }

    @Test(arguments: ["/", "/tmp", "/nonexistent/20261121T031226Z-0123456789abcdef"])
    func refusesOtherFolders(path: String) {
        #expect(throws: StorageError.self) { try RecordingFolder.open(path: path) }
    }

    @Test func namesThePathWhenItCannotCreate() {
        #expect {
            try RecordingFolder.create(storage: "/proc/nothing", room: "r", start: UTCTime(nanosecondsSince1970: 0))
        } throws: { error in
            "\(error)".contains("/proc/nothing")
        }
    }

    @Test(arguments: ["", "abc", "0123456789ABCDEF", "0123456789abcde/", "0123456789abcdefg", "0123456789abcdei"])
    func refusesOtherIDs(text: String) {
        #expect(RecordingID(rawValue: text) == nil)
    }

    @Test func makesIDsThatDiffer() {
        #expect(Set((0..<1000).map { _ in RecordingID.random() }).count == 1000)
    }
}
