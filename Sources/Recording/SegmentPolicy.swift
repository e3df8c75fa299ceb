// SPDX-License-Identifier: Apache-2.0

/// Decides when a recording is cut into the next segment, and when each track goes over to it.
///
/// Pure: times are nanoseconds of one monotonic clock, given by the caller, and tracks are numbers of the caller.
///
/// ```
///   whole ──turn: limit reached──► cutting ──last track has crossed──► whole
///                                     │  audio crosses with its next unit
///                                     │  video crosses with its next keyframe
///                                     └─ any track that has not crossed after `bound` crosses with its next unit
/// ```
///
/// No state is terminal.
public struct SegmentPolicy: Sendable, Hashable {
    /// How long, or how large, a segment gets before it is cut.
    public enum Limit: Sendable, Hashable {
        /// Nanoseconds from its first unit.
        case time(UInt64)
        /// Bytes of units.
        case bytes(UInt64)
    }

    private enum State: Hashable {
        case whole
        case cutting(since: UInt64, behind: Set<UInt64>)
    }

    /// Nanoseconds that a cut waits for keyframes.
    public static let bound: UInt64 = 20_000_000_000
    /// Nanoseconds in which a track that sends has sent a unit.
    private static let grace: UInt64 = 2_000_000_000

    private let limit: Limit?
    private var beganAt: UInt64 = 0
    private var state = State.whole

    /// A policy for recordings that are yet to begin; without a limit they are cut only when they are full.
    public init(limit: Limit?) {
        self.limit = limit
    }

    /// A segment began, with a first unit that came then.
    ///
    /// Within a cut it is the next segment: those that have not crossed stay behind.
    public mutating func segmentBegan(at time: UInt64) {
        self.beganAt = time
    }

    /// Nothing is recorded any more, or the next recording has nothing to do with this one.
    public mutating func recordingEnded() {
        self.state = .whole
    }

    /// Whether there is anything to do before a segment is full.
    var isAtWork: Bool { self.limit != nil || self.isCutting }

    /// Whether a cut is in progress.
    public var isCutting: Bool {
        switch self.state {
        case .whole: false
        case .cutting: true
        }
    }

    /// Whether a track has yet to go over.
    public func isBehind(_ track: UInt64) -> Bool {
        switch self.state {
        case .whole: false
        case .cutting(_, let behind): behind.contains(track)
        }
    }

    /// Whether the cut is due now; if so, it has begun, with these tracks behind.
    ///
    /// - Parameter isFull: whether the segment has hardly any room for more tracks.
    public mutating func cutIsDue(
        now: UInt64,
        bytes: UInt64,
        isFull: Bool = false,
        tracks: some Sequence<UInt64>
    ) -> Bool {
        switch self.state {
        case .cutting:
            return false
        case .whole:
            let isReached =
                switch self.limit {
                case .time(let length): now >= self.beganAt && now - self.beganAt >= length
                case .bytes(let size): bytes >= size
                case nil: false
                }
            guard isReached || isFull else { return false }
            self.state = .cutting(since: now, behind: Set(tracks))
            return true
        }
    }

    /// The action for a unit that is to be written.
    public enum OnUnit: Sendable, Hashable {
        /// It goes where the track's file is.
        case stays
        /// The track's file ends, and its next one, in the next segment, begins with this unit.
        case crosses
        /// The same without a keyframe: what comes until one cannot be decoded.
        case crossesDamaged
    }

    /// A unit came.
    ///
    /// - Parameters:
    ///   - track: the track, which is known here if it was there when the cut began.
    ///   - startsFile: whether a file can begin with it: a whole keyframe, or any unit of audio.
    public mutating func unitCame(track: UInt64, startsFile: Bool, now: UInt64) -> OnUnit {
        switch self.state {
        case .whole:
            return .stays
        case .cutting(let since, var behind):
            let isOverdue = now >= since && now - since >= Self.bound
            guard behind.contains(track), startsFile || isOverdue else { return .stays }
            behind.remove(track)
            self.state = .cutting(since: since, behind: behind)
            return startsFile ? .crosses : .crossesDamaged
        }
    }

    /// A track's file ended for another reason: there is nothing to go over any more.
    public mutating func trackEnded(_ track: UInt64) {
        switch self.state {
        case .whole:
            break
        case .cutting(let since, var behind):
            behind.remove(track)
            self.state = .cutting(since: since, behind: behind)
        }
    }

    /// Whether the older segment can be finished: every track has gone over, or sends nothing even after the bound.
    ///
    /// - Parameter hasNext: whether the next segment has begun; there is nothing to end a cut with before.
    public mutating func cutIsOver(now: UInt64, hasNext: Bool) -> Bool {
        switch self.state {
        case .whole:
            return false
        case .cutting(let since, let behind):
            let isOverdue = now >= since && now - since >= Self.bound + Self.grace
            guard hasNext, behind.isEmpty || isOverdue else { return false }
            self.state = .whole
            return true
        }
    }
}
