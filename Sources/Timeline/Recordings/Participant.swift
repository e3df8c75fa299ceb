// SPDX-License-Identifier: Apache-2.0

/// A participant of a recorded call.
public struct Participant: Sendable, Hashable, Codable {
    /// The room server's name for the peer.
    public var id: String
    /// The name that people know, if it is known.
    public var name: String?

    /// A participant with each part given.
    public init(id: String, name: String? = nil) {
        self.id = id
        self.name = name
    }
}
