// SPDX-License-Identifier: Apache-2.0

/// Where the values of `${NAME}` and `${file:/path}` come from.
public protocol ValueSource: Sendable {
    /// The value of an environment variable; `nil` if there is none.
    func environmentVariable(_ name: String) -> String?

    /// The text of a file of secrets.
    ///
    /// - Throws: `ValueSourceError` with the reason, which is shown to people.
    func contents(ofFile path: String) throws(ValueSourceError) -> String
}

/// Why a value is not to be had.
public struct ValueSourceError: Error, Sendable, Hashable {
    /// The reason, human-readable; nothing of the file's contents.
    public var reason: String

    /// An error with its reason.
    public init(_ reason: String) {
        self.reason = reason
    }
}
