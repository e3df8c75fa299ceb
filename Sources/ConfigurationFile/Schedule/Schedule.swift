// SPDX-License-Identifier: Apache-2.0

internal import Basics
public import Foundation

/// Windows of time that begin by the clock on the wall of a time zone: when we are in a room.
///
/// A window begins at each time of a cron expression and lasts a fixed time. When clocks are put forward, a time that
/// does not exist is replaced by the instant of the change; when they are put back, a time that comes twice counts the
/// first time. Expressions whose hour begins with `*` simply follow the clock: they skip what does not exist, and count
/// both times.
///
/// No clock is read: every instant is given.
public struct Schedule: Sendable, Hashable, CustomStringConvertible {
    /// When windows begin.
    public let expression: CronExpression
    /// Whose clock is meant.
    public let timeZone: TimeZone
    /// How long a window lasts, 1 min to 7 d.
    public let duration: Duration

    /// How far ahead a time is looked for, in days; every expression that has times has one in that span.
    private static let horizon = 40 * 366
    /// Instants farther from 1970 than this many seconds have no windows.
    private static let farthestInstant = 1e11

    /// A schedule with each part given; durations outside the range are moved into it.
    public init(expression: CronExpression, timeZone: TimeZone, duration: Duration) {
        self.expression = expression
        self.timeZone = timeZone
        self.duration = min(max(duration, .seconds(60)), .seconds(7 * 86_400))
    }

    /// For example `0 9 * * 1-5 Europe/Berlin for 1h`.
    public var description: String {
        "\(self.expression) \(self.timeZone.identifier) for \(DurationText.text(self.duration))"
    }

    /// The beginning of the first window that begins after an instant; `nil` if none begins within 40 years.
    public func next(after instant: Date) -> Date? {
        let after = instant.timeIntervalSince1970
        guard abs(after) <= Self.farthestInstant else { return nil }
        let wall = Int(after.rounded(.down)) + self.offset(at: Int(after.rounded(.down)))
        let today = Int((Double(wall) / 86_400).rounded(.down))
        var found: Int?
        for number in (today - 1)...(today + Self.horizon) {
            let date = CivilDate(number: number)
            let first = self.expression.matches(date) ? self.starts(on: date).first { Double($0) > after } : nil
            // A day's times may lie behind the next day's when clocks change at midnight.
            if let found { return Date(timeIntervalSince1970: Double(min(found, first ?? found))) }
            found = first
        }
        return found.map { Date(timeIntervalSince1970: Double($0)) }
    }

    /// The window around an instant, its end not included; of several the one that ends last; `nil` outside of windows.
    public func window(containing instant: Date) -> DateInterval? {
        guard self.contains(instant) else { return nil }
        // A window begins behind `outer`, and none behind `inner`; two beginnings are a minute apart or more.
        var outer = instant.addingTimeInterval(-self.length)
        var inner = instant
        while inner.timeIntervalSince(outer) > 1 {
            let middle = outer.addingTimeInterval(inner.timeIntervalSince(outer) / 2)
            if let start = self.next(after: middle), start <= instant { outer = middle } else { inner = middle }
        }
        return self.next(after: outer).map { DateInterval(start: $0, duration: self.length) }
    }

    /// Whether an instant is in a window.
    public func contains(_ instant: Date) -> Bool {
        guard let start = self.next(after: instant.addingTimeInterval(-self.length)) else { return false }
        return start <= instant
    }

    /// The duration in whole seconds.
    private var length: TimeInterval { TimeInterval(self.duration.components.seconds) }

    /// Seconds since 1970 of the times of one local day, sorted.
    private func starts(on date: CivilDate) -> [Int] {
        let midnight = date.number * 86_400
        let before = self.offset(at: midnight - 2 * 86_400)
        let isSteady =
            before == self.offset(at: midnight + 86_400 / 2) && before == self.offset(at: midnight + 3 * 86_400)
        var starts: [Int] = []
        for hour in self.expression.hours {
            for minute in self.expression.minutes {
                let wall = midnight + hour * 3600 + minute * 60
                if isSteady {
                    starts.append(wall - before)
                } else {
                    starts += self.instants(ofWall: wall)
                }
            }
        }
        return starts.sorted()
    }

    /// The instants at which clocks show a time, as the type's comment has it.
    private func instants(ofWall wall: Int) -> [Int] {
        let before = self.offset(at: wall - 86_400)
        let after = self.offset(at: wall + 86_400)
        var instants = [wall - before, wall - after].filter { $0 + self.offset(at: $0) == wall }.sorted()
        if instants.count == 2, instants[0] == instants[1] || !self.expression.everyHour { instants.removeLast() }
        guard instants.isEmpty, !self.expression.everyHour else { return instants }
        // The change lies between the two readings of a time that no clock shows.
        var (old, new) = (min(wall - before, wall - after) - 1, max(wall - before, wall - after))
        while new - old > 1 {
            let middle = old + (new - old) / 2
            if self.offset(at: middle) == before { old = middle } else { new = middle }
        }
        return [new]
    }

    /// Seconds east of Greenwich.
    private func offset(at instant: Int) -> Int {
        self.timeZone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(instant)))
    }
}
