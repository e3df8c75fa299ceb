// SPDX-License-Identifier: Apache-2.0

import Basics
import Catalogue
import Model

/// What becomes of an export: pure.
///
///     queued ── begins ──▶ running ── succeeds ──▶ done
///       ▲                     │
///       └── fails, with a due time or for good ──▶ failed
extension ExportEntry {
    /// More than any disk has; sums of it are numbers.
    private static let mostBytes: Int64 = 1 << 50

    /// It runs.
    mutating func begins(at now: UTCTime) {
        self.state = .running
        self.progress = 0
        self.error = nil
        self.started = now
    }

    /// It is done.
    mutating func succeeds(at now: UTCTime) {
        self.state = .done
        self.progress = 1
        self.finished = now
    }

    /// It failed: it is tried again later, or abandoned.
    mutating func fails(isRetriable: Bool, by policy: ExportPolicy, random: Double, at now: UTCTime) {
        self.attempts += 1
        guard let wait = policy.wait(afterAttempts: self.attempts, isRetriable: isRetriable, random: random) else {
            self.state = .failed
            self.finished = now
            return
        }
        self.state = .queued
        self.progress = 0
        (self.started, self.finished) = (nil, nil)
        self.due = now.adding(wait)
    }

    /// How many bytes it has on the disk at most, as far as can be known before.
    ///
    /// One of a part has half as much again as it has of the length, because not every minute is as large.
    ///
    /// - Parameters:
    ///   - bytes: those of the tracks that it is made of.
    ///   - times: when each of its recordings began and ended, as far as is known; an export of the whole needs none.
    func mostBytes(ofBytes bytes: Int64, recorded times: [(start: UTCTime, end: UTCTime?)]) -> Int64 {
        let whole = Double(min(max(0, bytes), Self.mostBytes))
        var share = 1.0
        let (start, end) = (times.map(\.start).min(), times.map { $0.end ?? $0.start }.max())
        if self.spec.from != nil || self.spec.to != nil, let start, let end, end > start {
            let length = (Double(end.nanosecondsSince1970) - Double(start.nanosecondsSince1970)) / 1e9
            let asked = min(self.spec.to?.seconds ?? length, length) - (self.spec.from?.seconds ?? 0)
            if asked > 0 { share = min(1, 1.5 * asked / length) }
        }
        return Int64(whole * share) * (self.spec.isRemuxed ? 2 : 1)
    }
}
