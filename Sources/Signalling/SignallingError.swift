// SPDX-License-Identifier: Apache-2.0

/// Why a room could not be joined or kept.
public struct SignallingError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of failure; commands map them to exit codes.
    public enum Code: String, Sendable, Hashable, CaseIterable {
        /// The room URL does not make sense.
        case invalidURL
        /// No connection: name, address, refused, network.
        case unreachable
        /// The TLS handshake or the server's certificate failed.
        case tlsFailed
        /// The server or the room did not answer in time.
        case timedOut
        /// The room has as many members as it takes.
        case full
        /// The server answered, and the answer was no.
        case refused
        /// The server kicked us from the room.
        case removed
        /// The server spoke something that is not the protocol.
        case protocolViolation
        /// A bounded queue ran over.
        case overloaded
    }

    /// The party at fault: decides the reader of the message and whether a retry helps.
    public enum Blame: String, Sendable, Hashable {
        /// Ours.
        case ours
        /// The server's or a peer's.
        case peer
        /// The network between.
        case network
        /// The operator's settings.
        case configuration
    }

    /// The kind of failure.
    public var code: Code
    /// One sentence for a person: what, where, and what would be right.
    public var message: String
    /// The party at fault.
    public var blame: Blame

    /// An error with each part given.
    public init(_ code: Code, _ message: String, blame: Blame) {
        self.code = code
        self.message = message
        self.blame = blame
    }

    /// Whether the same attempt may succeed later.
    public var isRetriable: Bool {
        switch self.code {
        case .invalidURL, .tlsFailed, .refused, .removed, .protocolViolation: false
        case .unreachable, .timedOut, .full, .overloaded: true
        }
    }

    /// The message.
    public var description: String { self.message }
}
