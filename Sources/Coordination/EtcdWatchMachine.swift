// SPDX-License-Identifier: Apache-2.0

import Cluster

/// What a watch tells, where it goes on after a break, and when it gives up.
///
/// A watch is a series of attempts. Each begins at `next` and takes items until one of them, or its transport, ends it; `ended`
/// then says what follows. There is no end but `list` and `refuse`, which no attempt may follow.
struct EtcdWatchMachine: Sendable {
    /// What to do with an item.
    enum Step: Sendable, Hashable {
        case tell([StoreEvent], Revision)
        case nothing
        case end(End)
    }

    /// How an attempt ended.
    enum End: Sendable, Hashable {
        /// Its member is left, its reader was slow, or etcd was silent.
        case interrupted
        /// What is missing cannot be had.
        case compacted
        /// The member does not have the revision that was asked for.
        case behind
        /// No connection, no answer, or an error.
        case failed(EtcdFailure)
        /// etcd does not let us watch: its words.
        case cancelled(String)
    }

    /// What follows an attempt.
    enum Next: Sendable, Hashable {
        /// Another one after a wait.
        case again(after: Duration, leavesMember: Bool = false, renewsToken: Bool = false)
        /// The reader has to list everything again.
        case list
        /// Nothing; why.
        case refuse(EtcdFailure)
    }

    /// Attempts that fail one after the other wait this long, doubled each time up to the longest.
    static let (firstWait, longestWait) = (Duration.milliseconds(100), Duration.seconds(2))
    /// How long, and how often, a member may take to have the revision of the beginning.
    static let (catchUpWait, catchUps) = (Duration.milliseconds(250), 20)

    /// The first revision that was not told.
    private(set) var next: Revision
    private let hasUser: Bool
    private var failures = 0
    private var behind = 0
    private var hasRenewed = false

    /// - Parameter hasUser: whether there are tokens, and so a reason to try another one.
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
            // Told before: by a member that sends more than it was asked for.
            guard last >= self.next else { return .nothing }
            self.next = last.next
            return .tell(events, last)
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
            // Another store, or one that was restored.
            return self.behind < Self.catchUps ? .again(after: Self.catchUpWait) : .list
        case .failed(let failure) where failure.isOfMember:
            self.failures += 1
            let wait = Self.firstWait * (1 << min(self.failures - 1, 16))
            return .again(after: min(wait, Self.longestWait), leavesMember: true)
        case .failed(let failure): return self.renewOrRefuse(failure, helps: failure.isOfToken)
        case .cancelled(let words):
            // It says why in words only.
            return self.renewOrRefuse(.answered(code: EtcdFailure.Code.unauthenticated, words), helps: true)
        }
    }

    private mutating func renewOrRefuse(_ failure: EtcdFailure, helps: Bool) -> Next {
        guard helps, self.hasUser, !self.hasRenewed else { return .refuse(failure) }
        self.hasRenewed = true
        return .again(after: .zero, renewsToken: true)
    }
}
