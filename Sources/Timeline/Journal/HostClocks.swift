// SPDX-License-Identifier: Apache-2.0

internal import Basics

/// How the clock of a host that continued a series was brought onto that of the hosts before.
public struct ClockJoin: Sendable, Hashable, Codable {
    /// The comparison that it rests on.
    public enum Basis: String, Sendable, Hashable, Codable {
        /// The reports of senders that both hosts heard.
        case senders
        /// The wall clocks of the two hosts, for want of such reports: how far these are apart is not known.
        case utc
    }

    /// The number of the host's first segment.
    public var segment: Int
    /// The host.
    public var host: String
    /// What joined it.
    public var joinedBy: Basis
    /// How far it may be off, in nanoseconds; `nil` if that is not known.
    public var boundNanoseconds: Int64?

    /// A join with each part given.
    public init(segment: Int, host: String, joinedBy: Basis, boundNanoseconds: Int64? = nil) {
        self.segment = segment
        self.host = host
        self.joinedBy = joinedBy
        self.boundNanoseconds = boundNanoseconds
    }

    private enum CodingKeys: String, CodingKey {
        case segment, host
        case joinedBy = "joined_by"
        case boundNanoseconds = "bound_ns"
    }

    /// For example `segment 2 (host b): joined by senders ± 3 ms`.
    public var text: String {
        let bound = self.boundNanoseconds.map { "± \(($0 &+ 999_999) / 1_000_000) ms" } ?? "± unknown"
        return "segment \(self.segment) (host \(printableName(self.host, limit: 48))): "
            + "joined by \(self.joinedBy.rawValue) \(bound)"
    }
}

/// The monotonic clocks of the hosts of a cluster that recorded a series, all of them on that of the first.
///
/// It takes the journals as they are, before `JournalParts`, in the order of the series. Senders that two hosts heard tell
/// their clocks apart; the hosts' wall clocks do so where none did.
public struct HostClocks: Sendable {
    private struct Clock: Sendable {
        var boot: String
        var host: String
        var segment: Int
        var utc: UTCTime
        var monotonicNanoseconds: Int64
        var arrivals = SenderReportArrivals()
    }

    private var clocks: [Clock] = []
    /// The one of the records at hand; `nil` if its host does not name it, or a part of another kernel began.
    private var present: Int?
    /// Whether the first host does not name its clock.
    private var isFirstUnnamed = false

    /// The clocks of no host.
    public init() {}

    /// Takes the next record.
    public mutating func take(_ entry: JournalEntry) {
        switch entry.record {
        case .recordingStarted(let record):
            self.present = self.clocks.firstIndex { $0.boot == record.boot }
            guard self.present == nil else { break }
            guard let boot = record.boot else {
                self.isFirstUnnamed = self.isFirstUnnamed || self.clocks.isEmpty
                break
            }
            self.present = self.clocks.count
            self.clocks.append(
                Clock(
                    boot: boot,
                    host: record.host,
                    segment: record.segment ?? 1,
                    utc: record.utc,
                    monotonicNanoseconds: entry.monotonicNanoseconds
                )
            )
        case .partStarted(let record):
            self.present = self.present.flatMap { self.clocks[$0].boot == record.boot ? $0 : nil }
        default: break
        }
        if let present { self.clocks[present].arrivals.take(entry) }
    }

    /// The addends that bring times of each clock onto the first, by the name of the kernel's run, and how the clocks
    /// behind the first were joined; nothing if the first host does not name its clock.
    public func joined() -> (leads: [String: Int64], joins: [ClockJoin]) {
        guard !self.isFirstUnnamed else { return ([:], []) }
        var leads: [Int64] = []
        var joins: [ClockJoin] = []
        for (index, clock) in self.clocks.enumerated() {
            guard index > 0 else {
                leads.append(0)
                continue
            }
            var join = ClockJoin(segment: clock.segment, host: clock.host, joinedBy: .utc)
            // The wall clock of a host that was started again is the same as before.
            let like = self.clocks[..<index].lastIndex { $0.host == clock.host } ?? 0
            var lead = leads[like] &+ Self.offset(self.clocks[like], clock)
            for before in (0..<index).reversed() {
                let byUTC = Self.offset(self.clocks[before], clock)
                guard let found = HostClockOffset.find(self.clocks[before].arrivals, clock.arrivals, near: byUTC)
                else { continue }
                lead = leads[before] &+ found.nanoseconds
                (join.joinedBy, join.boundNanoseconds) = (.senders, found.boundNanoseconds)
                break
            }
            leads.append(lead)
            joins.append(join)
        }
        return (Dictionary(uniqueKeysWithValues: zip(self.clocks.map(\.boot), leads)), joins)
    }

    /// The offset of a host's clock from another one's, by what both take for UTC.
    private static func offset(_ one: Clock, _ other: Clock) -> Int64 {
        one.monotonicNanoseconds &+ (other.utc.nanosecondsSince1970 &- one.utc.nanosecondsSince1970)
            &- other.monotonicNanoseconds
    }
}
