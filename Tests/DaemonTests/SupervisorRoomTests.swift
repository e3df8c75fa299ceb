// SPDX-License-Identifier: Apache-2.0

import ConfigurationFile
import Control
import Fleet
import Foundation
import Model
import Observability
import Storage
import Testing

@testable import Daemon

/// What rooms are told when the disk gets full, and when the configuration changes.
@Suite(.timeLimit(.minutes(5))) struct SupervisorRoomTests {
    private let bench: DaemonBench
    private let supervisor: Supervisor
    private let backend: DaemonBackend

    init() throws {
        self.bench = try DaemonBench()
        let store = try self.bench.store()
        self.supervisor = self.bench.supervisor(store: store)
        self.backend = self.bench.backend(self.supervisor, store)
    }

    private func add(_ name: String, _ definition: String) async throws {
        let text = "{ url: 'socketio+http://127.0.0.1:1/\(name)', join: on-demand, \(definition) }"
        _ = try await self.backend.addRoom(name, definition: text)
    }

    private func hand(_ name: String) async -> RoomIntent.Hand? { await self.supervisor.intents[name]?.hand }

    /// Whatever the definition says of recording.
    @Test(arguments: ["record: none", "record: { automatic: false }"])
    func nothingIsRecordedByHandOnAFullDisk(definition: String) async throws {
        try await self.add("room", definition)
        _ = try await self.supervisor.perform(.record, on: "room")
        #expect(await self.hand("room") == .on)
        await self.supervisor.limitRecording(to: .nothing)
        #expect(await self.hand("room") == .asDefined)
        let error = await #expect(throws: ControlError.self) {
            _ = try await self.supervisor.perform(.record, on: "room")
        }
        #expect(error?.code == .unavailable)
        await self.supervisor.limitRecording(to: .everything)
        _ = try await self.supervisor.perform(.record, on: "room")
        #expect(await self.hand("room") == .on)
    }

    /// Lines at `error` raise an alert when there are many.
    @Test func aWorkerThatIsNotNeededWhileItStartsIsNoError() async throws {
        let lines = LogLines()
        let supervisor = self.bench.supervisor(store: try self.bench.store(), logger: lines.logger)
        let room = try RoomConfiguration.parse(name: "room", text: "url: 'socketio+http://127.0.0.1:1/room'")
        await supervisor.define(room, origin: .configuration)
        #expect(await supervisor.fleet.workers.count == 1)
        await supervisor.apply(.want(room: "room", false))
        #expect(lines.all.contains { $0.hasPrefix("info worker is not needed") })
        #expect(!lines.all.contains { $0.hasPrefix("error") })
    }

    private func recorded(_ name: String) async -> RecordSpec? {
        await self.supervisor.fleet.rooms[name]?.spec.record
    }

    @Test func whatIsRecordedByHandIsAnnounced() async throws {
        try await self.add("room", "record: none, announce: recorded")
        _ = try await self.supervisor.perform(.record, on: "room")
        #expect(await self.recorded("room")?.announcement == "recorded")
    }

    /// Also where the definition has nothing that could be limited.
    @Test func whatIsRecordedByHandLosesItsPicturesFirst() async throws {
        try await self.add("room", "record: none")
        #expect(await self.recorded("room") == nil)
        _ = try await self.supervisor.perform(.record, on: "room")
        #expect(await self.recorded("room")?.isAutomatic == false)
        await self.supervisor.limitRecording(to: .audioOnly)
        #expect(await self.recorded("room")?.video == false)
        #expect(await self.hand("room") == .on)
        await self.supervisor.limitRecording(to: .everything)
        #expect(await self.recorded("room")?.video == true)
        #expect(await self.hand("room") == .on)
        await self.supervisor.limitRecording(to: .nothing)
        await self.supervisor.limitRecording(to: .everything)
        #expect(await self.recorded("room") == nil)
        #expect(await self.hand("room") == .asDefined)
    }

    @Test func whatBeginsOnADiskThatFillsIsLimitedAsWell() async throws {
        await self.supervisor.limitRecording(to: .audioOnly)
        try await self.add("room", "record: none")
        _ = try await self.supervisor.perform(.record, on: "room")
        #expect(await self.recorded("room")?.video == false)
        try await self.add("pictures", "record: { audio: false, automatic: false }")
        let error = await #expect(throws: ControlError.self) {
            _ = try await self.supervisor.perform(.record, on: "pictures")
        }
        #expect(error?.code == .unavailable)
        #expect(await self.hand("pictures") == .asDefined)
    }

    @Test func aDefinitionThatRecordsNothingAnyMoreEndsWhatWasBegunByHand() async throws {
        try await self.add("room", "record: { automatic: false }")
        _ = try await self.supervisor.perform(.record, on: "room")
        _ = try await self.backend.changeRoom("room", patch: #"{"record":"none"}"#)
        #expect(await self.recorded("room") == nil)
        #expect(await self.hand("room") == .asDefined)
    }

    /// Somebody paused it: it is not recorded again because there is space.
    @Test(arguments: ["record: none", "record: { automatic: true }"])
    func whatWasPausedOnAFullDiskWaitsForAnOrder(definition: String) async throws {
        try await self.add("room", definition)
        _ = try await self.supervisor.perform(.record, on: "room")
        await self.supervisor.intend("room") { intent in
            _ = intent.pause()
            intent.acceptPause(of: "r")
        }
        await self.supervisor.limitRecording(to: .nothing)
        #expect(await self.hand("room") == .held)
        let error = await #expect(throws: ControlError.self) {
            _ = try await self.supervisor.perform(.resume, on: "room")
        }
        #expect(error?.code == .unavailable)
        await self.supervisor.limitRecording(to: .everything)
        #expect(await self.hand("room") == .held)
        _ = try await self.supervisor.perform(.resume, on: "room")
        #expect(await self.hand("room") == .on)
        #expect(await self.recorded("room") != nil)
    }

    @Test func whatIsRecordedByHandIsForcedToTheDiskAsOftenAsTheRest() async throws {
        let text = "storage: { synchronise_every: 250ms }"
        let new = try DaemonConfiguration.parse(text: text, values: NotedValueSource())
        _ = await self.supervisor.take(new)
        try await self.add("room", "record: none")
        _ = try await self.supervisor.perform(.record, on: "room")
        #expect(await self.recorded("room")?.synchroniseMilliseconds == 250)
    }

    /// As a reload does: their workers would say it only in the room.
    @Test(
        arguments: [
            ("send: { capture: nowhere }", "send.capture"),
            ("send: { capture: test, parameters: { nothing: 1 } }", "send.parameters.nothing"),
            ("outputs: [{ pipeline: { file: nowhere } }]", "outputs[0].pipeline.file"),
        ]
    )
    func roomsOfTheInterfaceNamePipelinesThatThereAre(definition: String, key: String) async throws {
        let added = await #expect(throws: ControlError.self) { try await self.add("room", definition) }
        #expect(added?.code == .invalid)
        #expect(added?.problems.contains { $0.contains("rooms.room.\(key): ") } == true)
        #expect(await self.supervisor.fleet.rooms["room"] == nil)
        try await self.add("room", "send: { capture: test }")
        let changed = await #expect(throws: ControlError.self) {
            _ = try await self.backend.changeRoom("room", patch: #"{"send":{"capture":"nowhere"}}"#)
        }
        #expect(changed?.code == .invalid)
        #expect(await self.supervisor.fleet.rooms["room"]?.spec.send?.video == .test)
    }

    @Test func nothingIsSentIntoARoomThatOnlyPlays() async throws {
        let text = "{ url: 'whep+http://127.0.0.1:1/cam', join: on-demand }"
        _ = try await self.backend.addRoom("play", definition: text)
        let error = await #expect(throws: ControlError.self) {
            _ = try await self.supervisor.perform(.camera(SendSpec()), on: "play")
        }
        #expect(error?.code == .conflict && error?.message.contains("only plays") == true)
        // One that was told to send, and is another room now.
        try await self.add("room", "record: none")
        await self.supervisor.intend("room") { intent in
            intent.request(.camera(SendSpec()))
            intent.acceptCamera()
        }
        #expect(await self.supervisor.fleet.rooms["room"]?.spec.send != nil)
        _ = try await self.backend.changeRoom("room", patch: #"{"url":"whep+http://127.0.0.1:1/room"}"#)
        #expect(await self.supervisor.fleet.rooms["room"]?.spec.send == nil)
    }

    @Test func roomsOfTheInterfaceGetTheOtherSectionsOfANewConfiguration() async throws {
        try await self.add("room", "record: none")
        #expect(await self.supervisor.fleet.rooms["room"]?.spec.ice.relaysOnly == false)
        let text = "ice: { policy: relay, servers: [{ urls: ['turn:192.0.2.1'], username: a, credential: b }] }"
        let new = try DaemonConfiguration.parse(text: text, values: NotedValueSource())
        _ = await self.supervisor.take(new)
        #expect(await self.supervisor.fleet.rooms["room"]?.spec.ice.relaysOnly == true)
    }

    // MARK: With a worker

    /// Runs a supervisor of the room `a`, whose first worker says so when it is told to join, and ends once there is a
    /// file `go`; those after it say nothing.
    private func withWorker(
        saying events: WorkerEvent...,
        body: @Sendable (Supervisor) async throws -> Void
    ) async throws {
        let ready = WorkerEvent.ready(protocolVersion: WorkerLine.protocolVersion, processID: 1)
        for (name, events) in ["ready": [ready], "joining": events] {
            let lines = try events.reduce(into: Data()) { $0 += try WorkerLine.encode($1) }
            try lines.write(to: URL(filePath: "\(self.bench.storage)/\(name)"))
        }
        let script = """
            cd \(self.bench.storage)
            cat ready
            [ -e go ] || while read -r line; do
              case "$line" in
                *'"be"'*) cat joining; while [ ! -e go ]; do sleep 0.02; done; exit 1 ;;
              esac
            done
            cat > /dev/null
            """
        let configuration = try DaemonConfiguration.parse(
            text: """
                workers: { hang_limit: 30s }
                rooms: { a: { url: 'socketio+http://192.0.2.1/a', record: { automatic: false } } }
                """
        )
        let supervisor = self.bench.supervisor(configuration, store: try self.bench.store(), workers: script)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await supervisor.run() }
            defer { group.cancelAll() }
            await supervisor.takeUpRooms()
            try await body(supervisor)
        }
    }

    private func letWorkerEnd() throws { try Data().write(to: URL(filePath: self.bench.storage + "/go")) }

    /// Its worker would not hear of it.
    @Test func whatCannotBeSentIsNotOrdered() async throws {
        try await self.withWorker(saying: .joined(room: "a")) { supervisor in
            _ = try #require(await self.bench.next(.roomJoined))
            let worker = try #require(await supervisor.fleet.commandable("a"))
            await withDiscardingTaskGroup { group in
                for _ in 0..<256 {
                    group.addTask { _ = await supervisor.ask(worker, .graph(room: "a"), room: "a", .graphs) }
                }
                while await !supervisor.isBusy { await Task.yield() }
                for action in [RoomAction.record, .pause, .resume, .stop, .mark("x")] {
                    let error = await #expect(throws: ControlError.self) {
                        _ = try await supervisor.perform(action, on: "a")
                    }
                    #expect(error?.code == .unavailable, "\(action)")
                }
                #expect(await supervisor.intents["a"]?.hand == .asDefined)
                #expect(throws: Never.self) { try self.letWorkerEnd() }
            }
            #expect(await !supervisor.isBusy)
        }
    }

    /// As from two pages, or a button that is pressed twice: whatever the worker has said of its state by then.
    @Test func whatTwoRequestsWantIsPublishedOnce() async throws {
        let folder = try self.bench.makeRecording(room: "a", isFinished: false)
        let recording = RecordingReference(id: folder.id.rawValue, folder: folder.path)
        var status = RoomStatus()
        // It does all that it is told at once.
        (status.recordingState, status.recording, status.revision) = (.recording, recording, 1000)
        try await self.withWorker(
            saying: .joined(room: "a"),
            .status(room: "a", status),
            .recordingStarted(room: "a", recording)
        ) { supervisor in
            _ = try #require(await self.bench.next(.recordingStarted))
            for action in [RoomAction.pause, .pause, .resume, .resume] {
                _ = try await supervisor.perform(action, on: "a")
            }
            self.bench.bus.publish(.configurationReloaded)
            var kinds: [DaemonEvent.Kind] = []
            for await event in self.bench.events {
                if event.kind == .configurationReloaded { break }
                kinds.append(event.kind)
            }
            #expect(kinds == [.recordingPaused, .recordingResumed])
            try self.letWorkerEnd()
        }
    }

    @Test func aWorkerThatEndsBeforeItsRoomIsJoinedLeavesNoFigures() async throws {
        var status = RoomStatus()
        status.participants = [RoomStatus.Participant(id: "p", isConnected: false)]
        let shown = "tapedeck_room_participants{room=\"a\"}"
        try await self.withWorker(saying: .status(room: "a", status)) { _ in
            let registry = self.bench.metrics.registry
            while !registry.text().contains(shown) { await Task.yield() }
            try self.letWorkerEnd()
            _ = try #require(await self.bench.next(.workerExited))
            #expect(!registry.text().contains(shown))
        }
    }
}
