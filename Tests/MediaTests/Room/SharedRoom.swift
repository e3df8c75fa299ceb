// SPDX-License-Identifier: Apache-2.0

import Signalling
import Synchronization

/// A room of any number of members that lives in this process.
///
/// The members already present offer to the newcomer. Members that are no `SharedRoomMember` exist as senders of
/// `inject` only; messages to them are kept.
final class SharedRoom: Sendable {
    private let state = Mutex(State())

    private struct State {
        var members: [PeerID: SharedRoomMember] = [:]
        var undelivered: [(from: PeerID, command: RoomCommand)] = []
    }

    func enter(_ member: SharedRoomMember) {
        let others = self.state.withLock { state in
            defer { state.members[member.name] = member }
            return Array(state.members.values)
        }
        member.receive(.joined(ownID: member.name))
        for other in others { other.receive(.peerArrived(member.name)) }
    }

    /// Makes a member receive an event that no one sent.
    func inject(_ event: RoomEvent, into name: PeerID) {
        self.state.withLock { $0.members[name] }?.receive(event)
    }

    /// Commands to peers that do not exist.
    var undelivered: [(from: PeerID, command: RoomCommand)] { self.state.withLock { $0.undelivered } }

    fileprivate func deliver(_ event: RoomEvent, to name: PeerID, from sender: PeerID, as command: RoomCommand) {
        let member = self.state.withLock { state in
            if state.members[name] == nil { state.undelivered.append((sender, command)) }
            return state.members[name]
        }
        member?.receive(event)
    }

    fileprivate func leave(_ name: PeerID, unnoticed: Bool) {
        let others = self.state.withLock { state in
            state.members[name] = nil
            return Array(state.members.values)
        }
        guard !unnoticed else { return }
        for other in others { other.receive(.peerLeft(name)) }
    }
}

/// One member of a `SharedRoom`.
final class SharedRoomMember: Signaller {
    let events: AsyncStream<RoomEvent>
    let name: PeerID
    private let room: SharedRoom
    private let vanishes: Bool
    private let feed: AsyncStream<RoomEvent>.Continuation
    private let left: AsyncStream<Void>
    private let leave: AsyncStream<Void>.Continuation

    /// With `vanishes`, the others are not notified when it leaves.
    init(_ name: String, in room: SharedRoom, vanishes: Bool = false) {
        self.name = PeerID(name)
        self.room = room
        self.vanishes = vanishes
        (self.events, self.feed) = AsyncStream.makeStream()
        (self.left, self.leave) = AsyncStream.makeStream()
    }

    func receive(_ event: RoomEvent) {
        self.feed.yield(event)
    }

    func run() async throws {
        for await _ in self.left { break }
        self.feed.finish()
    }

    func send(_ command: RoomCommand) {
        switch command {
        case .offer(let peer, let sdp):
            self.room.deliver(.offerReceived(from: self.name, sdp: sdp), to: peer, from: self.name, as: command)
        case .answer(let peer, let sdp):
            self.room.deliver(.answerReceived(from: self.name, sdp: sdp), to: peer, from: self.name, as: command)
        case .candidate(let peer, let candidate):
            self.room.deliver(.candidateReceived(from: self.name, candidate), to: peer, from: self.name, as: command)
        case .resetCall, .yield:
            break
        case .leave:
            self.room.leave(self.name, unnoticed: self.vanishes)
            self.feed.yield(.left)
            self.leave.finish()
        }
    }
}
