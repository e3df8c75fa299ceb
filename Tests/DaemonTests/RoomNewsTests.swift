// SPDX-License-Identifier: Apache-2.0

import Basics
import Cluster
import Model
import Testing

@testable import Daemon

/// What a worker's status says of the members of its room.
@Suite struct RoomNewsTests {
    private static func status(
        _ participants: [(id: String, isConnected: Bool)],
        _ state: RoomStatus.RecordingState = .recording,
        capacity: Int? = nil,
        units: [String: [UInt64]] = [:],
        isOpen: Bool = true
    ) -> RoomStatus {
        var status = RoomStatus()
        status.isJoined = true
        status.recordingState = state
        status.capacity = capacity
        status.participants = participants.map { .init(id: $0.id, isConnected: $0.isConnected) }
        for (id, counts) in units {
            for count in counts {
                status.tracks.append(
                    .init(number: 1, participant: id, kind: "video", codec: "vp8", units: count, isOpen: isOpen)
                )
            }
        }
        return status
    }

    private static func isHeard(_ status: RoomStatus, _ record: RecordSpec? = nil) -> Bool? {
        if case .members(_, _, let areHeard) = RoomNews(status, record) { areHeard } else { nil }
    }

    @Test(arguments: [(nil, false), (2, false), (3, true), (64, true)] as [(Int?, Bool)])
    func oneMoreIsTakenWhereThatIsKnown(capacity: Int?, takesOneMore: Bool) {
        let news = RoomNews(Self.status([("p", true)], .off, capacity: capacity), nil)
        #expect(news == .members(isOccupied: true, takesOneMore: takesOneMore))
    }

    @Test func anEmptyRoomIsNotOccupied() {
        #expect(RoomNews(Self.status([], .waiting), nil) == .members(isOccupied: false, takesOneMore: false))
    }

    @Test func allAreHeardWhenMediaOfEachAreWritten() {
        let two = [("p", true), ("q", true)] as [(id: String, isConnected: Bool)]
        #expect(Self.isHeard(Self.status(two, units: ["p": [5, 1], "q": [1]])) == true)
        #expect(Self.isHeard(Self.status(two, units: ["p": [5, 0], "q": [1]])) == false, "no keyframe yet")
        #expect(Self.isHeard(Self.status(two, units: ["p": [5]])) == false, "nothing of q")
        #expect(Self.isHeard(Self.status(two, units: ["p": [5], "q": [5]], isOpen: false)) == false)
        #expect(Self.isHeard(Self.status(two, .waiting)) == false)
        #expect(Self.isHeard(Self.status(two, .off)) == true, "nothing is recorded")
        #expect(Self.isHeard(Self.status([("p", false)], .off)) == false, "no media can flow")
    }

    /// One who may send both, but sends audio alone, is waited for until `hearingLimit`: the owner before records meanwhile.
    @Test(
        arguments: [([], true), ([.video], true), ([.audio, .video], false), ([.audio], false)]
            as [([MediaKind], Bool)]
    )
    func whatIsAnnouncedIsWaitedFor(kinds: [MediaKind], isHeard: Bool) {
        var status = Self.status([("p", true)], units: ["p": [5]])
        status.participants[0].awaitedKinds = kinds
        #expect(Self.isHeard(status) == isHeard)
        var record = RecordSpec()
        record.audio = false
        #expect(Self.isHeard(status, record) == true, "what is not recorded is not awaited")
    }
}
