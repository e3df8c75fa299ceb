// SPDX-License-Identifier: Apache-2.0

import Catalogue
import Storage
import Testing
import Timeline

@Suite struct ListingTests {
    private let storage: CatalogueStorage
    private let catalogue: Catalogue

    init() throws {
        self.storage = try CatalogueStorage()
        self.catalogue = try self.storage.open()
    }

    /// Saves recordings that began one second after the other, and returns their ids, newest first.
    private func fill(_ count: Int, room: (Int) -> String = { _ in "standup" }) async throws -> [RecordingID] {
        var ids: [RecordingID] = []
        for number in 0..<count {
            let entry = self.storage.entry(number, room: room(number), participants: ["guest-\(number)"])
            try await self.catalogue.save(entry)
            ids.append(entry.id)
        }
        return ids.reversed()
    }

    private func ids(_ filter: RecordingFilter) async throws -> [RecordingID] {
        try await self.catalogue.list(filter).recordings.map(\.id)
    }

    @Test(arguments: [1, 3, 7, 20, 200])
    func pagesHoldEachRecordingOnce(limit: Int) async throws {
        let expected = try await self.fill(20)
        var filter = RecordingFilter(limit: limit)
        var found: [RecordingID] = []
        repeat {
            let page = try await self.catalogue.list(filter)
            #expect(page.recordings.count <= limit)
            found += page.recordings.map(\.id)
            filter.cursor = page.next
        } while filter.cursor != nil
        #expect(found == expected)
    }

    @Test func aNewRecordingDoesNotMoveLaterPages() async throws {
        let expected = try await self.fill(6)
        let page = try await self.catalogue.list(RecordingFilter(limit: 3))
        try await self.catalogue.save(self.storage.entry(100))
        try await self.catalogue.remove(expected[0])
        #expect(try await self.ids(RecordingFilter(limit: 3, cursor: page.next)) == Array(expected[3...]))
    }

    @Test func recordingsOfOneInstantAreApart() async throws {
        var ids: Set<RecordingID> = []
        for _ in 0..<10 {
            let entry = self.storage.entry(5)
            try await self.catalogue.save(entry)
            ids.insert(entry.id)
        }
        var found: [RecordingID] = []
        var filter = RecordingFilter(limit: 1)
        repeat {
            let page = try await self.catalogue.list(filter)
            found += page.recordings.map(\.id)
            filter.cursor = page.next
        } while filter.cursor != nil
        #expect(found.count == 10 && Set(found) == ids)
    }

    @Test func filtersByRoomAndTime() async throws {
        let ids = try await self.fill(10) { $0.isMultiple(of: 2) ? "even" : "odd" }
        #expect(try await self.ids(RecordingFilter(room: "even")) == [ids[1], ids[3], ids[5], ids[7], ids[9]])
        #expect(try await self.ids(RecordingFilter(room: "eve")).isEmpty)
        let (from, to) = (CatalogueStorage.time(3), CatalogueStorage.time(6))
        #expect(try await self.ids(RecordingFilter(from: from, to: to)) == [ids[4], ids[5], ids[6]])
        #expect(try await self.ids(RecordingFilter(room: "odd", from: from, to: to)) == [ids[4], ids[6]])
        #expect(try await self.ids(RecordingFilter(from: to, to: from)).isEmpty)
    }

    @Test func findsTextAnywhereAndInAnyCase() async throws {
        var entry = self.storage.entry(1, room: "Großraum 客厅", participants: ["peer-ab"])
        entry.participants.append(Participant(id: "x", name: "Çelik Ωmega"))
        try await self.catalogue.save(entry)
        try await self.catalogue.save(self.storage.entry(2, room: "other"))
        let id = entry.id.rawValue
        let texts = [
            "großraum", "GROSSRAUM".lowercased() == "großraum" ? "GROSSRAUM" : "Raum", "客厅", "厅", "a", "AB", "eer-a",
            "çELIK", "ωmega", String(id.prefix(5)), id.uppercased(), "raum 客",
        ]
        for text in texts {
            #expect(try await self.ids(RecordingFilter(text: text)).contains(entry.id), "\(text)")
            #expect(try await self.ids(RecordingFilter(room: entry.room, text: text)) == [entry.id], "\(text)")
        }
        #expect(try await self.ids(RecordingFilter(text: "absent")).isEmpty)
        #expect(try await self.ids(RecordingFilter(room: "other", text: "großraum")).isEmpty)
        #expect(try await self.ids(RecordingFilter(text: "")).count == 2)
    }

    @Test func findsTagsAndNotes() async throws {
        var entry = self.storage.entry(1, participants: ["alice"])
        (entry.tags, entry.notes) = (["Weekly", "Überraschung", "q3"], "With the guests of\0 Ada")
        try await self.catalogue.save(entry)
        try await self.catalogue.save(self.storage.entry(2, participants: ["weekl"]))
        for text in ["weekly", "EEKL", "überraschung", "q3", "3", "the guests of\u{FFFD} ada", "alice"] {
            #expect(try await self.ids(RecordingFilter(text: text)).contains(entry.id), "\(text)")
            #expect(try await self.ids(RecordingFilter(room: "standup", text: text)).contains(entry.id), "\(text)")
        }
        #expect(try await self.ids(RecordingFilter(text: "weekly")) == [entry.id])
        let found = try #require(try await self.catalogue.list(RecordingFilter(text: "weekly")).recordings.first)
        #expect(found.tags == entry.tags && found.notes == "With the guests of\u{FFFD} Ada")
        (entry.tags, entry.notes) = ([], nil)
        try await self.catalogue.save(entry)
        #expect(try await self.ids(RecordingFilter(text: "weekly")).isEmpty)
    }

    @Test func whatDoesNotFitLeavesTheOthersToBeFound() async throws {
        var entry = self.storage.entry(1, participants: ["alice"])
        (entry.tags, entry.notes) = (["weekly"], String(repeating: "n", count: 1 << 20))
        try await self.catalogue.save(entry)
        for text in ["weekly", "alice"] { #expect(try await self.ids(RecordingFilter(text: text)) == [entry.id]) }
        #expect(try await self.catalogue.recording(entry.id).notes == entry.notes)
    }

    @Test(arguments: [
        "'", "\"", "\"\"\"", "' OR 1=1 --", "\" OR search:\"", "*", "guest*", "guest-1 OR guest-2", "NEAR(a b)", "^gu",
        "{search}: guest", "(", ")", "AND", "NOT guest", "-guest", "%", "_uest", "gu%", "\\", "\0", "gue\0st-1", ";",
        "'; DROP TABLE recordings; --", "[x]", "\u{FFFF}", "\n\n\n",
    ])
    func takesEveryTextLiterally(text: String) async throws {
        var named = self.storage.entry(50, room: "named \(text)")
        try await self.catalogue.save(named)
        _ = try await self.fill(3)
        let question = String(text.map { $0 == "\0" ? "\u{FFFD}" : $0 }).lowercased()
        let found = try await self.catalogue.list(RecordingFilter(text: text)).recordings
        #expect(found.contains { $0.id == named.id })
        for entry in found {
            let names = [entry.room, entry.id.rawValue] + entry.participants.map(\.id)
            #expect(names.joined(separator: "\n").lowercased().contains(question))
        }
        named.room = text
        try await self.catalogue.save(named)
        #expect(try await self.ids(RecordingFilter(room: text)).contains(named.id))
    }

    @Test(arguments: [
        "", "r", "r ", "0", "rz!", "r-", "R1", "r01", "r+1", "r 1", "rzzzzzzzzzzzzzzzzzzzz", "' OR 1=1", "r1\0",
        String(repeating: "1", count: 100_000),
    ])
    func refusesCursorsOfOthers(cursor: String) async {
        await #expect { try await self.catalogue.list(RecordingFilter(cursor: cursor)) } throws: {
            ($0 as? CatalogueError)?.code == .invalid
        }
    }

    @Test(arguments: [Int.min, -1, 0, 201, Int.max])
    func refusesLimitsOutOfRange(limit: Int) async {
        await #expect { try await self.catalogue.list(RecordingFilter(limit: limit)) } throws: {
            ($0 as? CatalogueError)?.code == .invalid
        }
    }

    @Test func hugeTextsDoNoHarm() async throws {
        let crowd = (0..<5000).map { "participant with a rather long name, number \($0)" }
        try await self.catalogue.save(
            self.storage.entry(1, room: String(repeating: "r", count: 4000), participants: crowd)
        )
        #expect(try await self.ids(RecordingFilter(text: "number 12")).count == 1)
        #expect(try await self.ids(RecordingFilter(text: String(repeating: "x", count: 1 << 20))).isEmpty)
        #expect(try await self.catalogue.list(RecordingFilter()).recordings.first?.participants.count == 5000)
    }
}
