// SPDX-License-Identifier: Apache-2.0

import Basics
import Catalogue
import ConfigurationFile
import Fleet
import Foundation
import Model
import Observability
import Storage
import Testing

@testable import Daemon

/// Workers that speak of rooms and recordings that are not theirs, by a mistake or not.
@Suite(.timeLimit(.minutes(5))) struct LyingWorkerTests {
    private let bench: DaemonBench

    init() throws {
        self.bench = try DaemonBench()
    }

    private static func reference(_ folder: RecordingFolder) -> RecordingReference {
        RecordingReference(id: folder.id.rawValue, folder: folder.path)
    }

    private func write(_ events: [WorkerEvent], to name: String) throws {
        let lines = try events.reduce(into: Data()) { $0 += try WorkerLine.encode($1) }
        try lines.write(to: URL(filePath: "\(self.bench.storage)/\(name)"))
    }

    /// Runs a supervisor of the rooms `victim` and `evil`, and returns what was published until `end` came to `evil`.
    ///
    /// The worker of `victim` says what it is told to when it has joined, the one of `evil` once the victim's recording began.
    private func published(
        saying victim: [WorkerEvent],
        _ evil: [WorkerEvent],
        store: RecordingStore,
        _ body: @Sendable (Supervisor) async throws -> Void = { _ in }
    ) async throws -> [DaemonEvent] {
        try self.write([.ready(protocolVersion: WorkerLine.protocolVersion, processID: 1)], to: "ready")
        try self.write([.joined(room: "victim")] + victim, to: "victim")
        try self.write([.joined(room: "evil")], to: "evil")
        try self.write(evil + [.participantJoined(room: "evil", participant: "end")], to: "lies")
        let script = """
            cd \(self.bench.storage)
            cat ready
            while read -r line; do
              case "$line" in
                *'"be"'*'"name":"victim"'*) cat victim ;;
                *'"be"'*'"name":"evil"'*) cat evil; while [ ! -e go ]; do sleep 0.02; done; cat lies ;;
              esac
            done
            """
        let configuration = try DaemonConfiguration.parse(
            text: """
                workers: { hang_limit: 10m }
                rooms:
                  victim: { url: 'socketio+http://192.0.2.1/victim' }
                  evil: { url: 'socketio+http://192.0.2.1/evil' }
                """
        )
        let supervisor = self.bench.supervisor(configuration, store: store, workers: script)
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await supervisor.run() }
            defer { group.cancelAll() }
            await supervisor.takeUpRooms()
            var events: [DaemonEvent] = []
            var joined: Set<String> = []
            let isBegun = victim.isEmpty
            for await event in self.bench.events {
                events.append(event)
                if event.kind == .roomJoined, let room = event.room { joined.insert(room) }
                let isReady = isBegun || events.contains { $0.kind == .recordingStarted && $0.room == "victim" }
                if joined.count == 2, isReady { try Data().write(to: URL(filePath: self.bench.storage + "/go")) }
                if event.details["participant"] == "end" { break }
            }
            try await body(supervisor)
            return events
        }
    }

    private var refused: String? {
        self.bench.metrics.registry.text().split(separator: "\n")
            .first { $0.hasPrefix("tapedeck_worker_refused_events_total ") }
            .flatMap { $0.split(separator: " ").last.map(String.init) }
    }

    /// Every kind of event, of another worker's room.
    private static func lies(_ reference: RecordingReference) -> [WorkerEvent] {
        var status = RoomStatus()
        status.participants = [RoomStatus.Participant(id: "nobody", isConnected: true)]
        status.recording = reference
        return [
            .joined(room: "victim"), .notJoined(room: "victim", reason: "x"), .status(room: "victim", status),
            .recordingStarted(room: "victim", RecordingReference(id: RecordingID.random().rawValue, folder: "/srv")),
            .recordingFinished(room: "victim", reference, reason: "a lie"),
            .recordingDegraded(room: "victim", reference, reason: "x", byDisk: true),
            .participantJoined(room: "victim", participant: "p"),
            .participantLeft(room: "victim", participant: "p", reason: "x"),
            .peerRefused(room: "victim", participant: "p", reason: "x"),
            .firstUnit(room: "victim", participant: "p", kind: "video", milliseconds: 1, parts: [:]),
            .outputFailed(room: "victim", output: "o", reason: "x"), .outputRecovered(room: "victim", output: "o"),
            .keyframe(
                room: "victim",
                participant: "p",
                KeyframePart(codec: "vp8", keyframeBytes: 1, base64: "AA=="),
                number: 1
            ), .graph(room: "victim", pipeline: "p", dot: ""),
            .commandDone(room: "victim", command: "x", number: 1),
            .commandFailed(room: "victim", command: "x", reason: "x", number: 1),
            .left(room: "victim", .failed(message: "x", retriable: false)), .joined(room: "nowhere"),
        ]
    }

    @Test func anotherRoomIsNotTouched() async throws {
        let folder = try self.bench.makeRecording(room: "victim", isFinished: false)
        let reference = Self.reference(folder)
        let store = try self.bench.store()
        let lies = Self.lies(reference)
        let events = try await self.published(
            saying: [.recordingStarted(room: "victim", reference)],
            // Nor does it finish another room's recording in the name of its own.
            lies + [.recordingFinished(room: "evil", reference, reason: "a lie")],
            store: store
        ) { supervisor in
            let room = try #require(await supervisor.fleet.rooms["victim"])
            #expect(room.phase == .joined && room.unfinished == reference && room.status == RoomStatus())
            #expect(store.ledger.active[folder.id] == folder.path)
        }
        let kinds = events.filter { $0.room == "victim" }.map(\.kind)
        #expect(kinds == [.roomJoined, .recordingStarted], "\(kinds)")
        #expect(!events.contains { $0.kind == .recordingFinished })
        #expect(self.refused == "\(lies.count + 1)")
        #expect(!self.bench.metrics.registry.text().contains("tapedeck_room_participants{room=\"victim\"}"))
        // The catalogue hears of it after those who listen to events.
        while (try? await self.bench.catalogue.recording(folder.id)) == nil {
            try await Task.sleep(for: .milliseconds(20))
        }
        #expect(try await self.bench.catalogue.recording(folder.id).state == .recording)
        #expect(try await self.bench.catalogue.exports(of: folder.id).isEmpty)
    }

    @Test func recordingsThatAreMadeUpAreNotKept() async throws {
        let store = try self.bench.store()
        let room = "\(self.bench.storage)/recordings/evil/20260704T120000Z-"
        let ids = (0..<500).map { _ in RecordingID.random().rawValue }
        let begun = ids.map { WorkerEvent.recordingStarted(room: "evil", .init(id: $0, folder: room + $0)) }
        let events = try await self.published(saying: [], begun, store: store) { _ in
            #expect(store.ledger.active.isEmpty, "their folders are not there")
        }
        #expect(events.filter { $0.kind == .recordingStarted }.count == WorkerClaims.maximumInProgress)
        #expect(self.refused == "\(500 - WorkerClaims.maximumInProgress)")
    }

    /// Nor do they fill the log.
    @Test func linesThatCannotBeReadAreCounted() async throws {
        let log = LogLines()
        let store = try self.bench.store(logger: log.logger)
        try self.write([.ready(protocolVersion: WorkerLine.protocolVersion, processID: 1)], to: "ready")
        let script = """
            cat \(self.bench.storage)/ready
            i=0; while [ $i -lt 250 ]; do
            echo '{"heartbeat":{"_0":{"cpuSeconds":1e308,"residentBytes":1,"threads":1,"descriptors":1}}}'; i=$((i+1))
            done
            cat > /dev/null
            """
        let configuration = try DaemonConfiguration.parse(
            text: "{ workers: { hang_limit: 10m }, rooms: { a: { url: 'socketio+http://192.0.2.1/a' } } }"
        )
        let supervisor = self.bench.supervisor(configuration, store: store, workers: script, logger: log.logger)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await supervisor.run() }
            defer { group.cancelAll() }
            await supervisor.takeUpRooms()
            while self.refused != "250" { try await Task.sleep(for: .milliseconds(20)) }
            let resources = await supervisor.roomResources()
            #expect(throws: Never.self) { try JSONEncoder().encode(resources) }
        }
        let lines = log.all.filter { $0.contains("misbehaved") }
        #expect(lines.count == 3, "the first, the tenth, the hundredth: \(lines)")
    }
}

@Suite struct WorkerClaimsTests {
    private static let storage = "/srv"

    /// A fleet in which each room has the worker of its place.
    private static func fleet(_ rooms: String...) -> Fleet {
        var fleet = Fleet(settings: FleetSettings(), seed: 7)
        for (index, name) in rooms.enumerated() {
            var spec = RoomSpec(name: name, url: "socketio+http://192.0.2.1/a", storage: Self.storage)
            spec.record = RecordSpec()
            _ = fleet.handle(.define(spec), now: .zero)
            _ = fleet.handle(.want(room: name, true), now: .zero)
            let id = WorkerID(index + 1)
            let ready = WorkerEvent.ready(protocolVersion: WorkerLine.protocolVersion, processID: 1)
            _ = fleet.handle(.event(id, ready), now: .zero)
            _ = fleet.handle(.event(id, .joined(room: name)), now: .zero)
        }
        return fleet
    }

    private static let id = "0123456789abcdef"
    private static let folder = "/srv/recordings/a/20260704T120000Z-0123456789abcdef"

    @Test(arguments: [
        (id, folder, true), (id, "/srv/recordings/b/20260704T120000Z-0123456789abcdef", false),
        (id, "/srv/recordings/a/../b/20260704T120000Z-0123456789abcdef", false),
        (id, "/srv/recordings/a/20260704T12000/Z-0123456789abcdef", false), (id, folder + "/", false),
        (id, "/tmp/recordings/a/20260704T120000Z-0123456789abcdef", false), (id, "", false), ("", folder, false),
        (id, "/srv/recordings/a/20260704T120000Z-0123456789abcdeg", false), (id.uppercased(), folder, false),
        ("0123456789abcdeg", folder, false), (String(repeating: "0", count: 1 << 20), folder, false),
        (id, folder + String(repeating: "x", count: 1 << 20), false),
    ])
    func aRecordingIsInTheFolderOfItsRoom(id: String, folder: String, isBelieved: Bool) {
        let fleet = Self.fleet("a", "b")
        let reference = RecordingReference(id: id, folder: folder)
        var status = RoomStatus()
        status.recording = reference
        for event in [
            WorkerEvent.recordingStarted(room: "a", reference), .status(room: "a", status),
            .recordingDegraded(room: "a", reference, reason: "x", byDisk: true),
        ] {
            var claims = WorkerClaims()
            let refusal = claims.refusal(of: event, from: WorkerID(1), in: fleet, unheard: 0)
            #expect((refusal == nil) == isBelieved, "\(event): \(refusal ?? "-")")
        }
    }

    /// Names that no path may have.
    @Test(arguments: ["../x", "ä b", "", String(repeating: "r", count: 300)])
    func aRoomMayHaveAnyName(name: String) throws {
        let storage = FileManager.default.temporaryDirectory.path + "/tapedeck-claims-\(RecordingID.random())"
        defer { try? FileManager.default.removeItem(atPath: storage) }
        let folder = try RecordingFolder.create(storage: storage, room: name, start: .now())
        var fleet = Fleet(settings: FleetSettings(), seed: 7)
        let spec = RoomSpec(name: name, url: "socketio+http://192.0.2.1/a", storage: storage)
        _ = fleet.handle(.define(spec), now: .zero)
        _ = fleet.handle(.want(room: name, true), now: .zero)
        var claims = WorkerClaims()
        let event = WorkerEvent.recordingStarted(
            room: name,
            RecordingReference(id: folder.id.rawValue, folder: folder.path)
        )
        #expect(claims.refusal(of: event, from: WorkerID(1), in: fleet, unheard: 0) == nil)
    }

    /// What is said in order, by the worker of a number, and whether it is believed.
    struct Story: Sendable {
        var said: [(Int, WorkerEvent, Bool)]
    }

    private static func started(_ room: String, _ number: Int) -> WorkerEvent {
        .recordingStarted(room: room, Self.reference(room, number))
    }

    private static func finished(_ room: String, _ number: Int) -> WorkerEvent {
        .recordingFinished(room: room, Self.reference(room, number), reason: "x")
    }

    private static func reference(_ room: String, _ number: Int) -> RecordingReference {
        let id = String(repeating: "0", count: 14) + "\(10 + number)"
        return RecordingReference(id: id, folder: "/srv/recordings/\(room)/20260704T120000Z-\(id)")
    }

    static let stories: [Story] = [
        Story(said: [(1, started("a", 1), true), (1, finished("a", 1), true), (1, finished("a", 1), false)]),
        // A cut of segments: the next one begins before the one before is closed.
        Story(said: [(1, started("a", 1), true), (1, started("a", 2), true), (1, finished("a", 1), true)]),
        Story(said: [(1, started("a", 1), true), (1, started("a", 1), false)]),
        Story(said: [(1, finished("a", 1), false)]),
        Story(said: [(1, started("a", 1), true), (2, finished("a", 1), false), (2, finished("b", 1), false)]),
        Story(said: [(2, started("a", 1), false), (3, started("a", 1), false), (1, started("c", 1), false)]),
        Story(said: [(1, started("a", 1), true), (1, .left(room: "a", .ordered), true), (1, finished("a", 1), false)]),
        Story(said: (0..<8).map { (1, started("a", $0), true) } + [(1, started("a", 8), false)]),
    ]

    @Test(arguments: Self.stories)
    func aRecordingEndsAsItBegan(story: Story) {
        let fleet = Self.fleet("a", "b")
        var claims = WorkerClaims()
        for (worker, event, isBelieved) in story.said {
            let refusal = claims.refusal(of: event, from: WorkerID(worker), in: fleet, unheard: 0)
            #expect((refusal == nil) == isBelieved, "\(event): \(refusal ?? "-")")
        }
    }

    @Test func nothingIsKeptOfWorkersThatEnded() {
        let fleet = Self.fleet("a")
        var claims = WorkerClaims()
        #expect(claims.refusal(of: Self.started("a", 1), from: WorkerID(1), in: fleet, unheard: 0) == nil)
        claims.ended(WorkerID(1))
        #expect(claims.refusal(of: Self.finished("a", 1), from: WorkerID(1), in: fleet, unheard: 0) != nil)
    }

    @Test func aDiskThatHangsTakesNoMore() {
        let fleet = Self.fleet("a")
        var claims = WorkerClaims()
        #expect(claims.refusal(of: Self.started("a", 1), from: WorkerID(1), in: fleet, unheard: 16) != nil)
        #expect(claims.refusal(of: Self.started("a", 1), from: WorkerID(1), in: fleet, unheard: 15) == nil)
        #expect(claims.refusal(of: Self.finished("a", 1), from: WorkerID(1), in: fleet, unheard: 16) == nil)
    }
}
