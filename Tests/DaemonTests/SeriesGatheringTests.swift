// SPDX-License-Identifier: Apache-2.0

import Basics
import Catalogue
import Cluster
import Control
import Foundation
import Logging
import Model
import Storage
import Synchronization
import Testing
import Timeline

@testable import Daemon

/// A series that two hosts recorded, brought together over the real HTTP API.
@Suite(.timeLimit(.minutes(5))) struct SeriesGatheringTests {
    private final class Calls: Sendable {
        private let count = Mutex(0)

        func next() -> Int {
            self.count.withLock { count in
                count += 1
                return count
            }
        }
    }

    private static let token = "0123456789abcdef"
    private static let tracks = "tracks/video-1.mkv"
    /// More than comes in one piece.
    private static let media = [UInt8](repeating: 7, count: (9 << 20) + 1)

    /// The host that recorded the end of the series.
    private let here: DaemonBench
    /// The one that had the room before.
    private let there: DaemonBench
    private let first: RecordingFolder
    private let second: RecordingFolder
    private let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    init() throws {
        (self.here, self.there) = (try DaemonBench(), try DaemonBench())
        self.first = try self.there.makeRecording(0, segment: 1)
        try Data(Self.media).write(to: URL(filePath: "\(self.first.path)/\(Self.tracks)"))
        // What was made of it there is made here of all.
        try Data("made".utf8).write(to: URL(filePath: self.first.path + "/call.mkv"))
        // Another call in the room.
        _ = try self.there.makeRecording(5)
        self.second = try self.here.makeRecording(10, segment: 2, ofSeriesFrom: self.first)
    }

    /// Serves the API of the other host while the body takes; its URL.
    private func serving<Value: Sendable>(_ body: @Sendable (String) async throws -> Value) async throws -> Value {
        let store = try self.there.store()
        for folder in try RecordingFolder.list(storage: self.there.storage) {
            try await self.there.catalogue.refresh(folder)
        }
        let supervisor = self.there.supervisor(store: store)
        var configuration = ControlConfiguration(port: 0)
        configuration.tokens = [BearerToken(name: "cluster", secret: Self.token)]
        let (ports, feed) = AsyncStream.makeStream(of: Int.self)
        let server = try ControlServer(
            configuration: configuration,
            backend: self.there.backend(supervisor, store),
            events: EventHub(life: "life"),
            metrics: { _ in "" },
            logger: self.logger,
            onListening: { feed.yield($0) }
        )
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await server.run() }
            defer { group.cancelAll() }
            for await port in ports { return try await body("http://127.0.0.1:\(port)") }
            throw CancellationError()
        }
    }

    private static func job(_ series: String = "s", last: String = "l", now: UTCTime = .now()) -> GatheringJob {
        GatheringJob(
            room: "standup",
            series: series,
            last: last,
            segment: 2,
            began: nil,
            epoch: 4,
            export: ExportSpec(series: true),
            now: now
        )
    }

    private func order(to host: String = "b") -> SeriesGathering.Orders {
        let pointer = RecordingPointer(
            series: self.first.id.rawValue,
            segment: 2,
            recording: self.second.id.rawValue,
            isRecording: false,
            isShared: true
        )
        let record = SeriesRecord(room: "standup", host: host, epoch: 4, pointer: pointer)
        return SeriesGathering.Orders(series: [self.first.id.rawValue: record], hosts: ["a", "b"])
    }

    /// What the gathering says to the cluster, and hears of it.
    private struct Desk {
        let gathering: SeriesGathering
        let orders: AsyncStream<SeriesGathering.Orders>.Continuation
        let gathered: AsyncStream<String>
    }

    private func desk(
        _ store: RecordingStore,
        logger: Logger? = nil,
        _ hosts: @escaping @Sendable () async -> [PeerHost]
    ) -> Desk {
        let (orders, feed) = AsyncStream.makeStream(of: SeriesGathering.Orders.self)
        let (gathered, told) = AsyncStream.makeStream(of: String.self)
        let gathering = SeriesGathering(
            store: store,
            cluster: "calls",
            host: "b",
            orders: orders,
            hosts: hosts,
            export: { _, _ in ExportSpec(series: true) },
            gathered: { told.yield($0) },
            logger: logger ?? self.logger
        )
        return Desk(gathering: gathering, orders: feed, gathered: gathered)
    }

    /// Gathers until the export of the series is ordered with the first recording in it; the exports that were ordered of a
    /// recording.
    private func gather(_ hosts: @escaping @Sendable () async -> [PeerHost]) async throws -> [[ExportEntry]] {
        try await self.here.catalogue.refresh(self.second)
        try await self.here.catalogue.exportsOrdered(of: self.second.id)
        let desk = self.desk(try self.here.store(), hosts)
        let (here, first, second) = (self.here, self.first.id, self.second.id)
        desk.orders.yield(self.order())
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await desk.gathering.run() }
            defer { group.cancelAll() }
            while true {
                let jobs = try await here.catalogue.remembered([GatheringJob].self, as: "series of the cluster")
                if jobs?.map(\.phase) == [.exporting] { break }
                try await Task.sleep(for: .milliseconds(20))
            }
            let ordered = [try await here.catalogue.exports(of: first), try await here.catalogue.exports(of: second)]
            // The cluster hears of it when the export is made.
            for export in ordered.joined() {
                var made = export
                made.state = .done
                try await here.catalogue.save(made)
            }
            for await series in desk.gathered {
                #expect(series == first.rawValue)
                break
            }
            return ordered
        }
    }

    @Test func whatAnotherHostHasComesAndTheSeriesIsExported() async throws {
        let exports = try await self.serving { url in
            try await self.gather { [PeerHost(name: "a", url: url, token: Secret(Self.token))] }
        }
        #expect(exports.map { $0.map(\.spec) } == [[ExportSpec(series: true)], []])
        let copy = try #require(try RecordingFolder.list(storage: self.here.storage).first)
        #expect(copy.id == self.first.id && copy.path.hasSuffix("/recordings/standup/\(self.first.name)"))
        #expect(try copy.files().map(\.name) == ["journal.jsonl", Self.tracks])
        #expect(FileManager.default.contents(atPath: "\(copy.path)/\(Self.tracks)") == Data(Self.media))
        #expect(try RecordingSeries.find(self.second)?.segments.map(\.folder.id) == [self.first.id, self.second.id])
        // Its end was reported, and its exports were made, where it was recorded.
        #expect(try await self.here.catalogue.recording(self.first.id).state == .finished)
        #expect(try await self.here.catalogue.recordingsToExport().isEmpty)
        #expect(try await self.here.catalogue.isEndReported(of: self.first.id))
        let names = try FileManager.default.contentsOfDirectory(atPath: self.here.storage + "/recordings/standup")
        #expect(names.count == 2, "\(names)")
    }

    /// The host is away, then it does not let us in; each time there is nothing of it.
    @Test func aPartThatComesLaterHasTheSeriesExportedAgain() async throws {
        let calls = Calls()
        let exports = try await self.serving { url in
            try await self.gather {
                switch calls.next() {
                case 1: []
                case 2: [PeerHost(name: "a", url: url, token: Secret("fedcba9876543210"))]
                default: [PeerHost(name: "a", url: url, token: Secret(Self.token))]
                }
            }
        }
        #expect(exports.map { $0.map(\.spec) } == [[ExportSpec(series: true)], [ExportSpec(series: true)]])
        #expect(calls.next() == 4)
    }

    /// The host that recorded the end is gone: this one has nothing of the series, and fetches all that is somewhere.
    @Test func aHostThatRecordedNothingOfItBringsItTogether() async throws {
        _ = try self.there.makeRecording(20, segment: 2, ofSeriesFrom: self.first)
        try FileManager.default.removeItem(atPath: self.second.path)
        try await self.serving { url in
            let desk = self.desk(try self.here.store()) { [PeerHost(name: "a", url: url, token: Secret(Self.token))] }
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await desk.gathering.run() }
                defer { group.cancelAll() }
                desk.orders.yield(self.order())
                while (try? await self.here.catalogue.exports(of: self.first.id))?.isEmpty != false {
                    try await Task.sleep(for: .milliseconds(20))
                }
            }
        }
        let folders = try RecordingFolder.list(storage: self.here.storage)
        #expect(folders.count == 2 && folders.allSatisfy { $0.gatheredEpoch == 4 })
        #expect(try RecordingSeries.find(folders[0])?.segments.map(\.number) == [1, 2])
    }

    /// Others are left to their hosts, and every host keeps what one of them is to fetch.
    @Test func aHostBringsItsOwnSeriesTogether() async throws {
        let desk = self.desk(try self.here.store()) { [] }
        var orders = self.order()
        let others = try #require(self.order(to: "c").series?[self.first.id.rawValue])
        orders.series?["another"] = others
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await desk.gathering.run() }
            defer { group.cancelAll() }
            desk.orders.yield(orders)
            while true {
                let jobs = try await self.here.catalogue.remembered([GatheringJob].self, as: "series of the cluster")
                if let jobs {
                    #expect(jobs.map(\.series) == [self.first.id.rawValue])
                    break
                }
                try await Task.sleep(for: .milliseconds(20))
            }
        }
    }

    /// Its host is gone, and uploaded it before: only what is whole there comes, of this cluster and as it was recorded.
    @Test func aPartComesFromTheRemote() async throws {
        let config = self.here.storage + "/rclone.conf"
        let remote = self.here.storage + "/remote"
        try Data("[disk]\ntype = alias\nremote = \(remote)\n".utf8).write(to: URL(filePath: config))
        var spec = UploadSpec(remote: "disk:")
        spec.config = config
        func upload(_ folder: RecordingFolder, cluster: String? = "calls", isDamaged: Bool = false) throws {
            let place = remote + "/" + folder.place(for: spec).dropFirst("disk:".count)
            let parent = place.split(separator: "/").dropLast().joined(separator: "/")
            try FileManager.default.createDirectory(atPath: "/" + parent, withIntermediateDirectories: true)
            try FileManager.default.copyItem(atPath: folder.path, toPath: place)
            guard let cluster else { return }
            var manifest = Manifest(room: "standup", id: folder.id, verdict: .complete)
            (manifest.series, manifest.claim) = (self.first.id.rawValue, RecordingClaim(cluster: cluster, epoch: 1))
            manifest.files = try folder.files().map { file in
                let hash = try HashingFile.sha256("\(folder.path)/\(file.name)", first: UInt64(file.bytes))
                return .init(name: file.name, bytes: UInt64(file.bytes), sha256: isDamaged ? "0" : hash ?? "")
            }
            let encoded = try JSONEncoder().encode(manifest)
            try encoded.write(to: URL(filePath: place + "/manifest.json"))
        }
        try upload(self.first)
        let damaged = try self.there.makeRecording(20, segment: 3, ofSeriesFrom: self.first)
        try upload(damaged, isDamaged: true)
        try upload(try self.there.makeRecording(21, segment: 4, ofSeriesFrom: self.first), cluster: nil)
        let foreign = try self.there.makeRecording(22, segment: 5, ofSeriesFrom: self.first)
        try upload(foreign, cluster: "strangers")

        let log = LogLines()
        let store = try self.here.store()
        store.uploads.use(spec)
        try await self.here.catalogue.refresh(self.second)
        var orders = self.order()
        let pointer = RecordingPointer(
            series: self.first.id.rawValue,
            segment: 3,
            recording: damaged.id.rawValue,
            isRecording: false,
            isShared: true,
            began: self.first.start?.iso8601
        )
        orders.series = orders.series?.mapValues { record in
            SeriesRecord(room: record.room, host: record.host, epoch: record.epoch, pointer: pointer)
        }
        let desk = self.desk(store, logger: log.logger) { [] }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await desk.gathering.run() }
            defer { group.cancelAll() }
            desk.orders.yield(orders)
            while (try? await self.here.catalogue.exports(of: self.first.id))?.isEmpty != false {
                try await Task.sleep(for: .milliseconds(20))
            }
        }
        let folders = try RecordingFolder.list(storage: self.here.storage)
        #expect(folders.map(\.id) == [self.first.id, self.second.id])
        #expect(try folders[0].files().map(\.name) == ["journal.jsonl", Self.tracks])
        #expect(FileManager.default.contents(atPath: "\(folders[0].path)/\(Self.tracks)") == Data(Self.media))
        #expect(folders.map(\.gatheredEpoch) == [4, nil])
        let told = try #require(log.all.first { $0.contains("parts of a recording are on other hosts") })
        #expect(told.contains("is not what its certificate says") && told.contains("of another cluster, strangers"))
    }

    // MARK: The machine

    @Test func partsThatAreMissingAreWaitedForAWeek() {
        let start = UTCTime(nanosecondsSince1970: 0)
        var job = Self.job(now: start)
        let nothing = GatheringJob.Found(present: 1, missing: ["segment 1"])
        var now = start
        #expect(job.attempted(nothing, now: now, random: 0.5) == true)
        #expect(job.due == now.adding(.seconds(2)))
        #expect(job.reports(nothing) && !job.reports(nothing), "once")
        for _ in 0..<20 {
            now = job.due
            #expect(job.attempted(nothing, now: now, random: 0.5) == false)
        }
        #expect(job.due == now.adding(.seconds(300)))
        // Another host may have it.
        job.hostCame(now: now)
        #expect(job.due == now)
        let part = GatheringJob.Found(present: 2, missing: ["segment 2"])
        #expect(job.attempted(part, now: now, random: 0.5) && job.phase == .gathering)
        #expect(job.due == now.adding(.seconds(2)))
        var late = job
        #expect(late.attempted(nothing, now: start.adding(GatheringJob.limit), random: 1) == false)
        #expect(late.phase == .exporting && late.reports(nothing), "and at the end")
        #expect(job.attempted(.init(present: 3), now: now, random: 0.5) == true)
        #expect(job.phase == .exporting && !job.reports(.init()))
        job.looked(isExporting: true, now: now)
        #expect(job.phase == .exporting && job.due == now.adding(.seconds(2)))
        job.looked(isExporting: false, now: now)
        #expect(job.phase == .over)
    }

    @Test func aSeriesOfWhichNothingCameIsNotExported() {
        let start = UTCTime(nanosecondsSince1970: 0)
        var job = Self.job(now: start)
        #expect(!job.attempted(.init(missing: ["all"]), now: start, random: 0.5) && job.phase == .gathering)
        #expect(job.attempted(.init(missing: ["all"]), now: start.adding(GatheringJob.limit), random: 0.5) == false)
        #expect(job.phase == .over)
    }

    @Test func whatTheClusterSaysIsDone() {
        let now = UTCTime(nanosecondsSince1970: 1_000_000_000)
        var queue = GatheringQueue([Self.job("kept", now: now), Self.job("gone", now: now)])
        #expect(queue.next(at: now) == nil && queue.wait(at: now) == nil, "the cluster has not said anything")
        #expect(queue.take(["kept": 7, "new": 9], hosts: ["a"], now: now) == ["new"])
        queue.add(Self.job("new", now: now.adding(.seconds(1))))
        #expect(queue.jobs.map(\.series) == ["kept", "new"] && queue.jobs[0].epoch == 7)
        #expect(queue.next(at: now)?.series == "kept" && queue.has("kept") && !queue.has("gone"))

        var job = queue.jobs[0]
        _ = job.attempted(.init(present: 1, missing: ["x"]), now: now, random: 0.5)
        queue.replace(job)
        #expect(queue.next(at: now) == nil && queue.wait(at: now) == .seconds(1))
        // The clock was set back by a day: it is looked again all the same.
        #expect(queue.wait(at: now.adding(.seconds(-86_400))) == GatheringJob.longestPause)
        // The same hosts are no news; another one is.
        #expect(queue.take(["kept": 7, "new": 9], hosts: ["a"], now: now).isEmpty && queue.next(at: now) == nil)
        _ = queue.take(["kept": 7, "new": 9], hosts: ["a", "c"], now: now)
        #expect(queue.next(at: now)?.series == "kept")

        _ = queue.take(nil, hosts: [], now: now)
        #expect(!queue.has("kept") && queue.next(at: now) == nil && queue.wait(at: now) == nil, "it is not certain")
        #expect(queue.jobs.count == 2)
        _ = queue.take(["new": 9], hosts: ["a", "c"], now: now)
        queue.replace(job)
        #expect(queue.jobs.map(\.series) == ["new"], "another host has it")
    }

    @Test func whatIsOverIsToldUntilTheClusterKnows() {
        let now = UTCTime(nanosecondsSince1970: 0)
        var job = Self.job("x", now: now)
        _ = job.attempted(.init(present: 2), now: now, random: 0.5)
        job.looked(isExporting: false, now: now)
        var queue = GatheringQueue([job])
        #expect(queue.over.isEmpty)
        _ = queue.take(["x": 1], hosts: [], now: now)
        #expect(queue.over == ["x"] && queue.wait(at: now) == nil)
        _ = queue.take([:], hosts: [], now: now)
        #expect(queue.over.isEmpty && queue.jobs.isEmpty)
    }
}

extension RecordingFolder {
    /// The folder's own name.
    fileprivate var name: String { String(self.path.split(separator: "/").last ?? "") }
}
