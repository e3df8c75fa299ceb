// SPDX-License-Identifier: Apache-2.0

/// Data that must be remembered while blocks pass for the file to be completed: cue points and the end time.
///
/// Writer and repair share it, so a repaired file gets the cues that a clean finish would have given it.
///
/// Memory: one cue (24 bytes) a second and video track at most, in files without video one a cluster. A recording of
/// 24 h with one video track holds 86 400 of them, 2 MB. Beyond `maximumCueCount` every other cue is dropped and the
/// distance between cues doubled, so nothing grows without bound.
struct SegmentIndex: Sendable {
    struct Cue: Sendable, Hashable {
        var ticks: UInt64
        /// Where the cluster begins, from the file's start.
        var clusterStart: UInt64
        /// Where the block begins, from the first byte of the cluster's content.
        var relativePosition: UInt32
        var trackNumber: UInt16
    }

    private struct TrackState: Sendable {
        var number: Int
        var isVideo: Bool
        var lastCueTicks: Int64?
        var lastTicks: Int64?
        var lastStep: Int64 = 0
        var endTicks: Int64 = 0
    }

    static let maximumCueCount = 131_072

    private(set) var cues: [Cue] = []
    private let hasVideo: Bool
    private let maximumStep: Int64
    private var minimumCueDistance: Int64
    private var lastCueCluster: UInt64?
    private var tracks: [TrackState]
    private var lastTextTicks: Int64 = 0

    init(tracks: [(number: Int, isVideo: Bool)], timestampScaleNanoseconds scale: UInt64) {
        self.hasVideo = tracks.contains { $0.isVideo }
        self.tracks = tracks.map { TrackState(number: $0.number, isVideo: $0.isVideo) }
        self.minimumCueDistance = Int64(max(1, 1_000_000_000 / max(1, scale)))
        self.maximumStep = Int64(max(1, 100_000_000 / max(1, scale)))
    }

    /// The end of the last block of all, in ticks.
    ///
    /// A block lasts as long as its track's previous step, at most 100 ms. Text makes a file no longer than until its
    /// last line appears.
    var endTicks: Int64 { max(self.lastTextTicks, self.tracks.lazy.map(\.endTicks).max() ?? 0) }

    /// Takes note of one piece of text.
    mutating func noteText(ticks: Int64) {
        self.lastTextTicks = max(self.lastTextTicks, ticks)
    }

    /// Takes note of one block; `track` is an index into the tracks given to `init`.
    mutating func note(
        track: Int,
        ticks: Int64,
        isKeyframe: Bool,
        clusterStart: UInt64,
        relativePosition: UInt64
    ) {
        var state = self.tracks[track]
        defer { self.tracks[track] = state }
        if let last = state.lastTicks, ticks > last { state.lastStep = min(ticks - last, self.maximumStep) }
        state.lastTicks = ticks
        state.endTicks = max(state.endTicks, ticks + state.lastStep)

        guard isKeyframe, ticks >= 0, let relativePosition = UInt32(exactly: relativePosition),
            let number = UInt16(exactly: state.number)
        else { return }
        if self.hasVideo {
            guard state.isVideo else { return }
        } else {
            guard self.lastCueCluster != clusterStart else { return }
        }
        if let last = state.lastCueTicks, abs(ticks - last) < self.minimumCueDistance, self.needsDistance { return }
        if self.cues.count >= Self.maximumCueCount { self.thin() }
        state.lastCueTicks = ticks
        self.lastCueCluster = clusterStart
        self.cues.append(
            Cue(
                ticks: UInt64(ticks),
                clusterStart: clusterStart,
                relativePosition: relativePosition,
                trackNumber: number
            )
        )
    }

    /// Audio-only files get a cue a cluster, until there are too many.
    private var isThinned = false
    private var needsDistance: Bool { self.hasVideo || self.isThinned }

    private mutating func thin() {
        self.isThinned = true
        self.minimumCueDistance = min(self.minimumCueDistance * 2, 1 << 40)
        self.cues = self.cues.indices.lazy.filter { $0 % 2 == 0 }.map { self.cues[$0] }
    }
}
