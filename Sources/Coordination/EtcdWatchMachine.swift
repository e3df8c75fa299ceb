// SPDX-License-Identifier: Apache-2.0

import Cluster

/// The decisions of a watch: the events to report, the revision to resume from, and the end.
///
/// A watch is a series of attempts. Each begins at `next` and takes items until an item or the transport ends it; `ended` then
/// returns the next step. No attempt follows `list` and `refuse`.
struct EtcdWatchMachine: Sendable {
    /// The step after an item.
    enum Step: Sendable, Hashable {
        case report([StoreEvent], Revision)
        case nothing
        case end(End)
    }

    /// The end of an attempt.
    enum End: Sendable, Hashable {
        /// The client left the member, the reader was slow, or etcd was silent.
        case interrupted
        /// The store no longer has the next events.
        case compacted
        /// The member does not have the revision before `next`.
        case behind
        /// No connection, no answer, or an error.
        case failed(EtcdFailure)
        /// etcd refuses the watch, in its words.
        case cancelled(String)
    }

    /// The step after an attempt.
    enum Next: Sendable, Hashable {
        /// Another attempt after a wait.
        case again(after: Duration, leavesMember: Bool = false, renewsToken: Bool = false)
        /// The reader must list again.
        case list
        /// None, for this reason.
        case refuse(EtcdFailure)
    }

    /// The wait after the first failure, doubled with each further one, and the longest.
    static let (firstWait, longestWait) = (Duration.milliseconds(100), Duration.seconds(2))
    /// The wait for a member that is behind, and how many attempts it gets.
    static let (catchUpWait, catchUps) = (Duration.milliseconds(250), 20)

    /// The first revision that was not reported.
    private(set) var next: Revision
    private let hasUser: Bool
    private var failures = 0
    private var behind = 0
    private var hasRenewed = false

    /// - Parameter hasUser: whether a new token may help.
    init(from revision: Revision, hasUser: Bool) {
        (self.next, self.hasUser) = (revision, hasUser)
    }

    /// Takes the next item of an attempt.
    mutating func take(_ item: EtcdWatchReader.Item) -> Step {
        switch item {
        case .created(let known):
            guard known.next >= self.next else { return .end(.behind) }
            (self.failures, self.behind, self.hasRenewed) = (0, 0, false)
            return .nothing
        case .changed(let events, let last):
            // Reported before.
            guard last >= self.next else { return .nothing }
            self.next = last.next
            return .report(events, last)
        case .compacted, .tooLarge: return .end(.compacted)
        case .cancelled(let words): return .end(.cancelled(words))
        case .failed(let failure): return .end(.failed(failure))
        }
    }

    /// An attempt has ended.
    mutating func ended(_ end: End) -> Next {
        switch end {
        case .interrupted: return .again(after: .zero)
        case .compacted: return .list
        case .behind:
            self.behind += 1
            // A store that was recreated or restored.
            return self.behind < Self.catchUps ? .again(after: Self.catchUpWait) : .list
        case .failed(let failure) where failure.isOfMember:
            self.failures += 1
            let wait = Self.firstWait * (1 << min(self.failures - 1, 16))
            return .again(after: min(wait, Self.longestWait), leavesMember: true)
        case .failed(let failure): return self.renewOrRefuse(failure, helps: failure.isOfToken)
        case .cancelled(let words):
            // The reason has no code.
            return self.renewOrRefuse(.answered(code: EtcdFailure.Code.unauthenticated, words), helps: true)
        }
    }

    private mutating func renewOrRefuse(_ failure: EtcdFailure, helps: Bool) -> Next {
        guard helps, self.hasUser, !self.hasRenewed else { return .refuse(failure) }
        self.hasRenewed = true
        return .again(after: .zero, renewsToken: true)
    }
}
