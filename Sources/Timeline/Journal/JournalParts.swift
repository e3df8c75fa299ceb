// SPDX-License-Identifier: Apache-2.0

public import Basics

/// A journal whose parts were written by several processes, brought onto the clock of its first part.
///
/// Parts of the same run of the same kernel are on the same monotonic clock. Any other is placed by UTC, but never
/// before what the journal has until then: clocks that were set must not turn the order of the parts around.
///
/// The journals of a series, one behind the other, are one journal: each `RecordingStarted` but the first begins another
/// segment as `PartStarted` begins a part, and segments of the same clock may overlap.
///
/// Single records with times that have nothing to do with those around them are damage. They take the time of the
/// record before them; clock anchors and sender reports, which are nothing but times, are left out.
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
    /// Records whose times were damaged.
    public private(set) var damagedCount = 0

    /// Places the entries of a journal.
    public init(_ entries: [JournalEntry]) {
        self.entries.reserveCapacity(entries.count)
        var first: (utc: UTCTime, monotonicNanoseconds: Int64)?
        /// What brings a kernel's monotonic clock onto that of the first part.
        var leads: [String: Int64] = [:]
        var lead: Int64 = 0
        var latest = Int64.min
        for entry in self.plausible(entries) {
            var entry = entry
            switch entry.record {
            case .recordingStarted(let record):
                guard let first else {
                    first = (record.utc, entry.monotonicNanoseconds)
                    if let boot = record.boot { leads[boot] = 0 }
                    self.note(1, record.host, record.utc, at: entry.monotonicNanoseconds)
                    break
                }
                lead = Self.place(record.utc, record.boot, entry, first, latest, &leads).lead
            case .partStarted(let record):
                guard let first else { break }
                let place = Self.place(record.utc, record.boot, entry, first, latest, &leads)
                lead = place.lead
                self.note(record.part, record.host, record.utc, at: place.nanoseconds)
            default:
                break
            }
            entry.monotonicNanoseconds &+= lead
            latest = max(latest, entry.monotonicNanoseconds)
            self.entries.append(entry)
        }
    }

    /// Where a part begins on the clock of the first one, and what brings its clock there.
    private static func place(
        _ utc: UTCTime,
        _ boot: String?,
        _ entry: JournalEntry,
        _ first: (utc: UTCTime, monotonicNanoseconds: Int64),
        _ latest: Int64,
        _ leads: inout [String: Int64]
    ) -> (nanoseconds: Int64, lead: Int64) {
        let now = entry.monotonicNanoseconds
        if let lead = boot.flatMap({ leads[$0] }) { return (max(now &+ lead, latest), lead) }
        let byUTC = first.monotonicNanoseconds &+ (utc.nanosecondsSince1970 &- first.utc.nanosecondsSince1970)
        let place = max(byUTC, latest)
        if let boot { leads[boot] = place &- now }
        return (place, place &- now)
    }

    /// The entries without damaged times.
    private mutating func plausible(_ entries: [JournalEntry]) -> [JournalEntry] {
        var result: [JournalEntry] = []
        result.reserveCapacity(entries.count)
        var newest: Int64?
        var start: Int64 = 0
        for (index, entry) in entries.enumerated() {
            var entry = entry
            let following = entries[(index + 1)...].prefix(Self.lookAhead).prefix { !$0.record.startsPart }
                .map(\.monotonicNanoseconds)
            let isFirst = newest == nil || entry.record.startsPart
            // The first of a part is right unless those that follow agree on something else.
            let reference = isFirst ? following.first ?? entry.monotonicNanoseconds : newest ?? 0
            let isFar = !isNear(entry.monotonicNanoseconds, reference, Self.longestSilence)
            let agrees = isFirst ? following.dropFirst() : following[...]
            let isAlone = agrees.contains { isNear($0, reference, Self.longestSilence) }
            let isBeyond = !isFirst && !isNear(entry.monotonicNanoseconds, start, Self.longestPart)
            if (isFar && isAlone) || isBeyond {
                self.damagedCount += 1
                switch entry.record {
                case .clockAnchor, .senderReport: continue
                default: entry.monotonicNanoseconds = reference
                }
            }
            if isFirst { start = entry.monotonicNanoseconds }
            newest = entry.monotonicNanoseconds
            result.append(entry)
        }
        return result
    }

    /// Packets are counted every few seconds while anything is received.
    private static let longestSilence: UInt64 = 3_600_000_000_000
    private static let longestPart: UInt64 = 400 * 24 * longestSilence
    private static let lookAhead = 8

    private mutating func note(_ number: Int, _ host: String, _ utc: UTCTime, at nanoseconds: Int64) {
        self.parts.append(Part(number: number, host: host, utc: utc, monotonicNanoseconds: nanoseconds))
    }
}

/// Whether two times are less than so many nanoseconds apart.
private func isNear(_ one: Int64, _ other: Int64, _ distance: UInt64) -> Bool {
    let (difference, overflow) = one.subtractingReportingOverflow(other)
    return !overflow && difference.magnitude < distance
}

extension JournalRecord {
    /// Whether the records from here on are on a clock of their own.
    fileprivate var startsPart: Bool {
        switch self {
        case .partStarted, .recordingStarted: true
        default: false
        }
    }
}
