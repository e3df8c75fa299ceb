// SPDX-License-Identifier: Apache-2.0

import Basics
import Cluster
import Testing

@Suite struct ClusterMachineTests {
    // MARK: Claims

    @Test func aRoomWithoutOwnerIsClaimedAfterItsWait() throws {
        var driver = ClusterDriver(hasOther: false)
        driver.connect()
        #expect(driver.phase == "-")
        #expect(driver.machine.nextDeadline == driver.now + .milliseconds(500))
        driver.pass(.milliseconds(500))
        #expect(driver.phase == "held")
        #expect(driver.claim() == ClaimRecord(host: "a", epoch: 1, phase: .joining))
        #expect(driver.owner() == OwnerRecord(epoch: 1, host: "a"))
        #expect(driver.events == [.connected(id: "one"), .claimed(room: "r", epoch: 1, from: nil)])
        let definition = try #require(RecordReading<RoomRecord>(ClusterDriver.definition()).record)
        #expect(driver.assignments == ["r": RoomAssignment(epoch: 1, standing: .held, definition: definition)])
        driver.join()
        #expect(driver.claim()?.phase == .joined)
    }

    @Test func theLastOwnerDoesNotWaitAndContinuesTheSeries() {
        var driver = ClusterDriver()
        let pointer = RecordingPointer(series: "s", segment: 4, recording: "x", isRecording: true)
        driver.put(.owner("r"), OwnerRecord(epoch: 7, host: "a", pointer: pointer).text)
        driver.connect()
        #expect(driver.claim() == ClaimRecord(host: "a", epoch: 8, phase: .joining))
        #expect(driver.assignments["r"]?.continues == pointer)
        #expect(driver.owner()?.pointer == pointer)
        let next = RecordingPointer(series: "s", segment: 5, recording: "y", isRecording: true)
        driver.feed(.room("r", .recording(next)))
        driver.calm()
        #expect(driver.owner()?.pointer == next)
    }

    @Test func aRecordingThatEndedIsNotContinued() {
        var driver = ClusterDriver()
        let pointer = RecordingPointer(series: "s", segment: 4, recording: "x", isRecording: false)
        driver.put(.owner("r"), OwnerRecord(epoch: 7, host: "b", pointer: pointer).text)
        driver.connect()
        driver.pass(.seconds(2))
        #expect(driver.assignments["r"]?.epoch == 8 && driver.assignments["r"]?.continues == nil)
        #expect(driver.owner()?.pointer == pointer)
    }

    /// One write for each change of a recording, and none while it is in progress.
    @Test func recordingsAreWrittenToTheOwnersRecord() {
        var driver = ClusterDriver()
        driver.hold()
        let before = driver.sent.count
        let first = RecordingPointer(series: "x", segment: 1, recording: "x", isRecording: true)
        let second = RecordingPointer(series: "x", segment: 2, recording: "y", isRecording: true)
        for pointer in [first, first, second, second.ended, second.ended] {
            driver.feed(.room("r", .recording(pointer)))
            driver.calm()
            #expect(driver.owner() == OwnerRecord(epoch: 4, host: "a", pointer: pointer))
        }
        let writes = driver.sent.dropFirst(before).filter { if case .transact = $0 { true } else { false } }
        #expect(writes.count == 3)
    }

    /// Also what ended while the room was not certainly ours.
    @Test func aRecordingOfAnUncertainOwnerIsWrittenOnceItIsTheOwnerAgain() {
        var driver = ClusterDriver.inPhase("uncertain")
        let pointer = RecordingPointer(series: "x", segment: 2, recording: "y", isRecording: true)
        driver.feed(.room("r", .recording(pointer)))
        #expect(driver.owner()?.pointer == nil)
        driver.pass(.seconds(2))
        #expect(driver.phase == "held" && driver.owner()?.pointer == pointer)
    }

    @Test func aRecordingOfAnotherEpochIsNotReplaced() {
        var driver = ClusterDriver.inPhase("lost")
        let pointer = RecordingPointer(series: "x", segment: 2, recording: "y", isRecording: true)
        driver.feed(.room("r", .recording(pointer)))
        driver.calm()
        #expect(driver.owner() == OwnerRecord(epoch: 5, host: "b"))
    }

    @Test func aRoomThatIsDeletedIsNotContinued() {
        var driver = ClusterDriver()
        driver.hold()
        let pointer = RecordingPointer(series: "x", segment: 2, recording: "y", isRecording: true)
        driver.feed(.room("r", .recording(pointer)))
        driver.calm()
        driver.put(.room("r"), nil)
        driver.news()
        driver.leave()
        #expect(driver.phase == "-" && driver.owner()?.pointer == pointer.ended)
    }

    @Test func theNextHostWaitsForTheLastOwner() {
        var driver = ClusterDriver()
        driver.put(.owner("r"), OwnerRecord(epoch: 7, host: "b").text)
        driver.connect()
        driver.pass(.milliseconds(799))
        #expect(driver.phase == "-")
        driver.pass(.milliseconds(1))
        #expect(driver.claim() == ClaimRecord(host: "a", epoch: 8, phase: .joining))
        #expect(driver.events.last == .claimed(room: "r", epoch: 8, from: "b"))
    }

    @Test func ofTwoThatClaimOneGetsIt() {
        var driver = ClusterDriver.inPhase("claiming")
        driver.put(.claim("r"), ClaimRecord(host: "b", epoch: 4, phase: .joining).text)
        driver.put(.owner("r"), OwnerRecord(epoch: 4, host: "b").text)
        driver.calm()
        #expect(driver.phase == "-" && driver.claim()?.host == "b" && driver.assignments.isEmpty)
    }

    /// Whether the answer or the watch comes first, and also if the answer is lost.
    @Test(arguments: [false, true]) func aLostAnswerDoesNoHarm(isLost: Bool) {
        var driver = ClusterDriver.inPhase("claiming")
        let request = driver.open[0].request
        _ = driver.etcd.answer(request, at: 1_000_000_000, liesAboutLeases: false)
        driver.news()
        driver.open = driver.open.filter { driver.isClaim($0.request) }
        if isLost {
            driver.fail()
        } else {
            let result = StoreTransactionResult(hasSucceeded: true, revision: Revision(driver.etcd.revision))
            driver.feed(.answer(driver.open.removeFirst().id, .success(.transacted(result))))
        }
        #expect(driver.phase == "held" && driver.claim()?.epoch == 4)
        #expect(driver.sent.count { driver.isClaim($0, of: "r") } == 1)
        #expect(driver.events.count { if case .claimed = $0 { true } else { false } } == 1)
    }

    @Test func claimsAreBounded() {
        let rooms = (0..<60).map { "room-\($0)" }
        var driver = ClusterDriver(rooms: rooms, hasOther: false) { $0.record.capacity = 100 }
        for room in rooms { driver.put(.owner(room), OwnerRecord(epoch: 1, host: "a").text) }
        driver.feed(.tick)
        // Everything but claims is answered.
        while let first = driver.open.first, !driver.isClaim(first.request) {
            driver.answer()
            driver.news()
        }
        #expect(driver.open.count == 8)
        driver.calm()
        #expect((20...21).contains(driver.machine.holdings.count), "a second of them at once")
        driver.pass(.seconds(1))
        #expect((40...41).contains(driver.machine.holdings.count))
        driver.pass(.seconds(1))
        #expect(driver.machine.holdings.count == 60)
    }

    /// Of the lease that was revoked: every claim is put again, some at a time.
    @Test func writesAreBounded() {
        let rooms = (0..<100).map { "room-\($0)" }
        var driver = ClusterDriver(rooms: rooms, hasOther: false) { $0.record.capacity = 100 }
        driver.connect()
        driver.pass(.seconds(10))
        #expect(driver.machine.holdings.count == 100)
        for id in driver.etcd.leases.keys { _ = driver.etcd.end(id) }
        driver.news()
        let writes = driver.open.count { driver.isClaim($0.request) }
        #expect(writes == 32)
        driver.pass(.seconds(2))
        #expect(rooms.allSatisfy { driver.claim($0)?.epoch == 1 && driver.phase(of: $0) == "held" })
    }

    /// Several rooms are handed over at a time: each counts before it is owned.
    @Test func capacityIsKeptByASuccessor() {
        let rooms = ["r1", "r2", "r3"]
        var driver = ClusterDriver(rooms: rooms) { $0.record.capacity = 2 }
        for room in rooms { driver.put(.claim(room), ClaimRecord(host: "b", epoch: 1, phase: .joined).text) }
        driver.connect()
        for room in rooms {
            let handover = Handover(to: "a", epoch: 2)
            driver.put(.claim(room), ClaimRecord(host: "b", epoch: 1, phase: .joined, handover: handover).text)
            driver.put(.owner(room), OwnerRecord(epoch: 1, host: "b", handover: handover).text)
        }
        driver.news()
        #expect(driver.machine.holdings.count == 2)
    }

    @Test func capacityIsKept() {
        var driver = ClusterDriver(rooms: ["r1", "r2", "r3"], hasOther: false) { $0.record.capacity = 5 }
        for room in ["r1", "r2", "r3"] { driver.put(.room(room), ClusterDriver.definition(#","cost":2"#)) }
        driver.connect()
        driver.pass(.seconds(5))
        #expect(driver.machine.holdings.count == 2)
        #expect(driver.machine.view.loads["a"] == 4)
        // A room that goes makes room for the one that waits.
        let held = driver.machine.holdings.keys.sorted()[0]
        driver.put(.room(held), nil)
        driver.news()
        driver.leave(held)
        driver.pass(.seconds(1))
        #expect(driver.machine.holdings.count == 2 && driver.machine.holdings[held] == nil)
    }

    @Test func whatThisHostCannotRunIsNotClaimed() throws {
        var driver = ClusterDriver(rooms: ["newer", "broken", "secret", "elsewhere"], hasOther: false)
        driver.verdict = .unusable("secret: the file /x does not exist")
        driver.put(.room("newer"), #"{"schema":2,"room":{"url":"x"}}"#)
        driver.put(.room("broken"), #"{"schema":1}"#)
        driver.put(.room("elsewhere"), ClusterDriver.definition(#","hosts":{"require":{"zone":"1"}}"#))
        driver.connect()
        driver.pass(.seconds(10))
        #expect(driver.machine.holdings.isEmpty)
        #expect(driver.events.contains(.unusable(.room("broken"), "room: an object is missing")))
        #expect(driver.events.contains(.unusable(.room("secret"), "secret: the file /x does not exist")))
        let newer = "has schema 2, and this version knows 1: update this host"
        #expect(driver.events.contains(.unusable(.room("newer"), newer)))
        #expect(driver.events.count { if case .unusable = $0 { true } else { false } } == 4, "each is said once")
        #expect(driver.machine.view.rooms["newer"]?.reading.record == nil)
        // The file appears: the next listing has it looked at again.
        driver.verdict = .usable(leavesWhenCutOff: false)
        driver.pass(.seconds(61))
        #expect(driver.machine.holdings.keys.sorted() == ["secret"])
        #expect(driver.events.count { if case .unusable = $0 { true } else { false } } == 4)
    }

    @Test func aDefinitionThatStillCannotBeRunIsReportedOnce() {
        var driver = ClusterDriver(hasOther: false)
        driver.verdict = .unusable("no secret")
        driver.connect()
        driver.pass(.seconds(180))
        #expect(driver.events.count { if case .unusable = $0 { true } else { false } } == 1)
        driver.verdict = .unusable("no right to read it")
        driver.pass(.seconds(61))
        #expect(driver.events.last == .unusable(.room("r"), "no right to read it"))
    }

    @Test func anOwnerOfANewerSchemaIsNotOverwritten() {
        var driver = ClusterDriver(hasOther: false)
        driver.put(.owner("r"), #"{"schema":2}"#)
        driver.connect()
        driver.pass(.seconds(10))
        #expect(driver.phase == "-" && driver.stored(.owner("r"))?.value == #"{"schema":2}"#)
    }

    // MARK: Doubt

    @Test func mediaContinueWhileTheStoreIsAway() {
        var driver = ClusterDriver()
        driver.hold()
        driver.pass(.seconds(4), isReachable: false)
        let events = driver.events.suffix(2)
        #expect(events.contains(.uncertain(room: "r", epoch: 4, "no renewal was confirmed in time")))
        #expect(driver.assignments["r"]?.standing == .uncertain)
        // For an hour: the same part, and nothing is left.
        driver.pass(.seconds(3600), isReachable: false)
        #expect(driver.assignments["r"]?.standing == .uncertain && driver.leaving.isEmpty)
        // Its lease has ended: no other host took the room.
        driver.pass(.seconds(2))
        #expect(driver.events.last == .heldAgain(room: "r", epoch: 4))
        #expect(driver.assignments["r"]?.mayAct == true)
        #expect(driver.claim() == ClaimRecord(host: "a", epoch: 4, phase: .joined))
        #expect(driver.owner()?.epoch == 4)
    }

    /// Valid until 3.5 s after the last confirmed renewal was sent.
    @Test func doubtBeginsBeforeTheLeaseEnds() {
        var driver = ClusterDriver()
        driver.hold()
        driver.pass(.milliseconds(3499), isReachable: false)
        #expect(driver.phase == "held")
        driver.pass(.milliseconds(1), isReachable: false)
        #expect(driver.phase == "uncertain")
    }

    /// The process stood still: the first input of any kind shows it.
    @Test func aProcessThatStoodStillDoubtsAtOnce() {
        var driver = ClusterDriver()
        driver.hold()
        driver.now += .seconds(60)
        driver.feed(.room("r", .members(isOccupied: true, takesOneMore: true)))
        #expect(driver.assignments["r"]?.standing == .uncertain)
    }

    @Test func aLeaseThatTheStoreRevokedMovesNothing() {
        var driver = ClusterDriver()
        driver.hold()
        for id in driver.etcd.leases.keys { _ = driver.etcd.end(id) }
        driver.news()
        #expect(driver.phase == "uncertain", "the watch shows it before the next renewal")
        driver.calm()
        #expect(driver.phase == "held" && driver.claim()?.epoch == 4)
        #expect(driver.machine.isConnected && driver.stored(.host("a")) != nil)
    }

    @Test func aRoomThatTakesOneOfUsIsLeftInDoubt() {
        var driver = ClusterDriver()
        driver.verdict = .usable(leavesWhenCutOff: true)
        driver.hold()
        let pointer = RecordingPointer(series: "x", segment: 2, recording: "y", isRecording: true)
        driver.feed(.room("r", .recording(pointer)))
        driver.cutOff()
        #expect(driver.phase == "uncertain" && driver.leaving == ["r"] && driver.assignments["r"] == nil)
        driver.leave()
        driver.pass(.seconds(2))
        #expect(driver.phase == "held" && driver.assignments["r"]?.epoch == 4)
        #expect(driver.assignments["r"]?.continues == pointer, "its own recording ended when it left")
    }

    // MARK: Loss

    @Test func anOwnerThatLostWaitsForItsSuccessor() {
        var driver = ClusterDriver.inPhase("lost")
        #expect(driver.assignments["r"]?.standing == .superseded)
        #expect(driver.events.last == .lost(room: "r", epoch: 4, to: "b"))
        driver.pass(.milliseconds(9900))
        #expect(driver.phase == "lost")
        driver.pass(.milliseconds(100))
        #expect(driver.phase == "leaving" && driver.leaving == ["r"])
        driver.leave()
        #expect(driver.phase == "-" && driver.claim()?.host == "b", "what is another's is not deleted")
    }

    @Test func anOwnerThatLostLeavesWhenItsSuccessorHasJoined() {
        var driver = ClusterDriver.inPhase("lost")
        driver.put(.claim("r"), ClaimRecord(host: "b", epoch: 5, phase: .joined).text)
        driver.news()
        #expect(driver.leaving == ["r"])
    }

    /// Restored to its past: the store knows less than this host.
    @Test func anEpochIsNotLowered() {
        var driver = ClusterDriver.inPhase("uncertain")
        driver.put(.claim("r"), ClaimRecord(host: "b", epoch: 2, phase: .joined).text)
        driver.put(.owner("r"), OwnerRecord(epoch: 2, host: "b").text)
        driver.pass(.seconds(2))
        #expect(driver.events.contains(.regressed(room: "r", epoch: 4, stored: 2)))
        #expect(driver.phase == "held" && driver.claim()?.epoch == 4 && driver.owner()?.epoch == 4)
    }

    @Test func epochsOfRecordingsAreNotClaimedAgain() {
        var driver = ClusterDriver(hasOther: false) { $0.epochs = ["r": 41] }
        driver.connect()
        driver.pass(.seconds(1))
        #expect(driver.claim()?.epoch == 42)
    }

    // MARK: Identity

    @Test func aStoreWithoutIdentityIsNotUsed() {
        var driver = ClusterDriver()
        driver.put(.meta, nil)
        driver.connect()
        driver.pass(.seconds(30))
        #expect(driver.events == [.notInitialised])
        #expect(driver.machine.holdings.isEmpty && driver.stored(.host("a")) == nil)
        driver.put(.meta, MetaRecord(id: "one").text)
        driver.news()
        driver.calm()
        driver.pass(.seconds(1))
        #expect(driver.machine.isConnected && driver.phase == "held")
    }

    @Test func anotherStoreIsAdoptedWhenAnOperatorSaysSo() {
        var driver = ClusterDriver()
        driver.hold()
        driver.etcd.recreate()
        driver.put(.meta, MetaRecord(id: "two").text)
        driver.put(.room("r"), ClusterDriver.definition())
        driver.pass(.seconds(70))
        #expect(driver.events.contains(.otherCluster(expected: "one", found: "two")))
        #expect(driver.assignments["r"]?.standing == .uncertain, "it records")
        #expect(driver.stored(.claim("r")) == nil && driver.stored(.host("a")) == nil)
        // Also after a restart.
        var other = ClusterDriver { ($0.id, $0.epochs) = ("one", driver.machine.settings.epochs) }
        (other.etcd, other.now) = (driver.etcd, driver.now)
        other.connect()
        other.pass(.seconds(10))
        #expect(other.events == [.otherCluster(expected: "one", found: "two")] && other.machine.holdings.isEmpty)
        let said = MetaRecord(id: "two", replaced: ["zero", "one"]).text
        driver.put(.meta, said)
        driver.news()
        driver.calm()
        #expect(driver.phase == "held" && driver.claim()?.epoch == 4 && driver.owner()?.epoch == 4)
        #expect(driver.machine.settings.id == "two")
        other.put(.meta, said)
        other.news()
        other.calm()
        other.pass(.seconds(1))
        #expect(other.phase == "held" && other.claim()?.epoch == 5)
    }

    @Test func aClusterOfANewerSchemaIsNotJoined() {
        var driver = ClusterDriver()
        driver.put(.meta, MetaRecord(id: "one", minimumSchema: 2).text)
        driver.connect()
        driver.pass(.seconds(30))
        #expect(driver.events == [.tooOld(requiredSchema: 2)] && driver.machine.holdings.isEmpty)
    }

    @Test func aNameBelongsToOneDaemon() {
        var driver = ClusterDriver(hasOther: false)
        var other = ClusterDriver.record("a")
        other.life = "another"
        driver.put(.host("a"), other.text)
        driver.connect()
        driver.pass(.seconds(200))
        #expect(driver.events == [.connected(id: "one"), .nameTaken(life: "another")])
        #expect(driver.machine.holdings.isEmpty && driver.machine.isNameTaken)
        // As the run before, whose lease ends.
        driver.put(.host("a"), nil)
        driver.news()
        driver.calm()
        driver.pass(.seconds(1))
        #expect(driver.phase == "held" && !driver.machine.isNameTaken)
    }

    // MARK: Moves

    @Test func aDrainingHostHandsOver() {
        var driver = ClusterDriver()
        driver.hold()
        driver.join(isOccupied: false)
        driver.feed(.drain(deadline: driver.now + .seconds(60)))
        driver.calm()
        #expect(driver.claim()?.handover == Handover(to: "b", epoch: 5))
        #expect(driver.owner()?.handover == Handover(to: "b", epoch: 5), "the epoch is reserved")
        #expect(driver.phase == "held" && driver.assignments["r"]?.mayAct == true)
        driver.put(.claim("r"), ClaimRecord(host: "b", epoch: 5, phase: .joined).text)
        driver.put(.owner("r"), OwnerRecord(epoch: 5, host: "b").text)
        driver.news()
        #expect(driver.phase == "leaving")
        driver.leave()
        #expect(driver.events.contains(.drained))
        #expect(driver.machine.view.hosts["a"]?.record?.isDraining == true)
    }

    /// Nobody has said yet who is in the room.
    @Test func aRoomOfWhichNothingIsKnownIsNotMoved() {
        var driver = ClusterDriver()
        driver.hold()
        driver.feed(.room("r", .left))
        driver.feed(.room("r", .joined))
        driver.feed(.drain(deadline: driver.now + .seconds(60)))
        driver.calm()
        #expect(driver.phase == "held" && driver.claim()?.handover == nil)
    }

    @Test func aCallEndsBeforeItsRoomMoves() {
        var driver = ClusterDriver()
        driver.hold()
        driver.feed(.drain(deadline: driver.now + .seconds(60)))
        driver.pass(.seconds(59))
        #expect(driver.claim()?.handover == nil)
        driver.pass(.seconds(1))
        #expect(driver.claim()?.handover?.to == "b", "at the deadline it moves")
    }

    @Test func aHostThatDrainsNoMoreKeepsItsRooms() {
        var driver = ClusterDriver()
        driver.hold()
        driver.feed(.drain(deadline: driver.now))
        driver.calm()
        #expect(driver.claim()?.handover != nil)
        driver.feed(.undrain)
        driver.calm()
        driver.pass(.seconds(60))
        #expect(driver.claim() == ClaimRecord(host: "a", epoch: 4, phase: .joined))
        #expect(driver.machine.view.hosts["a"]?.record?.isDraining == false)
    }

    @Test func aFullRoomIsLeftBeforeItIsJoined() {
        var driver = ClusterDriver()
        driver.hold()
        driver.join(takesOneMore: false)
        driver.feed(.drain(deadline: driver.now))
        driver.calm()
        #expect(driver.phase == "leaving")
        driver.leave()
        #expect(driver.claim() == nil && driver.owner()?.next == "b")
        driver.pass(.seconds(10))
        #expect(driver.phase == "-")
    }

    @Test func aSuccessorThatDoesNotComeIsNotWaitedFor() {
        var driver = ClusterDriver()
        driver.put(.host("c"), ClusterDriver.record("c").text)
        driver.hold()
        driver.feed(.drain(deadline: driver.now))
        driver.calm()
        let first = driver.claim()?.handover
        driver.pass(.seconds(21))
        let second = driver.claim()?.handover
        #expect(Set([first?.to, second?.to]) == ["b", "c"])
        #expect(second?.epoch == 6, "a reserved epoch is not given to another host")
        driver.pass(.seconds(21))
        #expect(driver.phase == "leaving", "the deadline is over, and no host takes it")
    }

    @Test func aSuccessorTakesTheClaimWhenItHasJoined() {
        var driver = ClusterDriver.inPhase("preparing")
        driver.calm()
        #expect(driver.assignments["r"]?.standing == .preparing && driver.assignments["r"]?.epoch == 4)
        #expect(driver.claim()?.host == "b")
        driver.join()
        #expect(driver.phase == "held" && driver.claim() == ClaimRecord(host: "a", epoch: 4, phase: .joined))
        #expect(driver.owner() == OwnerRecord(epoch: 4, host: "a"))
        #expect(driver.events.last == .claimed(room: "r", epoch: 4, from: "b"))
    }

    /// The owner leaves when the claim is another's: until then it records what the successor does not hear yet.
    @Test func aSuccessorTakesTheClaimWhenItHearsAll() {
        var driver = ClusterDriver.inPhase("preparing")
        driver.calm()
        driver.feed(.room("r", .joined))
        driver.feed(.room("r", .members(isOccupied: true, takesOneMore: true, areHeard: false)))
        driver.calm()
        driver.pass(.seconds(5))
        #expect(driver.phase == "preparing" && driver.claim()?.host == "b")
        driver.feed(.room("r", .members(isOccupied: true, takesOneMore: true)))
        driver.calm()
        #expect(driver.phase == "held" && driver.claim()?.host == "a")
    }

    @Test(arguments: [false, true]) func aSuccessorDoesNotWaitForWhoSendsNothing(areMembersKnown: Bool) {
        var driver = ClusterDriver.inPhase("preparing")
        driver.calm()
        driver.feed(.room("r", .joined))
        if areMembersKnown {
            driver.feed(.room("r", .members(isOccupied: true, takesOneMore: true, areHeard: false)))
        }
        driver.calm()
        driver.pass(.seconds(9))
        #expect(driver.phase == "preparing")
        driver.pass(.seconds(1))
        #expect(driver.phase == "held")
    }

    @Test func theHostBeforeIsKnownAlsoIfTheWatchIsFaster() {
        var driver = ClusterDriver.inPhase("preparing")
        driver.calm()
        driver.feed(.room("r", .joined))
        driver.feed(.room("r", .members(isOccupied: true, takesOneMore: true)))
        driver.answerLate()
        #expect(driver.phase == "held")
        #expect(driver.events.contains(.claimed(room: "r", epoch: 4, from: "b")), "\(driver.events)")
    }

    /// Others are seen a moment after the join.
    @Test func aSuccessorTakesAnEmptyRoomWhenItStaysEmpty() {
        var driver = ClusterDriver.inPhase("preparing")
        driver.calm()
        driver.join(isOccupied: false)
        driver.pass(.seconds(2))
        #expect(driver.phase == "preparing")
        driver.pass(.seconds(1))
        #expect(driver.phase == "held")
    }

    @Test func aSuccessorThatIsLateLeaves() {
        var driver = ClusterDriver.inPhase("preparing")
        driver.pass(.seconds(20))
        #expect(driver.phase == "leaving")
        driver.leave()
        #expect(driver.claim()?.host == "b")
    }

    @Test func aHandoverThatIsWithdrawnEnds() {
        var driver = ClusterDriver.inPhase("preparing")
        driver.put(.claim("r"), ClaimRecord(host: "b", epoch: 3, phase: .joined).text)
        driver.news()
        #expect(driver.phase == "leaving" && driver.leaving == ["r"])
    }

    /// What was recorded under the epoch before is a part of the series: a second recording with its place would be left out.
    @Test func aSuccessorTakesNoEpochThatItWasInTheRoomUnder() {
        var driver = ClusterDriver.inPhase("preparing")
        // Its owner stands still, and withdraws nothing.
        driver.pass(.seconds(20))
        driver.leave()
        driver.pass(.seconds(5))
        #expect(driver.phase == "-")
        driver.handOver(epoch: 5)
        driver.news()
        #expect(driver.phase == "preparing" && driver.assignments["r"]?.epoch == 5)
        // Nor one of the run before.
        var next = ClusterDriver()
        next.handOver(epoch: 6)
        next.connect()
        #expect(next.phase == "-")
        next.handOver(epoch: 7)
        next.news()
        #expect(next.phase == "preparing" && next.assignments["r"]?.epoch == 7)
    }

    @Test func anOwnerNamesASuccessorThatBeganAnewAgainUnderAnotherEpoch() {
        var driver = ClusterDriver()
        driver.hold()
        driver.feed(.drain(deadline: driver.now))
        driver.calm()
        #expect(driver.claim()?.handover == Handover(to: "b", epoch: 5))
        driver.put(.host("b"), nil)
        driver.pass(.seconds(5))
        #expect(driver.claim()?.handover == Handover(to: "b", epoch: 5), "it may be back")
        var record = ClusterDriver.record("b")
        record.life = "another life"
        driver.put(.host("b"), record.text)
        driver.news()
        driver.calm()
        #expect(driver.claim()?.handover == Handover(to: "b", epoch: 6))
    }

    @Test func anEmptyRoomMovesToItsPlaceWithinTheBudget() {
        let rooms = (0..<30).map { "room-\($0)" }
        var driver = ClusterDriver(rooms: rooms, hasOther: false) {
            $0.rebalancing = .empty
            $0.record.capacity = 100
        }
        driver.connect()
        driver.pass(.seconds(5))
        for room in rooms { driver.join(room, isOccupied: false) }
        var other = ClusterDriver.record("b")
        other.capacity = 100
        driver.put(.host("b"), other.text)
        driver.news()
        #expect(driver.machine.holdings.count == 30)
        driver.pass(.seconds(59))
        let moved = rooms.filter { driver.claim($0)?.handover != nil || driver.owner($0)?.handover != nil }
        #expect(moved.count == 2, "two in a minute: \(moved)")
    }

    @Test(arguments: [ClusterSettings.Rebalancing.empty, .never])
    func aCallIsNotMoved(rebalancing: ClusterSettings.Rebalancing) {
        let rooms = (0..<10).map { "room-\($0)" }
        var driver = ClusterDriver(rooms: rooms, hasOther: false) { $0.rebalancing = rebalancing }
        driver.connect()
        driver.pass(.seconds(5))
        for room in rooms { driver.join(room, isOccupied: rebalancing == .empty) }
        driver.put(.host("b"), ClusterDriver.record("b").text)
        driver.pass(.seconds(200))
        #expect(rooms.allSatisfy { driver.owner($0)?.handover == nil })
    }

    // MARK: What operators ask

    @Test func aHostThatDrainsCountsTheRoomsThatAreLeft() {
        var driver = ClusterDriver()
        driver.hold()
        driver.feed(.pin(["own": 1]))
        driver.calm()
        driver.feed(.drain(deadline: driver.now + .seconds(60)))
        driver.calm()
        #expect(driver.machine.roomsLeft == ["r"], "its own rooms stay")
        driver.pass(.seconds(60))
        driver.put(.claim("r"), ClaimRecord(host: "b", epoch: 5, phase: .joined).text)
        driver.put(.owner("r"), OwnerRecord(epoch: 5, host: "b").text)
        driver.news()
        driver.leave()
        #expect(driver.machine.roomsLeft.isEmpty && driver.machine.holdings["own"] != nil)
        driver.feed(.undrain)
        #expect(driver.machine.drainDeadline == nil)
    }

    @Test func theLastRenewalIsKnown() throws {
        var driver = ClusterDriver()
        #expect(driver.machine.lastRenewal == nil)
        driver.hold()
        driver.pass(.seconds(10))
        let last = try #require(driver.machine.lastRenewal)
        #expect(driver.now - last <= .seconds(1))
        driver.pass(.seconds(20), isReachable: false)
        #expect(driver.machine.lastRenewal == last)
    }

    private static let required =
        #"{"room":{"url":"x","cost":3,"hosts":{"require":{"site":"b","gpu":"yes"}}},"schema":1}"#

    @Test(
        arguments: [
            (nil, "no host that takes rooms has gpu=yes, site=b"),
            ((["site": "b", "gpu": "yes"], 2), "no host has capacity left for its cost of 3"),
            ((["site": "b", "gpu": "yes"], 3), nil),
        ] as [((labels: [String: String], capacity: Int)?, String?)]
    )
    func aRoomWithoutAHostHasAReason(other: (labels: [String: String], capacity: Int)?, reason: String?) {
        var driver = ClusterDriver(hasOther: false)
        driver.put(.room("r"), Self.required)
        if let other {
            var record = ClusterDriver.record("b")
            (record.labels, record.capacity) = (other.labels, other.capacity)
            driver.put(.host("b"), record.text)
        }
        driver.connect()
        #expect(driver.machine.ownerless == 1 && driver.machine.absence(of: "r") == reason)
        driver.put(.claim("r"), ClaimRecord(host: "b", epoch: 1, phase: .joined).text)
        driver.news()
        #expect(driver.machine.ownerless == 0 && driver.machine.absence(of: "r") == nil)
    }

    @Test func whatCannotBeReadOrRunIsAReason() throws {
        var driver = ClusterDriver()
        driver.put(.room("newer"), #"{"schema":9}"#)
        driver.connect()
        #expect(driver.machine.absence(of: "newer")?.contains("update this host") == true)
        let revision = try #require(driver.machine.view.rooms["r"]?.stored.modified)
        driver.put(.claim("r"), nil)
        driver.feed(.examined(room: "r", revision, .unusable("no secret")))
        driver.news()
        #expect(driver.machine.absence(of: "r") == "this host cannot run it: no secret")
        driver.feed(.drain(deadline: driver.now))
        driver.put(.host("b"), nil)
        driver.news()
        driver.calm()
        #expect(driver.machine.absence(of: "r") == "no host takes rooms")
        #expect(driver.machine.absence(of: "unknown") == nil)
    }

    // MARK: The rest

    /// Renewals, and a listing each minute.
    @Test func anIdleClusterWritesNothing() {
        var driver = ClusterDriver()
        driver.hold()
        driver.pass(.seconds(5))
        let (writes, sent) = (driver.etcd.writes, driver.sent.count)
        driver.pass(.seconds(600))
        #expect(driver.etcd.writes == writes)
        let requests = driver.sent[sent...]
        #expect(requests.count { if case .transact = $0 { true } else { false } } == 0)
        #expect((9...11).contains(requests.count { if case .list = $0 { true } else { false } }))
        #expect((590...610).contains(requests.count { if case .keepAlive = $0 { true } else { false } }))
    }

    @Test func aFullStoreIsReportedOnceAndKeepsClaims() {
        var driver = ClusterDriver()
        driver.hold()
        driver.etcd.fullUntil = .max
        let pointer = RecordingPointer(series: "s", segment: 5, recording: "y", isRecording: true)
        driver.feed(.room("r", .recording(pointer)))
        driver.pass(.seconds(60))
        #expect(driver.phase == "held")
        #expect(driver.events.count { if case .storeFailed(.full) = $0 { true } else { false } } == 1)
        driver.etcd.fullUntil = 0
        driver.pass(.seconds(6))
        #expect(driver.owner()?.pointer == pointer)
    }

    @Test func aRequestOfAnOperatorCountsAtOnceAndIsWrittenLater() {
        var driver = ClusterDriver()
        driver.hold()
        driver.cutOff()
        let wish = WishRecord(order: .stop, requested: "2026-11-29T12:00:00Z", by: "me")
        driver.feed(.wish(room: "r", wish))
        #expect(driver.assignments["r"]?.wish == wish && driver.stored(.wish("r")) == nil)
        driver.pass(.seconds(2))
        #expect(driver.stored(.wish("r"))?.value == wish.text && driver.assignments["r"]?.wish == wish)
    }

    @Test func roomsOfTheConfigurationAreShownAndLeftAlone() {
        var driver = ClusterDriver(rooms: [])
        driver.feed(.pin(["camera": 3]))
        driver.connect()
        #expect(driver.claim("camera") == ClaimRecord(host: "a", epoch: 1, phase: .joined, localCost: 3))
        #expect(driver.assignments.isEmpty && driver.leaving.isEmpty)
        #expect(driver.machine.view.loads["a"] == 3)
        driver.feed(.drain(deadline: driver.now))
        driver.calm()
        #expect(driver.claim("camera") != nil && driver.events.contains(.drained))
        driver.feed(.pin([:]))
        driver.calm()
        #expect(driver.claim("camera") == nil && driver.assignments.isEmpty)
    }

    @Test func stoppingLeavesEverythingAndThenTheCluster() {
        var driver = ClusterDriver()
        driver.hold()
        driver.feed(.stop)
        driver.calm()
        #expect(driver.leaving == ["r"] && !driver.machine.hasStopped)
        #expect(driver.machine.view.hosts["a"]?.record?.isStopping == true)
        driver.leave()
        #expect(driver.machine.hasStopped && driver.etcd.leases.isEmpty)
        #expect(driver.claim() == nil && driver.owner()?.epoch == 4 && driver.stored(.host("a")) == nil)
        #expect(driver.feed(.tick).isEmpty && driver.machine.nextDeadline == nil)
    }

    @Test func stoppingDoesNotWaitForAStoreThatIsAway() {
        var driver = ClusterDriver()
        driver.hold()
        driver.cutOff()
        driver.feed(.stop)
        driver.feed(.room("r", .gone))
        driver.pass(.seconds(3), isReachable: false)
        #expect(driver.machine.hasStopped)
    }

    @Test func aHostThatVanishesIsReported() {
        var driver = ClusterDriver()
        driver.connect()
        let since = driver.stored(.host("b"))?.created ?? .none
        driver.put(.host("b"), nil)
        driver.news()
        driver.pass(.seconds(9))
        let lost = ClusterEvent.hostLost("b", life: "life-b", since: since)
        #expect(!driver.events.contains(lost))
        driver.pass(.seconds(2))
        #expect(driver.events.count { $0 == lost } == 1)
        driver.pass(.seconds(60))
        #expect(driver.events.count { $0 == lost } == 1)
    }

    @Test func aHostThatStopsInOrderIsNot() {
        var driver = ClusterDriver()
        var record = ClusterDriver.record("b")
        record.isStopping = true
        driver.put(.host("b"), record.text)
        driver.connect()
        driver.put(.host("b"), nil)
        driver.news()
        driver.pass(.seconds(60))
        #expect(!driver.events.contains { if case .hostLost = $0 { true } else { false } })
    }
}
