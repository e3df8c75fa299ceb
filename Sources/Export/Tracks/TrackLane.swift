// SPDX-License-Identifier: Apache-2.0

internal import Basics
import Matroska
import Timeline

/// The track files that become one track of an export, one after the other.
///
/// A participant that comes back, or a recording that another process continued, leaves several files of the same kind.
/// Where they overlap, the earlier one is used to its end.
///
/// It rests until a unit is due: there may be more tracks than a process may open files.
struct TrackLane {
    private(set) var sources: [TrackSource]
    private var index = 0
    /// Whether the present source's file is open, or was read to its end.
    private var isAwake = false
    private var lastNanoseconds = Int64.min
    /// Where the selection begins, if something comes before.
    private var start: Int64?
    /// Numbers of tracks whose first unit follows the last one of the source before.
    private var continued: Set<Int> = []
    /// Units that were left out where a source follows another one.
    private(set) var passedOverCount: UInt64 = 0

    /// A lane of sources of one codec that rest, in the order of their first units; at least one.
    init(_ first: TrackSource, then rest: [TrackSource] = []) {
        self.sources = [first] + rest
        self.first = first
    }

    /// Adds a source that rests, whose first unit is later than those of the others.
    mutating func append(_ source: TrackSource, isContinued: Bool) {
        self.sources.append(source)
        if isContinued, let number = source.number { self.continued.insert(number) }
    }

    /// The source that names the lane; it rests.
    private(set) var first: TrackSource

    /// The place among the sources of the one that the next unit is of.
    var position: Int { self.index }

    /// The weakest basis of the times of its units; `nil` for the files' dates.
    var basis: RTPClockMap.Basis? {
        let bases = self.sources.map(\.basis)
        return bases.allSatisfy { $0 == .senderReports } ? .senderReports : bases.contains(nil) ? nil : .arrival
    }

    /// How many packets of all its sources are in no file; `nil` if unknown.
    var missingPackets: UInt64? {
        let counts = self.sources.map(\.missingPackets)
        return counts.contains(nil) ? nil : counts.reduce(0) { $0 &+ ($1 ?? 0) }
    }

    /// How long frames are turned in each way, in nanoseconds; empty if the journals say nothing.
    var rotations: [VideoRotation: Int64] {
        self.sources.reduce(into: [:]) { $0.merge($1.rotations, uniquingKeysWith: &+) }
    }

    /// How most of the frames are turned: a file has room for one rotation.
    var rotation: VideoRotation {
        self.rotations.max { ($0.value, $0.key.rawValue) < ($1.value, $1.key.rawValue) }?.key
            ?? self.first.track.video?.rotation ?? .upright
    }

    /// When the next unit is due on the session clock, or no earlier while the lane rests; `nil` after the last one.
    var nextNanoseconds: Int64? {
        self.isAwake
            ? self.sources[self.index].next?.sessionNanoseconds : self.sources[self.index].firstNanoseconds
    }

    /// The track entry of the file that the next unit is of.
    var track: Track { self.sources[self.index].track }

    /// The unit that comes next; `nil` while the lane rests.
    var next: Block? { self.isAwake ? self.sources[self.index].next?.block : nil }

    /// From when they are read on, gathers what the certificate needs of its sources' units.
    mutating func beginReading(for contents: RecordingContents) {
        for index in self.sources.indices { self.sources[index].beginReading(for: contents) }
    }

    /// What the certificate needs of the sources that were read from beginning to end, by file.
    var readings: [(String, TrackReading)] {
        self.sources.compactMap { source in source.reading.map { (source.file, $0) } }
    }

    /// Opens the file of the next unit, if the lane rests.
    mutating func begin() throws(ExportError) {
        guard !self.isAwake else { return }
        self.isAwake = true
        try self.sources[self.index].wake()
        if self.lastNanoseconds > .min {
            try self.follow()
        } else if let start = self.start {
            try self.sources[self.index].skip(to: start)
        }
        try self.turn()
    }

    /// Reads the unit after `next`.
    mutating func advance() throws(ExportError) {
        guard self.isAwake, let next = self.nextNanoseconds else { return }
        self.lastNanoseconds = max(self.lastNanoseconds, next)
        try self.sources[self.index].advance()
        try self.turn()
    }

    /// At the end of a source, moves to the next one, which rests if it is not due yet.
    private mutating func turn() throws(ExportError) {
        while self.next == nil {
            self.sources[self.index].rest()
            guard self.index + 1 < self.sources.count else { return }
            self.index += 1
            if let first = self.sources[self.index].firstNanoseconds, first > self.lastNanoseconds {
                self.isAwake = false
                return
            }
            try self.sources[self.index].wake()
            try self.follow()
        }
    }

    /// Leaves out of a source what the one before had.
    private mutating func follow() throws(ExportError) {
        let isContinued = self.sources[self.index].number.map(self.continued.contains) ?? false
        let count = try self.sources[self.index].skip(beyond: self.lastNanoseconds, isContinued: isContinued)
        // Units around a cut of a series may be in both files.
        if !isContinued { self.passedOverCount += count }
    }

    /// Leaves out the files that begin no earlier than that time.
    mutating func end(at sessionNanoseconds: Int64) {
        while self.sources.count > self.index + 1, let start = self.sources.last?.firstNanoseconds,
            start >= sessionNanoseconds
        {
            self.sources.removeLast()
        }
    }

    /// Leaves out units before that time; video begins with the last keyframe before it.
    mutating func skip(to sessionNanoseconds: Int64) throws(ExportError) {
        self.start = sessionNanoseconds
        guard let first = self.nextNanoseconds, first < sessionNanoseconds else { return }
        let whole = self.sources
        while true {
            let hasNext = self.index + 1 < self.sources.count
            let following = hasNext ? self.sources[self.index + 1].firstNanoseconds : nil
            // A source that also begins before that time has everything that is needed of it, or continues without a
            // keyframe.
            if following.map({ $0 > sessionNanoseconds }) ?? true {
                self.isAwake = true
                try self.sources[self.index].wake()
                try self.sources[self.index].skip(to: sessionNanoseconds)
                if self.next != nil { break }
                self.sources[self.index].rest()
            }
            // After the last one it is awake, and has nothing.
            self.isAwake = !hasNext
            guard hasNext else { return }
            self.index += 1
        }
        try self.goBack(whole)
        // Files that end before have no part in it.
        self.first = whole[self.index]
        self.sources.removeFirst(self.index)
        self.index = 0
        if let next = self.nextNanoseconds, next >= sessionNanoseconds,
            next == self.sources[self.index].firstNanoseconds
        {
            self.sources[self.index].rest()
            self.isAwake = false
        }
    }

    /// Goes back to the keyframe that the next frame refers to, if that is in a source before.
    ///
    /// - Parameter whole: the sources at their beginnings.
    private mutating func goBack(_ whole: [TrackSource]) throws(ExportError) {
        guard let next = self.next, self.first.track.codec.kind == .video, !next.isKeyframe else { return }
        for index in stride(from: self.index, to: 0, by: -1) {
            guard let number = whole[index].number, self.continued.contains(number) else { return }
            var source = whole[index - 1]
            try source.wake()
            guard try source.skipToLastKeyframe() else { continue }
            self.sources = whole
            self.sources[index - 1] = source
            self.index = index - 1
            return
        }
    }
}
