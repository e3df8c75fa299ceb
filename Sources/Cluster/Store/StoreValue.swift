// SPDX-License-Identifier: Apache-2.0

/// A point in the history of the store: one more with each transaction that wrote.
///
/// 0 is before everything: a key with the creation revision 0 does not exist.
public struct Revision: Sendable, Hashable, Comparable {
    /// The number, 0 or above.
    public let number: Int64

    /// The revision with this number.
    public init(_ number: Int64) { self.number = number }

    /// The revision of what does not exist.
    public static let none = Revision(0)

    /// The one after this.
    public var next: Revision { Revision(self.number + 1) }

    /// Whether one is before the other.
    public static func < (left: Self, right: Self) -> Bool { left.number < right.number }
}

/// A lease: values that were put with it are deleted with its end.
public struct LeaseID: Sendable, Hashable {
    /// The number that the store chose; never 0.
    public let number: Int64

    /// The lease with this number.
    public init(_ number: Int64) { self.number = number }
}

/// A key with its value, as the store has it.
///
/// Keys and values are UTF-8. Other bytes, which Tapedeck never writes, become U+FFFD.
public struct StoredValue: Sendable, Hashable {
    /// The key.
    public let key: String
    /// Its value.
    public let value: String
    /// The revision in which the key came into being; another one after a deletion.
    public let created: Revision
    /// The revision in which it was last written.
    public let modified: Revision
    /// The lease that it ends with.
    public let lease: LeaseID?

    /// A value with each part given.
    public init(key: String, value: String, created: Revision, modified: Revision, lease: LeaseID? = nil) {
        (self.key, self.value, self.created, self.modified, self.lease) = (key, value, created, modified, lease)
    }
}
