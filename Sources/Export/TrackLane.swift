// SPDX-License-Identifier: Apache-2.0

internal import Codecs
import Matroska

/// The track files that become one track of an export, one after the other.
///
/// A participant who comes back, or a recording that another process went on with, leaves several files of the same
/// kind. Where they overlap, the earlier one goes on to its end.
struct TrackLane {
    private(set) var sources: [TrackSource]
    private var index = 0
    private var lastNanoseconds = Int64.min
    /// Numbers of tracks whose first unit follows the last one of the source before.
    private var continued: Set<Int> = []

    /// A lane of sources of one codec, in the order of their first units; at least one.
    init(_ first: TrackSource, then rest: [TrackSource] = []) {
        self.sources = [first] + rest
        var first = first
        first.rest()
        self.first = first
    }

    /// Adds a source whose first unit is later than those of the others.
    mutating func append(_ source: TrackSource, isContinued: Bool) {
        self.sources.append(source)
        if isContinued, let number = source.number { self.continued.insert(number) }
    }

    /// What the lane is called after; it rests.
    let first: TrackSource

    /// The unit that comes next, and its time on the session clock.
    var next: (block: Block, sessionNanoseconds: Int64)? {
        self.sources.indices.contains(self.index) ? self.sources[self.index].next : nil
    }

    /// Reads the unit after `next`.
    mutating func advance() throws(ExportError) {
        guard let next = self.next else { return }
        self.lastNanoseconds = max(self.lastNanoseconds, next.sessionNanoseconds)
        try self.sources[self.index].advance()
        while self.next == nil, self.index + 1 < self.sources.count {
            try self.turn()
            let isContinued = self.sources[self.index].number.map(self.continued.contains) ?? false
            try self.sources[self.index].skip(beyond: self.lastNanoseconds, isContinued: isContinued)
        }
    }

    /// Wakes the first source.
    mutating func begin() throws(ExportError) {
        try self.sources[self.index].wake()
    }

    /// Goes on with the next source.
    private mutating func turn() throws(ExportError) {
        self.sources[self.index].rest()
        self.index += 1
        try self.sources[self.index].wake()
    }

    /// Leaves out what comes before that time; pictures begin with the last keyframe before it.
    mutating func skip(to sessionNanoseconds: Int64) throws(ExportError) {
        let whole = self.sources
        while true {
            let hasNext = self.index + 1 < self.sources.count
            let following = hasNext ? self.sources[self.index + 1].firstNanoseconds : nil
            // What begins before that time too has everything that is needed of it, or goes on without a keyframe.
            if following.map({ $0 > sessionNanoseconds }) ?? true {
                try self.sources[self.index].skip(to: sessionNanoseconds)
                if self.next != nil { return try self.goBack(whole) }
            }
            guard hasNext else { return }
            try self.turn()
        }
    }

    /// Goes back to the keyframe that the next picture refers to, if that is in a source before.
    ///
    /// - Parameter whole: the sources at their beginnings.
    private mutating func goBack(_ whole: [TrackSource]) throws(ExportError) {
        guard let next = self.next, self.first.track.codec.kind == .video, !next.block.isKeyframe else { return }
        for index in stride(from: self.index, to: 0, by: -1) {
            guard let number = whole[index].number, self.continued.contains(number) else { return }
            var source = whole[index - 1]
            try source.wake()
            guard try source.skipToLastKeyframe() else { continue }
            self.sources = whole
            self.sources[0].rest()
            self.sources[index - 1] = source
            self.index = index - 1
            return
        }
    }
}
