// SPDX-License-Identifier: Apache-2.0

/// Why the daemon cannot do what was asked; becomes a problem document (RFC 9457).
public struct ControlError: Error, Sendable, Hashable {
    /// The kind of failure.
    public enum Code: String, Sendable, Hashable, CaseIterable {
        /// There is no such room, recording, export or file.
        case notFound = "not-found"
        /// The state of the thing does not allow it.
        case conflict
        /// The request is wrong; `problems` says where.
        case invalid
        /// It cannot be done now: a worker is starting, the daemon is stopping.
        case unavailable
        /// It failed on our side.
        case failed
    }

    /// The kind of failure.
    public var code: Code
    /// One human-readable sentence.
    public var message: String
    /// Every single problem of what was sent.
    public var problems: [String]

    /// An error with each part given.
    public init(_ code: Code, _ message: String, problems: [String] = []) {
        self.code = code
        self.message = message
        self.problems = problems
    }
}
