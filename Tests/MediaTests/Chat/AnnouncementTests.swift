// SPDX-License-Identifier: Apache-2.0

import Basics
import Foundation
import Storage
import Testing

@testable import Media

@Suite struct AnnouncementTests {
    private static func started(_ announcement: Announcement, _ folder: RecordingFolder) {
        announcement.note(.started(folder, part: 1, nil))
    }

    private static func finished(_ announcement: Announcement, _ folder: RecordingFolder) {
        announcement.note(.finished(folder, part: 1, reason: "stopped"))
    }

    private static func withFolders(_ body: (RecordingFolder, RecordingFolder) -> Void) throws {
        let storage = NSTemporaryDirectory() + "announcement-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: storage) }
        let (first, second) = (
            try RecordingFolder.create(storage: storage, room: "r", start: .now()),
            try RecordingFolder.create(storage: storage, room: "r", start: .now())
        )
        body(first, second)
    }

    @Test func isThereWhileARecordingIsMadeAndOnceForASeries() throws {
        try Self.withFolders { folder, next in
            let announcement = Announcement("recorded")
            #expect(announcement.current?.number == nil)
            Self.started(announcement, folder)
            #expect(announcement.current?.number == 1 && announcement.current?.text == "recorded")
            // The next segment begins before the last one is closed.
            Self.started(announcement, next)
            Self.finished(announcement, folder)
            #expect(announcement.current?.number == 1)
            Self.finished(announcement, next)
            #expect(announcement.current?.number == nil)
            announcement.take("another")
            Self.started(announcement, folder)
            #expect(announcement.current?.number == 2 && announcement.current?.text == "another")
        }
    }

    /// A client that stops and records again at once is quicker than the disk.
    @Test func aRecordingBehindOneThatWasStoppedIsAnnouncedAgain() throws {
        try Self.withFolders { folder, next in
            let announcement = Announcement("recorded")
            Self.started(announcement, folder)
            announcement.stopped()
            #expect(announcement.current?.number == nil)
            Self.started(announcement, next)
            Self.finished(announcement, folder)
            #expect(announcement.current?.number == 2)
        }
    }

    @Test func withoutATextThereIsNone() throws {
        try Self.withFolders { folder, _ in
            let announcement = Announcement(nil)
            Self.started(announcement, folder)
            #expect(announcement.current?.number == nil)
        }
    }
}
