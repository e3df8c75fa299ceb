// SPDX-License-Identifier: Apache-2.0

import Basics
import Signalling

/// A client's event, checked.
enum RoomRequest: Hashable, Sendable {
    /// Asks to become a member.
    case join(RoomName)
    /// Ends membership.
    case leave(RoomName)
    /// Sends data to the room, or to the member that the data name in `to`.
    case message(RoomName, data: JSONValue, addressee: PeerID?)

    /// Why an event is not taken.
    enum Fault: String, Error, Hashable, Sendable, CaseIterable {
        /// The event is none of `join`, `leave` and `message`.
        case unknownEvent
        /// The room is missing, empty, too long, or neither a string nor a whole number.
        case invalidRoomName
        /// A message without data.
        case missingData
    }

    /// Reads an event.
    ///
    /// Arguments that are too many are ignored.
    ///
    /// A room is a string, a whole number (taken as its decimal text) or, as some clients send it, an object with such a
    /// `room`.
    init(event name: String, arguments: [JSONValue]) throws(Fault) {
        switch name {
        case "join": self = .join(try Self.room(arguments.first))
        case "leave": self = .leave(try Self.room(arguments.first))
        case "message":
            let room = try Self.room(arguments.first)
            guard arguments.count > 1 else { throw .missingData }
            let data = arguments[1]
            self = .message(room, data: data, addressee: data["to"]?.string.map { PeerID($0) })
        default: throw .unknownEvent
        }
    }

    private static func room(_ argument: JSONValue?) throws(Fault) -> RoomName {
        let value = argument?["room"] ?? argument
        guard let text = value?.string ?? value?.integer.map({ String($0) }), let room = RoomName(text) else {
            throw .invalidRoomName
        }
        return room
    }
}
