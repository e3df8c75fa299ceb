// SPDX-License-Identifier: Apache-2.0

import Catalogue
import Storage
import Testing

@testable import Daemon
@testable import Storage

@Suite struct EarlierRecordingsTests {
    private static func folder() throws -> RecordingFolder {
        try #require(RecordingFolder(named: "/srv/recordings/standup/20260704T120000Z-\(RecordingID.random())"))
    }

    struct Reading: Sendable {
        /// Nil if it could not be read, or if this life has it in hand.
        var state: RecordingEntry.State?
        var isHeld: Bool
        var isWaitedFor: Bool
    }

    @Test(arguments: [
        Reading(state: .finished, isHeld: true, isWaitedFor: false),
        Reading(state: .finished, isHeld: false, isWaitedFor: false),
        Reading(state: .unfinished, isHeld: true, isWaitedFor: true),
        Reading(state: .recording, isHeld: true, isWaitedFor: true),
        Reading(state: .unfinished, isHeld: false, isWaitedFor: false),
        Reading(state: nil, isHeld: true, isWaitedFor: false),
    ])
    func onlyWhatAWorkerOfThenStillCompletesIsWaitedFor(_ reading: Reading) throws {
        var earlier = EarlierRecordings()
        let folder = try Self.folder()
        earlier.isUnfinished(folder)
        #expect(earlier.folders == [folder])
        earlier.wasRead(folder.id, reading.state, isHeld: reading.isHeld)
        #expect(earlier.isEmpty == !reading.isWaitedFor)
    }

    @Test func whatIsReleasedIsRepairedAndReadAgain() throws {
        var earlier = EarlierRecordings()
        let (ours, held, released) = try (Self.folder(), Self.folder(), Self.folder())
        for folder in [ours, held, released] { earlier.isUnfinished(folder) }
        let due = earlier.look(ours: [ours.id]) { $0 != released }
        #expect(due == [released.id])
        #expect(Set(earlier.folders) == [held, released], "a worker of this life tells of its own")
        earlier.wasRead(held.id, .recording, isHeld: true)
        earlier.wasRead(released.id, .finished, isHeld: false)
        #expect(earlier.folders == [held])
        // It could not be repaired: the next look for abandoned ones does it.
        #expect(earlier.look(ours: []) { _ in false } == [held.id])
        earlier.wasRead(held.id, .unfinished, isHeld: false)
        #expect(earlier.isEmpty)
    }

    @Test func theSearchEndsBehindFiftyKnownOnes() throws {
        var earlier = EarlierRecordings()
        let known = try Self.folder()
        for _ in 0..<2 {
            for _ in 0..<49 { earlier.found(known, isKnown: true) }
            #expect(!earlier.isSearchOver)
            earlier.found(try Self.folder(), isKnown: false)
        }
        #expect(earlier.folders.count == 2)
        for _ in 0..<50 { earlier.found(known, isKnown: true) }
        #expect(earlier.isSearchOver && earlier.folders.count == 2)
    }

    @Test func noMoreThanAThousandAreTakenOver() throws {
        var earlier = EarlierRecordings()
        for _ in 0..<999 { earlier.isUnfinished(try Self.folder()) }
        #expect(!earlier.isSearchOver)
        earlier.found(try Self.folder(), isKnown: false)
        #expect(earlier.isSearchOver && earlier.folders.count == 1000)
    }
}
