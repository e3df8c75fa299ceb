// SPDX-License-Identifier: Apache-2.0

/// A day of the proleptic Gregorian calendar, without a time zone.
public struct CivilDate: Sendable, Hashable {
    /// Days since 1970-01-01.
    public let number: Int
    /// The year.
    public let year: Int
    /// 1 to 12.
    public let month: Int
    /// 1 to 31.
    public let day: Int

    /// The day with that number; numbers far beyond four-digit years are not meant.
    public init(number: Int) {
        self.number = number
        // Eras of 400 years begin on 1 March, so that leap days come last.
        let shifted = number + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        self.day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        self.month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        self.year = era * 400 + yearOfEra + (self.month <= 2 ? 1 : 0)
    }

    /// A day by its name, from the year 1 on; one beyond the end of its month, such as 31 February, is in the next.
    public init(year: Int, month: Int, day: Int) {
        let marchYear = month <= 2 ? year - 1 : year
        let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
        self.init(
            number: 365 * marchYear + marchYear / 4 - marchYear / 100 + marchYear / 400 + dayOfYear - 719_468
        )
    }

    /// 0 (Sunday) to 6.
    public var weekday: Int {
        let remainder = (self.number + 4) % 7
        return remainder < 0 ? remainder + 7 : remainder
    }

    /// Days of a month from 1 to 12 in a leap year.
    public static func longestMonth(_ month: Int) -> Int {
        switch month {
        case 2: 29
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}
