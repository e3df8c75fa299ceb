// SPDX-License-Identifier: Apache-2.0

import Basics
import Cluster
import Testing

/// Which host brings the recordings of a series together.
@Suite struct SeriesTests {
    private static let first = RecordingPointer(series: "x", segment: 1, recording: "x", isRecording: true)
    private static let second = RecordingPointer(
        series: "x",
        segment: 2,
        recording: "y",
        isRecording: true,
        isShared: true,
        began: "2026-07-04T12:00:00Z"
    )

    private static func stored(_ driver: ClusterDriver, _ id: String = "x") -> SeriesRecord? {
        driver.stored(.series(id)).flatMap { RecordReading<SeriesRecord>($0.value).record }
    }

    private static func record(_ host: String, room: String = "r", epoch: Int = 4) -> SeriesRecord {
        SeriesRecord(room: room, host: host, epoch: epoch, pointer: Self.second)
    }

    /// A host that lives, next to a series of another host that does not.
    private static func orphan(rooms: [String] = ["r"], room: String = "r", host: String = "c") -> ClusterDriver {
        var driver = ClusterDriver(rooms: rooms)
        driver.put(.series("x"), Self.record(host, room: room).text)
        return driver
    }

    // MARK: Ends

    private static let ends: [(String, [RecordingPointer], Bool)] = [
        ("nothing ended", [second], false),
        ("it ended", [second, second.ended], true),
        ("it ended on another host", [second.ended], true),
        ("of one owner", [first, first.ended], false),
        (
            "the next one began before the store heard of the end",
            [second, RecordingPointer(series: "z", segment: 1, recording: "z", isRecording: true)], true
        ),
    ]

    @Test(arguments: ends.indices) func aSeriesOfSeveralOwnersIsBroughtTogetherWhereItEnded(row: Int) {
        let (title, pointers, isOrdered) = Self.ends[row]
        var driver = ClusterDriver()
        driver.hold()
        for pointer in pointers {
            driver.feed(.room("r", .recording(pointer)))
            driver.calm()
        }
        let expected = isOrdered ? Self.record("a") : nil
        #expect(Self.stored(driver) == expected, "\(title)")
        #expect(driver.series?["x"] == expected, "\(title)")
    }

    @Test func anEndThatTheStoreDoesNotHearOfIsWrittenLater() {
        var driver = ClusterDriver()
        driver.hold()
        driver.feed(.room("r", .recording(Self.second)))
        driver.calm()
        driver.feed(.room("r", .recording(Self.second.ended)))
        driver.cutOff()
        #expect(Self.stored(driver) == nil && driver.series == nil, "what is not certain is not said")
        driver.pass(.seconds(2))
        #expect(driver.owner()?.pointer == Self.second.ended && Self.stored(driver) == Self.record("a"))
    }

    @Test func theEndOfAnOwnerThatLostTheRoomIsNone() {
        var driver = ClusterDriver.inPhase("lost")
        driver.feed(.room("r", .recording(Self.second)))
        driver.feed(.room("r", .recording(Self.second.ended)))
        driver.calm()
        #expect(Self.stored(driver) == nil)
    }

    @Test func theSeriesOfARoomThatIsDeletedIsBroughtTogether() {
        var driver = ClusterDriver()
        driver.hold()
        driver.feed(.room("r", .recording(Self.second)))
        driver.calm()
        driver.put(.room("r"), nil)
        driver.news()
        driver.leave()
        #expect(driver.owner()?.pointer == Self.second.ended && Self.stored(driver) == Self.record("a"))
    }

    // MARK: Hosts

    @Test func whatIsBroughtTogetherIsForgotten() {
        var driver = ClusterDriver()
        driver.put(.series("x"), Self.record("a").text)
        driver.put(.series("y"), Self.record("b").text)
        driver.connect()
        #expect(driver.series == ["x": Self.record("a"), "y": Self.record("b")])
        driver.feed(.gathered(series: "x"))
        // It says so for its own series alone.
        driver.feed(.gathered(series: "y"))
        driver.feed(.gathered(series: "z"))
        driver.calm()
        #expect(driver.stored(.series("x")) == nil && driver.stored(.series("y")) != nil)
        #expect(driver.series == ["y": Self.record("b")])
    }

    @Test func whatTheStoreDidNotTakeIsWrittenAgain() {
        var driver = ClusterDriver()
        driver.put(.series("x"), Self.record("a").text)
        driver.connect()
        driver.feed(.gathered(series: "x"))
        driver.fail()
        #expect(driver.stored(.series("x")) != nil)
        driver.pass(.seconds(2))
        #expect(driver.stored(.series("x")) == nil)
    }

    @Test func theOwnerOfTheRoomReplacesAHostThatStaysAway() {
        var driver = Self.orphan()
        driver.hold()
        driver.pass(.seconds(59))
        #expect(Self.stored(driver) == Self.record("c"), "it may come back")
        driver.pass(.seconds(2))
        #expect(Self.stored(driver) == Self.record("a", epoch: 5), "under a number that no other host has")
        #expect(driver.series?["x"]?.host == "a")
    }

    @Test func aHostThatComesBackKeepsItsSeries() {
        var driver = Self.orphan()
        driver.hold()
        driver.pass(.seconds(40))
        driver.put(.host("c"), ClusterDriver.record("c").text)
        driver.news()
        driver.put(.host("c"), nil)
        driver.news()
        driver.pass(.seconds(40))
        #expect(Self.stored(driver) == Self.record("c"))
    }

    private static let successors: [(String, @Sendable () -> ClusterDriver, Bool)] = [
        (
            "another host has the room",
            {
                var driver = Self.orphan()
                driver.put(.claim("r"), ClaimRecord(host: "b", epoch: 3, phase: .joined).text)
                driver.put(.owner("r"), OwnerRecord(epoch: 3, host: "b").text)
                return driver
            }, false
        ),
        ("there is no room of the name any more", { Self.orphan(room: "old") }, true),
        (
            "the same, and another host is the first",
            {
                var driver = Self.orphan(room: "old")
                driver.put(.host("0"), ClusterDriver.record("0").text)
                return driver
            }, false
        ),
        ("its host lives", { Self.orphan(room: "old", host: "b") }, false),
        (
            "it cannot be read",
            {
                var driver = Self.orphan(room: "old")
                driver.put(.series("x"), #"{"schema":2}"#)
                return driver
            }, false
        ),
    ]

    @Test(arguments: successors.indices) func oneHostReplacesIt(row: Int) {
        let (title, begin, isReplaced) = Self.successors[row]
        var driver = begin()
        driver.connect()
        driver.pass(.seconds(70))
        #expect((Self.stored(driver)?.host == "a") == isReplaced, "\(title)")
    }

    @Test func aHostThatDrainsTakesNoSeries() {
        var driver = Self.orphan(room: "old")
        driver.connect()
        driver.feed(.drain(deadline: driver.now + .seconds(600)))
        driver.calm()
        driver.pass(.seconds(70))
        #expect(Self.stored(driver)?.host == "c")
        driver.feed(.undrain)
        driver.calm()
        #expect(Self.stored(driver)?.host == "a")
    }

    /// What it knew of them may be old.
    @Test func aHostThatIsCutOffBringsNothingTogether() {
        var driver = ClusterDriver()
        driver.put(.series("x"), Self.record("a").text)
        driver.hold()
        #expect(driver.series == ["x": Self.record("a")])
        driver.cutOff()
        #expect(driver.series == nil)
        driver.pass(.seconds(2))
        #expect(driver.series == ["x": Self.record("a")])
    }
}
