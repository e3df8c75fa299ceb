// SPDX-License-Identifier: Apache-2.0

/// Why a room server could not start.
public struct RoomServerError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of failure.
    public enum Code: String, Sendable, Hashable, CaseIterable {
        /// A setting is out of range.
        case invalidConfiguration
        /// Another process listens there.
        case addressInUse
        /// The system does not let us listen there.
        case notPermitted
        /// The host is not an address or name of this machine.
        case addressNotAvailable
        /// Listening failed in another way.
        case listenFailed
    }

    /// The kind of failure.
    public var code: Code
    /// One sentence for a person: what, where, and what would be right.
    public var message: String

    /// An error with each part given.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// Whether the same attempt may succeed later.
    public var isRetriable: Bool { self.code == .addressInUse }

    /// The message.
    public var description: String { self.message }
}
