// SPDX-License-Identifier: Apache-2.0

import Basics
import Model
import Storage
import Timeline

/// The parts of a journal that a timeline shows: read once, in bounded memory.
struct RecordingCourse {
    private(set) var history = RecordingHistory()
    private(set) var happenings = Happenings()

    /// Reads the journal of a recording; blocks, for about a second per gigabyte.
    init(_ folder: RecordingFolder) throws(StorageError) {
        var course = self
        var placed = JournalParts()
        let take = { (entry: JournalEntry) in
            course.history.take(entry)
            course.happenings.note(entry)
        }
        try Journal.events(of: folder) { placed.take($0, take) }
        placed.finish(take)
        self = course
    }
}

extension RecordingTimeline {
    /// The timeline of a recording: gaps and speakers are in its manifest, everything else in its journal.
    ///
    /// - Parameters:
    ///   - manifest: nil before the recording was closed.
    ///   - shown: how people see the participants.
    init(_ course: RecordingCourse, _ manifest: Manifest?, shown: ShownNames) {
        let history = course.history
        // Exports begin with the first unit.
        let zero = history.tracks.map(\.monotonicNanoseconds).min() ?? history.lastNanoseconds ?? 0
        let known = manifest?.certificate?.durationNanoseconds
        let passed = (history.latestNanoseconds ?? zero).subtractingReportingOverflow(zero)
        let end = max(0, known ?? (passed.overflow ? 0 : passed.partialValue))
        func span(_ from: Int64, _ to: Int64) -> Span? {
            let (from, to) = (min(max(from, 0), end), min(max(to, 0), end))
            return from < to ? Span(from: Double(from) / 1e9, to: Double(to) / 1e9) : nil
        }
        let gaps = Dictionary(grouping: manifest?.certificate?.tracks ?? [], by: \.participant).mapValues { tracks in
            tracks.flatMap(\.gaps.first).sorted { $0.startNanoseconds < $1.startNanoseconds }
                .compactMap { span($0.startNanoseconds, $0.startNanoseconds &+ $0.durationNanoseconds) }
        }
        let turns = manifest?.speakers.map { Dictionary(grouping: $0, by: \.participant) }
        let participants = history.roster.participants.map { participant in
            let stays = (history.stays[participant.id] ?? []).map { ($0.lowerBound, $0.upperBound) }
            let last = history.arrivals[participant.id].map { [($0, zero &+ end)] } ?? []
            return Participant(
                id: participant.id,
                name: shown[participant.id],
                present: (stays + last).compactMap { span($0.0 &- zero, $0.1 &- zero) }
                    .sorted { $0.from < $1.from },
                speaks: turns.map { turns in
                    (turns[participant.id] ?? [])
                        .compactMap { span($0.startNanoseconds, $0.startNanoseconds &+ $0.durationNanoseconds) }
                },
                gaps: gaps[participant.id] ?? []
            )
        }
        let events = course.happenings.moments.map { moment in
            // The clock of a recording stood still while the machine was suspended.
            let isSuspension = moment.kind == .stalled && moment.text == Marker.suspended
            let at = moment.nanoseconds &- (isSuspension ? 0 : moment.durationNanoseconds ?? 0) &- zero
            return Event(
                at: Double(min(max(at, 0), end)) / 1e9,
                kind: moment.kind.rawValue,
                name: moment.participant.map { shown[$0] },
                text: moment.text
            )
        }
        self.init(
            durationSeconds: Double(end) / 1e9,
            participants: participants,
            events: events.enumerated().sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }
                .map(\.element)
        )
    }
}
