// SPDX-License-Identifier: Apache-2.0

/// The status of a member of an etcd.
public struct EtcdStatus: Sendable, Hashable {
    /// The version of its program, for example `3.4.23`.
    public var version: String
    /// Its id, decimal digits.
    public var member: String
    /// The id of the leader; nil: the member knows none.
    public var leader: String?
    /// The store's revision that this member has.
    public var revision: Int64
    /// The size of its database, in bytes.
    ///
    /// Above `--quota-backend-bytes`, 2 GiB by default, etcd takes no writes.
    public var databaseBytes: Int64
    /// Its alarms and errors, in etcd's words.
    public var problems: [String]
}
