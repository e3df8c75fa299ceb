// SPDX-License-Identifier: Apache-2.0

/// The tracks of one sender on one connection, which share a wall clock.
///
/// Where the wall clock was set, the step is removed: only the positions of the tracks relative to each other are taken
/// from it.
struct SenderTimeline {
    private(set) var tracks: [TrackTimeline]

    /// An instant at which one of the clocks of a track was set, between the arrivals of two reports.
    private struct Event {
        var track: Int
        /// The first report after it.
        var index: Int
        /// How far the lead of the wall clock changed, in nanoseconds.
        var step: Double
        var from: Int64
        var to: Int64
    }

    /// The tracks that have at least one sample, in the order of their numbers.
    init(_ tracks: [TrackClockData]) {
        self.tracks = tracks.sorted { $0.track < $1.track }.compactMap { TrackTimeline($0) }
        // The epoch is the first report's of the track with most reports.
        let reference = self.tracks.max { $0.reports.count < $1.reports.count }
        guard let epoch = reference?.reports.first?.ntpTime else { return }
        for track in self.tracks.indices {
            for index in self.tracks[track].reports.indices {
                let report = self.tracks[track].reports[index]
                self.tracks[track].reports[index].lead =
                    Double(report.ntpTime.nanoseconds(since: epoch)) - self.tracks[track].media(report.rtpTime)
            }
        }
        self.undoSteps()
    }

    /// Brings the wall clock back where it was set, and breaks the timelines of tracks whose RTP clocks were.
    private mutating func undoSteps() {
        let events = self.tracks.indices.flatMap { track in
            self.tracks[track].breaks().map { found -> Event in
                let reports = self.tracks[track].reports
                return Event(
                    track: track,
                    index: found.index,
                    step: found.step,
                    from: reports[max(0, found.index - 1)].monotonicNanoseconds,
                    to: reports[found.index].monotonicNanoseconds
                )
            }
        }
        let isWall = events.map { event in self.isOfTheWallClock(event, among: events) }
        for track in self.tracks.indices {
            let own = zip(events, isWall).filter { $0.0.track == track }
            self.breakTimeline(track, at: own.filter { !$0.1 }.map(\.0), knowing: own.map(\.0))
        }
        for step in merged(zip(events, isWall).filter(\.1).map(\.0)) { self.undo(step) }
    }

    /// Whether the wall clock was set, and not the RTP clock of the track.
    private func isOfTheWallClock(_ event: Event, among events: [Event]) -> Bool {
        let track = self.tracks[event.track]
        let (before, after) = (track.reports[max(0, event.index - 1)], track.reports[event.index])
        // The arrivals of units know nothing of the wall clock; but what is small may be a queue.
        if abs(event.step) >= Self.clearStep, let lateness = track.latenessStep(before: before, after: after) {
            return abs(lateness) < abs(lateness - event.step)
        }
        if events.contains(where: { isSameStep($0, event) }) { return true }
        // Another track of the same wall clock did not see it: then it was the RTP clock of this one.
        return !self.tracks.indices.contains { other in
            other != event.track && self.tracks[other].hasReports(before: event.from, after: event.to)
        }
    }

    /// Ends stretches of a track where its RTP clock was set.
    ///
    /// Jumps that arrivals suggest, but that lie between reports that agree, were queues.
    private mutating func breakTimeline(_ track: Int, at events: [Event], knowing all: [Event]) {
        let reports = self.tracks[track].reports
        let credible = self.tracks[track].reportRuns().flatMap { $0 }.map { reports[$0] }
        let (earliest, latest) = (credible.map(\.rtpTime).min() ?? .max, credible.map(\.reached).max() ?? .min)
        let ranges = all.map { event in
            let before = reports[max(0, event.index - 1)].reached
            return before..<max(reports[event.index].rtpTime, before)
        }
        var jumps = self.tracks[track].jumps.filter { jump in
            if ranges.contains(where: { $0.contains(jump) || $0.upperBound == jump }) { return true }
            return jump <= earliest || jump > latest
        }
        for event in events {
            let (before, after) = (reports[max(0, event.index - 1)].reached, reports[event.index].rtpTime)
            guard after > before, !jumps.contains(where: { before < $0 && $0 <= after }) else { continue }
            jumps.append(
                self.tracks[track].likelyJump(after: before, until: after, of: event.step)
                    ?? before &+ (after &- before) / 2
            )
        }
        self.tracks[track].setJumps(jumps)
    }

    /// Takes a step back in the reports of every track.
    private mutating func undo(_ step: Step) {
        for track in self.tracks.indices {
            for index in self.tracks[track].reports.indices {
                let isAfter =
                    step.indices[track].map { index >= $0 }
                    ?? (self.tracks[track].reports[index].monotonicNanoseconds >= step.time)
                if isAfter { self.tracks[track].reports[index].lead -= step.step }
            }
        }
    }

    /// A step of the wall clock, as all tracks saw it.
    private struct Step {
        var time: Int64
        var step: Double
        /// The first report after it, by track.
        var indices: [Int: Int]
    }

    /// One step for all events that are the same one.
    private func merged(_ events: [Event]) -> [Step] {
        var groups: [[Event]] = []
        for event in events.sorted(by: { $0.from < $1.from }) {
            let same = groups.firstIndex { group in
                group.contains { isSameStep($0, event) } && !group.contains { $0.track == event.track }
            }
            if let same { groups[same].append(event) } else { groups.append([event]) }
        }
        return groups.compactMap { group in
            guard let from = group.map(\.from).max(), let to = group.map(\.to).min() else { return nil }
            return Step(
                time: from &+ (to &- from) / 2,
                step: group.reduce(0) { $0 + $1.step } / Double(group.count),
                indices: Dictionary(group.map { ($0.track, $0.index) }, uniquingKeysWith: { first, _ in first })
            )
        }
    }

    /// Whether two tracks show the same step of their sender's wall clock.
    private func isSameStep(_ one: Event, _ other: Event) -> Bool {
        one.track != other.track && one.from <= other.to && other.from <= one.to
            && abs(one.step - other.step) <= max(Self.stepTolerance, abs(one.step) * Self.stepShare)
    }

    /// A step that the arrivals of units distinguish from a queue, in nanoseconds.
    private static let clearStep = 200e6
    /// How far two tracks may differ about one step, in nanoseconds, and as a fraction.
    private static let stepTolerance = 20e6
    private static let stepShare = 0.1
}
