// SPDX-License-Identifier: Apache-2.0

/// The name that a room server gives to one member of a room.
///
/// It is chosen by the server or the peer, so it is untrusted text: it reaches a path only through the sanitiser
/// in `Storage`.
public struct PeerID: Hashable, Sendable, Codable, CustomStringConvertible {
    /// The name exactly as the server spelt it.
    public let rawValue: String

    /// Wraps a server's name for a member.
    public init(_ rawValue: String) {
        self.rawValue = rawValue
    }

    /// The only other member of a two-party room whose server does not say who sent a message.
    public static let unidentified = PeerID("peer")

    /// The name as the server spelt it.
    public var description: String { self.rawValue }

    /// Decodes a bare string.
    public init(from decoder: any Decoder) throws {
        self.rawValue = try decoder.singleValueContainer().decode(String.self)
    }

    /// Encodes a bare string.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(self.rawValue)
    }
}
