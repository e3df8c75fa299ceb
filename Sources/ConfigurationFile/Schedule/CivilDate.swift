// SPDX-License-Identifier: Apache-2.0

/// A day of the proleptic Gregorian calendar, without a time zone.
struct CivilDate: Hashable {
    /// Days since 1970-01-01.
    let number: Int
    let month: Int
    let day: Int

    /// The day with that number; numbers far beyond four-digit years are not meant.
    init(number: Int) {
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
    }

    /// 0 (Sunday) to 6.
    var weekday: Int {
        let remainder = (self.number + 4) % 7
        return remainder < 0 ? remainder + 7 : remainder
    }

    /// Days of a month from 1 to 12 in a leap year.
    static func longestMonth(_ month: Int) -> Int {
        switch month {
        case 2: 29
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}
