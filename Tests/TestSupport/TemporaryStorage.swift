// SPDX-License-Identifier: Apache-2.0

public import Basics
import Foundation
public import Storage
public import Timeline

/// A storage directory of one test, removed with this object.
public final class TemporaryStorage {
    /// Its path.
    public var path: String { self.folder.path }

    private let folder: TemporaryFolder

    /// Makes the directory.
    public init() throws { self.folder = try TemporaryFolder() }

    /// Makes the folder of a recording that began on 21 November 2026.
    public func makeFolder(room: String = "standup") throws -> RecordingFolder {
        try RecordingFolder.create(
            storage: self.path,
            room: room,
            start: UTCTime(nanosecondsSince1970: 1_795_230_746_000_000_000)
        )
    }
}

extension JournalRecord {
    /// Where a track's clock is after as many seconds as its number.
    public static func anchor(_ number: Int) -> JournalRecord {
        .clockAnchor(ClockAnchor(track: number, rtpTime: Int64(number) * 90_000))
    }
}

extension Journal {
    /// All records of a recording's journal.
    public static func entries(of folder: RecordingFolder) throws -> [JournalEntry] {
        var entries: [JournalEntry] = []
        _ = try Journal.read(folder) { entries.append($0) }
        return entries
    }
}
