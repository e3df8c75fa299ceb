// SPDX-License-Identifier: Apache-2.0

import Basics
import Model
import Storage

/// A series that several hosts recorded, to be brought together on the host that recorded its end, and exported as one.
///
///     ordered ──attempt──► all is here: exported, over
///                  │ ▲
///                  ▼ │ pause
///            parts are missing: exported without them, and again with each that comes, until the limit
///
/// Pure; it is kept in the catalogue.
struct GatheringJob: Sendable, Hashable, Codable {
    /// The room as peers know it.
    let room: String
    /// The id of the first recording of the series.
    let series: String
    /// The recording of this host that ended.
    let recording: RecordingID
    /// The export of the series.
    let export: ExportSpec
    /// When it was ordered.
    let ordered: UTCTime
    /// When the next attempt is due.
    private(set) var due: UTCTime
    /// Attempts so far.
    private(set) var attempts = 0
    /// Whether the series was exported, with parts missing or not.
    private(set) var isExported = false

    /// What an attempt found.
    struct Found: Sendable, Hashable {
        /// How many recordings came from other hosts.
        var gathered = 0
        /// What is missing or may be, a few words each; empty if the series is complete.
        var missing: [String] = []
    }

    /// What follows from an attempt.
    struct Step: Sendable, Hashable {
        /// Whether the series is exported now.
        var exports: Bool
        /// Whether nothing is tried any more.
        var isOver: Bool
    }

    private static let pauses = Backoff(first: .seconds(2), longest: .seconds(300), variation: 900...1100)
    /// How long a host that has a part may stay away.
    static let limit = Duration.seconds(7 * 86_400)

    init(room: String, series: String, recording: RecordingID, export: ExportSpec, now: UTCTime) {
        (self.room, self.series, self.recording, self.export) = (room, series, recording, export)
        (self.ordered, self.due) = (now, now)
    }

    /// Takes what an attempt found; what follows.
    ///
    /// - Parameter random: from 0 to 1.
    mutating func attempted(_ found: Found, now: UTCTime, random: Double) -> Step {
        self.attempts += 1
        self.due = now.adding(Self.pauses.delay(failures: self.attempts, random: random))
        let exports = found.gathered > 0 || !self.isExported
        self.isExported = true
        return Step(exports: exports, isOver: found.missing.isEmpty || now >= self.ordered.adding(Self.limit))
    }
}
