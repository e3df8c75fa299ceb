// SPDX-License-Identifier: Apache-2.0

import GRDB

/// Why the catalogue cannot answer or take something.
public struct CatalogueError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of failure.
    public enum Code: String, Sendable, Hashable, CaseIterable {
        /// There is no such recording, export or delivery.
        case notFound
        /// A cursor, an id or a limit is not one that the catalogue gave or takes.
        case invalid
        /// The file cannot be opened, read or written: disk full, damaged, locked for too long.
        case storage
        /// The file may not be written where it is, until an operator changes that: no permission, a read-only file
        /// system, or no directory.
        case denied
    }

    /// The party at fault.
    public enum Blame: String, Sendable, Hashable {
        /// The request is at fault.
        case request
        /// The disk's, its size, or its permissions.
        case destination
    }

    /// The kind of failure.
    public var code: Code
    /// One sentence for a person.
    public var message: String

    /// An error with both parts given.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// From SQLite's message; never the values of a statement.
    init(_ error: DatabaseError) {
        self.init(
            [.SQLITE_PERM, .SQLITE_READONLY].contains(error.resultCode) ? .denied : .storage,
            "the catalogue failed: \(error.message ?? "no message") (SQLite \(error.extendedResultCode.rawValue))"
        )
    }

    /// The party at fault.
    public var blame: Blame {
        switch self.code {
        case .notFound, .invalid: .request
        case .storage, .denied: .destination
        }
    }

    /// Whether the same attempt may succeed later.
    public var isRetriable: Bool { self.code == .storage }

    /// The message.
    public var description: String { self.message }
}
