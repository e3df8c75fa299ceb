// SPDX-License-Identifier: Apache-2.0

/// Why the HTTP interface cannot start.
public struct ControlServerError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of failure.
    public enum Code: String, Sendable, Hashable, CaseIterable {
        /// The address is not loopback, and no token is configured.
        case tokenRequired = "token-required"
        /// The certificate or the key cannot be used.
        case identity
        /// The address cannot be listened on.
        case listen
        /// Another program listens on the address, or this host does not have it yet: that may pass.
        case addressNotFree = "address-not-free"
    }

    /// The kind of failure.
    public var code: Code
    /// One sentence for people.
    public var message: String

    /// The sentence for people.
    public var description: String { self.message }

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}
