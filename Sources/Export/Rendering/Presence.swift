// SPDX-License-Identifier: Apache-2.0

import Timeline

/// When each participant was in the call, on the session clock.
struct Presence {
    /// Somebody who is gone for less than this, as while a connection is made anew, was there all the time.
    private static let shortestAbsence: Int64 = 1_000_000_000

    private var stays: [String: [Range<Int64>]] = [:]
    private var arrivals: [String: Int64] = [:]

    /// Takes the next record of a journal that is on one clock.
    mutating func take(_ entry: JournalEntry) {
        switch entry.record {
        case .participantJoined(let record):
            // Joined again without having left: it told its name, or another process goes on.
            guard self.arrivals[record.participant] == nil else { break }
            self.arrivals[record.participant] = entry.monotonicNanoseconds
        case .participantLeft(let record):
            guard let arrival = self.arrivals.removeValue(forKey: record.participant) else { break }
            self.add(record.participant, from: arrival, to: entry.monotonicNanoseconds)
        default: break
        }
    }

    /// The journal is over: who did not leave stays to the end.
    mutating func finish(end: Int64) {
        for (participant, arrival) in self.arrivals { self.add(participant, from: arrival, to: end) }
        self.arrivals = [:]
    }

    /// Who sends is there.
    mutating func add(_ participant: String, from start: Int64, to end: Int64) {
        guard start < end else { return }
        self.stays[participant, default: []].append(start..<end)
    }

    /// The stays of a participant, in order and apart.
    func ranges(_ participant: String) -> [Range<Int64>] {
        var ranges: [Range<Int64>] = []
        for stay in (self.stays[participant] ?? []).sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if let last = ranges.last, stay.lowerBound &- last.upperBound < Self.shortestAbsence {
                ranges[ranges.count - 1] = last.lowerBound..<max(last.upperBound, stay.upperBound)
            } else {
                ranges.append(stay)
            }
        }
        return ranges
    }
}
