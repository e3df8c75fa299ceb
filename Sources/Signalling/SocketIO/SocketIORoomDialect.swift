// SPDX-License-Identifier: Apache-2.0

internal import Basics

/// The names that one room server uses for the events and fields that a client sends.
///
/// Events of the server are recognised by `SocketIORoomEventName` in any spelling.
public struct SocketIORoomDialect: Sendable, Hashable {
    /// The form of the argument of `join` and `leave`.
    public enum RoomArgument: String, Sendable, Hashable, CaseIterable {
        /// The room's name.
        case text
        /// An object with the member `room`.
        case object
    }

    /// The event that asks for membership.
    public var joinEvent: String
    /// The event that gives it up.
    public var leaveEvent: String
    /// The relayed event, both ways.
    public var messageEvent: String
    /// The form of the argument of `join` and `leave`.
    public var roomArgument: RoomArgument

    /// The dialect of the stock server, or one with other names.
    public init(
        joinEvent: String = "join",
        leaveEvent: String = "leave",
        messageEvent: String = "message",
        roomArgument: RoomArgument = .text
    ) {
        self.joinEvent = joinEvent
        self.leaveEvent = leaveEvent
        self.messageEvent = messageEvent
        self.roomArgument = roomArgument
    }

    /// Reads the room URL's `dialect`: `stock`, or pairs such as `join:enter,message:signal,room:object`.
    ///
    /// Keys are `join`, `leave`, `message` (each with an event's name) and `room` (`text` or `object`). Nil if the text
    /// says anything else.
    public init?(text: String) {
        self.init()
        guard text != "stock" else { return }
        for pair in text.split(separator: ",", omittingEmptySubsequences: false) {
            let parts = pair.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, !parts[1].isEmpty, parts[1].utf8.count <= 64 else { return nil }
            let value = String(parts[1])
            switch parts[0] {
            case "join": self.joinEvent = value
            case "leave": self.leaveEvent = value
            case "message": self.messageEvent = value
            case "room":
                guard let argument = RoomArgument(rawValue: value) else { return nil }
                self.roomArgument = argument
            default: return nil
            }
        }
    }

    /// The argument of `join` and `leave`.
    func argument(room: String) -> JSONValue {
        switch self.roomArgument {
        case .text: .string(room)
        case .object: .object(["room": .string(room)])
        }
    }
}
