// SPDX-License-Identifier: Apache-2.0

import ConfigurationFile
import Control
import Rooms
import Supervision
import Testing

@testable import Daemon

/// What rooms are told when the disk gets full, and when the configuration changes.
@Suite(.timeLimit(.minutes(5))) struct SupervisorRoomTests {
    private let bench: DaemonBench
    private let supervisor: Supervisor

    init() throws {
        self.bench = try DaemonBench()
        self.supervisor = self.bench.supervisor(store: try self.bench.store())
    }

    private func add(_ name: String, _ definition: String) async throws {
        let text = "{ url: 'socketio+http://127.0.0.1:1/\(name)', join: on-demand, \(definition) }"
        _ = try await self.supervisor.addRoom(name, definition: text)
    }

    private func ordered(_ name: String) async -> RecordingOrder? { await self.supervisor.fleet.rooms[name]?.ordered }

    /// Whatever the definition says of recording.
    @Test(arguments: ["record: none", "record: { automatic: false }"])
    func nothingIsRecordedByHandOnAFullDisk(definition: String) async throws {
        try await self.add("room", definition)
        _ = try await self.supervisor.perform(.record, on: "room")
        #expect(await self.ordered("room") == .record)
        await self.supervisor.limitRecording(to: .nothing)
        #expect(await self.ordered("room") == nil)
        let error = await #expect(throws: ControlError.self) {
            _ = try await self.supervisor.perform(.record, on: "room")
        }
        #expect(error?.code == .unavailable)
        await self.supervisor.limitRecording(to: .everything)
        _ = try await self.supervisor.perform(.record, on: "room")
        #expect(await self.ordered("room") == .record)
    }

    private func recorded(_ name: String) async -> RecordSpec? {
        await self.supervisor.fleet.rooms[name]?.order.record
    }

    /// Also where the definition has nothing that could be limited.
    @Test func whatIsRecordedByHandLosesItsPicturesFirst() async throws {
        try await self.add("room", "record: none")
        #expect(await self.recorded("room") == nil)
        _ = try await self.supervisor.perform(.record, on: "room")
        #expect(await self.recorded("room")?.isAutomatic == false)
        await self.supervisor.limitRecording(to: .soundOnly)
        #expect(await self.recorded("room")?.video == false)
        #expect(await self.ordered("room") == .record)
        await self.supervisor.limitRecording(to: .everything)
        #expect(await self.recorded("room")?.video == true)
        #expect(await self.ordered("room") == .record)
        await self.supervisor.limitRecording(to: .nothing)
        await self.supervisor.limitRecording(to: .everything)
        #expect(await self.recorded("room") == nil)
        #expect(await self.ordered("room") == nil)
    }

    @Test func whatBeginsOnADiskThatFillsIsLimitedAsWell() async throws {
        await self.supervisor.limitRecording(to: .soundOnly)
        try await self.add("room", "record: none")
        _ = try await self.supervisor.perform(.record, on: "room")
        #expect(await self.recorded("room")?.video == false)
        try await self.add("pictures", "record: { audio: false, automatic: false }")
        let error = await #expect(throws: ControlError.self) {
            _ = try await self.supervisor.perform(.record, on: "pictures")
        }
        #expect(error?.code == .unavailable)
        #expect(await self.ordered("pictures") == nil)
    }

    @Test func aDefinitionThatRecordsNothingAnyMoreEndsWhatWasBegunByHand() async throws {
        try await self.add("room", "record: { automatic: false }")
        _ = try await self.supervisor.perform(.record, on: "room")
        _ = try await self.supervisor.changeRoom("room", patch: #"{"record":"none"}"#)
        #expect(await self.recorded("room") == nil)
        #expect(await self.ordered("room") == nil)
    }

    /// Somebody paused it: it is not recorded again because there is space.
    @Test(arguments: ["record: none", "record: { automatic: true }"])
    func whatWasPausedOnAFullDiskWaitsForAnOrder(definition: String) async throws {
        try await self.add("room", definition)
        _ = try await self.supervisor.perform(.record, on: "room")
        await self.supervisor.apply(.order(room: "room", .pause))
        await self.supervisor.limitRecording(to: .nothing)
        #expect(await self.ordered("room") == .hold)
        let error = await #expect(throws: ControlError.self) {
            _ = try await self.supervisor.perform(.resume, on: "room")
        }
        #expect(error?.code == .unavailable)
        await self.supervisor.limitRecording(to: .everything)
        #expect(await self.ordered("room") == .hold)
        _ = try await self.supervisor.perform(.resume, on: "room")
        #expect(await self.ordered("room") == .record)
        #expect(await self.recorded("room") != nil)
    }

    @Test func roomsOfTheInterfaceGetTheOtherSectionsOfANewConfiguration() async throws {
        try await self.add("room", "record: none")
        #expect(await self.supervisor.fleet.rooms["room"]?.order.ice.relaysOnly == false)
        let text = "ice: { policy: relay, servers: [{ urls: ['turn:192.0.2.1'], username: a, credential: b }] }"
        let new = try DaemonConfiguration.parse(text: text, values: NotedValueSource())
        _ = await self.supervisor.take(new)
        #expect(await self.supervisor.fleet.rooms["room"]?.order.ice.relaysOnly == true)
    }
}
