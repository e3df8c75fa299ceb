// SPDX-License-Identifier: Apache-2.0

import Timeline

/// When each participant was in the call, on the session clock.
struct Presence {
    /// A participant that is absent for less than this, for example while a connection is replaced, counts as present
    /// all the time.
    private static let shortestAbsence: Int64 = 1_000_000_000

    private var stays: [String: [Range<Int64>]]

    /// The stays of a history; participants that did not leave stay to the end.
    init(_ history: RecordingHistory, end: Int64) {
        self.stays = history.stays
        for (participant, arrival) in history.arrivals { self.add(participant, from: arrival, to: end) }
    }

    /// A participant that sends is there.
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
