// SPDX-License-Identifier: Apache-2.0

/// The meaning of a room server's event, whatever its name in a copy of the server.
public enum SocketIORoomEventName: String, Sendable, Hashable, CaseIterable {
    /// We are a member.
    case joined
    /// A member joined after us.
    case otherJoined = "otherjoin"
    /// The room takes no more.
    case full
    /// Our leave is done; from some servers: another member left.
    case left = "leaved"
    /// A member left.
    case bye
    /// A socket died.
    case userDisconnected = "userdisconnect"
    /// A relayed offer, answer or candidate.
    case message

    /// Reads an event's name: case and underscores do not matter, and the spellings of known servers are equal.
    /// - Parameter messageName: the server's name for relayed messages, `message` for stock servers.
    public init?(_ name: String, messageName: String = "message") {
        if name == messageName {
            self = .message
            return
        }
        switch name.filter({ $0 != "_" }).lowercased() {
        case "joined": self = .joined
        case "otherjoin", "otherjoined": self = .otherJoined
        case "full": self = .full
        case "leaved", "left", "leave": self = .left
        case "bye", "bay": self = .bye
        case "userdisconnect", "userdisconnected": self = .userDisconnected
        default: return nil
        }
    }
}
