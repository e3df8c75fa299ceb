// SPDX-License-Identifier: Apache-2.0

import Matroska

/// Interleaves the units of several tracks by time; holds one unit of each that has begun in memory.
struct TrackMerge {
    /// The session time that becomes zero: the first unit of any track.
    let startNanoseconds: Int64
    private(set) var lanes: [TrackLane]
    private let endNanoseconds: Int64
    private(set) var tallies: [TrackTally]
    private let scale: Int64
    private var lastTicks: [Int64]
    private var highestTicks: [Int64]
    /// The session time of the unit before, of each track.
    private var lastNanoseconds: [Int64]
    private let mayReorder: [Bool]
    private var frameSets: [FrameSets?]
    /// When each track's next unit is due on the session clock; `max` for none.
    private var due: [Int64]

    /// 36 years: only a damaged file goes beyond, and sums of such times must not overflow.
    private static let latestNanoseconds: Int64 = 1 << 60
    /// Frames that are shown in another order than they are sent are less than this apart; larger steps back are
    /// damage.
    static let longestStepBackNanoseconds: Int64 = 1_000_000_000

    /// Merges tracks that all have a unit; times come out as multiples of `timestampScaleNanoseconds`.
    ///
    /// Units from the session time `end` on are left out.
    init(_ lanes: [TrackLane], timestampScaleNanoseconds: UInt64, end: Int64 = .max) {
        self.lanes = lanes
        self.tallies = lanes.map { TrackTally(codec: $0.first.track.codec, missingPackets: $0.missingPackets) }
        self.scale = Int64(timestampScaleNanoseconds)
        self.lastTicks = lanes.map { _ in -1 }
        self.highestTicks = lanes.map { _ in -1 }
        self.lastNanoseconds = lanes.map { _ in .min }
        self.mayReorder = lanes.map { $0.first.track.codec.mayReorder }
        self.frameSets = lanes.map { FrameSets($0.first.track) }
        self.due = lanes.map { $0.nextNanoseconds ?? .max }
        self.startNanoseconds = lanes.compactMap(\.nextNanoseconds).min() ?? 0
        self.endNanoseconds = end
    }

    /// Where what came out so far ends in the export.
    var mediaEndNanoseconds: Int64 { self.tallies.map(\.endNanoseconds).max() ?? 0 }

    /// The earliest unit left, the index of its track, and its time in the export; `nil` at the end.
    ///
    /// Times of one track rise strictly, by at least a tick; an exception is a frame that is shown before others that
    /// were sent before it, which keeps its time.
    mutating func next() throws(ExportError) -> (index: Int, nanoseconds: Int64, block: Block)? {
        guard let (index, sessionNanoseconds, earliest) = try self.earliest() else { return nil }
        var block = earliest
        self.frameSets[index]?.complete(&block, of: self.lanes[index].track)
        let elapsed = min(max(0, sessionNanoseconds &- self.startNanoseconds), Self.latestNanoseconds)
        var ticks = elapsed / self.scale
        if !self.isShownBefore(sessionNanoseconds, ticks, index) { ticks = max(self.lastTicks[index] + 1, ticks) }
        self.lastTicks[index] = ticks
        self.highestTicks[index] = max(self.highestTicks[index], ticks)
        self.lastNanoseconds[index] = sessionNanoseconds
        let nanoseconds = ticks * self.scale
        self.tallies[index].note(block, at: nanoseconds, file: self.lanes[index].position)
        try self.lanes[index].advance()
        self.due[index] = self.lanes[index].nextNanoseconds ?? .max
        return (index, nanoseconds, block)
    }

    /// The first unit of a track and its time in the export, as `next` returns them when it is their turn; nil if it has none.
    ///
    /// Before the first `next`.
    func first(of index: Int) throws(ExportError) -> (nanoseconds: Int64, block: Block)? {
        // This uses a copy: the lane itself rests until then.
        var lane = self.lanes[index]
        try lane.begin()
        guard let time = lane.nextNanoseconds, time < self.endNanoseconds, var block = lane.next else { return nil }
        var sets = self.frameSets[index]
        sets?.complete(&block, of: lane.track)
        let elapsed = min(max(0, time &- self.startNanoseconds), Self.latestNanoseconds)
        return (elapsed / self.scale * self.scale, block)
    }

    /// The earliest unit left, and the index of its track.
    private mutating func earliest() throws(ExportError) -> (index: Int, sessionNanoseconds: Int64, block: Block)? {
        while let time = self.due.min(), time < self.endNanoseconds, let index = self.due.firstIndex(of: time) {
            try self.lanes[index].begin()
            // A track that comes back may begin later than its file, at a keyframe.
            if self.lanes[index].nextNanoseconds == time, let block = self.lanes[index].next {
                return (index, time, block)
            }
            self.due[index] = self.lanes[index].nextNanoseconds ?? .max
        }
        return nil
    }

    /// Whether a unit is shown before the one that was sent before it.
    private func isShownBefore(_ sessionNanoseconds: Int64, _ ticks: Int64, _ index: Int) -> Bool {
        self.mayReorder[index] && sessionNanoseconds < self.lastNanoseconds[index] && ticks < self.lastTicks[index]
            && ticks > self.highestTicks[index] - Self.longestStepBackNanoseconds / self.scale
    }
}
