// SPDX-License-Identifier: Apache-2.0

import Basics
import Foundation
import TestSupport
import Testing
import Timeline

@testable import Storage

@Suite struct FileTests {
    private let storage: TemporaryStorage

    init() throws {
        self.storage = try TemporaryStorage()
    }

    @Test func writesAndReadsAtOffsets() throws {
        let file = try File(self.storage.path + "/f", .create)
        try file.write([1, 2, 3, 4], at: 0)
        try file.write([9], at: 2)
        #expect(file.count == 4)
        #expect(try file.read(offset: 1, count: 10) == [2, 9, 4])
        #expect(try file.read(offset: 4, count: 1).isEmpty)
        #expect(try file.read(offset: .max, count: 1).isEmpty)
        #expect(try file.read(offset: 0, count: -1).isEmpty)
        try file.truncate(to: 1)
        #expect(try File(file.path, .read).read(offset: 0, count: 9) == [1])
    }

    /// A change right after another may get the same time: then nothing is certain.
    @Test func aChangeShowsInTheState() throws {
        let file = try File(self.storage.path + "/f", .create)
        func settled() throws -> File.State {
            while true {
                if let state = try File(file.path, .read).state { return state }
                usleep(1_000)
            }
        }
        try file.write([1, 2], at: 0)
        let first = try settled()
        #expect(try settled() == first)
        try file.write([2], at: 1)
        let second = try settled()
        #expect(first != second)
        try File.replace(file.path, with: [1, 2])
        #expect(try settled() != second)
    }

    @Test(arguments: [
        (nanoseconds: 5_000_000, now: Duration.milliseconds(14), isCertain: false),
        (5_000_000, .milliseconds(16), true),
        (0, .milliseconds(1_999), false), (0, .milliseconds(2_001), true),
    ])
    func itsTimeMustBeOver(nanoseconds: Int, now: Duration, isCertain: Bool) {
        var status = stat()
        status.st_ctim = timespec(tv_sec: 0, tv_nsec: nanoseconds)
        #expect((File.State(status, now: now) != nil) == isCertain)
    }

    @Test func tellsAFullDisk() throws {
        let file = try File("/dev/full", .overwrite)
        #expect { try file.write([1], at: 0) } throws: { error in
            let error = error as? StorageError
            return error?.code == .noSpace && error?.isRetriable == true && error?.message.contains("/dev/full") == true
        }
    }

    @Test func whatADiskRefusesMayGoWellLater() {
        let retriable = StorageError.Code.allCases.filter { StorageError($0, "", path: "/").isRetriable }
        #expect(Set(retriable) == [.noSpace, .inputOutput, .denied, .system])
    }

    @Test func followsNoLink() throws {
        let path = self.storage.path + "/link"
        let target = self.storage.path + "/target"
        try Data("kept".utf8).write(to: URL(filePath: target))
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: target)
        for mode in [File.Mode.read, .append, .overwrite] {
            #expect { try File(path, mode) } throws: { error in
                let error = error as? StorageError
                return error?.code == .invalid && error?.message.hasSuffix("it is a symbolic link") == true
            }
        }
        #expect { try File(path, .create) } throws: { ($0 as? StorageError)?.code == .exists }
        let folder = try self.storage.makeFolder()
        try FileManager.default.createSymbolicLink(atPath: folder.journalPath, withDestinationPath: target)
        #expect { try JournalWriter(folder: folder) } throws: { ($0 as? StorageError)?.code == .invalid }
        #expect { try Journal.entries(of: folder) } throws: { ($0 as? StorageError)?.code == .invalid }
        #expect(FileManager.default.contents(atPath: target) == Data("kept".utf8))
    }

    @Test func aPipeBlocksNobody() throws {
        let path = self.storage.path + "/pipe"
        #expect(mkfifo(path, 0o600) == 0)
        let file = try File(path, .read)
        #expect(try file.read(offset: 0, count: 10).isEmpty)
    }

    @Test func refusesToCreateWhatIsThere() throws {
        _ = try File(self.storage.path + "/f", .create)
        #expect { try File(self.storage.path + "/f", .create) } throws: { ($0 as? StorageError)?.code == .exists }
        #expect { try File(self.storage.path + "/g", .read) } throws: { ($0 as? StorageError)?.code == .notFound }
    }

    @Test func locksOnce() throws {
        let first = try File(self.storage.path + "/f", .overwrite)
        let second = try File(self.storage.path + "/f", .overwrite)
        #expect(try first.lock())
        #expect(try !second.lock())
    }

    @Test func noticesThatAnotherFileTookItsPlace() throws {
        let file = try File(self.storage.path + "/f", .create)
        #expect(file.isStillAtPath())
        _ = try File(self.storage.path + "/g", .create)
        try File.rename(self.storage.path + "/g", to: self.storage.path + "/f")
        #expect(!file.isStillAtPath())
    }

    @Test func readsTheWallClockAndTheNameOfTheKernelsRun() throws {
        #expect(UTCTime.now().compact > "20250101T000000Z")
        let boot = try String(contentsOfFile: "/proc/sys/kernel/random/boot_id", encoding: .utf8)
        #expect(BootID.current == boot.filter { $0 != "\n" })
    }
}
