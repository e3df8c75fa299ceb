// SPDX-License-Identifier: Apache-2.0

import Basics
import Signalling
import Testing

@testable import RoomServer

@Suite struct RoomRequestTests {
    @Test func everyEventIsRead() throws {
        let room = try #require(RoomName("7"))
        let offer = JSONValue.object(["type": "offer"])
        let addressed = JSONValue.object(["to": "ben"])
        #expect(try RoomRequest(event: "join", arguments: ["7"]) == .join(room))
        #expect(try RoomRequest(event: "join", arguments: [.integer(7)]) == .join(room))
        #expect(try RoomRequest(event: "join", arguments: [.object(["room": "7"]), .null]) == .join(room))
        #expect(try RoomRequest(event: "leave", arguments: ["7"]) == .leave(room))
        #expect(
            try RoomRequest(event: "message", arguments: ["7", offer, "more"])
                == .message(room, data: offer, addressee: nil)
        )
        #expect(
            try RoomRequest(event: "message", arguments: ["7", addressed])
                == .message(room, data: addressed, addressee: PeerID("ben"))
        )
        #expect(
            try RoomRequest(event: "message", arguments: ["7", .object(["to": .integer(1)])])
                == .message(room, data: .object(["to": .integer(1)]), addressee: nil)
        )
    }

    @Test(
        arguments: [
            ("shout", ["7"], RoomRequest.Fault.unknownEvent),
            ("join", [], .invalidRoomName),
            ("join", [""], .invalidRoomName),
            ("join", [.number(1.5)], .invalidRoomName),
            ("leave", [.array(["7"])], .invalidRoomName),
            ("join", [.object(["room": .null])], .invalidRoomName),
            ("join", [.string(String(repeating: "x", count: 129))], .invalidRoomName),
            ("message", ["7"], .missingData),
            ("message", [.null, .object([:])], .invalidRoomName),
        ] as [(String, [JSONValue], RoomRequest.Fault)]
    )
    func faultsAreNamed(event: String, arguments: [JSONValue], fault: RoomRequest.Fault) {
        #expect(throws: fault) { try RoomRequest(event: event, arguments: arguments) }
    }
}

@Suite struct RoomDirectiveEventTests {
    @Test func eventsAreSpeltAsTheSeedsReadThem() throws {
        let room = try #require(RoomName("r"))
        let ann = PeerID("ann")
        let ben = PeerID("ben")
        let table: [(RoomDirective, JSONValue?, [PeerID], String)] = [
            (
                .sendJoined(to: ben, room: room, peers: [ann]), nil, [ben],
                #"2["joined","r","ben",{"capacity":3,"mesh":true,"peers":["ann"]}]"#
            ),
            (.sendOtherJoined(to: [ann], room: room, newcomer: ben), nil, [ann], #"2["otherjoin","r","ben"]"#),
            (.sendFull(to: ben, room: room), nil, [ben], #"2["full","r","ben",{"capacity":3}]"#),
            (.sendLeaved(to: ben, room: room), nil, [ben], #"2["leaved","r","ben"]"#),
            (.sendBye(to: [ann], room: room, leaver: ben), nil, [ann], #"2["bye","r","ben"]"#),
            (
                .relay(to: [ann], room: room, sender: ben), .object(["from": "liar", "type": "offer"]), [ann],
                #"2["message","r",{"from":"ben","type":"offer"}]"#
            ),
            (.relay(to: [ann], room: room, sender: ben), "text", [ann], #"2["message","r","text"]"#),
        ]
        for (directive, data, recipients, text) in table {
            let delivery = try #require(directive.delivery(data: data, capacity: 3))
            #expect(delivery.recipients == recipients)
            #expect(delivery.packet.text == text)
        }
        for reason in RoomDirective.Ignored.allCases {
            #expect(RoomDirective.ignore(reason, sender: ann, room: room).delivery(data: nil, capacity: 2) == nil)
        }
    }

    @Test func roomOfTwoIsNoMesh() throws {
        let directive = RoomDirective.sendJoined(to: PeerID("a"), room: try #require(RoomName("r")), peers: [])
        let delivery = try #require(directive.delivery(data: nil, capacity: 2))
        #expect(delivery.packet.text == #"2["joined","r","a",{"capacity":2,"mesh":false,"peers":[]}]"#)
    }
}
