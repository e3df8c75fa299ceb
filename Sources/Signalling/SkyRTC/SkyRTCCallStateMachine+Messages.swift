// SPDX-License-Identifier: Apache-2.0

internal import Basics

/// Messages from other members to us, and from us to them.
extension SkyRTCCallStateMachine {
    /// How we refuse a call while we are in another: an ordinal of the phones' list of reasons, "busy".
    static let refuseBusy = "0"

    mutating func received(_ message: WebSocketMessage) -> [SignallingAction] {
        let read: SkyRTCMessage
        do {
            read = try SkyRTCMessage(message)
        } catch {
            return [.ignored("A message that is no SkyRTC event was ignored", "\(error)")]
        }
        switch read.event {
        case .peers: return self.entered(read)
        case .invite: return self.invited(read)
        case .newPeer: return self.arrived(read)
        case .leave, .disconnect, .removePeer: return self.departed(read)
        case .cancel: return self.cancelled(read)
        case .offer, .answer, .iceCandidate: return self.relayed(read)
        // Nothing follows from them: we need no login's answer, call no one, and take whatever media come.
        case .loginSuccess, .ring, .reject, .audio, .ack: return []
        case .join, .create: return [.ignored("An event that is none for members was ignored", read.event.rawValue)]
        }
    }

    /// A user calls: it rings, and we accept, unless we are in another call.
    private mutating func invited(_ message: SkyRTCMessage) -> [SignallingAction] {
        guard let name = message.data["room"]?.string, !name.isEmpty,
            name.utf8.count <= RoomURL.SkyRTC.maximumNameBytes, let caller = message.peer("inviteID", "fromID"),
            caller.rawValue != self.userID
        else { return [.ignored("An invitation without room or caller was ignored", "")] }
        let parties: [String: JSONValue] = [
            "room": .string(name), "fromID": .string(self.userID), "toID": .string(caller.rawValue),
        ]
        let before: [SignallingAction]
        switch self.state {
        case .waiting, .lookingUp, .fullWait:
            before = []
        case .member(let room) where room.name == name: return []
        case .member(let room) where self.members.isEmpty:
            before = self.leaveRoom(room)
        case .member, .joining, .creating:
            return [self.send(.reject, parties.merging(["refuseType": .string(Self.refuseBusy)]) { $1 })]
        case .idle, .connecting, .left: return []
        }
        return before + [self.send(.ring, parties)] + self.join(Room(name: name, isCall: true))
    }

    private mutating func arrived(_ message: SkyRTCMessage) -> [SignallingAction] {
        guard case .member = self.state, let peer = message.peer("userID", "fromID", "socketId"),
            peer.rawValue != self.userID
        else { return [.ignored("A newcomer outside of the room was ignored", "")] }
        // Known already: it came back without leaving, as servers do not report lost connections.
        guard self.members.add(peer) else { return [.ignored("A member beyond the limit was ignored", peer.rawValue)] }
        return [.event(.peerArrived(peer))]
    }

    private mutating func departed(_ message: SkyRTCMessage) -> [SignallingAction] {
        guard case .member(let room) = self.state, let peer = message.peer("fromID", "userID"),
            self.isRoomRight(message, room), self.members.remove(peer)
        else { return [.ignored("The end of an unknown member was ignored", message.peer("fromID")?.rawValue ?? "")] }
        return [.event(.peerLeft(peer))] + self.emptied(room, isGone: message.event == .leave && room.size == 2)
    }

    private mutating func cancelled(_ message: SkyRTCMessage) -> [SignallingAction] {
        switch self.state {
        case .joining(let room) where room.isCall && self.isRoomRight(message, room):
            return self.enter()
        case .member(let room) where room.isCall && self.isRoomRight(message, room):
            return self.members.removeAll().map { .event(.peerLeft($0)) } + self.emptied(room, isGone: true)
        case .idle, .connecting, .creating, .lookingUp, .joining, .fullWait, .waiting, .member, .left:
            return [.ignored("The end of an unknown call was ignored", "")]
        }
    }

    /// Leaves a call that all others left, and creates again a room of two that ended with its other member.
    private mutating func emptied(_ room: Room, isGone: Bool) -> [SignallingAction] {
        guard self.members.isEmpty, room.isCall || isGone else { return [] }
        var room = room
        room.isGone = isGone
        return self.leaveRoom(room) + self.enter()
    }

    private func isRoomRight(_ message: SkyRTCMessage, _ room: Room) -> Bool {
        message.data["room"]?.string.map { $0 == room.name } ?? true
    }

    private mutating func relayed(_ message: SkyRTCMessage) -> [SignallingAction] {
        guard case .member = self.state else {
            return [.ignored("A message outside of the room was ignored", message.event.rawValue)]
        }
        let sole = self.members.known.count == 1 ? self.members.known.first : nil
        guard let sender = message.peer("fromID", "socketId") ?? sole else {
            return [.ignored("A message without a sender was ignored", message.event.rawValue)]
        }
        if sender.rawValue == self.userID { return [] }
        let content: PeerMessage?
        do {
            content = try message.content()
        } catch {
            return [.ignored("A message that is no offer, answer or candidate was ignored", "\(error)")]
        }
        guard let content, self.members.add(sender) else {
            return [.ignored("A member beyond the limit was ignored", sender.rawValue)]
        }
        return RoomEvent.said(content, name: message.senderName, by: sender).map { .event($0) }
    }

    // MARK: - Commands

    mutating func command(_ command: RoomCommand) -> [SignallingAction] {
        switch command {
        case .offer(let peer, let sdp): return self.send(.offer(sdp: sdp), to: peer)
        case .answer(let peer, let sdp): return self.send(.answer(sdp: sdp), to: peer)
        case .candidate(let peer, let candidate): return self.send(.candidate(candidate), to: peer)
        case .resetCall(let peer): return self.resetCall(peer)
        // A second recorder takes a separate slot, as people do.
        case .yield: return []
        case .leave: return self.leave()
        }
    }

    private func send(_ content: PeerMessage, to peer: PeerID) -> [SignallingAction] {
        guard case .member = self.state, self.members.contains(peer) else {
            let dropped = SignallingAction.ignored("A command for a peer that is not there was dropped", peer.rawValue)
            guard case .offer = content, case .member = self.state else { return [dropped] }
            return [dropped, .event(.peerLeft(peer))]
        }
        guard let message = SkyRTCMessage(content, to: peer, fromUser: self.userID) else { return [] }
        return [.sendWebSocket(message.introducing(self.displayName, isRecorder: self.isRecorder).text(prefix: "__"))]
    }

    /// Leaves and comes back to make the members present offer again; a call ends, and the caller calls again.
    ///
    /// The session asks for it only if no other call is there.
    private mutating func resetCall(_ peer: PeerID) -> [SignallingAction] {
        guard case .member(let room) = self.state, self.members.contains(peer) else {
            return [.ignored("A call reset outside of the room was dropped", peer.rawValue)]
        }
        return self.leaveRoom(room) + self.enter()
    }
}
