// SPDX-License-Identifier: Apache-2.0

import Basics
import Model
import Storage

/// A series that several hosts recorded, to be brought together on this host and exported as one.
///
///     gathering ──attempt──► all is here ──► exporting ──export is made──► over
///         │ ▲
///         ▼ │ pause, or another host came
///     parts are missing: exported without them, and again with each that comes, until the limit
///
/// Pure; it is kept in the catalogue.
struct GatheringJob: Sendable, Hashable, Codable {
    /// How far it is.
    enum Phase: String, Sendable, Hashable, Codable, CaseIterable {
        /// Parts may be missing.
        case gathering
        /// Nothing comes any more; the export that was ordered last is not made yet.
        case exporting
        /// Nothing is left to be done, and the cluster is to know that.
        case over
    }

    /// What an attempt found.
    struct Found: Sendable, Hashable {
        /// How many finished recordings of the series are here.
        var present = 0
        /// What is missing or may be, a few words each; empty if the series is complete.
        var missing: [String] = []
    }

    private static let pauses = Backoff(first: .seconds(2), longest: .seconds(300), variation: 900...1100)
    /// The time between looks for the export.
    private static let exportPause = Duration.seconds(2)
    /// How long a host that has a part may stay away.
    static let limit = Duration.seconds(7 * 86_400)
    /// The longest wait for an attempt, also where the clock was set back.
    static let longestPause = Duration.seconds(330)

    /// The room.
    let room: String
    /// The id of the first recording of the series.
    let series: String
    /// The id and the number of the last recording that is known.
    let last: String
    let segment: Int
    /// When the series began, as far as is known.
    let began: UTCTime?
    /// The export of the series.
    let export: ExportSpec
    /// When it was ordered.
    let ordered: UTCTime
    /// The number under which this host brings it together.
    var epoch: Int
    /// How far it is.
    private(set) var phase = Phase.gathering
    /// When something is to be done again.
    private(set) var due: UTCTime
    /// Attempts since a host came.
    private(set) var attempts = 0
    /// How many recordings the last export was ordered of; 0 before the first.
    private(set) var exported = 0
    /// Whether it was reported that parts are missing.
    private(set) var isReported = false

    /// A series that was just ordered.
    init(
        room: String,
        series: String,
        last: String,
        segment: Int,
        began: UTCTime?,
        epoch: Int,
        export: ExportSpec,
        now: UTCTime
    ) {
        (self.room, self.series, self.last, self.segment) = (room, series, last, segment)
        (self.began, self.epoch, self.export) = (began, epoch, export)
        (self.ordered, self.due) = (now, now)
    }

    /// Takes what an attempt found; whether the series is exported now.
    ///
    /// - Parameter random: from 0 to 1.
    mutating func attempted(_ found: Found, now: UTCTime, random: Double) -> Bool {
        self.attempts += 1
        self.due = now.adding(Self.pauses.delay(failures: self.attempts, random: random))
        let exports = found.present > self.exported
        self.exported = max(self.exported, found.present)
        if found.missing.isEmpty || now >= self.ordered.adding(Self.limit) {
            self.phase = self.exported > 0 ? .exporting : .over
            if self.phase == .exporting { self.due = now.adding(Self.exportPause) }
        }
        return exports
    }

    /// Takes whether parts are missing for good, or for the first time; whether that is to be reported.
    mutating func reports(_ found: Found) -> Bool {
        guard !found.missing.isEmpty, !self.isReported || self.phase != .gathering else { return false }
        self.isReported = true
        return true
    }

    /// Takes whether the export that was ordered last waits or runs.
    mutating func looked(isExporting: Bool, now: UTCTime) {
        guard self.phase == .exporting else { return }
        if isExporting { self.due = now.adding(Self.exportPause) } else { self.phase = .over }
    }

    /// A host came that may have a part.
    mutating func hostCame(now: UTCTime) {
        guard self.phase == .gathering else { return }
        self.attempts = 0
        self.due = min(self.due, now)
    }
}

/// The series that this host brings together, as the cluster says.
///
/// Pure. Nothing is attempted while the cluster cannot say so: another host may have taken the series over.
struct GatheringQueue: Sendable, Hashable {
    /// The most series that wait; further ones wait for these.
    static let most = 1000

    /// The series, in the order in which they came.
    private(set) var jobs: [GatheringJob]
    /// Whether the cluster says at present that they are this host's.
    private(set) var isCertain = false
    private var hosts: Set<String> = []

    /// What an earlier life left.
    init(_ jobs: [GatheringJob]) { self.jobs = jobs }

    /// Takes the series that are this host's, by their ids, with their numbers; nil: the cluster cannot say.
    ///
    /// - Parameter hosts: the hosts that live.
    /// - Returns: those of them that are new.
    mutating func take(_ series: [String: Int]?, hosts: Set<String>, now: UTCTime) -> [String] {
        guard let series else {
            self.isCertain = false
            return []
        }
        self.isCertain = true
        self.jobs.removeAll { series[$0.series] == nil }
        let hasNews = !hosts.subtracting(self.hosts).isEmpty
        self.hosts = hosts
        for index in self.jobs.indices {
            self.jobs[index].epoch = series[self.jobs[index].series] ?? self.jobs[index].epoch
            if hasNews { self.jobs[index].hostCame(now: now) }
        }
        let known = Set(self.jobs.map(\.series))
        return Array(series.keys.filter { !known.contains($0) }.sorted().prefix(max(0, Self.most - known.count)))
    }

    /// Adds a series that is new.
    mutating func add(_ job: GatheringJob) {
        guard !self.jobs.contains(where: { $0.series == job.series }) else { return }
        self.jobs.append(job)
    }

    /// Series that are over, which the cluster does not know yet.
    var over: [String] { self.isCertain ? self.jobs.filter { $0.phase == .over }.map(\.series) : [] }

    /// The series that waits longest for its turn; nil if none is due.
    func next(at now: UTCTime) -> GatheringJob? {
        guard self.isCertain else { return nil }
        let due = self.jobs.filter { $0.phase != .over && $0.due <= now }
        return due.min { $0.due < $1.due }
    }

    /// Whether a series is this host's for certain.
    func has(_ series: String) -> Bool { self.isCertain && self.jobs.contains { $0.series == series } }

    /// Takes a series after an attempt, unless it is another host's by now.
    mutating func replace(_ job: GatheringJob) {
        guard let index = self.jobs.firstIndex(where: { $0.series == job.series }) else { return }
        var job = job
        job.epoch = self.jobs[index].epoch
        self.jobs[index] = job
    }

    /// How long nothing is to be done if nothing happens before; nil while nothing is waited for.
    func wait(at now: UTCTime) -> Duration? {
        guard self.isCertain, let due = self.jobs.filter({ $0.phase != .over }).map(\.due).min() else { return nil }
        let nanoseconds = max(0, due.nanosecondsSince1970 - now.nanosecondsSince1970)
        return min(.nanoseconds(nanoseconds), GatheringJob.longestPause)
    }
}
