// SPDX-License-Identifier: Apache-2.0

import Session
import Signalling
import Testing

@testable import Media

@Suite struct RoomSessionStatusTests {
    private static let place = PeerID("place")
    private static let peer = PeerID("p")

    @Test func aPublishPointIsNobody() {
        var status = RoomSessionStatus()
        status.note(.publishPointArrived(Self.place))
        status.note(.peerConnected(Self.place, ConnectionID(1)))
        #expect(status.isPublishing && status.publishPoint == Self.place)
        #expect(status.presentPeers.isEmpty && status.connectedPeers.isEmpty && !status.hasConnected)
        for fact in [
            SessionEvent.peerStale(Self.place, ConnectionID(1)),
            .callFailed(Self.place, ConnectionID(1), reason: "test"), .publishingFailed(Self.place, reason: "test"),
        ] {
            status.note(fact)
            #expect(!status.isPublishing)
            status.note(.peerRecovered(Self.place, ConnectionID(1)))
            #expect(status.isPublishing && status.presentPeers.isEmpty)
        }
        status.note(.publishPointLeft(Self.place))
        #expect(!status.isPublishing && status.publishPoint == nil)
        #expect(status.counters == ["publishing_lost": 2, "publishing_failed": 1])
    }

    @Test func nothingIsKeptOfPeersThatLeft() {
        var status = RoomSessionStatus()
        for number in 0..<3 {
            let peer = PeerID("\(number)")
            status.note(.peerNamed(peer, "Ada"))
            status.note(.peerJoined(peer))
            status.note(.peerConnected(peer, ConnectionID(UInt64(number))))
            status.note(.peerLeft(peer))
        }
        var expected = RoomSessionStatus()
        expected.hasConnected = true
        #expect(status == expected)
    }

    @Test func theLastReasonNotToJoinIsKept() {
        var status = RoomSessionStatus()
        for reason in ["nobody answers", "503"] { status.note(.joinFailed(reason: reason)) }
        #expect(status.lastJoinFailure == "503" && status.counters == ["join_failed": 2])
    }

    @Test func namesLastAsLongAsTheirPeers() {
        var status = RoomSessionStatus()
        status.note(.peerNamed(Self.peer, "Ada"))
        status.note(.peerJoined(Self.peer))
        #expect(status.names == [Self.peer: "Ada"])
        status.note(.peerNamed(Self.peer, "Ada L."))
        #expect(status.names == [Self.peer: "Ada L."])
        status.note(.peerLeft(Self.peer))
        #expect(status.names.isEmpty)
        for number in 0..<300 { status.note(.peerNamed(PeerID("\(number)"), "x")) }
        #expect(status.names.count == 256)
    }
}
