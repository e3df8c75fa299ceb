// SPDX-License-Identifier: Apache-2.0

/// What a member of an etcd says of itself.
public struct EtcdStatus: Sendable, Hashable {
    /// The version of its program, for example `3.4.23`.
    public var version: String
    /// Its id, decimal digits.
    public var member: String
    /// The id of the leader that it knows; nil: there is none.
    public var leader: String?
    /// The store's revision as far as this member has it.
    public var revision: Int64
    /// The size of its database, in bytes; etcd takes no writes beyond `--quota-backend-bytes`, 2 GiB by default.
    public var databaseBytes: Int64
    /// What it complains of, in its own words.
    public var problems: [String]
}
