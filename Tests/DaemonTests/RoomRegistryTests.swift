// SPDX-License-Identifier: Apache-2.0

import ConfigurationFile
import Foundation
import Model
import Testing

@testable import Daemon

@Suite struct RoomRegistryTests {
    /// Monday, 6 July 2026, 06:00 UTC: 08:00 in Berlin.
    private static let monday = Date(timeIntervalSince1970: 1_783_317_600)

    private static func book(_ definitions: [String: String]) throws -> RoomRegistry {
        var book = RoomRegistry()
        for (name, text) in definitions { try Self.set(&book, name, text) }
        return book
    }

    private static func set(_ book: inout RoomRegistry, _ name: String, _ text: String) throws {
        book.set(try Self.room(name, text), origin: .configuration)
    }

    private static func room(_ name: String, _ text: String = "") throws -> RoomConfiguration {
        try RoomConfiguration.parse(name: name, text: "url: socketio+http://192.0.2.1/\(name)\n\(text)")
    }

    private static let window = """
        join: { schedule: "30 8 * * 1-5", time_zone: Europe/Berlin, duration: 1h }
        """

    @Test func roomsAreWantedAsTheirRuleSays() throws {
        var book = try Self.book(["always": "", "asked": "join: on-demand", "planned": Self.window])
        let now = Self.monday
        #expect(book.isWanted("always", at: now))
        #expect(!book.isWanted("asked", at: now))
        #expect(!book.isWanted("planned", at: now))
        #expect(!book.isWanted("unknown", at: now))
        #expect(book.scheduled == ["planned"])
        book.request("asked", true)
        #expect(book.isWanted("asked", at: now))
        book.request("asked", false)
        #expect(!book.isWanted("asked", at: now))
        book.remove("always")
        #expect(!book.isWanted("always", at: now))
    }

    @Test(arguments: [
        (29, false), (30, true), (89, true), (90, false), (30 + 1440, true), (30 + 5 * 1440, false),
    ])
    func aScheduleFollowsTheClockOfItsZone(minutes: Int, isWanted: Bool) throws {
        let book = try Self.book(["planned": Self.window])
        // The book is asked at 08:00 in Berlin and so many minutes.
        #expect(book.isWanted("planned", at: Self.monday.addingTimeInterval(Double(minutes) * 60)) == isWanted)
    }

    @Test func whoAsksGetsAScheduledRoomOutsideOfItsWindows() throws {
        var book = try Self.book(["planned": Self.window])
        book.request("planned", true)
        #expect(book.isWanted("planned", at: Self.monday))
        book.request("planned", false)
        #expect(!book.isWanted("planned", at: Self.monday))
    }

    @Test func aRoomIsLeftWhenItHasBeenEmptyForTheTimeOfItsRecording() throws {
        var book = try Self.book(["a": "join: on-demand\nuntil_empty: true\nrecord: { empty_after: 10s }"])
        book.request("a", true)
        // Nobody has come yet: we wait.
        book.note("a", participants: 0, now: .seconds(0))
        #expect(book.leaveEmptied(now: .seconds(1000), date: Self.monday).isEmpty)
        book.note("a", participants: 2, now: .seconds(1000))
        book.note("a", participants: 0, now: .seconds(1010))
        #expect(book.leaveEmptied(now: .seconds(1019), date: Self.monday).isEmpty)
        // Somebody reloaded a page.
        book.note("a", participants: 1, now: .seconds(1019))
        #expect(book.leaveEmptied(now: .seconds(1030), date: Self.monday).isEmpty)
        book.note("a", participants: 0, now: .seconds(1040))
        book.note("a", participants: 0, now: .seconds(1045))
        #expect(book.leaveEmptied(now: .seconds(1050), date: Self.monday) == ["a"])
        #expect(!book.isWanted("a", at: Self.monday))
        #expect(book.leaveEmptied(now: .seconds(2000), date: Self.monday).isEmpty)
    }

    @Test func roomsWithoutTheRuleAreNotLeft() throws {
        var book = try Self.book(["a": ""])
        book.note("a", participants: 1, now: .zero)
        book.note("a", participants: 0, now: .seconds(1))
        #expect(book.leaveEmptied(now: .seconds(100_000), date: Self.monday).isEmpty)
        #expect(book.isWanted("a", at: Self.monday))
        book.note("unknown", participants: 1, now: .zero)
    }

    private static func empty(_ book: inout RoomRegistry, _ name: String, at date: Date) -> [String] {
        book.note(name, participants: 1, now: .zero)
        book.note(name, participants: 0, now: .seconds(1))
        return book.leaveEmptied(now: .seconds(31), date: date)
    }

    @Test func anAlwaysRoomThatEmptiedComesBackWhenSomebodyAsks() throws {
        var book = try Self.book(["a": "until_empty: true"])
        #expect(Self.empty(&book, "a", at: Self.monday) == ["a"])
        #expect(!book.isWanted("a", at: Self.monday.addingTimeInterval(1e6)))
        book.request("a", true)
        #expect(book.isWanted("a", at: Self.monday))
        #expect(Self.empty(&book, "a", at: Self.monday) == ["a"])
        #expect(!book.isWanted("a", at: Self.monday))
        // Another rule is another room.
        try Self.set(&book, "a", "until_empty: false")
        #expect(book.isWanted("a", at: Self.monday))
    }

    @Test func aChangeOfWhatIsRecordedBringsNobodyBack() throws {
        var book = try Self.book(["a": "until_empty: true"])
        #expect(Self.empty(&book, "a", at: Self.monday) == ["a"])
        try Self.set(&book, "a", "until_empty: true\nrecord: { video: false }")
        #expect(!book.isWanted("a", at: Self.monday))
    }

    @Test func aScheduledRoomThatEmptiedComesBackWithTheNextWindow() throws {
        var book = try Self.book(["a": Self.window + "\nuntil_empty: true"])
        let within = Self.monday.addingTimeInterval(45 * 60)
        #expect(book.isWanted("a", at: within))
        #expect(Self.empty(&book, "a", at: within) == ["a"])
        #expect(!book.isWanted("a", at: within.addingTimeInterval(60)))
        #expect(!book.isWanted("a", at: within.addingTimeInterval(3600)))
        #expect(book.isWanted("a", at: within.addingTimeInterval(86_400)))
    }

    @Test func whyWeAreNotThereIsSaid() throws {
        var book = try Self.book([
            "always": "until_empty: true", "asked": "join: on-demand", "planned": Self.window,
        ])
        #expect(book.absence(of: "always", at: Self.monday) == nil)
        #expect(book.absence(of: "asked", at: Self.monday) == "waits for a request to record")
        #expect(book.absence(of: "planned", at: Self.monday) == "outside its schedule")
        #expect(book.absence(of: "planned", at: Self.monday.addingTimeInterval(45 * 60)) == nil)
        #expect(Self.empty(&book, "always", at: Self.monday) == ["always"])
        #expect(book.absence(of: "always", at: Self.monday) == "everyone has left")
        #expect(book.nextWindow(of: "planned", after: Self.monday) == Self.monday.addingTimeInterval(30 * 60))
        #expect(book.nextWindow(of: "always", after: Self.monday) == nil)
    }

    @Test func twinsHaveOneURLAndOneName() throws {
        var book = try Self.book(["a": ""])
        var other = try RoomConfiguration.parse(name: "b", text: "url: socketio+http://192.0.2.1/a")
        #expect(book.twin(of: other) == "a")
        other.spec.displayName = "second recorder"
        #expect(book.twin(of: other) == nil)
        #expect(book.twin(of: try Self.room("c")) == nil)
        // A room is not its own twin.
        #expect(book.twin(of: try Self.room("a")) == nil)
        book.remove("a")
        other.spec.displayName = "tapedeck"
        #expect(book.twin(of: other) == nil)
    }

    @Test func aRemovedRoomSaysWhatIsExportedUntilItsWorkerIsGone() throws {
        var book = try Self.book(["room": "record: { export: [tracks, audio] }", "other": "record: none"])
        #expect(book.exports(of: "room")?.map(\.layout.name) == [.tracks, .audio])
        book.remove("room")
        #expect(book.entries["room"] == nil)
        #expect(book.exports(of: "room")?.map(\.layout.name) == [.tracks, .audio])
        try Self.set(&book, "room", "record: { export: [grid] }")
        #expect(book.exports(of: "room")?.map(\.layout.name) == [.grid])
        try Self.set(&book, "room", "record: { export: [] }")
        #expect(book.exports(of: "room") == [])
        try Self.set(&book, "room", "record: none")
        #expect(book.exports(of: "room") == nil)
        book.remove("room")
        book.forget("room")
        #expect(book.exports(of: "room") == nil)
        book.remove("other")
        #expect(book.exports(of: "other") == nil)
        book.remove("unknown")
        #expect(book.exports(of: "unknown") == nil)
    }
}
