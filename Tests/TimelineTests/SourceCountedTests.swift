// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Testing

@testable import Timeline

@Suite struct SourceCountedTests {
    private static func account(
        received: UInt64 = 100,
        before: UInt64 = 0,
        recorded: UInt64 = 100,
        empty: UInt64 = 0,
        waiting: UInt64 = 0,
        _ refused: [RefusalReason: RefusedPackets] = [:]
    ) -> SourceCounted {
        SourceCounted(
            connection: 1,
            ssrc: 7,
            participant: "alice",
            media: "video",
            tracks: [1],
            received: received,
            before: before,
            recorded: recorded,
            empty: empty,
            waiting: waiting,
            refused: refused,
            isFinal: waiting == 0
        )
    }

    @Test func balancesOrSaysByHowMuchNot() {
        #expect(Self.account().imbalance == 0)
        let whole = Self.account(before: 20, recorded: 50, empty: 5, waiting: 10, [.late: .init(packets: 15)])
        #expect(whole.imbalance == 0)
        #expect(whole.ofRecording == 80)
        #expect(Self.account(recorded: 99).imbalance == 1)
        #expect(Self.account(recorded: 100, [.paused: .init(packets: 3)]).imbalance == -3)
        #expect(Self.account(received: 0, before: .max, recorded: .max).imbalance != 0)
    }

    /// Sources of which nothing was recorded, by their packets' fate.
    @Test(arguments: RefusalReason.allCases)
    func nothingRecordedIsALossUnlessItWasWanted(reason: RefusalReason) {
        let account = Self.account(recorded: 0, [reason: .init(packets: 100)])
        let isWanted = [.paused, .videoOff, .audioOff, .simulcastLayer].contains(reason)
        #expect(account.isUnrecorded == !isWanted)
        #expect(account.losesMedia == !isWanted)
    }

    @Test func paddingAloneAndNothingAtAllAreNoLoss() {
        #expect(!Self.account(recorded: 0, empty: 100).losesMedia)
        #expect(!Self.account(received: 0, recorded: 0).losesMedia)
        #expect(!Self.account(before: 100, recorded: 0).losesMedia)
        // A frame that never ended.
        #expect(Self.account(recorded: 0, waiting: 100).isUnrecorded)
    }

    /// For a source that is recorded otherwise.
    @Test(arguments: [
        (RefusalReason.noKeyframe, 2_900_000_000 as Int64, false), (.noKeyframe, 3_100_000_000, true),
        (.noParameterSets, 2_900_000_000, false), (.noParameterSets, 3_100_000_000, true),
        (.payloadTypeNotAccepted, 0, true), (.codecRefused, 0, true), (.undecodable, 0, true), (.notAuthentic, 0, true),
        (.queueFull, 0, true),
        (.impossibleClock, 0, true), (.tooManyTracks, 0, true), (.disk, 0, true),
        (.simulcastLayer, 9_000_000_000, false), (.incompleteFrame, 9_000_000_000, false),
        (.late, 9_000_000_000, false), (.paused, 9_000_000_000, false), (.videoOff, 9_000_000_000, false),
        (.audioOff, 9_000_000_000, false),
    ])
    func someRefusalsAreALoss(reason: RefusalReason, nanoseconds: Int64, isLoss: Bool) {
        let account = Self.account(recorded: 90, [reason: .init(packets: 10, nanoseconds: nanoseconds)])
        #expect(account.losesMedia == isLoss)
        #expect(!account.isUnrecorded)
        #expect(!Self.account([reason: .init(packets: 0, nanoseconds: nanoseconds)]).losesMedia)
    }

    /// Frames may lack what was taken for padding, though their packets are recorded.
    @Test func doubtfulPaddingIsALoss() throws {
        var account = Self.account([.late: .init(packets: 0)])
        #expect(!account.losesMedia && account.refusedText.isEmpty)
        account.doubtful = 57
        #expect(account.losesMedia && !account.isUnrecorded && account.imbalance == 0)
        #expect(account.refusedText == "57 packets: padding that looks like media")
        #expect(try JSONDecoder().decode(SourceCounted.self, from: JSONEncoder().encode(account)) == account)
    }

    /// No packet is missing, yet frames are.
    @Test func framesThatAServerLostAreALoss() throws {
        var account = Self.account()
        account.skipped = 3
        #expect(account.losesMedia && !account.isUnrecorded && account.imbalance == 0)
        #expect(account.refusedText == "3 frames: lost before a server numbered their packets")
        #expect(try JSONDecoder().decode(SourceCounted.self, from: JSONEncoder().encode(account)) == account)
    }

    @Test func saysWhatIsRefusedTheMostFirst() {
        let account = Self.account([
            .late: .init(packets: 1), .noKeyframe: .init(packets: 142, nanoseconds: 9_360_000_000),
            .paused: .init(packets: 0),
        ])
        #expect(account.refusedText == "142 packets: no keyframe yet (9.3 s), 1 packet: late or repeated")
        #expect(Self.account().refusedText == "")
        #expect(Set(RefusalReason.allCases.map(\.text)).count == RefusalReason.allCases.count)
    }

    @Test func isOneFlatLineOfTheJournal() throws {
        let record = Self.account(recorded: 90, [.codecRefused: .init(packets: 10, nanoseconds: 5)])
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        let entry = JournalEntry(.sourceCounted(record), monotonicNanoseconds: 3)
        let text = try String(decoding: encoder.encode(entry), as: UTF8.self)
        #expect(
            text
                == #"{"at":3,"before":0,"connection":1,"empty":0,"final":true,"kind":"source-counted","media":"video","#
                + #""participant":"alice","received":100,"recorded":90,"#
                + #""refused":{"codec-refused":{"ns":5,"packets":10}},"#
                + #""ssrc":7,"tracks":[1],"v":1,"waiting":0}"#
        )
        #expect(try JSONDecoder().decode(JournalEntry.self, from: Data(text.utf8)) == entry)
    }
}
