// SPDX-License-Identifier: Apache-2.0

/// Why the HTTP interface cannot start.
public struct ControlServerError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of failure.
    public enum Code: String, Sendable, Hashable, CaseIterable {
        /// The address is not loopback, and no token is configured.
        case tokenRequired = "token-required"
        /// The certificate or the key cannot be used.
        case identity
        /// The address may not be listened on, or is none that can be.
        case listen
        /// Another program listens on the address, or this host does not have it yet: that may pass.
        case addressNotFree = "address-not-free"
        /// This host has too little left to listen, descriptors for one: that may pass.
        case exhausted
    }

    /// The kind of failure.
    public var code: Code
    /// One human-readable sentence.
    public var message: String

    /// The human-readable sentence.
    public var description: String { self.message }

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}
