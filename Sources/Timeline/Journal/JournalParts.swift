// SPDX-License-Identifier: Apache-2.0

import Basics

/// A journal whose parts were written by several processes, brought onto the clock of its first part.
///
/// Parts of the same run of the same kernel are on the same monotonic clock. Any other is placed by UTC, but never
/// before what the journal has until then: clocks that were set must not turn the order of the parts around.
///
/// The journals of a series, one behind the other, are one journal: each `RecordingStarted` but the first begins another
/// segment as `PartStarted` begins a part, and segments of the same clock may overlap. So may those of clocks that
/// `HostClocks` compared.
///
/// Single records with times that have nothing to do with those around them are damage. They take the time of the
/// record before them; clock anchors and sender reports, which are nothing but times, are left out.
///
/// The records are not kept: a long call has millions.
public struct JournalParts: Sendable {
    /// Records whose times were damaged.
    public private(set) var damagedCount = 0

    private var first: (utc: UTCTime, monotonicNanoseconds: Int64)?
    /// Offsets from a kernel's monotonic clock to that of the first part.
    private var leads: [String: Int64] = [:]
    private var lead: Int64 = 0
    private var latest = Int64.min
    /// The time of the last record, on the clock of its part.
    private var newest: Int64?
    /// When the present part began, on its own clock.
    private var start: Int64 = 0
    /// Records that wait for those behind them, which tell whether their times can be right, behind `taken` that waited.
    private var entries: [JournalEntry] = []
    private var taken = 0
    private var waiting: ArraySlice<JournalEntry> { self.entries[self.taken...] }

    /// A journal without a record.
    ///
    /// - Parameter leads: what brings times onto the clock of the first part, by the name of the kernel's run; clocks that
    ///   are not among them are placed by UTC.
    public init(leads: [String: Int64] = [:]) {
        self.leads = leads
    }

    /// Takes the next record.
    ///
    /// - Parameter body: is given the records, in the order of the journal, with times on the clock of the first part;
    ///   each when a few more were taken, or with `finish`.
    public mutating func take(_ entry: JournalEntry, _ body: (JournalEntry) -> Void) {
        self.entries.append(entry)
        guard self.entries.count - self.taken > Self.lookAhead else { return }
        self.placeFirst(body)
    }

    /// Places the last records.
    public mutating func finish(_ body: (JournalEntry) -> Void) {
        while self.taken < self.entries.count { self.placeFirst(body) }
    }

    private mutating func placeFirst(_ body: (JournalEntry) -> Void) {
        guard var entry = self.takePlausible() else { return }
        switch entry.record {
        case .recordingStarted(let record):
            guard self.first != nil else {
                self.first = (record.utc, entry.monotonicNanoseconds)
                if let boot = record.boot { self.leads[boot] = 0 }
                break
            }
            self.place(record.utc, record.boot, entry.monotonicNanoseconds)
        case .partStarted(let record): self.place(record.utc, record.boot, entry.monotonicNanoseconds)
        default: break
        }
        entry.monotonicNanoseconds &+= self.lead
        self.latest = max(self.latest, entry.monotonicNanoseconds)
        body(entry)
    }

    /// Finds what brings the clock of a part, which begins `now`, onto that of the first one.
    private mutating func place(_ utc: UTCTime, _ boot: String?, _ now: Int64) {
        guard let first = self.first else { return }
        if let lead = boot.flatMap({ self.leads[$0] }) {
            self.lead = lead
            return
        }
        let byUTC = first.monotonicNanoseconds &+ (utc.nanosecondsSince1970 &- first.utc.nanosecondsSince1970)
        self.lead = max(byUTC, self.latest) &- now
        if let boot { self.leads[boot] = self.lead }
    }

    /// The first of the records that wait, its time mended; `nil` if it is nothing but a damaged time.
    private mutating func takePlausible() -> JournalEntry? {
        var entry = self.takeFirst()
        let isFirst = self.newest == nil || entry.record.startsPart
        if !isFirst, let newest = self.newest, isNear(entry.monotonicNanoseconds, newest, Self.longestSilence),
            isNear(entry.monotonicNanoseconds, self.start, Self.longestPart)
        {
            self.newest = entry.monotonicNanoseconds
            return entry
        }
        let following = self.waiting.prefix { !$0.record.startsPart }.map(\.monotonicNanoseconds)
        // The first of a part is right unless those that follow agree on something else.
        let reference = isFirst ? following.first ?? entry.monotonicNanoseconds : self.newest ?? 0
        let isFar = !isNear(entry.monotonicNanoseconds, reference, Self.longestSilence)
        let agrees = isFirst ? following.dropFirst() : following[...]
        let isAlone = agrees.contains { isNear($0, reference, Self.longestSilence) }
        let isBeyond = !isFirst && !isNear(entry.monotonicNanoseconds, self.start, Self.longestPart)
        if (isFar && isAlone) || isBeyond {
            self.damagedCount += 1
            switch entry.record {
            case .clockAnchor, .senderReport: return nil
            default: entry.monotonicNanoseconds = reference
            }
        }
        if isFirst { self.start = entry.monotonicNanoseconds }
        self.newest = entry.monotonicNanoseconds
        return entry
    }

    /// Not by moving those behind it for each: there are millions.
    private mutating func takeFirst() -> JournalEntry {
        let entry = self.entries[self.taken]
        self.taken += 1
        if self.taken == Self.mostTaken {
            self.entries.removeFirst(self.taken)
            self.taken = 0
        }
        return entry
    }

    private static let mostTaken = 256
    /// Packets are counted every few seconds while anything is received.
    private static let longestSilence: UInt64 = 3_600_000_000_000
    private static let longestPart: UInt64 = 400 * 24 * longestSilence
    private static let lookAhead = 8
}

/// Whether two times are less than `distance` nanoseconds apart.
private func isNear(_ one: Int64, _ other: Int64, _ distance: UInt64) -> Bool {
    let (difference, overflow) = one.subtractingReportingOverflow(other)
    return !overflow && difference.magnitude < distance
}

extension JournalRecord {
    /// Whether the records from here on are on a separate clock.
    fileprivate var startsPart: Bool {
        switch self {
        case .partStarted, .recordingStarted: true
        default: false
        }
    }
}
