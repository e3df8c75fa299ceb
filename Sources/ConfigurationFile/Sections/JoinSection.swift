// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import Foundation

/// When we are in a room.
public enum JoinRule: Sendable, Hashable, CustomStringConvertible {
    /// As long as the daemon runs.
    case always
    /// From one request until another request ends it.
    case onDemand
    /// In the windows of a schedule.
    case schedule(Schedule)

    /// As the HTTP interface shows it.
    public var description: String {
        switch self {
        case .always: "always"
        case .onDemand: "on-demand"
        case .schedule(let schedule): schedule.description
        }
    }
}

/// The keys of `join`, where it is a mapping.
enum ScheduleKeys {
    static let schedule = Key("schedule", ValueType<CronExpression>.cron)
    static let timeZone = Key("time_zone", ValueType<TimeZone>.timeZone)
    static let duration = Key("duration", .duration(.seconds(60)...(.seconds(7 * 86_400)), example: "1h"))

    static let table = KeyTable(schedule.entry, timeZone.entry, duration.entry)
}

extension ValueType where Value == CronExpression {
    /// A time table.
    fileprivate static let cron = ValueType(
        accepted: "five fields of cron in quotes (minute hour day month weekday), such as \"0 9 * * 1-5\""
    ) { scalar throws(WrongValue) in
        do throws(CronExpression.ParsingError) {
            return try CronExpression(parsing: scalar.text)
        } catch {
            // The reason quotes parts of the text.
            guard !scalar.isSubstituted else { throw WrongValue() }
            throw WrongValue(
                reason: "\(error.reason); accepted: minute hour day month weekday, such as \"0 9 * * 1-5\""
            )
        }
    }
}

extension ValueType where Value == TimeZone {
    private static let known = Set(TimeZone.knownTimeZoneIdentifiers)

    /// A zone of the time zone database.
    fileprivate static let timeZone = ValueType(
        accepted: "a name of the time zone database, such as Europe/Berlin or UTC"
    ) { scalar throws(WrongValue) in
        // The list has one name of each zone, often an older one; the others have their region before a slash as well.
        if scalar.text == "UTC" || scalar.text.contains("/") || Self.known.contains(scalar.text),
            let zone = TimeZone(identifier: scalar.text)
        {
            return zone
        }
        throw WrongValue(
            suggestion: scalar.isSubstituted ? nil : Spelling.suggestion(for: scalar.text, among: Self.known.sorted())
        )
    }
}

extension JoinRule {
    /// Reads `join`; nil if there is none, or a wrong one.
    init?(_ room: MappingReader) {
        guard let node = room.node("join") else { return nil }
        if case .scalar = node.content {
            guard let word: Word = room.value(Key("join", Self.word)) else { return nil }
            self = word == .always ? .always : .onDemand
            return
        }
        let accepted = "always, on-demand, or a mapping with schedule, time_zone, duration"
        let reader = MappingReader(
            node,
            ScheduleKeys.table,
            path: room.path(of: "join"),
            problems: room.problems,
            accepted: accepted
        )
        guard let reader else { return nil }
        let expression = reader.required(ScheduleKeys.schedule)
        let duration = reader.required(ScheduleKeys.duration)
        let zone = reader.has(ScheduleKeys.timeZone.name) ? reader.value(ScheduleKeys.timeZone) : .gmt
        guard let expression, let duration, let zone else { return nil }
        self = .schedule(Schedule(expression: expression, timeZone: zone, duration: duration))
    }

    private enum Word: String, CaseIterable {
        case always
        case onDemand = "on-demand"
    }

    private static let word = ValueType<Word>(
        accepted: "always, on-demand, or a mapping with schedule, time_zone, duration",
        read: ValueType<Word>.choice.read
    )
}
