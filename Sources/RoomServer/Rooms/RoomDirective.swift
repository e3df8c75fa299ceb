// SPDX-License-Identifier: Apache-2.0

import Signalling

/// A reaction of the server to one event in the rooms; each names its receivers.
enum RoomDirective: Hashable, Sendable {
    /// Notify the sender that it is a member, and who was there before it (oldest first).
    case sendJoined(to: PeerID, room: RoomName, peers: [PeerID])
    /// Notify the others that a newcomer joined: each of them offers to it.
    case sendOtherJoined(to: [PeerID], room: RoomName, newcomer: PeerID)
    /// Notify the sender that the room takes no more members.
    case sendFull(to: PeerID, room: RoomName)
    /// Notify the sender that it is no longer a member.
    case sendLeaved(to: PeerID, room: RoomName)
    /// Notify the others that a member left or vanished.
    case sendBye(to: [PeerID], room: RoomName, leaver: PeerID)
    /// Pass the sender's data on.
    case relay(to: [PeerID], room: RoomName, sender: PeerID)
    /// Count and log, and do nothing else.
    case ignore(Ignored, sender: PeerID, room: RoomName)

    /// Why an event has no effect.
    enum Ignored: String, Hashable, Sendable, CaseIterable {
        /// A message from a socket that is not in the room.
        case senderNotMember
        /// `leave` from a socket that is not in the room. The stock server sends the others `bye` all the same and
        /// thereby ends another member's call.
        case leaveByNonMember
        /// `to` names no one in the room, or the sender itself: usually a member that has just left.
        case addresseeNotMember
        /// The sender is alone in the room.
        case nobodyToHear
    }
}
