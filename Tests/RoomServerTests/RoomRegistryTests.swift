// SPDX-License-Identifier: Apache-2.0

import Signalling
import Testing

@testable import RoomServer

@Suite struct RoomRegistryTests {
    private let ann = PeerID("ann")
    private let ben = PeerID("ben")
    private let cid = PeerID("cid")

    private func room(_ name: String) throws -> RoomName { try #require(RoomName(name)) }

    private func registry(capacity: Int = 2, rooms: Int = 8, roomsPerSocket: Int = 4) -> RoomRegistry {
        RoomRegistry(limits: RoomRegistry.Limits(capacity: capacity, rooms: rooms, roomsPerSocket: roomsPerSocket))
    }

    @Test func firstMemberIsAlone() throws {
        var registry = self.registry()
        let room = try self.room("r")
        #expect(registry.join(self.ann, room: room) == [.sendJoined(to: self.ann, room: room, peers: [])])
        #expect(registry.members(of: room) == [self.ann])
    }

    @Test func newcomerIsAnnouncedToTheOthers() throws {
        var registry = self.registry(capacity: 3)
        let room = try self.room("r")
        _ = registry.join(self.ann, room: room)
        _ = registry.join(self.ben, room: room)
        #expect(
            registry.join(self.cid, room: room) == [
                .sendJoined(to: self.cid, room: room, peers: [self.ann, self.ben]),
                .sendOtherJoined(to: [self.ann, self.ben], room: room, newcomer: self.cid),
            ]
        )
    }

    @Test func thirdInARoomOfTwoIsNoMember() throws {
        var registry = self.registry()
        let room = try self.room("r")
        _ = registry.join(self.ann, room: room)
        _ = registry.join(self.ben, room: room)
        #expect(registry.join(self.cid, room: room) == [.sendFull(to: self.cid, room: room)])
        #expect(registry.members(of: room) == [self.ann, self.ben])
        #expect(
            registry.leave(self.cid, room: room) == [.ignore(.leaveByNonMember, sender: self.cid, room: room)]
        )
        #expect(registry.disconnect(self.cid).isEmpty)
    }

    @Test func memberThatJoinsAgainIsAnnouncedAgainAndCountsOnce() throws {
        var registry = self.registry()
        let room = try self.room("r")
        _ = registry.join(self.ann, room: room)
        _ = registry.join(self.ben, room: room)
        #expect(
            registry.join(self.ben, room: room) == [
                .sendJoined(to: self.ben, room: room, peers: [self.ann]),
                .sendOtherJoined(to: [self.ann], room: room, newcomer: self.ben),
            ]
        )
        #expect(registry.memberCount == 2)
    }

    @Test func leaverIsConfirmedAndTheOthersHearBye() throws {
        var registry = self.registry()
        let room = try self.room("r")
        _ = registry.join(self.ann, room: room)
        _ = registry.join(self.ben, room: room)
        #expect(
            registry.leave(self.ann, room: room) == [
                .sendBye(to: [self.ben], room: room, leaver: self.ann), .sendLeaved(to: self.ann, room: room),
            ]
        )
        #expect(registry.leave(self.ben, room: room) == [.sendLeaved(to: self.ben, room: room)])
        #expect(registry.roomCount == 0)
        #expect(registry.join(self.cid, room: room) == [.sendJoined(to: self.cid, room: room, peers: [])])
    }

    @Test func vanishedSocketIsMissedInEachOfItsRooms() throws {
        var registry = self.registry()
        let rooms = [try self.room("a"), try self.room("b"), try self.room("c")]
        for room in rooms { _ = registry.join(self.ann, room: room) }
        for room in rooms.prefix(2) { _ = registry.join(self.ben, room: room) }
        #expect(
            registry.disconnect(self.ann) == [
                .sendBye(to: [self.ben], room: rooms[0], leaver: self.ann),
                .sendBye(to: [self.ben], room: rooms[1], leaver: self.ann),
            ]
        )
        #expect(registry.disconnect(self.ann).isEmpty)
        #expect(registry.roomCount == 2)
    }

    @Test func messageReachesTheOthersOfItsRoomOnly() throws {
        var registry = self.registry(capacity: 3)
        let room = try self.room("r")
        let other = try self.room("other")
        _ = registry.join(self.ann, room: room)
        _ = registry.join(self.ben, room: room)
        _ = registry.join(self.cid, room: other)
        #expect(
            registry.message(from: self.ann, room: room, addressee: nil)
                == [.relay(to: [self.ben], room: room, sender: self.ann)]
        )
        #expect(
            registry.message(from: self.cid, room: room, addressee: nil)
                == [.ignore(.senderNotMember, sender: self.cid, room: room)]
        )
        #expect(
            registry.message(from: self.cid, room: other, addressee: nil)
                == [.ignore(.nobodyToHear, sender: self.cid, room: other)]
        )
    }

    @Test func addressedMessageReachesOneMember() throws {
        var registry = self.registry(capacity: 3)
        let room = try self.room("r")
        for member in [self.ann, self.ben, self.cid] { _ = registry.join(member, room: room) }
        #expect(
            registry.message(from: self.ann, room: room, addressee: self.cid)
                == [.relay(to: [self.cid], room: room, sender: self.ann)]
        )
        for stranger in [self.ann, PeerID("nobody")] {
            #expect(
                registry.message(from: self.ann, room: room, addressee: stranger)
                    == [.ignore(.addresseeNotMember, sender: self.ann, room: room)]
            )
        }
    }

    @Test func roomsAreLimited() throws {
        var registry = self.registry(rooms: 1)
        _ = registry.join(self.ann, room: try self.room("a"))
        let second = try self.room("b")
        #expect(registry.join(self.ben, room: second) == [.sendFull(to: self.ben, room: second)])
        var few = self.registry(roomsPerSocket: 1)
        _ = few.join(self.ann, room: try self.room("a"))
        #expect(few.join(self.ann, room: second) == [.sendFull(to: self.ann, room: second)])
        #expect(few.roomCount == 1)
    }
}

@Suite struct RoomNameTests {
    @Test(arguments: [
        ("standup", true), ("", false), (String(repeating: "ü", count: 128), true),
        (String(repeating: "a", count: 129), false), ("e" + String(repeating: "\u{301}", count: 600), false),
        ("two words 😀", true), ("line\nbreak", false), ("\u{7f}", false), ("a\u{2028}b", false), ("\u{0}", false),
    ])
    func lengthIsLimited(name: String, isTaken: Bool) {
        #expect((RoomName(name) != nil) == isTaken)
    }

    @Test func spellingsOfALetterAreNamesOfTheirOwn() throws {
        let (composed, decomposed) = (try #require(RoomName("caf\u{e9}")), try #require(RoomName("cafe\u{301}")))
        #expect(composed != decomposed && Set([composed, decomposed, composed]).count == 2)
        #expect(composed == RoomName("caf\u{e9}"))
    }
}
