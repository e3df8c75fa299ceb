// SPDX-License-Identifier: Apache-2.0

import Basics
import Cluster
import ConfigurationFile
import Control
import Fleet
import Logging
import Model
import Storage
import Synchronization
import Testing
import Timeline

@testable import Daemon

/// Rooms that a cluster gives to a daemon, next to those of its own.
@Suite(.timeLimit(.minutes(5))) struct ClusterRoomsTests {
    private let bench: DaemonBench
    private let supervisor: Supervisor
    private let backend: DaemonBackend
    private let rooms: ClusterRooms
    private let news = News()

    /// What the cluster hears.
    private final class News: Sendable {
        private let inputs = Mutex<[ClusterInput]>([])
        func note(_ input: ClusterInput) { self.inputs.withLock { $0.append(input) } }
        var all: [ClusterInput] { self.inputs.withLock { $0 } }
    }

    init() async throws {
        self.bench = try DaemonBench()
        let store = try self.bench.store()
        var configuration = DaemonConfiguration()
        configuration.cluster = try DaemonConfiguration.parse(
            text: "cluster: { name: calls, host: a, etcd: ['http://127.0.0.1:1'], capacity: 1 }"
        ).cluster
        self.supervisor = self.bench.supervisor(configuration, store: store)
        self.backend = self.bench.backend(self.supervisor, store)
        self.rooms = ClusterRooms(
            cluster: "calls",
            supervisor: self.supervisor,
            values: NotedValueSource(),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        let news = self.news
        await self.supervisor.join { news.note($0) }
    }

    private static func record(
        _ members: String = "",
        url: String = "socketio+http://127.0.0.1:1/r"
    ) throws -> RoomRecord {
        let text = #"{"room":{"join":"on-demand","url":"\#(url)"\#(members)},"schema":1}"#
        return try #require(RecordReading<RoomRecord>(text).record)
    }

    private static let own = "{ url: 'socketio+http://127.0.0.1:1/own', join: on-demand, cost: 3 }"

    private func be(
        _ record: RoomRecord,
        epoch: Int = 1,
        _ standing: RoomAssignment.Standing = .held,
        wish: WishRecord.Order? = nil,
        continues: RecordingPointer? = nil
    ) async {
        let wish = wish.map { WishRecord(order: $0, requested: "2026-11-29T20:00:00Z", by: "b") }
        let assignment = RoomAssignment(
            epoch: epoch,
            standing: standing,
            definition: record,
            wish: wish,
            continues: continues
        )
        await self.rooms.be("r", assignment)
    }

    private var spec: RoomSpec? { get async { await self.supervisor.intents["r"]?.spec } }

    @Test func aClaimIsAPartOfWhatTheRoomIsToBe() async throws {
        await self.be(try Self.record(), epoch: 7)
        #expect(await self.spec?.claim == RecordingClaim(cluster: "calls", epoch: 7))
        #expect(await self.supervisor.book.entries["r"]?.origin == .cluster)
        await self.be(try Self.record(), epoch: 7, .uncertain)
        #expect(await self.spec?.claim?.epoch == 7)
        await self.rooms.be("r", nil)
        #expect(await self.spec == nil)
        #expect(self.news.all.contains(.room("r", .gone)))
    }

    @Test func theNextRecordingContinuesThatOfTheLastOwner() async throws {
        let series = RecordingID.random().rawValue
        let pointer = RecordingPointer(series: series, segment: 2, recording: "x", isRecording: true)
        await self.be(try Self.record(), wish: .record, continues: pointer)
        let place = SeriesPlace(series: series, segment: 2)
        #expect(await self.spec?.record?.follows == place)
        // A doubt, or another definition, is no other beginning.
        await self.supervisor.intend("r") { $0.recordingBegan("y") }
        await self.be(try Self.record(), .uncertain, wish: .record, continues: pointer)
        await self.be(try Self.record(#","priority":7"#), wish: .record, continues: pointer)
        #expect(await self.spec?.record?.follows == nil)
    }

    /// Another host writes the key: what it says is no path, and no number that overflows.
    @Test(arguments: [("../x", 1), ("", 1), (RecordingID.random().rawValue, Int.max)])
    func aRecordingThatCannotBeContinuedIsNot(series: String, segment: Int) async throws {
        let pointer = RecordingPointer(series: series, segment: segment, recording: "x", isRecording: true)
        await self.be(try Self.record(), wish: .record, continues: pointer)
        #expect(await self.spec?.record != nil)
        #expect(await self.spec?.record?.follows == nil)
    }

    private var pointers: [RecordingPointer] {
        self.news.all.compactMap { input in
            if case .room("r", .recording(let pointer)) = input { pointer } else { nil }
        }
    }

    /// Begins, is cut, and ends: the cluster knows each of it once.
    @Test(arguments: ["empty", RecordingFinished.left])
    func theClusterKnowsTheRoomsRecording(reason: String) async throws {
        await self.be(try Self.record())
        func reference(_ id: String, _ segment: Int) -> RecordingReference {
            RecordingReference(id: id, folder: "/srv/\(id)", place: SeriesPlace(series: "x", segment: segment))
        }
        await self.supervisor.pointStarted("r", reference("x", 1))
        await self.supervisor.pointStarted("r", reference("x", 1))
        await self.supervisor.pointStarted("r", reference("y", 2))
        await self.supervisor.pointFinished("r", reference("x", 1), reason: "segment")
        await self.supervisor.pointFinished("r", reference("y", 2), reason: reason)
        #expect(self.pointers.map(\.segment) == [1, 2, 2] && self.pointers.map(\.recording) == ["x", "y", "y"])
        #expect(self.pointers.map(\.isRecording) == [true, true, false])
        #expect(self.pointers.allSatisfy { $0.series == "x" && !$0.isShared && $0.began == self.pointers[0].began })
    }

    @Test func recordingsOfTheHostsOwnRoomsAreItsOwn() async throws {
        await self.supervisor.define(try RoomConfiguration.parse(name: "r", text: Self.own), origin: .configuration)
        let place = SeriesPlace(series: "x", segment: 1)
        await self.supervisor.pointStarted("r", RecordingReference(id: "x", folder: "/srv/x", place: place))
        #expect(self.pointers.isEmpty)
    }

    @Test(arguments: RoomAssignment.Standing.allCases)
    func camerasAndOutputsAreTheOwnersOnly(standing: RoomAssignment.Standing) async throws {
        let more = #","send":{"capture":"test"},"outputs":[{"rtp":{"host":"127.0.0.1","video_port":5000}}]"#
        await self.be(try Self.record(more), standing)
        let spec = try #require(await self.spec)
        #expect(spec.send?.isVideoMuted == (standing != .held) && spec.outputs.isEmpty == (standing != .held))
        #expect(spec.record != nil)
        await self.be(try Self.record(more), .held)
        #expect(await self.spec?.send?.isVideoMuted == false)
        #expect(await self.spec?.outputs.count == 1)
    }

    /// A pause is one of its recording, and ended with that if no other one follows.
    @Test(arguments: [
        (WishRecord.Order.record, RoomIntent.Hand.on), (.pause, .asDefined), (.hold, .held), (.stop, .off),
    ])
    func whatWasRequestedElsewhereHolds(order: WishRecord.Order, hand: RoomIntent.Hand) async throws {
        await self.be(try Self.record(), wish: order)
        #expect(await self.supervisor.intents["r"]?.hand == hand)
        #expect(await self.supervisor.fleet.rooms["r"]?.isWanted == (order == .record))
    }

    @Test func aPauseOfAnotherHostsRecordingHoldsUntilTheCallEnds() async throws {
        let pointer = RecordingPointer(
            series: RecordingID.random().rawValue,
            segment: 2,
            recording: "x",
            isRecording: true,
            isShared: true
        )
        await self.be(try Self.record(#","record":{"empty_after":"1s"}"#), wish: .pause, continues: pointer)
        #expect(await self.supervisor.intents["r"]?.hand == .held)
        #expect(await self.supervisor.fleet.rooms["r"]?.isWanted == true)
        #expect(await self.spec?.recording == .off)
        while self.pointers.isEmpty {
            await self.supervisor.noteFollowed(in: "r", isEmpty: true)
            try await Task.sleep(for: .milliseconds(20))
        }
        #expect(self.pointers == [pointer.ended])
        #expect(await self.supervisor.intents["r"]?.hand == .on)
        #expect(await self.spec?.record?.follows == nil)
    }

    /// What several owners recorded says so, and when it began.
    @Test func theClusterKnowsWhatSeveralHostsRecorded() async throws {
        let series = RecordingID.random().rawValue
        let began = "2026-07-04T12:00:00Z"
        let before = RecordingPointer(series: series, segment: 1, recording: series, isRecording: true, began: began)
        await self.be(try Self.record(), continues: before)
        let place = SeriesPlace(series: series, segment: 2)
        await self.supervisor.pointStarted("r", RecordingReference(id: "y", folder: "/srv/y", place: place))
        let after = RecordingPointer(
            series: series,
            segment: 2,
            recording: "y",
            isRecording: true,
            isShared: true,
            began: began
        )
        #expect(self.pointers == [after])
    }

    @Test(arguments: [
        ("", ExportSpec(series: true) as ExportSpec?), (#","record":{"export":["audio"]}"#, nil),
        (#","secret":"${file:/no/such/file}""#, ExportSpec(series: true)),
    ])
    func aSeriesIsExportedAsItsRoomSays(members: String, export: ExportSpec?) async throws {
        #expect(await self.rooms.seriesExport(of: "r", try Self.record(members)) == export)
    }

    @Test func whatIsRequestedHereIsKnownToTheCluster() async throws {
        await self.be(try Self.record())
        _ = try await self.supervisor.perform(.record, on: "r")
        _ = try await self.supervisor.perform(.stop, on: "r")
        let wishes = self.news.all.compactMap { input in
            if case .wish("r", let wish) = input { (wish.order, wish.by) } else { nil }
        }
        #expect(wishes.map(\.0) == [.record, .stop] && wishes.map(\.1) == ["a", "a"])
    }

    @Test func clientsDoNotChangeARoomOfTheCluster() async throws {
        await self.be(try Self.record())
        for change in [
            { _ = try await self.backend.changeRoom("r", patch: "priority: 7") },
            { try await self.backend.removeRoom("r") },
        ] as [() async throws -> Void] {
            let error = await #expect(throws: ControlError.self) { try await change() }
            #expect(error?.code == .conflict)
        }
        #expect(await self.supervisor.book.entries["r"]?.definition.spec.priority == RoomSpec.usualPriority)
    }

    @Test func aRoomOfTheHostStaysItsOwn() async throws {
        let own = try RoomConfiguration.parse(name: "r", text: Self.own)
        await self.supervisor.define(own, origin: .configuration)
        guard case .unusable = await self.rooms.examine("r", try Self.record()) else {
            Issue.record("the cluster's room of the same name is taken")
            return
        }
        await self.be(try Self.record())
        #expect(await self.supervisor.book.entries["r"]?.definition == own)
        #expect(await self.spec?.claim == nil)
        await self.rooms.be("r", nil)
        #expect(await self.supervisor.book.entries["r"]?.definition == own)
        #expect(self.news.all.contains(.room("r", .gone)))
    }

    /// A reload brings a room of the file whose name the cluster's has.
    @Test func theFileWinsAndTheClaimEnds() async throws {
        await self.be(try Self.record())
        let own = try RoomConfiguration.parse(name: "r", text: Self.own)
        await self.supervisor.define(own, origin: .configuration)
        #expect(await self.spec?.claim == nil)
        #expect(await self.supervisor.book.entries["r"]?.origin == .configuration)
    }

    @Test func definitionsAreExaminedWithThisHostsSecrets() async throws {
        let secret = #","secret":"${file:/no/such/file}""#
        guard case .unusable(let reason) = await self.rooms.examine("r", try Self.record(secret)) else {
            Issue.record("a secret that is not here is none")
            return
        }
        #expect(reason.contains("/no/such/file"))
        #expect(await self.rooms.examine("r", try Self.record()) == .usable(leavesWhenCutOff: false))
        let whip = try Self.record(#","send":{"capture":"test"}"#, url: "whip+https://h/live")
        #expect(await self.rooms.examine("r", whip) == .usable(leavesWhenCutOff: true))
    }
}
