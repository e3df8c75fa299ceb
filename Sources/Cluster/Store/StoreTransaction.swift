// SPDX-License-Identifier: Apache-2.0

/// Writes that happen together, if all conditions hold, or instead of them the other operations.
///
/// No key occurs in two writes of one list, which stores refuse.
public struct StoreTransaction: Sendable, Hashable {
    /// A condition: a revision of a key is this one.
    public enum Condition: Sendable, Hashable {
        /// The key came into being in this revision; `Revision.none`: it does not exist.
        case created(key: String, Revision)
        /// The key was last written in this revision; `Revision.none`: it does not exist.
        case modified(key: String, Revision)

        /// The key.
        public var key: String {
            switch self {
            case .created(let key, _), .modified(let key, _): key
            }
        }
    }

    /// One thing to do.
    public enum Operation: Sendable, Hashable {
        /// Write a value. Without a lease it stays for good.
        case put(key: String, value: String, lease: LeaseID? = nil)
        /// Delete a key; one that does not exist is no error.
        case delete(key: String)
        /// Read a key.
        case get(key: String)
    }

    /// How many operations one list may have: the limit of etcd, `--max-txn-ops`.
    public static let maximumOperations = 128

    /// Everything that must hold; an empty list always holds.
    public let conditions: [Condition]
    /// Done if it does.
    public let success: [Operation]
    /// Done if it does not.
    public let failure: [Operation]

    /// A transaction with each part given.
    public init(if conditions: [Condition], then success: [Operation], else failure: [Operation] = []) {
        (self.conditions, self.success, self.failure) = (conditions, success, failure)
    }
}

/// The store's answer to a transaction.
public struct StoreTransactionResult: Sendable, Hashable {
    /// Whether all conditions held.
    public let hasSucceeded: Bool
    /// The store's revision after it.
    public let revision: Revision
    /// The values that `get` read, in the order of the operations: one element each, nil for a key that does not exist.
    public let values: [StoredValue?]

    /// A result with each part given.
    public init(hasSucceeded: Bool, revision: Revision, values: [StoredValue?] = []) {
        (self.hasSucceeded, self.revision, self.values) = (hasSucceeded, revision, values)
    }
}
