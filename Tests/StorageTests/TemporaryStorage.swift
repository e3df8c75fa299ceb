// SPDX-License-Identifier: Apache-2.0

import Basics
import FoundationEssentials
import Storage
import Timeline

/// A separate storage directory for each test, removed at its end.
final class TemporaryStorage {
    let path: String

    init() throws {
        self.path = FileManager.default.temporaryDirectory.path + "/tapedeck-storage-\(RecordingID.random())"
        try FileManager.default.createDirectory(atPath: self.path, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: self.path)
    }

    func makeFolder(room: String = "standup") throws -> RecordingFolder {
        try RecordingFolder.create(
            storage: self.path,
            room: room,
            start: UTCTime(nanosecondsSince1970: 1_795_230_746_000_000_000)
        )
    }
}

extension JournalRecord {
    /// Where a track's clock is after as many seconds as its number.
    static func anchor(_ number: Int) -> JournalRecord {
        .clockAnchor(ClockAnchor(track: number, rtpTime: Int64(number) * 90_000))
    }
}

extension Journal {
    /// All records of a recording's journal.
    static func entries(of folder: RecordingFolder) throws -> [JournalEntry] {
        var entries: [JournalEntry] = []
        _ = try Journal.read(folder) { entries.append($0) }
        return entries
    }
}
