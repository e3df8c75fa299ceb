// SPDX-License-Identifier: Apache-2.0

internal import Basics
import Matroska
import Model
import Storage
import Timeline

/// The events of a call, in order of time, on the clock of an export.
struct CallEvents {
    /// The most chapters of a file, the one at its beginning included.
    static let maximumChapters = 1_000
    /// A gap whose ends are within this distance of a pause's markers is that pause.
    private static let pauseMargin: Int64 = 1_500_000_000
    /// A track that begins so much before the other one ends takes its place.
    private static let longestOverlap: Int64 = 500_000_000

    /// In order of time.
    private(set) var events: [CallEvent]
    /// Events that were too many to remember.
    private(set) var forgottenCount: Int

    /// Gathers events from the journal and from the units of the exported tracks.
    ///
    /// - Parameters:
    ///   - contents: the recording, whose journal adds the events that the units do not show.
    ///   - merge: the tracks, all read.
    ///   - spec: the exported part of the recording; events outside are left out.
    init(_ contents: RecordingContents, _ merge: TrackMerge, _ spec: ExportSpec) {
        self.forgottenCount = contents.happenings.leftOutCount
        let end = merge.tallies.map(\.endNanoseconds).max() ?? 0
        let tracks = zip(merge.lanes, merge.tallies).enumerated().map { index, pair in
            EventTrack(number: index + 1, lane: pair.0, tally: pair.1, zero: merge.startNanoseconds)
        }
        let chosen = Set(tracks.map(\.participant))
        var told: [CallEvent] = []
        for moment in contents.happenings.moments {
            if let participant = moment.participant, spec.participant != nil, !chosen.contains(participant) {
                continue
            }
            // While the machine was suspended no time passed here.
            let isSuspension = moment.kind == .stalled && moment.text == Marker.suspended
            let length = moment.durationNanoseconds
            let lasted = isSuspension ? 0 : length ?? 0
            var nanoseconds = moment.nanoseconds &- lasted &- merge.startNanoseconds
            if spec.from == nil { nanoseconds = max(0, nanoseconds) }
            if spec.to == nil { nanoseconds = min(end, nanoseconds) }
            guard (0...end).contains(nanoseconds) else { continue }
            told.append(
                CallEvent(
                    moment.kind,
                    at: nanoseconds,
                    durationNanoseconds: isSuspension ? length : length.map { min($0, end - nanoseconds) },
                    participant: moment.participant,
                    name: moment.participant.map { contents.shown[$0] },
                    track: moment.track.flatMap { number in tracks.first { $0.sourceTracks.contains(number) }?.number },
                    before: moment.text
                )
            )
        }
        let seen = tracks.flatMap(\.events) + Self.codecChanges(tracks)
        let pauses = Self.pauses(told, end: end)
        let signalled = Set(told.filter { Self.isMute($0.kind) }.compactMap(\.participant))
        let kept = seen.filter { event in
            if event.kind == .gap {
                let until = event.nanoseconds + (event.durationNanoseconds ?? 0)
                let isPause = (pauses + Self.mutes(told, event, end: end)).contains {
                    event.nanoseconds >= $0.lowerBound - Self.pauseMargin && until <= $0.upperBound + Self.pauseMargin
                }
                return !isPause && !Self.isCoveredElsewhere(event, tracks)
            }
            // An event from signalling takes precedence over one inferred from the media.
            return !(event.isGuess && event.participant.map(signalled.contains) ?? false)
        }
        self.forgottenCount += tracks.reduce(0) { $0 + $1.forgottenCount }
        self.events = (told + kept).enumerated()
            .sorted { ($0.element.nanoseconds, $0.offset) < ($1.element.nanoseconds, $1.offset) }.map(\.element)
    }

    /// Chapters for a file: one at its beginning, then one for each event, as many as a file may have.
    func chapters() -> [Chapter] {
        var chapters = [Chapter(uid: 1, startNanoseconds: 0, title: "Start")]
        for event in self.events.prefix(Self.maximumChapters - 1) {
            chapters.append(
                Chapter(
                    uid: UInt64(chapters.count + 1),
                    startNanoseconds: event.nanoseconds,
                    endNanoseconds: event.isSuspension ? nil : event.durationNanoseconds.map { event.nanoseconds + $0 },
                    title: event.title
                )
            )
        }
        return chapters
    }

    /// A sentence about events left out of the chapters; `nil` if there are none.
    var warning: String? {
        let count = self.forgottenCount + max(0, self.events.count - (Self.maximumChapters - 1))
        return count == 0 ? nil : "\(count) events of the call have no chapter: a file has \(Self.maximumChapters)"
    }

    private static func isMute(_ kind: CallEvent.Kind) -> Bool {
        [.muted, .unmuted, .cameraOff, .cameraOn].contains(kind)
    }

    private static func pauses(_ told: [CallEvent], end: Int64) -> [Range<Int64>] {
        var pauses: [Range<Int64>] = []
        var start: Int64?
        for event in told {
            if event.kind == .paused { start = start ?? event.nanoseconds }
            if event.kind == .resumed, let begun = start {
                pauses.append(begun..<max(begun, event.nanoseconds))
                start = nil
            }
        }
        if let start { pauses.append(start..<max(start, end)) }
        return pauses
    }

    /// When the participant of a gap said that it sends none of its kind.
    private static func mutes(_ told: [CallEvent], _ gap: CallEvent, end: Int64) -> [Range<Int64>] {
        let off: CallEvent.Kind = gap.media == .audio ? .muted : .cameraOff
        let on: CallEvent.Kind = gap.media == .audio ? .unmuted : .cameraOn
        var mutes: [Range<Int64>] = []
        var start: Int64?
        for event in told where event.participant == gap.participant {
            if event.kind == off { start = start ?? event.nanoseconds }
            if event.kind == on || event.kind == .left, let begun = start {
                mutes.append(begun..<max(begun, event.nanoseconds))
                start = nil
            }
        }
        return mutes + (start.map { [$0..<max($0, end)] } ?? [])
    }

    /// Changes of a participant's video or audio to another codec, on the same track or another one.
    private static func codecChanges(_ tracks: [EventTrack]) -> [CallEvent] {
        var changes: [CallEvent] = []
        var last: [String: EventTrack.Run] = [:]
        let runs = tracks.flatMap { track in track.runs.map { (track: track, run: $0) } }
            .sorted { $0.run.start < $1.run.start }
        for (track, run) in runs {
            let key = track.media.rawValue + track.participant
            let before = last[key]
            last[key] = run
            guard let before, before.codec != run.codec, run.start >= before.end - Self.longestOverlap else { continue }
            changes.append(
                CallEvent(
                    .codecChanged,
                    at: run.start,
                    participant: track.participant,
                    name: track.name,
                    track: track.number,
                    media: track.media,
                    before: before.codec.title,
                    after: run.codec.title
                )
            )
        }
        return changes
    }

    /// Whether another track of the participant, in another codec, has what a gap lacks.
    private static func isCoveredElsewhere(_ gap: CallEvent, _ tracks: [EventTrack]) -> Bool {
        let until = gap.nanoseconds + (gap.durationNanoseconds ?? 0)
        return tracks.contains { track in
            track.number != gap.track && track.participant == gap.participant && track.media == gap.media
                && track.runs.contains {
                    $0.start - Self.pauseMargin <= gap.nanoseconds && $0.end + Self.pauseMargin >= until
                        && $0.end > gap.nanoseconds && $0.start < until
                }
        }
    }
}

/// One track of an export, with what its units show.
private struct EventTrack {
    /// A stretch without a gap, on the export's clock.
    struct Run {
        var codec: MediaCodec
        var start: Int64
        var end: Int64
    }

    let number: Int
    let sourceTracks: [Int]
    let participant: String
    let name: String
    let media: MediaKind
    let codec: MediaCodec
    /// The stretches between its gaps.
    let runs: [Run]
    private(set) var events: [CallEvent] = []
    let forgottenCount: Int

    /// Shorter gaps are in the report alone.
    private static let shortestGap: Int64 = 1_000_000_000

    init(number: Int, lane: TrackLane, tally: TrackTally, zero: Int64) {
        self.number = number
        self.sourceTracks = lane.sources.compactMap(\.number)
        self.participant = lane.first.participant
        self.name = lane.first.name
        self.codec = lane.first.track.codec
        self.media = self.codec.kind
        var runs: [Run] = []
        var start = tally.firstNanoseconds
        for gap in tally.gaps where gap.durationNanoseconds >= Self.shortestGap {
            runs.append(Run(codec: self.codec, start: start, end: gap.startNanoseconds))
            start = gap.startNanoseconds + gap.durationNanoseconds
        }
        self.runs = runs + [Run(codec: self.codec, start: start, end: tally.endNanoseconds)]
        self.forgottenCount =
            tally.observations.leftOutCount + max(0, tally.gapCount - ExportReport.Track.maximumListedGaps)
        for gap in tally.gaps where gap.durationNanoseconds >= Self.shortestGap {
            self.add(.gap, at: gap.startNanoseconds, lasting: gap.durationNanoseconds)
        }
        for resize in tally.observations.resizes {
            self.add(.resolutionChanged, at: resize.nanoseconds, before: resize.before, after: resize.after)
        }
        for stretch in tally.observations.allQuietStretches {
            let kinds: (CallEvent.Kind, CallEvent.Kind) =
                self.media == .audio ? (.muted, .unmuted) : (.cameraOff, .cameraOn)
            self.add(kinds.0, at: stretch.start, isGuess: true)
            if let end = stretch.end { self.add(kinds.1, at: end, isGuess: true) }
        }
        for stretch in lane.sources.flatMap(\.leftOut.stretches) {
            self.add(.leftOut, at: max(0, stretch.start &- zero), lasting: max(0, stretch.end &- stretch.start))
        }
    }

    private mutating func add(
        _ kind: CallEvent.Kind,
        at nanoseconds: Int64,
        lasting: Int64? = nil,
        before: String? = nil,
        after: String? = nil,
        isGuess: Bool = false
    ) {
        self.events.append(
            CallEvent(
                kind,
                at: nanoseconds,
                durationNanoseconds: lasting,
                participant: self.participant,
                name: self.name,
                track: self.number,
                media: self.media,
                before: before,
                after: after,
                isGuess: isGuess
            )
        )
    }
}

extension MediaCodec {
    /// The name that people know.
    var title: String {
        switch self {
        case .vp8: "VP8"
        case .vp9: "VP9"
        case .h264: "H.264"
        case .opus: "Opus"
        case .pcmu: "G.711 µ-law"
        case .pcma: "G.711 A-law"
        }
    }
}
