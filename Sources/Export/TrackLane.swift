// SPDX-License-Identifier: Apache-2.0

internal import Codecs
import Matroska

/// The track files that become one track of an export, one after the other.
///
/// A participant who comes back, or a recording that another process went on with, leaves several files of the same
/// kind. Where they overlap, the earlier one goes on to its end.
///
/// It rests until it begins and from its end on: a long series has more tracks than a process may open files.
struct TrackLane {
    private(set) var sources: [TrackSource]
    private var index = 0
    private var hasBegun = false
    private var lastNanoseconds = Int64.min
    /// Numbers of tracks whose first unit follows the last one of the source before.
    private var continued: Set<Int> = []

    /// A lane of sources of one codec, in the order of their first units; at least one.
    init(_ first: TrackSource, then rest: [TrackSource] = []) {
        self.sources = [first] + rest
        for index in self.sources.indices { self.sources[index].rest() }
        self.first = self.sources[0]
    }

    /// Adds a source whose first unit is later than those of the others.
    mutating func append(_ source: TrackSource, isContinued: Bool) {
        self.sources.append(source)
        self.sources[self.sources.count - 1].rest()
        if isContinued, let number = source.number { self.continued.insert(number) }
    }

    /// What the lane is called after; it rests.
    let first: TrackSource

    /// When the next unit is due on the session clock; `nil` after the last one.
    var nextNanoseconds: Int64? {
        self.hasBegun ? self.sources[self.index].next?.sessionNanoseconds : self.first.firstNanoseconds
    }

    /// The unit that comes next, once the lane has begun.
    var next: Block? { self.hasBegun ? self.sources[self.index].next?.block : nil }

    /// Reads the unit after `next`.
    mutating func advance() throws(ExportError) {
        guard self.hasBegun, let next = self.nextNanoseconds else { return }
        self.lastNanoseconds = max(self.lastNanoseconds, next)
        try self.sources[self.index].advance()
        while self.next == nil, self.index + 1 < self.sources.count {
            try self.turn()
            let isContinued = self.sources[self.index].number.map(self.continued.contains) ?? false
            try self.sources[self.index].skip(beyond: self.lastNanoseconds, isContinued: isContinued)
        }
        if self.next == nil { self.sources[self.index].rest() }
    }

    /// Wakes the first source, if it was not yet.
    mutating func begin() throws(ExportError) {
        guard !self.hasBegun else { return }
        try self.sources[self.index].wake()
        self.hasBegun = true
    }

    /// Goes on with the next source.
    private mutating func turn() throws(ExportError) {
        self.sources[self.index].rest()
        self.index += 1
        try self.sources[self.index].wake()
    }

    /// Leaves out what comes before that time; pictures begin with the last keyframe before it.
    mutating func skip(to sessionNanoseconds: Int64) throws(ExportError) {
        guard let first = self.nextNanoseconds, first < sessionNanoseconds else { return }
        let whole = self.sources
        try self.begin()
        while true {
            let hasNext = self.index + 1 < self.sources.count
            let following = hasNext ? self.sources[self.index + 1].firstNanoseconds : nil
            // What begins before that time too has everything that is needed of it, or goes on without a keyframe.
            if following.map({ $0 > sessionNanoseconds }) ?? true {
                try self.sources[self.index].skip(to: sessionNanoseconds)
                if self.next != nil { return try self.goBack(whole) }
            }
            guard hasNext else { return self.sources[self.index].rest() }
            try self.turn()
        }
    }

    /// Goes back to the keyframe that the next picture refers to, if that is in a source before.
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
