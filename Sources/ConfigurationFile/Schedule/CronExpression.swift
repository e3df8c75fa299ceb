// SPDX-License-Identifier: Apache-2.0

internal import Basics

/// A time table in the five fields of cron (POSIX `crontab`): minute, hour, day of month, month, day of week.
///
/// A field is `*`, a number, a range `1-5`, a step `*/15` or `8-18/2`, or a list of these with commas. Months and days
/// of the week also have names (`jan`, `mon`); Sunday is 0 and 7. If both days are restricted, either may match.
public struct CronExpression: Sendable, Hashable, CustomStringConvertible {
    /// The expression as it was written, with single spaces.
    public let description: String
    /// 0 to 59.
    let minutes: Set<Int>
    /// 0 to 23.
    let hours: Set<Int>
    /// 1 to 31.
    let days: Set<Int>
    /// 1 to 12.
    let months: Set<Int>
    /// 0 (Sunday) to 6.
    let weekdays: Set<Int>
    /// Whether the hour begins with `*`: such times follow the clock through a change of daylight saving time.
    let everyHour: Bool
    private let everyDay: Bool
    private let everyWeekday: Bool

    /// Why an expression was not taken.
    public struct ParsingError: Error, Sendable, Hashable {
        /// The problem, human-readable; begins with the field's name.
        public var reason: String
    }

    /// Reads an expression of at most 256 characters.
    public init(parsing text: String) throws(ParsingError) {
        guard text.utf8.count <= 256 else { throw ParsingError(reason: "longer than 256 characters") }
        let fields = text.split { $0 == " " || $0 == "\t" }
        guard fields.count == 5 else {
            throw ParsingError(reason: "\(fields.count) fields in place of 5: minute hour day month weekday")
        }
        self.description = fields.joined(separator: " ")
        self.minutes = try Field.minute.values(fields[0])
        self.hours = try Field.hour.values(fields[1])
        self.days = try Field.day.values(fields[2])
        self.months = try Field.month.values(fields[3])
        self.weekdays = Set(try Field.weekday.values(fields[4]).map { $0 % 7 })
        self.everyHour = fields[1].hasPrefix("*")
        self.everyDay = fields[2].hasPrefix("*")
        self.everyWeekday = fields[4].hasPrefix("*")
        let longest = self.months.map { CivilDate.longestMonth($0) }.max() ?? 0
        guard !self.everyWeekday || (self.days.min() ?? 0) <= longest else {
            throw ParsingError(reason: "day of month: no such day in these months")
        }
    }

    /// Whether the time table has times on a day.
    func matches(_ date: CivilDate) -> Bool {
        guard self.months.contains(date.month) else { return false }
        let day = self.days.contains(date.day)
        let weekday = self.weekdays.contains(date.weekday)
        return self.everyDay || self.everyWeekday ? day && weekday : day || weekday
    }
}

extension CronExpression {
    /// One of the five fields.
    private enum Field: String {
        case minute, hour
        case day = "day of month"
        case month
        case weekday = "day of week"

        var range: ClosedRange<Int> {
            switch self {
            case .minute: 0...59
            case .hour: 0...23
            case .day: 1...31
            case .month: 1...12
            case .weekday: 0...7
            }
        }

        private var names: [String] {
            switch self {
            case .minute, .hour, .day: []
            case .month: ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
            case .weekday: ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
            }
        }

        func values(_ text: Substring) throws(ParsingError) -> Set<Int> {
            var values: Set<Int> = []
            for item in text.split(separator: ",", omittingEmptySubsequences: false) {
                let halves = item.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
                let range = try self.range(halves[0], isOpen: halves.count == 2)
                var step = 1
                if halves.count == 2 {
                    guard let number = Self.number(halves[1]), number >= 1 else {
                        throw self.error("\"\(item)\" has no step of 1 or more after /")
                    }
                    step = number
                }
                values.formUnion(stride(from: range.lowerBound, through: range.upperBound, by: step))
            }
            return values
        }

        private func range(_ text: Substring, isOpen: Bool) throws(ParsingError) -> ClosedRange<Int> {
            if text == "*" { return self.range }
            let ends = text.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
            let first = try self.value(ends[0])
            guard ends.count == 2 else { return first...(isOpen ? self.range.upperBound : first) }
            let last = try self.value(ends[1])
            guard first <= last else { throw self.error("\"\(text)\" runs backwards") }
            return first...last
        }

        private func value(_ text: Substring) throws(ParsingError) -> Int {
            if let index = self.names.firstIndex(of: text.lowercased()) {
                return index + self.range.lowerBound
            }
            guard let number = Self.number(text), self.range.contains(number) else {
                throw self.error("\"\(text)\" is not from \(self.range.lowerBound) to \(self.range.upperBound)")
            }
            return number
        }

        private static func number(_ text: Substring) -> Int? {
            (1...4).contains(text.utf8.count) && text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int(text) : nil
        }

        private func error(_ reason: String) -> ParsingError {
            ParsingError(reason: "\(self.rawValue): \(reason)")
        }
    }
}
