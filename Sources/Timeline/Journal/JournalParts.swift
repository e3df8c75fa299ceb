// SPDX-License-Identifier: Apache-2.0

/// A journal whose parts were written by several processes, brought onto the clock of its first part.
///
/// A part of the same run of the same kernel is on the same monotonic clock. Any other is placed by UTC, but never
/// before what the journal has until then: clocks that were set must not turn the order of the parts around.
public struct JournalParts: Sendable, Hashable {
    /// One part of a recording.
    public struct Part: Sendable, Hashable {
        /// Its number, from 1.
        public var number: Int
        /// The host that recorded it.
        public var host: String
        /// When it began, by its host.
        public var utc: UTCTime
        /// When it began, on the clock of the first part.
        public var monotonicNanoseconds: Int64
    }

    /// The parts, in the order of the journal; empty if the journal does not say how it began.
    public private(set) var parts: [Part] = []
    /// The entries, in the order of the journal, with times on the clock of the first part.
    public private(set) var entries: [JournalEntry] = []

    /// Places the entries of a journal.
    public init(_ entries: [JournalEntry]) {
        self.entries.reserveCapacity(entries.count)
        var first: (boot: String?, utc: UTCTime, monotonicNanoseconds: Int64)?
        var lead: Int64 = 0
        var latest = Int64.min
        for entry in entries {
            var entry = entry
            switch entry.record {
            case .recordingStarted(let record) where first == nil:
                first = (record.boot, record.utc, entry.monotonicNanoseconds)
                self.note(1, record.host, record.utc, at: entry.monotonicNanoseconds)
            case .partStarted(let record):
                guard let first else { break }
                let isSameClock = record.boot != nil && record.boot == first.boot
                let byUTC =
                    first.monotonicNanoseconds
                    &+ (record.utc.nanosecondsSince1970 &- first.utc.nanosecondsSince1970)
                let place = max(isSameClock ? entry.monotonicNanoseconds : byUTC, latest)
                lead = isSameClock ? 0 : place &- entry.monotonicNanoseconds
                self.note(record.part, record.host, record.utc, at: place)
            default:
                break
            }
            entry.monotonicNanoseconds &+= lead
            latest = max(latest, entry.monotonicNanoseconds)
            self.entries.append(entry)
        }
    }

    private mutating func note(_ number: Int, _ host: String, _ utc: UTCTime, at nanoseconds: Int64) {
        self.parts.append(Part(number: number, host: host, utc: utc, monotonicNanoseconds: nanoseconds))
    }
}
