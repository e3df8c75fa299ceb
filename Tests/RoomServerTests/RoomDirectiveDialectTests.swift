// SPDX-License-Identifier: Apache-2.0

import Signalling
import Testing

@testable import RoomServer

/// In each pair of members exactly one offers, whatever they speak and whichever comes first.
@Suite struct RoomDirectiveDialectTests {
    private static let dialects: [RoomDialect] = [.socketIO, .skyRTC]

    /// Whether a member offers to `other` because of a directive.
    private func offers(_ dialect: RoomDialect, _ directive: RoomDirective, to other: PeerID) -> Bool {
        switch (dialect, directive) {
        case (.socketIO, .sendOtherJoined(_, _, let newcomer)): newcomer == other
        case (.skyRTC, .sendJoined(_, _, let peers)): peers.contains(other)
        default: false
        }
    }

    @Test func exactlyOneOfEachTwoOffers() throws {
        let room = try #require(RoomName("r"))
        // Every order of arrival of four members, of every choice of dialects.
        for choice in 0..<16 {
            let dialects = (0..<4).map { Self.dialects[choice >> $0 & 1] }
            let members = (0..<4).map { PeerID("m\($0)") }
            func dialect(_ peer: PeerID) -> RoomDialect { dialects[members.firstIndex(of: peer) ?? 0] }
            var registry = RoomRegistry(limits: RoomRegistry.Limits(capacity: 4, rooms: 1, roomsPerSocket: 1))
            var offers: [Set<PeerID>: Int] = [:]
            for member in members {
                for directive in registry.join(member, room: room).flatMap({ $0.translated(dialect: dialect) }) {
                    for told in directive.recipients {
                        for other in members where other != told && self.offers(dialect(told), directive, to: other) {
                            offers[[told, other], default: 0] += 1
                        }
                    }
                }
            }
            #expect(offers.count == 6, "\(dialects)")
            #expect(offers.values.allSatisfy { $0 == 1 }, "\(dialects)")
        }
    }

    @Test func onlyTheListOfMembersDependsOnDialects() throws {
        let room = try #require(RoomName("r"))
        let (ann, ben) = (PeerID("ann"), PeerID("ben"))
        for directive: RoomDirective in [
            .sendOtherJoined(to: [ann], room: room, newcomer: ben), .sendFull(to: ann, room: room),
            .sendLeaved(to: ann, room: room), .sendBye(to: [ann], room: room, leaver: ben),
            .relay(to: [ann], room: room, sender: ben),
        ] {
            #expect(directive.translated { $0 == ann ? .skyRTC : .socketIO } == [directive])
            #expect(directive.recipients == [ann])
        }
        #expect(RoomDirective.ignore(.nobodyToHear, sender: ann, room: room).recipients.isEmpty)
    }
}
