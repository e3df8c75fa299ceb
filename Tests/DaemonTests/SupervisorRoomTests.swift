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

    @Test func roomsOfTheInterfaceGetTheOtherSectionsOfANewConfiguration() async throws {
        try await self.add("room", "record: none")
        #expect(await self.supervisor.fleet.rooms["room"]?.order.ice.relaysOnly == false)
        let text = "ice: { policy: relay, servers: [{ urls: ['turn:192.0.2.1'], username: a, credential: b }] }"
        let new = try DaemonConfiguration.parse(text: text, values: NotedValueSource())
        _ = await self.supervisor.take(new)
        #expect(await self.supervisor.fleet.rooms["room"]?.order.ice.relaysOnly == true)
    }
}
