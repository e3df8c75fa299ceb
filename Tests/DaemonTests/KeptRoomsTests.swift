// SPDX-License-Identifier: Apache-2.0

import Basics
import Catalogue
import ConfigurationFile
import Control
import Model
import Testing

@testable import Daemon

/// Rooms that clients added, from one start of the daemon to the next.
@Suite(.timeLimit(.minutes(5))) struct KeptRoomsTests {
    private let bench: DaemonBench
    private let lines = LogLines()

    init() throws {
        self.bench = try DaemonBench()
    }

    /// The next start: another supervisor on the same catalogue.
    private func start(_ rooms: String = "{}") async throws -> DaemonBackend {
        let store = try self.bench.store()
        let configuration = try DaemonConfiguration.parse(text: "rooms: \(rooms)")
        let supervisor = self.bench.supervisor(configuration, store: store, logger: self.lines.logger)
        await supervisor.takeUpRooms()
        return self.bench.backend(supervisor, store)
    }

    private static func definition(_ room: String) -> String {
        "{ url: 'socketio+http://127.0.0.1:1/\(room)', join: on-demand, secret: s3cret }"
    }

    @Test func areThereAgainAsTheyWereChanged() async throws {
        let first = try await self.start()
        _ = try await first.addRoom("a", definition: Self.definition("a"))
        _ = try await first.addRoom("b", definition: Self.definition("b"))
        _ = try await first.changeRoom("a", patch: #"{"priority": 7, "announce": "recorded"}"#)
        try await first.removeRoom("b")
        let second = try await self.start()
        #expect(await second.rooms(isLocal: true).rooms.map(\.name) == ["a"])
        let room = try await second.room("a")
        #expect(room.origin == "api" && room.reason == "waits for a request to record" && room.next == nil)
        let shown: JSONValue = .object([
            "url": "socketio+http://127.0.0.1:1/a", "join": "on-demand", "priority": .integer(7),
            "announce": "recorded",
        ])
        #expect(room.definition == shown, "without the secret")
        #expect(await second.rooms(isLocal: true).rooms.allSatisfy { $0.definition == nil })
        _ = try await second.changeRoom("a", patch: #"{"join": {"schedule": "0 9 * * 1", "duration": "1h"}}"#)
        #expect(try await second.room("a").next?.hasSuffix("T09:00:00.000000000Z") == true)
        try await second.removeRoom("a")
        #expect(try await self.bench.catalogue.rooms().isEmpty)
    }

    @Test func giveWayToTheFile() async throws {
        let first = try await self.start()
        _ = try await first.addRoom("a", definition: Self.definition("a"))
        let file = "{ a: { url: 'socketio+http://127.0.0.1:1/file', join: on-demand } }"
        let second = try await self.start(file)
        #expect(try await second.room("a").url.hasSuffix("/file"))
        #expect(try await second.room("a").origin == "configuration")
        let said = self.lines.all.filter { $0.contains("added through the API") }
        #expect(said.count == 1, "\(said)")
        let third = try await self.start()
        #expect(await third.rooms(isLocal: true).rooms.isEmpty)
    }

    @Test func oneOfTheFileThatWasChangedIsNotKept() async throws {
        let file = "{ a: { url: 'socketio+http://127.0.0.1:1/a', join: on-demand } }"
        let first = try await self.start(file)
        _ = try await first.changeRoom("a", patch: #"{"priority": 7}"#)
        #expect(try await first.room("a").origin == "api")
        #expect(try await self.bench.catalogue.rooms().isEmpty)
    }

    /// An older or newer version may know what this one does not.
    @Test func whatCannotBeReadStaysWhereItIs() async throws {
        let strange = JSONValue.object(["url": "socketio+http://127.0.0.1:1/a", "telepathy": .bool(true)])
        try await self.bench.catalogue.keepRoom("strange") { strange }
        let twin = JSONValue.object(["url": "socketio+http://127.0.0.1:1/f"])
        try await self.bench.catalogue.keepRoom("twin") { twin }
        let backend = try await self.start("{ f: { url: 'socketio+http://127.0.0.1:1/f', join: on-demand } }")
        #expect(await backend.rooms(isLocal: true).rooms.map(\.name) == ["f"])
        #expect(self.lines.all.filter { $0.contains("is left out") }.count == 2, "\(self.lines.all)")
        #expect(try await self.bench.catalogue.rooms() == ["strange": strange, "twin": twin])
    }

    @Test func giveWayToTheFileInAReload() async throws {
        let store = try self.bench.store()
        let supervisor = self.bench.supervisor(store: store, logger: self.lines.logger)
        await supervisor.takeUpRooms()
        let backend = self.bench.backend(supervisor, store)
        _ = try await backend.addRoom("a", definition: Self.definition("a"))
        let file = "rooms: { a: { url: 'socketio+http://127.0.0.1:1/file', join: on-demand } }"
        _ = await supervisor.take(try DaemonConfiguration.parse(text: file))
        await supervisor.kept.write(["a"])
        #expect(try await backend.room("a").origin == "configuration")
        #expect(self.lines.all.filter { $0.contains("added through the API") }.count == 1)
        #expect(try await self.bench.catalogue.rooms().isEmpty)
    }
}
