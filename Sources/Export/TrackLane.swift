// SPDX-License-Identifier: Apache-2.0

import Matroska

/// The track files that become one track of an export, one after the other.
///
/// A participant who comes back, or a recording that another process went on with, leaves several files of the same
/// kind. Where they overlap, the earlier one goes on to its end.
struct TrackLane {
    private(set) var sources: [TrackSource]
    private var index = 0
    private var lastNanoseconds = Int64.min

    /// A lane of sources of one codec, in the order of their first units; at least one.
    init(_ first: TrackSource, then rest: [TrackSource] = []) {
        self.first = first
        self.sources = [first] + rest
    }

    /// What the lane is called after.
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
            self.index += 1
            try self.sources[self.index].skip(beyond: self.lastNanoseconds)
        }
    }

    /// Leaves out what comes before that time; pictures begin with the last keyframe before it.
    mutating func skip(to sessionNanoseconds: Int64) throws(ExportError) {
        while self.sources.indices.contains(self.index) {
            try self.sources[self.index].skip(to: sessionNanoseconds)
            if self.next != nil { return }
            self.index += 1
        }
    }
}
