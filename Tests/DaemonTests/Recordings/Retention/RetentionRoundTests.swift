// SPDX-License-Identifier: Apache-2.0

import Basics
import Catalogue
import Storage
import Testing

@testable import Daemon

@Suite struct RetentionRoundTests {
    private static let start = UTCTime(nanosecondsSince1970: 1_795_230_746_000_000_000)
    private static let ids = (0..<3).map { _ in RecordingID.random() }

    /// Three recordings of 100 bytes, numbered from the oldest; what is known of them, and what becomes of each.
    struct Row: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var policy = RetentionPolicy(keepBytes: 0)
        var active: Set<Int> = []
        var exported: Set<Int> = []
        var unexported: Set<Int> = []
        var notUploaded: Set<Int> = []
        var folders: [Int: RetentionRound.Folder] = [:]
        /// Written an hour after they ended.
        var written: Set<Int> = []
        var deleted: [Int] = []
        var heldBack: [Int: RetentionPolicy.Obstacle] = [:]

        init(_ description: String, _ change: (inout Row) -> Void) {
            self.testDescription = description
            change(&self)
        }
    }

    private static let rows = [
        Row("each is free") { $0.deleted = [0, 1, 2] },
        Row("one goes on") { ($0.active, $0.deleted) = ([0], [1, 2]) },
        Row("one is exported") { ($0.exported, $0.deleted) = ([1], [0, 2]) },
        Row("one was not exported") { ($0.unexported, $0.deleted, $0.heldBack) = ([2], [0, 1], [2: .unexported]) },
        Row("a process holds one") { ($0.folders, $0.deleted) = ([0: .held], [1, 2]) },
        Row("one cannot be read") {
            ($0.folders, $0.deleted, $0.heldBack) = ([1: .unreadable], [0, 2], [1: .unreadable])
        },
        Row("one is not uploaded") { ($0.notUploaded, $0.deleted, $0.heldBack) = ([1], [0, 2], [1: .notUploaded]) },
        Row("one has a file that is not uploaded") {
            ($0.folders, $0.deleted, $0.heldBack) = ([1: .notUploaded], [0, 2], [1: .notUploaded])
        },
        Row("none can be deleted") {
            $0.folders = [0: .held, 1: .unreadable]
            ($0.unexported, $0.heldBack) = ([2], [1: .unreadable, 2: .unexported])
        },
        Row("one is too much") { ($0.policy.keepBytes, $0.deleted) = (200, [0]) },
        Row("one is too much and the oldest held") {
            ($0.policy.keepBytes, $0.folders, $0.deleted) = (200, [0: .held], [1])
        },
        Row("one is too much and the oldest cannot be read") {
            ($0.policy.keepBytes, $0.folders) = (200, [0: .unreadable])
            ($0.deleted, $0.heldBack) = ([1], [0: .unreadable])
        },
        Row("none is too much") { ($0.policy.keepBytes, $0.unexported) = (300, [0]) },
        Row("too old") { ($0.policy, $0.deleted) = (RetentionPolicy(keep: .seconds(1800)), [0, 1, 2]) },
        Row("too old but for the last write") {
            ($0.policy, $0.written, $0.deleted) = (RetentionPolicy(keep: .seconds(1800)), [0, 1], [2])
        },
        Row("everything is kept") { ($0.policy, $0.unexported) = (RetentionPolicy(), [0]) },
    ]

    @Test(arguments: Self.rows) func whatIsDeletedAndWhatIsHeldBack(_ row: Row) {
        let now = Self.start.adding(.seconds(3600))
        let entries = Self.ids.enumerated().map { number, id in
            let end = Self.start.adding(.seconds(number))
            return RecordingEntry(
                id: id,
                room: "standup",
                start: end,
                end: end,
                bytes: 100,
                state: .finished,
                folder: "recordings/standup/\(number)"
            )
        }
        func ids(_ numbers: Set<Int>) -> Set<RecordingID> { Set(numbers.map { Self.ids[$0] }) }
        var round = RetentionRound(row.policy)
        var deleted: [RecordingID] = []
        var decisions = 0
        while !round.isSettled {
            decisions += 1
            // Each but the last one found a folder that is not free.
            guard decisions <= entries.count + 1 else { break }
            var facts = RetentionRound.Facts()
            facts.finished = entries.filter { !deleted.contains($0.id) }
            facts.totalBytes = facts.finished.reduce(0) { $0 + $1.bytes }
            (facts.active, facts.exported, facts.unexported) = (ids(row.active), ids(row.exported), ids(row.unexported))
            facts.notUploaded = ids(row.notUploaded)
            for entry in facts.finished where round.mayBeTooOld(entry, at: now) {
                facts.lastWrites[entry.id] = ids(row.written).contains(entry.id) ? now : nil
            }
            for (entry, reason) in round.decide(facts, at: now) {
                #expect(reason == (row.policy.keep == nil ? .size : .age))
                let number = Self.ids.firstIndex(of: entry.id)
                guard round.found(number.flatMap { row.folders[$0] } ?? .free, of: entry.id) else { continue }
                deleted.append(entry.id)
            }
        }
        #expect(round.isSettled && deleted == row.deleted.map { Self.ids[$0] })
        #expect(round.heldBack.map(\.id) == row.heldBack.keys.sorted().map { Self.ids[$0] })
        #expect(round.heldBack.map(\.obstacle) == row.heldBack.sorted { $0.key < $1.key }.map(\.value))
    }
}
