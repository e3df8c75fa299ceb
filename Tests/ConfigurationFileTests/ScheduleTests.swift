// SPDX-License-Identifier: Apache-2.0

import Basics
import ConfigurationFile
import Foundation
import Testing

@Suite struct ScheduleTests {
    static func date(_ text: String) throws -> Date {
        try Date(text, strategy: .iso8601)
    }

    static func schedule(_ expression: String, _ zone: String, _ duration: Duration = .seconds(3600)) throws -> Schedule
    {
        Schedule(
            expression: try CronExpression(parsing: expression),
            timeZone: try #require(TimeZone(identifier: zone)),
            duration: duration
        )
    }

    struct Case: Sendable, CustomTestStringConvertible {
        var expression: String
        var zone: String
        var after: String
        var starts: [String]
        var testDescription: String { "\(self.expression) \(self.zone) after \(self.after)" }

        init(_ expression: String, _ zone: String, after: String, _ starts: String...) {
            (self.expression, self.zone, self.after, self.starts) = (expression, zone, after, starts)
        }
    }

    @Test(arguments: [
        "UTC", "Europe/Berlin", "Asia/Kolkata", "Asia/Calcutta", "Europe/Kyiv", "America/Argentina/Ushuaia",
    ])
    func zonesHaveTheirNewNamesAndTheirOldOnes(zone: String) throws {
        let text = "url: socketio+http://h/r\njoin: { schedule: 0 9 * * *, duration: 1h, time_zone: \(zone) }"
        let room = try RoomConfiguration.parse(name: "a", text: text)
        guard case .schedule(let schedule) = room.join else {
            Issue.record("\(room.join)")
            return
        }
        #expect(schedule.timeZone.identifier == zone || zone == "UTC")
    }

    @Test(arguments: ["GMT+1", "+01:00", "Berlin", "Europe/Berlni", "../../etc/passwd", "/", "Europe/"])
    func whatIsNoZoneIsRefused(zone: String) {
        let text = "url: socketio+http://h/r\njoin: { schedule: 0 9 * * *, duration: 1h, time_zone: '\(zone)' }"
        #expect(throws: ConfigurationError.self) { try RoomConfiguration.parse(name: "a", text: text) }
    }

    @Test(
        arguments: [
            Case("0 9 * * 1-5", "UTC", after: "2026-11-20T09:00:00Z", "2026-11-23T09:00:00Z", "2026-11-24T09:00:00Z"),
            Case("0 9 * * 1-5", "UTC", after: "2026-11-20T08:59:59Z", "2026-11-20T09:00:00Z"),
            Case("5 4 * * sun", "UTC", after: "2026-11-20T00:00:00Z", "2026-11-22T04:05:00Z", "2026-11-29T04:05:00Z"),
            Case("5 4 * * 7", "UTC", after: "2026-11-20T00:00:00Z", "2026-11-22T04:05:00Z"),
            Case("0 0 13 * fri", "UTC", after: "2026-11-11T00:00:00Z", "2026-11-13T00:00:00Z", "2026-11-20T00:00:00Z"),
            Case("0 0 13 * *", "UTC", after: "2026-11-13T00:00:00Z", "2026-12-13T00:00:00Z"),
            Case("0 0 29 2 *", "UTC", after: "2026-01-01T00:00:00Z", "2028-02-29T00:00:00Z", "2032-02-29T00:00:00Z"),
            Case("0 0 29 feb *", "UTC", after: "2096-03-01T00:00:00Z", "2104-02-29T00:00:00Z"),
            Case(
                "10-20/5,40 6 1 1 *",
                "UTC",
                after: "2026-12-31T00:00:00Z",
                "2027-01-01T06:10:00Z",
                "2027-01-01T06:15:00Z",
                "2027-01-01T06:20:00Z",
                "2027-01-01T06:40:00Z",
                "2028-01-01T06:10:00Z"
            ),
            Case("50/5 6 1 1 *", "UTC", after: "2026-12-31T00:00:00Z", "2027-01-01T06:50:00Z", "2027-01-01T06:55:00Z"),
            // Clocks put forward at 2:00: 2:30 does not exist.
            Case(
                "30 2 * * *",
                "Europe/Berlin",
                after: "2026-03-28T12:00:00Z",
                "2026-03-29T01:00:00Z",
                "2026-03-30T00:30:00Z"
            ),
            Case("30 * * * *", "Europe/Berlin", after: "2026-03-29T00:30:00Z", "2026-03-29T01:30:00Z"),
            Case(
                "30 2-3 * * *",
                "Europe/Berlin",
                after: "2026-03-28T12:00:00Z",
                "2026-03-29T01:00:00Z",
                "2026-03-29T01:30:00Z"
            ),
            // Clocks put back at 3:00: 2:30 comes twice.
            Case(
                "30 2 * * *",
                "Europe/Berlin",
                after: "2026-10-24T12:00:00Z",
                "2026-10-25T00:30:00Z",
                "2026-10-26T01:30:00Z"
            ),
            Case(
                "*/30 * * * *",
                "Europe/Berlin",
                after: "2026-10-25T00:00:00Z",
                "2026-10-25T00:30:00Z",
                "2026-10-25T01:00:00Z",
                "2026-10-25T01:30:00Z",
                "2026-10-25T02:00:00Z"
            ),
            // Changes by half an hour, at midnight, and by a whole day.
            Case(
                "45 1 * * *",
                "Australia/Lord_Howe",
                after: "2026-04-04T12:00:00Z",
                "2026-04-04T14:45:00Z",
                "2026-04-05T15:15:00Z"
            ),
            Case(
                "0 0 * * *",
                "America/Sao_Paulo",
                after: "2018-11-03T12:00:00Z",
                "2018-11-04T03:00:00Z",
                "2018-11-05T02:00:00Z"
            ),
            Case(
                "30 23 * * *",
                "America/Sao_Paulo",
                after: "2018-02-17T12:00:00Z",
                "2018-02-18T01:30:00Z",
                "2018-02-19T02:30:00Z"
            ),
            Case(
                "30 * * * *",
                "America/Sao_Paulo",
                after: "2018-02-18T01:00:00Z",
                "2018-02-18T01:30:00Z",
                "2018-02-18T02:30:00Z",
                "2018-02-18T03:30:00Z"
            ),
            Case(
                "0 12 30 12 *",
                "Pacific/Apia",
                after: "2011-12-01T00:00:00Z",
                "2011-12-30T10:00:00Z",
                "2012-12-29T22:00:00Z"
            ),
            Case("0 6 * * *", "Asia/Kathmandu", after: "2026-01-01T00:00:00Z", "2026-01-01T00:15:00Z"),
        ]
    )
    func windowsBegin(_ given: Case) throws {
        let schedule = try Self.schedule(given.expression, given.zone)
        var instant = try Self.date(given.after)
        for start in given.starts {
            instant = try #require(schedule.next(after: instant))
            #expect(instant == (try Self.date(start)))
        }
    }

    /// Expressions that follow the clock, against the calendar minute by minute, over both changes of a year.
    @Test(arguments: ["*/7 * * * *", "13,59 */5 * * *", "0 */2 28-31 * *", "30 * * * sun", "15 * 25 10 *"])
    func agreesWithTheCalendar(expression: String) throws {
        let zone = try #require(TimeZone(identifier: "Europe/Berlin"))
        let cron = try CronExpression(parsing: expression)
        let schedule = Schedule(expression: cron, timeZone: zone, duration: .seconds(60))
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = zone
        let matcher = FieldMatcher(expression)
        for begin in ["2026-03-28T00:00:00Z", "2026-10-24T00:00:00Z"] {
            let first = try Self.date(begin)
            var expected: [Date] = []
            for minute in 1...(2 * 1440) {
                let instant = first.addingTimeInterval(Double(minute * 60))
                if matcher.matches(calendar.dateComponents([.minute, .hour, .day, .month, .weekday], from: instant)) {
                    expected.append(instant)
                }
            }
            var found: [Date] = []
            var instant = first
            while let next = schedule.next(after: instant), next <= first.addingTimeInterval(2 * 86_400) {
                found.append(next)
                instant = next
            }
            #expect(found == expected)
        }
    }

    @Test func anInstantIsInsideFromStartToEnd() throws {
        let schedule = try Self.schedule("0 9 * * 1-5", "Europe/Berlin", .seconds(5400))
        let start = try Self.date("2026-11-20T08:00:00Z")
        let window = DateInterval(start: start, duration: 5400)
        for (offset, isInside) in [
            (-0.5, false), (0, true), (0.5, true), (5399.5, true), (5400, false), (90_000, false),
        ] {
            let instant = start.addingTimeInterval(offset)
            #expect(schedule.contains(instant) == isInside, "\(offset)")
            #expect(schedule.window(containing: instant) == (isInside ? window : nil), "\(offset)")
        }
    }

    @Test func theWindowThatEndsLastCounts() throws {
        let hourly = try Self.schedule("0 * * * *", "UTC", .seconds(7 * 86_400))
        let instant = try Self.date("2026-11-20T10:15:30Z")
        #expect(hourly.window(containing: instant)?.start == (try Self.date("2026-11-20T10:00:00Z")))
        let mondays = try Self.schedule("* * * * mon", "UTC", .seconds(7 * 86_400))
        #expect(mondays.window(containing: instant)?.start == (try Self.date("2026-11-16T23:59:00Z")))
        #expect(hourly.window(containing: instant)?.duration == 604_800)
    }

    @Test func instantsBeyondAllCalendarsHaveNoWindows() throws {
        let schedule = try Self.schedule("* * * * *", "Europe/Berlin")
        for seconds in [Double.infinity, -.infinity, .nan, 1e300, -1e300, 2e11] {
            let instant = Date(timeIntervalSince1970: seconds)
            #expect(schedule.next(after: instant) == nil)
            #expect(!schedule.contains(instant))
            #expect(schedule.window(containing: instant) == nil)
        }
        #expect(schedule.next(after: Date(timeIntervalSince1970: -9e10)) != nil)
    }

    @Test(
        arguments: [
            ("", "0 fields in place of 5: minute hour day month weekday"),
            ("* * * *", "4 fields in place of 5: minute hour day month weekday"),
            ("* * * * * *", "6 fields in place of 5: minute hour day month weekday"),
            ("60 * * * *", "minute: \"60\" is not from 0 to 59"),
            ("* 24 * * *", "hour: \"24\" is not from 0 to 23"),
            ("* * 0 * *", "day of month: \"0\" is not from 1 to 31"),
            ("* * * 13 *", "month: \"13\" is not from 1 to 12"),
            ("* * * mon *", "month: \"mon\" is not from 1 to 12"),
            ("* * * * 8", "day of week: \"8\" is not from 0 to 7"),
            ("5-3 * * * *", "minute: \"5-3\" runs backwards"),
            ("*/0 * * * *", "minute: \"*/0\" has no step of 1 or more after /"),
            ("*/ * * * *", "minute: \"*/\" has no step of 1 or more after /"),
            (", * * * *", "minute: \"\" is not from 0 to 59"),
            ("1,, * * * *", "minute: \"\" is not from 0 to 59"),
            ("-1 * * * *", "minute: \"\" is not from 0 to 59"),
            ("1-2-3 * * * *", "minute: \"2-3\" is not from 0 to 59"),
            ("+1 * * * *", "minute: \"+1\" is not from 0 to 59"),
            ("99999999999999999999 * * * *", "minute: \"99999999999999999999\" is not from 0 to 59"),
            ("0 0 30 2 *", "day of month: no such day in these months"),
            ("0 0 31 apr,jun *", "day of month: no such day in these months"),
            (String(repeating: "1,", count: 200) + "1 * * * *", "longer than 256 characters"),
        ]
    )
    func wrongExpressionsAreTold(text: String, reason: String) throws {
        let error = #expect(throws: CronExpression.ParsingError.self) { try CronExpression(parsing: text) }
        #expect(error?.reason == reason)
    }

    @Test func describesItself() throws {
        #expect(try Self.schedule("0   9 *  * 1-5", "UTC", .seconds(90)).description == "0 9 * * 1-5 GMT for 90s")
        #expect(try Self.schedule("* * * * *", "Europe/Berlin", .seconds(1)).duration == .seconds(60))
    }
}

/// Another reading of cron's fields, for `*`, `*/n`, lists and ranges of numbers.
private struct FieldMatcher {
    private let fields: [Set<Int>]

    init(_ expression: String) {
        let ranges = [0...59, 0...23, 1...31, 1...12, 0...6]
        let text = expression.replacing("sun", with: "0")
        self.fields = zip(text.split(separator: " "), ranges).map { field, range in
            Set(
                range.filter { value in
                    field.split(separator: ",").contains { Self.matches($0, value - range.lowerBound, value) }
                }
            )
        }
    }

    /// Whether one item of a field means a value, which is so many steps above the field's lowest.
    private static func matches(_ item: Substring, _ steps: Int, _ value: Int) -> Bool {
        if item == "*" { return true }
        if item.hasPrefix("*/") { return Int(item.dropFirst(2)).map { steps % $0 == 0 } ?? false }
        let ends = item.split(separator: "-").compactMap { Int($0) }
        return ends.min().map { value >= $0 } == true && ends.max().map { value <= $0 } == true
    }

    func matches(_ components: DateComponents) -> Bool {
        let values = [
            components.minute, components.hour, components.day, components.month, components.weekday.map { $0 - 1 },
        ]
        return zip(self.fields, values).allSatisfy { field, value in value.map { field.contains($0) } ?? false }
    }
}
