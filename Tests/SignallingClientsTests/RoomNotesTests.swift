// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import SignallingClients

/// Notes that clients of one room keep for later ones, on a real disk.
@Suite struct RoomNotesTests {
    private let directory =
        FileManager.default.temporaryDirectory.path + "/tapedeck-notes-\(UUID().uuidString)/signalling"

    private func notes(_ room: String = "apprtc+http://h/r/1") -> RoomNotes {
        RoomNotes(directory: self.directory, room: room)
    }

    private var files: [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: self.directory).sorted()) ?? []
    }

    private func remove() {
        try? FileManager.default.removeItem(atPath: URL(filePath: self.directory).deletingLastPathComponent().path)
    }

    @Test func aNoteOutlivesItsWriter() throws {
        defer { self.remove() }
        func run() throws {
            let notes = self.notes()
            #expect(notes.read() == nil && self.files.isEmpty, "nothing is made before it is needed")
            try notes.write("first, and longer")
            try notes.write("second")
            #expect(notes.read() == "second")
        }
        try run()
        let path = try #require(self.files.first)
        let attributes = try FileManager.default.attributesOfItem(atPath: "\(self.directory)/\(path)")
        let folder = try FileManager.default.attributesOfItem(atPath: self.directory)
        #expect((attributes[.posixPermissions] as? Int) == 0o640 && (folder[.posixPermissions] as? Int) == 0o750)
        #expect(!path.contains("apprtc"), "URLs may hold what lets people in")
        let later = self.notes()
        #expect(self.notes("apprtc+http://h/r/2").read() == nil)
        #expect(later.read() == "second")
        try later.write(nil)
        #expect(later.read() == nil && self.files.isEmpty)
        try later.write(nil)
    }

    @Test func theNoteOfOneThatIsAliveIsItsOwn() throws {
        defer { self.remove() }
        let first = self.notes()
        #expect(first.read() == nil)
        try first.write("first")
        let second = self.notes()
        #expect(second.read() == nil)
        try second.write("second")
        #expect(first.read() == "first" && second.read() == "second" && self.files.count == 2)
        try first.write(nil)
        #expect(second.read() == "second" && self.files.count == 1)
        // The freed place is taken again.
        let third = self.notes()
        #expect(third.read() == nil)
        try third.write("third")
        #expect(self.files.count == 2 && second.read() == "second")
    }

    @Test func moreClientsThanPlacesGoWithout() throws {
        defer { self.remove() }
        let clients = (0...RoomNotes.maximumClients).map { _ in self.notes() }
        for (index, client) in clients.enumerated() { try client.write("\(index)") }
        #expect(self.files.count == RoomNotes.maximumClients)
        #expect(clients.dropLast().enumerated().allSatisfy { $1.read() == "\($0)" })
        #expect(clients.last?.read() == nil)
    }

    @Test func whatCannotBeReadIsNoNote() throws {
        defer { self.remove() }
        var writer: RoomNotes? = self.notes()
        try writer?.write("text")
        let path = "\(self.directory)/\(try #require(self.files.first))"
        writer = nil
        try Data([0xFF, 0xFE]).write(to: URL(filePath: path))
        #expect(self.notes().read() == nil)
        try Data(count: RoomNotes.maximumBytes + 1).write(to: URL(filePath: path))
        #expect(self.notes().read() == nil)
        // A link would lead elsewhere: it is neither read nor written.
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "/etc/hostname")
        #expect(self.notes().read() == nil)
        let nowhere = RoomNotes(directory: nil, room: "r")
        try nowhere.write("text")
        #expect(nowhere.read() == nil)
        let tooLong = self.notes("apprtc+http://h/r/3")
        try tooLong.write(String(repeating: "x", count: RoomNotes.maximumBytes + 1))
        #expect(tooLong.read() == nil)
    }
}
