// SPDX-License-Identifier: Apache-2.0

public import Basics

/// Which finished recordings are deleted, so that none grows too old and all of them not too large.
///
/// Decides only; who carries it out deletes in the order given and asks again, as more may have ended by then.
public struct RetentionPolicy: Sendable, Hashable {
    /// A recording that may be deleted, or what keeps it from that.
    public struct Candidate: Sendable, Hashable {
        /// The recording's id.
        public var id: RecordingID
        /// When it ended; when it began, if the end is not known.
        public var end: UTCTime
        /// Bytes of all its files.
        public var bytes: Int64
        /// Whether every file of it is closed.
        public var isFinished: Bool
        /// Whether an export of it waits or runs.
        public var isBeingExported: Bool
        /// Whether a wanted export of it is missing: it failed for good, or could not be ordered.
        public var isUnexported: Bool
        /// Whether it is to be uploaded, and is not as far as is known.
        public var isNotUploaded: Bool
        /// Whether its folder can be read; what cannot be read is left to a person.
        public var isReadable: Bool

        /// A recording with each part given.
        public init(
            id: RecordingID,
            end: UTCTime,
            bytes: Int64,
            isFinished: Bool,
            isBeingExported: Bool = false,
            isUnexported: Bool = false,
            isNotUploaded: Bool = false,
            isReadable: Bool = true
        ) {
            self.id = id
            self.end = end
            self.bytes = bytes
            self.isFinished = isFinished
            self.isBeingExported = isBeingExported
            self.isUnexported = isUnexported
            self.isNotUploaded = isNotUploaded
            self.isReadable = isReadable
        }

        fileprivate var isInUse: Bool { !self.isFinished || self.isBeingExported }

        fileprivate var obstacle: Obstacle? {
            if !self.isReadable { return .unreadable }
            if self.isUnexported { return .unexported }
            return self.isNotUploaded ? .notUploaded : nil
        }
    }

    /// Why a recording is deleted.
    public enum Reason: String, Sendable, Hashable, CaseIterable {
        /// It ended too long ago.
        case age
        /// All recordings together are too large, and it is the oldest.
        case size
    }

    /// A recording to delete.
    public struct Deletion: Sendable, Hashable {
        /// The recording's id.
        public var id: RecordingID
        /// Why.
        public var reason: Reason
    }

    /// A reason to keep a recording until a person has looked at it, or until it is uploaded.
    public enum Obstacle: String, Sendable, Hashable, CaseIterable {
        /// An export of it that was wanted was not made.
        case unexported
        /// The remote was not seen to have every file of it.
        case notUploaded
        /// Its folder cannot be read.
        case unreadable
    }

    /// A recording that would have been deleted but for what keeps it.
    public struct HeldBack: Sendable, Hashable {
        /// The recording's id.
        public var id: RecordingID
        /// The reason to keep it.
        public var obstacle: Obstacle
    }

    /// The decision about recordings; those that are not named stay unchanged.
    public struct Decision: Sendable, Hashable {
        /// The recordings to delete, oldest first.
        public var deletions: [Deletion] = []
        /// Those whose time has come and that are kept all the same, oldest first.
        public var heldBack: [HeldBack] = []
    }

    /// How long a recording is kept after its end; `nil` for ever.
    public var keep: Duration?
    /// Bytes that all recordings may have together; `nil` without bound.
    public var keepBytes: Int64?

    /// A policy with either part given, both, or none.
    public init(keep: Duration? = nil, keepBytes: Int64? = nil) {
        self.keep = keep
        self.keepBytes = keepBytes
    }

    /// Which of the candidates are deleted, and which only a person may delete.
    ///
    /// - Parameters:
    ///   - candidates: The recordings, or the oldest of them, in any order.
    ///   - totalBytes: Bytes of all recordings, also of those that may not be deleted: they take room as well.
    ///   - now: The present; a recording that ended after it, by a clock that was wrong, is not too old.
    public func decision(on candidates: [Candidate], totalBytes: Int64, now: UTCTime) -> Decision {
        var remaining = totalBytes
        var decision = Decision()
        let oldestFirst = candidates.filter { !$0.isInUse }.sorted {
            ($0.end, $0.id.rawValue) < ($1.end, $1.id.rawValue)
        }
        for candidate in oldestFirst {
            let reason: Reason
            if let keep = self.keep, Self.age(of: candidate, now: now) > keep {
                reason = .age
            } else if let keepBytes = self.keepBytes, remaining > keepBytes {
                reason = .size
            } else {
                continue
            }
            if let obstacle = candidate.obstacle {
                decision.heldBack.append(HeldBack(id: candidate.id, obstacle: obstacle))
                continue
            }
            remaining = remaining.subtractingReportingOverflow(max(0, candidate.bytes)).partialValue
            decision.deletions.append(Deletion(id: candidate.id, reason: reason))
        }
        return decision
    }

    private static func age(of candidate: Candidate, now: UTCTime) -> Duration {
        .nanoseconds(now.nanosecondsSince1970) - .nanoseconds(candidate.end.nanosecondsSince1970)
    }
}
