// SPDX-License-Identifier: Apache-2.0

/// The operations of a store with one answer; the sixth, the watch, has many: `StoreWatchUpdate`.
public enum StoreRequest: Sendable, Hashable {
    /// All keys that begin with this, at one revision. Answer: `listed`.
    case list(prefix: String)
    /// Answer: `transacted`.
    case transact(StoreTransaction)
    /// A new lease that ends this long, in whole seconds, after its last renewal. Answer: `granted`.
    case grant(duration: Duration)
    /// Renew a lease. Answer: `renewed`.
    case keepAlive(LeaseID)
    /// End a lease and delete what was put with it; one that ended is no error. Answer: `revoked`.
    case revoke(LeaseID)
}

/// The answer to a `StoreRequest`.
public enum StoreAnswer: Sendable, Hashable {
    /// All values, sorted by key, and the revision at which they were read.
    case listed([StoredValue], Revision)
    /// The outcome of a transaction, whether its conditions held or not.
    case transacted(StoreTransactionResult)
    /// The new lease and how long it lives without renewal, which may be longer than requested.
    case granted(LeaseID, duration: Duration)
    /// How long the lease lives from now; nil: it is gone.
    case renewed(Duration?)
    /// The lease is gone.
    case revoked
}

/// Why a request has no answer.
public enum StoreError: Error, Sendable, Hashable {
    /// No answer in time, or no connection: the store may have carried out the request or not.
    case unreachable(String)
    /// The store takes no writes, because it is full (etcd: NOSPACE). Renewals still work.
    case full(String)
    /// The lease of a put does not exist.
    case leaseNotFound
    /// The store refuses and would again: credentials, rights, sizes.
    case refused(String)
}

/// News of a watch, in the order of revisions.
///
/// The client resumes a watch whose connection ended from the next revision; one that it cannot resume is
/// `compacted`.
public enum StoreWatchUpdate: Sendable, Hashable {
    /// Everything that changed in one revision, or in some.
    case events([StoreEvent], Revision)
    /// Events are missing that the store no longer has: list again. The watch has ended.
    case compacted
}

/// A change of one key.
public enum StoreEvent: Sendable, Hashable {
    /// It was written.
    case put(StoredValue)
    /// It was deleted in this revision, by a transaction or with its lease.
    case delete(key: String, Revision)

    /// The key.
    public var key: String {
        switch self {
        case .put(let value): value.key
        case .delete(let key, _): key
        }
    }

    /// When it changed.
    public var revision: Revision {
        switch self {
        case .put(let value): value.modified
        case .delete(_, let revision): revision
        }
    }
}
