// SPDX-License-Identifier: Apache-2.0

import Basics
import Catalogue
import FoundationEssentials
import GRDB
import Storage
import Timeline

/// A separate storage directory for each test, removed at its end.
final class CatalogueStorage: Sendable {
    let path: String

    init() throws {
        self.path = FileManager.default.temporaryDirectory.path + "/tapedeck-catalogue-\(RecordingID.random())"
        try FileManager.default.createDirectory(atPath: self.path, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: self.path)
    }

    func open() throws -> Catalogue {
        try Catalogue.open(storage: self.path, now: Self.time(0))
    }

    /// Seconds after an instant of 2026.
    static func time(_ seconds: Int) -> UTCTime {
        UTCTime(nanosecondsSince1970: 1_795_230_746_000_000_000 + Int64(seconds) * 1_000_000_000)
    }

    /// A track in which something was recorded.
    static let track = RecordedTrack(
        number: 1,
        participant: "a",
        codec: .opus,
        file: "tracks/1.mka",
        units: 1,
        bytes: 1
    )

    /// A finished recording that began so many seconds after the instant.
    func entry(_ second: Int, room: String = "standup", participants: [String] = []) -> RecordingEntry {
        let id = RecordingID.random()
        return RecordingEntry(
            id: id,
            room: room,
            start: Self.time(second),
            bytes: Int64(second),
            state: .finished,
            folder: "recordings/\(room)/\(Self.time(second).compact)-\(id)",
            participants: participants.map { Participant(id: $0) }
        )
    }

    func place(_ obstacle: CatalogueTests.Obstacle, at path: String) async throws {
        switch obstacle {
        case .text: try Data(repeating: 0x41, count: 10_000).write(to: URL(filePath: path))
        case .directory:
            try FileManager.default.createDirectory(atPath: path + "/inside", withIntermediateDirectories: true)
        case .link: try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "/etc/passwd")
        case .otherDatabase: try self.execute("CREATE TABLE somebody (name TEXT)", at: path)
        case .laterVersion:
            try self.open().close()
            try self.execute("INSERT INTO grdb_migrations VALUES ('99 things to come')", at: path)
        case .cut:
            try await self.fill()
            let bytes = try Data(contentsOf: URL(filePath: path))
            try bytes.prefix(bytes.count / 2).write(to: URL(filePath: path))
        case .overwritten:
            try await self.fill()
            var bytes = try Data(contentsOf: URL(filePath: path))
            // All but the first page, which says what the file is.
            bytes.replaceSubrange(4096..., with: Data(repeating: 0xA5, count: bytes.count - 4096))
            try bytes.write(to: URL(filePath: path))
        }
    }

    private func fill() async throws {
        let catalogue = try self.open()
        for second in 0..<50 { try await catalogue.save(self.entry(second)) }
        try catalogue.close()
    }

    func execute(_ sql: String, at path: String) throws {
        let queue = try DatabaseQueue(path: path)
        try queue.write { try $0.execute(sql: sql) }
        try queue.close()
    }
}
