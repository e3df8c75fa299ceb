// SPDX-License-Identifier: Apache-2.0

import Basics
import Fleet
import Model
import Testing

@Suite struct FleetTests {
    @Test func aWantedRoomGetsAWorkerOfItsOwn() {
        var driver = FleetDriver()
        #expect(driver.want("a") == [.start(WorkerID(1))])
        #expect(driver.want("b") == [.start(WorkerID(2))])
        #expect(
            driver.ready(1) == [
                .report(.workerReady(WorkerID(1), processID: 101)),
                .send(WorkerID(1), .be(FleetDriver.order("a"), revision: 1)),
            ]
        )
        #expect(driver.feed(.event(WorkerID(1), .joined(room: "a"))) == [.report(.joined(room: "a"))])
        #expect(driver.fleet.commandable("a") == WorkerID(1))
        #expect(driver.fleet.commandable("b") == nil)
    }

    /// As every room is when the disk gets low while their workers start.
    @Test func aRoomThatIsDefinedAnewWhileItsWorkerStartsKeepsIt() {
        var driver = FleetDriver()
        driver.want("a")
        var order = FleetDriver.order("a", url: "socketio+http://192.0.2.1/other")
        order.record?.video = false
        #expect(driver.feed(.define(order)).isEmpty)
        #expect(name(driver.fleet.rooms["a"]?.phase) == "starting")
        #expect(
            driver.ready(1) == [
                .report(.workerReady(WorkerID(1), processID: 101)), .send(WorkerID(1), .be(order, revision: 1)),
            ]
        )
    }

    @Test func roomsShareAWorkerUpToItsPlaces() {
        var driver = FleetDriver { $0.roomsPerWorker = 2 }
        for name in ["a", "b", "c"] { driver.want(name) }
        #expect(driver.fleet.workers.count == 2)
        #expect(driver.fleet.rooms["a"]?.worker == driver.fleet.rooms["b"]?.worker)
        #expect(driver.ready(1).count == 3)
        #expect(driver.want("d").isEmpty)
        #expect(driver.fleet.workers[WorkerID(2)]?.rooms == ["c", "d"])
    }

    @Test func aWorkerThatDiesIsReplacedAtOnceAndTheRecordingGoesOn() {
        var driver = FleetDriver()
        driver.join("a")
        let recording = RecordingReference(id: "r", folder: "/srv/recordings/a/r")
        driver.feed(.event(WorkerID(1), .recordingStarted(room: "a", recording)))
        let actions = driver.feed(.exited(WorkerID(1), reason: "killed"))
        #expect(actions.contains(.start(WorkerID(2))))
        #expect(actions.contains(.report(.workerExited(WorkerID(1), reason: "killed", rooms: ["a"], cause: .exited))))
        var order = FleetDriver.order("a")
        order.continues = recording.folder
        #expect(driver.ready(2).contains(.send(WorkerID(2), .be(order, revision: 1))))
        #expect(driver.fleet.rooms["a"]?.restarts == 1)
        // A finished recording is not gone on with.
        driver.feed(.event(WorkerID(2), .recordingFinished(room: "a", recording, reason: "empty")))
        driver.feed(.exited(WorkerID(2), reason: "killed"))
        driver.tick(after: 2)
        #expect(driver.ready(3).contains(.send(WorkerID(3), .be(FleetDriver.order("a"), revision: 1))))
    }

    /// What the next worker hears of an unfinished recording, by what is wanted of the recording then.
    @Test(arguments: RoomSpec.Recording.allCases) func theNextWorkerContinuesWhatIsWanted(recording: RoomSpec.Recording)
    {
        var driver = FleetDriver()
        driver.join("a")
        let reference = RecordingReference(id: "r", folder: "/srv/recordings/a/r")
        driver.feed(.event(WorkerID(1), .recordingStarted(room: "a", reference)))
        var order = FleetDriver.order("a")
        order.recording = recording
        driver.feed(.define(order, revision: 2))
        driver.feed(.exited(WorkerID(1), reason: "killed"))
        order.continues = recording == .off ? nil : reference.folder
        let revision: UInt64 = recording == .automatic ? 1 : 2
        #expect(driver.ready(2).contains(.send(WorkerID(2), .be(order, revision: revision))))
    }

    /// A recording that was to be finished while no worker was there is left to a repair.
    @Test func aRecordingThatWasStoppedBetweenTwoWorkersIsNotContinued() {
        var driver = FleetDriver.inPhase("backingOff")
        let reference = RecordingReference(id: "r", folder: "/srv/recordings/a/r")
        driver.tick(after: 60)
        guard let worker = driver.fleet.rooms["a"]?.worker else {
            Issue.record("no worker")
            return
        }
        driver.ready(worker.rawValue)
        driver.feed(.event(worker, .recordingStarted(room: "a", reference)))
        driver.feed(.exited(worker, reason: "killed"))
        #expect(driver.fleet.rooms["a"]?.unfinished == reference)
        var order = FleetDriver.order("a")
        order.recording = .off
        driver.feed(.define(order, revision: 2))
        #expect(driver.fleet.rooms["a"]?.unfinished == nil)
    }

    /// A request for the recording is none for another try.
    @Test func whatIsWantedOfTheRecordingTriesNothingAgain() {
        for phase in ["backingOff", "failed"] {
            var driver = FleetDriver.inPhase(phase)
            var order = FleetDriver.order("a")
            order.recording = .off
            #expect(driver.feed(.define(order, revision: 2)).isEmpty)
            #expect(name(driver.fleet.rooms["a"]?.phase) == phase)
        }
    }

    /// Somebody stopped it while its worker was away.
    @Test func aRoomThatNobodyWantsGoesOnWithNothing() {
        var driver = FleetDriver()
        driver.join("a")
        let reference = RecordingReference(id: "r", folder: "/srv/recordings/a/r")
        driver.feed(.event(WorkerID(1), .recordingStarted(room: "a", reference)))
        driver.feed(.exited(WorkerID(1), reason: "killed"))
        #expect(driver.fleet.rooms["a"]?.unfinished == reference)
        driver.feed(.want(room: "a", false))
        #expect(driver.fleet.rooms["a"]?.unfinished == nil)
    }

    @Test func aRecordingThatCostsASecondWorkerIsLeftToARepair() {
        var driver = FleetDriver()
        driver.join("a")
        let recording = RecordingReference(id: "r", folder: "/srv/recordings/a/r")
        driver.feed(.event(WorkerID(1), .recordingStarted(room: "a", recording)))
        var order = FleetDriver.order("a")
        order.continues = recording.folder
        func replaced(_ id: Int, _ order: RoomSpec) -> Bool {
            driver.feed(.exited(WorkerID(id), reason: "crashed"))
            for _ in 0..<600 where driver.fleet.rooms["a"]?.worker == nil { driver.tick(after: 1) }
            guard let next = driver.fleet.rooms["a"]?.worker else { return false }
            return driver.ready(next.rawValue).contains(.send(next, .be(order, revision: 1)))
        }
        #expect(replaced(1, order))
        // One that went on with it and ended later is no reason to give it up.
        driver.feed(.event(WorkerID(2), .recordingStarted(room: "a", recording)))
        #expect(replaced(2, order))
        #expect(replaced(3, order))
        #expect(replaced(4, FleetDriver.order("a")))
    }

    @Test func theOthersOfASharedWorkerComeBackToo() {
        var driver = FleetDriver { $0.roomsPerWorker = 8 }
        for name in ["a", "b", "c"] { driver.want(name) }
        driver.ready(1)
        driver.feed(.exited(WorkerID(1), reason: "killed"))
        #expect(driver.fleet.rooms.values.allSatisfy { $0.worker == WorkerID(2) })
        // The second time nobody knows who did it: each gets a worker for itself.
        driver.ready(2)
        driver.feed(.exited(WorkerID(2), reason: "killed"))
        driver.tick(after: 2)
        #expect(Set(driver.fleet.rooms.values.map(\.worker)).count == 3)
    }

    @Test func aCrashLoopIsReportedAndTriedRarely() {
        var driver = FleetDriver()
        driver.want("a")
        var reported = 0
        var starts = 1
        for _ in 0..<3600 {
            if let id = driver.fleet.rooms["a"]?.worker {
                driver.ready(id.rawValue)
                let actions = driver.feed(.exited(id, reason: "crashed"))
                reported += actions.filter { if case .report(.crashLoop) = $0 { true } else { false } }.count
            }
            starts += driver.tick(after: 1).filter { if case .start = $0 { true } else { false } }.count
        }
        #expect(reported > 0)
        // Five quick tries, then one in about a minute for an hour.
        #expect((60...90).contains(starts), "\(starts) tries in an hour")
        #expect(driver.feed(.retry(room: "a")).contains { if case .start = $0 { true } else { false } })
    }

    @Test func aSilentWorkerIsKilledAndItsRoomTakenUp() {
        var driver = FleetDriver()
        driver.join("a")
        let vitals = WorkerVitals(cpuSeconds: 1, residentBytes: 1, threads: 1, descriptors: 1)
        driver.now += .seconds(9)
        driver.feed(.event(WorkerID(1), .heartbeat(vitals)))
        #expect(driver.tick(after: 9).isEmpty)
        #expect(driver.fleet.nextDeadline == driver.now + .seconds(1))
        // What rooms tell of themselves is no sign of life: another one hangs.
        driver.feed(.event(WorkerID(1), .status(room: "a", RoomStatus())))
        let actions = driver.tick(after: 1)
        #expect(actions == [.kill(WorkerID(1), reason: "hung: no heartbeat for 10.0 seconds")])
        // Late lines of the dead change nothing.
        #expect(driver.feed(.event(WorkerID(1), .notJoined(room: "a", reason: "late"))).isEmpty)
        #expect(driver.tick(after: 100).isEmpty)
        #expect(driver.feed(.exited(WorkerID(1), reason: "signal 9")).contains(.start(WorkerID(2))))
    }

    @Test func nobodyIsKilledForAStallOfOurOwn() {
        var driver = FleetDriver()
        driver.join("a")
        driver.want("b")
        driver.now += .seconds(60)
        #expect(driver.feed(.stalled(.seconds(60))).isEmpty)
        #expect(driver.tick(after: 1).isEmpty)
        // From then on limits hold as before.
        #expect(driver.tick(after: 9).contains(.kill(WorkerID(1), reason: "hung: no heartbeat for 10.0 seconds")))
        #expect(driver.fleet.nextDeadline != nil)
        #expect(
            driver.tick(after: 60).contains { if case .kill(WorkerID(2), _) = $0 { true } else { false } },
            "one that does not start"
        )
    }

    @Test func aRoomThatIsLeftHasItsTimeAlsoAfterAStall() {
        var driver = FleetDriver()
        driver.join("a")
        driver.feed(.want(room: "a", false))
        driver.now += .seconds(600)
        #expect(driver.feed(.stalled(.seconds(600))).isEmpty)
        #expect(driver.tick(after: 1).isEmpty)
        #expect(driver.tick(after: 600).contains { if case .kill = $0 { true } else { false } })
    }

    @Test func aWorkerThatIsTooLargeIsKilledAndItsRoomTakenUp() {
        var driver = FleetDriver { $0.maximumMemoryBytes = 64_000_000 }
        driver.join("a")
        func beat(_ bytes: Int64) -> [FleetAction] {
            let vitals = WorkerVitals(cpuSeconds: 1, residentBytes: bytes, threads: 1, descriptors: 1)
            return driver.feed(.event(WorkerID(1), .heartbeat(vitals)))
        }
        #expect(beat(63_999_999).isEmpty)
        let reason = "too large: 64000000 bytes are resident, the limit is 64000000"
        #expect(beat(64_000_000) == [.kill(WorkerID(1), reason: reason)])
        #expect(beat(64_000_001).isEmpty)
        let actions = driver.feed(.exited(WorkerID(1), reason: "signal 9", wasSignal: true))
        #expect(actions.contains(.report(.workerExited(WorkerID(1), reason: reason, rooms: ["a"], cause: .killed))))
        #expect(actions.contains(.start(WorkerID(2))))
    }

    @Test func withoutALimitNoWorkerIsTooLarge() {
        var driver = FleetDriver()
        driver.join("a")
        let vitals = WorkerVitals(cpuSeconds: 1, residentBytes: .max, threads: 1, descriptors: 1)
        #expect(driver.feed(.event(WorkerID(1), .heartbeat(vitals))).isEmpty)
    }

    @Test(arguments: [(false, WorkerEndCause.exited), (true, .crashed)])
    func whatEndedAWorkerIsTold(wasSignal: Bool, cause: WorkerEndCause) {
        var driver = FleetDriver()
        driver.join("a")
        let actions = driver.feed(.exited(WorkerID(1), reason: "x", wasSignal: wasSignal))
        #expect(actions.contains(.report(.workerExited(WorkerID(1), reason: "x", rooms: ["a"], cause: cause))))
    }

    @Test func aWorkerThatDoesNotStartIsKilled() {
        var driver = FleetDriver()
        driver.want("a")
        #expect(driver.tick(after: 15) == [.kill(WorkerID(1), reason: "did not start within 15.0 seconds")])
    }

    @Test func aWorkerOfAnotherVersionIsKilled() {
        var driver = FleetDriver()
        driver.want("a")
        let actions = driver.feed(.event(WorkerID(1), .ready(protocolVersion: 99, processID: 1)))
        #expect(actions == [.kill(WorkerID(1), reason: "speaks version 99 of the worker protocol, not 2")])
    }

    @Test func leavingEndsTheWorkerThatHasNoOtherRoom() {
        var driver = FleetDriver()
        driver.join("a")
        #expect(driver.feed(.want(room: "a", false)) == [.send(WorkerID(1), .leave(room: "a"))])
        let actions = driver.feed(.event(WorkerID(1), .left(room: "a", .ordered)))
        #expect(actions == [.send(WorkerID(1), .shutDown), .report(.left(room: "a", reason: "it is not wanted"))])
        #expect(driver.feed(.exited(WorkerID(1), reason: "ended")).count == 1)
        #expect(driver.fleet.workers.isEmpty)
    }

    @Test func leavingSaysWhy() {
        var driver = FleetDriver()
        driver.join("a")
        driver.feed(.want(room: "a", false, because: "stopped by request"))
        let actions = driver.feed(.event(WorkerID(1), .left(room: "a", .ordered)))
        #expect(actions.last == .report(.left(room: "a", reason: "stopped by request")))
        #expect(driver.fleet.rooms["a"]?.reason == "stopped by request")
    }

    @Test func aRoomThatIsNotLeftInTimeCostsItsWorker() {
        var driver = FleetDriver()
        driver.join("a")
        driver.feed(.want(room: "a", false))
        driver.now += .seconds(15)
        let vitals = WorkerVitals(cpuSeconds: 1, residentBytes: 1, threads: 1, descriptors: 1)
        driver.feed(.event(WorkerID(1), .heartbeat(vitals)))
        #expect(driver.tick(after: 5) == [.kill(WorkerID(1), reason: "did not leave a within 20.0 seconds")])
        driver.feed(.exited(WorkerID(1), reason: "signal 9"))
        #expect(name(driver.fleet.rooms["a"]?.phase) == "idle")
    }

    @Test func aChangedRoomIsLeftAndJoinedAnew() {
        var driver = FleetDriver()
        driver.join("a")
        let other = FleetDriver.order("a", url: "socketio+http://192.0.2.1/b")
        #expect(driver.feed(.define(other)) == [.send(WorkerID(1), .leave(room: "a"))])
        let actions = driver.feed(.event(WorkerID(1), .left(room: "a", .ordered)))
        // Never in the same room twice, but another process may start while this one ends.
        #expect(actions.contains(.start(WorkerID(2))))
        #expect(driver.ready(2).contains(.send(WorkerID(2), .be(other, revision: 1))))
    }

    @Test func aChangedCameraOrRecordOrderDoesNotEndTheCall() {
        var driver = FleetDriver()
        driver.join("a")
        var order = FleetDriver.order("a")
        order.send = SendSpec()
        let changes: [(inout RoomSpec) -> Void] = [
            { $0.record?.video = false }, { $0.recording = .off }, { $0.outputs = [OutputSpec(host: "192.0.2.7")] },
            { $0.outputs = [] }, { $0.priority = 7 }, { $0.afterKickSeconds = 7 }, { $0.whenFullSeconds = 60 },
        ]
        for (revision, change) in zip(UInt64(2)..., changes) {
            change(&order)
            #expect(
                driver.feed(.define(order, revision: revision)) == [
                    .send(WorkerID(1), .be(order, revision: revision))
                ]
            )
        }
        #expect(name(driver.fleet.rooms["a"]?.phase) == "joined")
    }

    @Test func theSameReasonIsReportedOnce() {
        var driver = FleetDriver.inPhase("joining")
        let full = FleetInput.event(WorkerID(1), .notJoined(room: "a", reason: "full"))
        #expect(driver.feed(full) == [.report(.unreachable(room: "a", reason: "full"))])
        #expect(driver.feed(full).isEmpty)
    }

    /// The server put us out of a room whose rule says so many seconds.
    private static func putOut(afterKick seconds: Int?) -> (driver: FleetDriver, actions: [FleetAction]) {
        var driver = FleetDriver()
        driver.join("a")
        var order = FleetDriver.order("a")
        order.afterKickSeconds = seconds
        // A rule is no reason to disturb a call.
        let isTold = order != FleetDriver.order("a")
        #expect(driver.feed(.define(order)) == (isTold ? [.send(WorkerID(1), .be(order, revision: 1))] : []))
        #expect(name(driver.fleet.rooms["a"]?.phase) == "joined")
        let actions = driver.feed(.event(WorkerID(1), .left(room: "a", .removed(message: "put out"))))
        return (driver, actions)
    }

    @Test func afterAKickTheRoomIsLeftAloneForAWhile() {
        var (driver, actions) = Self.putOut(afterKick: 300)
        #expect(actions == [.send(WorkerID(1), .shutDown), .report(.left(room: "a", reason: "put out"))])
        #expect(driver.fleet.rooms["a"]?.reason == "put out")
        driver.feed(.exited(WorkerID(1), reason: "ended"))
        #expect(driver.tick(after: 299).isEmpty)
        #expect(name(driver.fleet.rooms["a"]?.phase) == "backingOff")
        #expect(driver.tick(after: 32) == [.start(WorkerID(2))])
        #expect(driver.fleet.rooms["a"]?.restarts == 0)
    }

    /// A refusal may be a proxy's, or of a server that has not made the room yet.
    @Test func aRoomThatIsRefusedIsTriedAgainAfterAWhile() {
        var driver = FleetDriver.inPhase("failed")
        driver.feed(.exited(WorkerID(1), reason: "ended"))
        #expect(driver.fleet.rooms["a"]?.reason == "gone")
        #expect(driver.tick(after: 809).isEmpty)
        #expect(driver.fleet.rooms["a"]?.phase == .failed(until: driver.fleet.nextDeadline))
        #expect(driver.tick(after: 182) == [.start(WorkerID(2))])
        driver.ready(2)
        let again = driver.feed(.event(WorkerID(2), .left(room: "a", .failed(message: "gone", retriable: false))))
        // People were told.
        #expect(!again.contains(.report(.left(room: "a", reason: "gone"))))
        driver.feed(.exited(WorkerID(2), reason: "ended"))
        #expect(name(driver.fleet.rooms["a"]?.phase) == "failed" && driver.fleet.nextDeadline != nil)
        // Another reason is news, and so is the same one for who asked.
        _ = driver.tick(after: 1000)
        driver.ready(3)
        let other = driver.feed(.event(WorkerID(3), .left(room: "a", .failed(message: "full", retriable: false))))
        #expect(other.contains(.report(.left(room: "a", reason: "full"))))
        driver.feed(.exited(WorkerID(3), reason: "ended"))
        driver.feed(.stop)
        #expect(driver.fleet.nextDeadline == nil && driver.tick(after: 10_000).isEmpty)
    }

    @Test func aRoomThatIsRefusedAndNotWantedIsLeftAlone() {
        var driver = FleetDriver.inPhase("failed")
        driver.feed(.exited(WorkerID(1), reason: "ended"))
        driver.feed(.want(room: "a", false))
        #expect(driver.fleet.nextDeadline == nil && driver.tick(after: 10_000).isEmpty)
    }

    @Test func afterAKickARoomMayWaitUntilSomebodyAsks() {
        var (driver, _) = Self.putOut(afterKick: nil)
        #expect(name(driver.fleet.rooms["a"]?.phase) == "failed")
        driver.feed(.exited(WorkerID(1), reason: "ended"))
        #expect(driver.tick(after: 100_000).isEmpty)
        #expect(driver.feed(.retry(room: "a")) == [.start(WorkerID(2))])
    }

    @Test(arguments: [300, nil]) func onlyAPersonEndsTheTimeAfterAKick(seconds: Int?) {
        var (driver, _) = Self.putOut(afterKick: seconds)
        var order = FleetDriver.order("a")
        order.afterKickSeconds = seconds
        // The disk is full: what is recorded changes, and nobody asked for the room.
        order.record?.video = false
        #expect(driver.feed(.define(order)).isEmpty)
        // Asked for another rule: tried at once.
        order.afterKickSeconds = 60
        #expect(driver.feed(.define(order)) == [.start(WorkerID(2))])
    }

    @Test func theNextWindowOfAScheduleForgetsAKick() {
        var (driver, _) = Self.putOut(afterKick: nil)
        #expect(driver.feed(.want(room: "a", false)).isEmpty)
        #expect(name(driver.fleet.rooms["a"]?.phase) == "idle")
        #expect(driver.feed(.want(room: "a", true)) == [.start(WorkerID(2))])
    }

    @Test func aMemberIsNotDisturbedByAnotherWaitForAFullRoom() {
        var order = FleetDriver.order("a")
        order.whenFullSeconds = 60
        var member = FleetDriver.inPhase("joined")
        #expect(member.feed(.define(order)) == [.send(WorkerID(1), .be(order, revision: 1))])
        // Whoever waits in front of the door gets the new rule.
        var waiting = FleetDriver.inPhase("joining")
        #expect(waiting.feed(.define(order)) == [.send(WorkerID(1), .leave(room: "a"))])
    }

    @Test func aWorkerThatNobodyNeedsWhileItStartsIsNoFault() {
        var driver = FleetDriver()
        driver.want("a")
        let cancelled = FleetAction.cancel(WorkerID(1), reason: "no room needs it")
        #expect(driver.feed(.want(room: "a", false)) == [cancelled])
        #expect(driver.feed(.want(room: "a", false)).isEmpty)
    }

    @Test func stoppingShutsEveryWorkerDownAndStartsNone() {
        var driver = FleetDriver()
        driver.join("a")
        driver.join("b")
        driver.want("c")
        let actions = driver.feed(.stop)
        #expect(
            actions == [
                .send(WorkerID(1), .shutDown), .send(WorkerID(2), .shutDown),
                .cancel(WorkerID(3), reason: "the daemon ends"),
            ]
        )
        #expect(driver.feed(.stop).isEmpty)
        #expect(!driver.fleet.hasStopped)
        driver.feed(.exited(WorkerID(3), reason: "killed"))
        driver.feed(.exited(WorkerID(1), reason: "ended"))
        #expect(driver.tick(after: 20) == [.kill(WorkerID(2), reason: "did not end within 20.0 seconds")])
        driver.feed(.exited(WorkerID(2), reason: "killed"))
        #expect(driver.fleet.hasStopped)
        #expect(driver.want("d").isEmpty)
    }
}

@Suite struct RestartPolicyTests {
    private func waits(_ count: Int, _ change: (inout RestartPolicy.Settings) -> Void = { _ in }) -> [Int64] {
        var settings = RestartPolicy.Settings()
        change(&settings)
        var policy = RestartPolicy(settings: settings)
        return (0..<count).map { policy.failed(at: .seconds($0), random: 0).components.seconds }
    }

    @Test func waitsDoubleUpToTheLimitWhichIsThatOfACrashLoop() {
        #expect(self.waits(7) == [0, 1, 2, 4, 60, 60, 60])
        #expect(self.waits(6) { $0.maximumDelay = .seconds(2) } == [0, 1, 2, 2, 2, 2])
        #expect(self.waits(6) { $0.maximumDelay = .seconds(3600) } == [0, 1, 2, 4, 3600, 3600])
        #expect(self.waits(9) { $0.crashLoopFailures = 12 } == [0, 1, 2, 4, 8, 16, 32, 60, 60])
    }

    @Test func chanceTakesUpToHalfAway() {
        var policy = RestartPolicy(settings: RestartPolicy.Settings())
        _ = policy.failed(at: .zero, random: 0)
        #expect(policy.failed(at: .zero, random: 1) == .milliseconds(500))
    }

    @Test func aLongHealthyTryForgetsWhatWasBefore() {
        var policy = RestartPolicy(settings: RestartPolicy.Settings())
        for second in 0..<4 { _ = policy.failed(at: .seconds(second), random: 0) }
        #expect(policy.wantsIsolation)
        #expect(policy.failed(at: .seconds(1000), random: 0) == .zero)
        #expect(!policy.wantsIsolation)
    }

    /// Each kind of event: of its own room, of another one, of none, and after it was killed.
    @Test func aWorkerIsBelievedAboutItsOwnRoomsUntilItIsKilled() {
        var driver = FleetDriver()
        driver.join("a")
        driver.join("b")
        let recording = RecordingReference(id: "r", folder: "/srv/r")
        func events(_ room: String) -> [WorkerEvent] {
            [
                .joined(room: room), .notJoined(room: room, reason: "x"), .status(room: room, RoomStatus()),
                .recordingStarted(room: room, recording), .recordingFinished(room: room, recording, reason: "x"),
                .recordingDegraded(room: room, recording, reason: "x", byDisk: true),
                .participantJoined(room: room, participant: "p"),
                .participantLeft(room: room, participant: "p", reason: "x"),
                .peerRefused(room: room, participant: "p", reason: "x"),
                .firstUnit(room: room, participant: "p", kind: "audio", milliseconds: 1, parts: [:]),
                .outputFailed(room: room, output: "o", reason: "x"), .outputRecovered(room: room, output: "o"),
                .keyframe(
                    room: room,
                    participant: "p",
                    KeyframePart(codec: "vp8", keyframeBytes: 1, base64: "AA=="),
                    number: 1
                ), .graph(room: room, pipeline: "p", dot: ""),
                .commandDone(room: room, command: "x"), .commandFailed(room: room, command: "x", reason: "x"),
                .left(room: room, .ordered),
            ]
        }
        let vitals = WorkerVitals(cpuSeconds: 1, residentBytes: 1, threads: 1, descriptors: 1)
        let ofItself: [WorkerEvent] = [
            .heartbeat(vitals), .commandFailed(room: nil, command: "x", reason: "x"),
        ]
        for event in events("a") + ofItself {
            #expect(driver.fleet.refusal(of: event, from: WorkerID(1)) == nil, "\(event)")
            #expect(driver.fleet.refusal(of: event, from: WorkerID(9)) != nil, "\(event)")
        }
        let before = driver.fleet.rooms
        let again = WorkerEvent.ready(protocolVersion: WorkerLine.protocolVersion, processID: 7)
        for event in events("b") + [again] + events("nowhere") {
            #expect(driver.fleet.refusal(of: event, from: WorkerID(1)) != nil, "\(event)")
            #expect(driver.feed(.event(WorkerID(1), event)).isEmpty)
        }
        #expect(driver.fleet.rooms == before)
        driver.tick(after: 3600)
        for event in events("a") + ofItself {
            #expect(driver.fleet.refusal(of: event, from: WorkerID(1)) != nil, "\(event)")
        }
    }
}
