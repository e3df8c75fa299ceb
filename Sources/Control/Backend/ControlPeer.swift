// SPDX-License-Identifier: Apache-2.0

/// What one host of a cluster has.
public enum ControlSubject: Sendable, Hashable {
    /// A room, by its name.
    case room(String)
    /// A recording, by its id.
    case recording(String)
}

/// Another host of the cluster, which answers what this one is asked.
public protocol ControlPeer: Sendable {
    /// Sends a request and takes its answer, whatever its status; throws `unavailable` without one.
    func send(_ request: ForwardedRequest) async throws(ControlError) -> ForwardedAnswer
}

/// A request to another host, without credentials.
public struct ForwardedRequest: Sendable, Hashable {
    /// The method.
    public var method: String
    /// Path and query, as the client wrote them.
    public var target: String
    /// Header fields by name.
    public var headers: [String: String]
    /// The body; nil without one.
    public var body: [UInt8]?
}

/// The answer of another host.
public struct ForwardedAnswer: Sendable, Hashable {
    /// 200 to 599.
    public var status: Int
    /// Header fields by name in lower case.
    public var headers: [String: String]
    /// The body.
    public var body: [UInt8]

    /// An answer with each part given.
    public init(status: Int, headers: [String: String], body: [UInt8]) {
        (self.status, self.headers, self.body) = (status, headers, body)
    }
}
