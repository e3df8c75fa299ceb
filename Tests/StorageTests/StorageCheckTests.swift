// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Storage
import TestSupport
import Testing

/// Messages about a path that cannot be a storage directory.
@Suite struct StorageCheckTests {
    private let storage: TemporaryStorage

    init() throws {
        self.storage = try TemporaryStorage()
    }

    private func problem(_ path: String) -> StorageError? {
        do throws(StorageError) {
            try RecordingFolder.checkStorage(path)
            return nil
        } catch {
            return error
        }
    }

    @Test func whatIsThereOrCanBeMadeIsTaken() throws {
        for path in ["", "/", "/a/b/c", "//a//"] { #expect(self.problem(self.storage.path + path) == nil, "\(path)") }
        #expect(self.problem(".") == nil)
        // Nothing was made.
        #expect(try FileManager.default.contentsOfDirectory(atPath: self.storage.path).isEmpty)
        _ = try self.storage.makeFolder()
        #expect(self.problem(self.storage.path) == nil)
    }

    @Test func aFileInItsPlaceIsNamed() throws {
        let file = self.storage.path + "/file"
        try Data("x".utf8).write(to: URL(filePath: file))
        for path in [file, file + "/below/it"] {
            let error = try #require(self.problem(path))
            #expect(error.code == .invalid && error.path == file)
            #expect(error.message.hasPrefix("\(file) is a file, where a directory must be: "))
            #expect(throws: error) { try RecordingFolder.makeStorage(path) }
        }
        // Also in the place of what is in it.
        try Data().write(to: URL(filePath: self.storage.path + "/recordings"))
        #expect(self.problem(self.storage.path)?.path == self.storage.path + "/recordings")
    }

    /// Its disk may be mounted later.
    @Test func aLinkToNothingIsNamedAndMayBeMended() throws {
        let (link, target) = (self.storage.path + "/link", self.storage.path + "/disk")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: target)
        for path in [link, link + "/below"] {
            let error = try #require(self.problem(path))
            #expect(error.isRetriable && error.message.hasPrefix("\(link) is a link to \(target), where nothing is: "))
            #expect(throws: error) { try RecordingFolder.makeStorage(path) }
        }
        #expect(throws: StorageError.self) { try RecordingFolder.find(storage: link, "20261121T031226Z") }
        try FileManager.default.createDirectory(atPath: target, withIntermediateDirectories: false)
        #expect(self.problem(link + "/below") == nil)
    }

    @Test func aLinkThatLeadsBackIsNamed() throws {
        let link = self.storage.path + "/link"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: link)
        #expect(self.problem(link)?.message == "\(link) is a link that leads back to itself: remove it")
    }

    @Test(arguments: ["/proc/nope", "/sys/nope", "", "/dev/null"])
    func whatHoldsNoRecordingsIsRefused(path: String) {
        #expect(self.problem(path) != nil)
    }

    @Test func whoeverLooksForRecordingsIsToldThatThereIsNoStorage() {
        let path = self.storage.path + "/nowhere"
        let error = #expect(throws: StorageError.self) { try RecordingFolder.find(storage: path, "20261121T031226Z") }
        #expect(error?.message == "there is no directory \(path): name the storage directory")
    }
}
