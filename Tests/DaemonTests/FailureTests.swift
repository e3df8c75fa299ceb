// SPDX-License-Identifier: Apache-2.0

import Catalogue
import Control
import Foundation
import Storage
import Testing

@testable import Daemon

/// After which ends the service manager starts the daemon again.
@Suite struct FailureTests {
    private struct Unknown: Error {}

    @Test func whatSomebodyMustChangeIsFinal() {
        let errors: [any Error] = [
            StorageError(.denied, "", path: "/"), StorageError(.notFound, "", path: "/"),
            StorageError(.invalid, "", path: "/"), StorageError(.exists, "", path: "/"),
            CatalogueError(.denied, ""),
            CocoaError(.fileWriteNoPermission), CocoaError(.fileWriteVolumeReadOnly), CocoaError(.fileWriteFileExists),
            CocoaError(.fileWriteUnknown, userInfo: [NSUnderlyingErrorKey: POSIXError(.ENOTDIR)]),
            POSIXError(.EACCES),
        ]
        for error in errors { #expect(Daemon.needsChange(after: error), "\(error)") }
    }

    @Test func whatMayPassIsWorthAnotherStart() {
        let errors: [any Error] = [
            StorageError(.noSpace, "", path: "/"), StorageError(.inputOutput, "", path: "/"),
            StorageError(.system, "", path: "/", errorNumber: EMFILE),
            CatalogueError(.storage, "the catalogue failed: database or disk is full"),
            CocoaError(.fileWriteOutOfSpace),
            CocoaError(.fileWriteUnknown, userInfo: [NSUnderlyingErrorKey: POSIXError(.EMFILE)]),
            POSIXError(.ENOSPC), POSIXError(.EMFILE), CancellationError(), Unknown(),
        ]
        for error in errors { #expect(!Daemon.needsChange(after: error), "\(error)") }
    }

    /// The other one may be about to end.
    @Test func aStorageThatAnotherDaemonHasIsWorthAnotherStart() throws {
        let path = FileManager.default.temporaryDirectory.path + "/tapedeck-held-\(RecordingID.random())"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: path) }
        do {
            let lock = try Daemon.hold(path)
            let error = #expect(throws: StorageError.self) { try Daemon.hold(path) }
            #expect(error?.message == "another daemon has the storage directory \(path)")
            #expect(error.map { Daemon.needsChange(after: $0) } == false)
            withExtendedLifetime(lock) {}
        }
        #expect(throws: Never.self) { try Daemon.hold(path) }
    }

    /// A catalogue below a file, as the operating system tells of it; root may write everywhere else.
    @Test func aCatalogueThatMayNotBeMadeIsFinal() throws {
        let path = FileManager.default.temporaryDirectory.path + "/tapedeck-failure-\(RecordingID.random())"
        try Data().write(to: URL(fileURLWithPath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        #expect {
            try Catalogue.open(storage: path)
        } throws: {
            Daemon.needsChange(after: $0)
        }
    }
}
