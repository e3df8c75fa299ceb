// SPDX-License-Identifier: Apache-2.0

import Basics
import Catalogue
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

    private func job() -> GatheringJob {
        GatheringJob(
            room: "standup",
            series: self.first.id.rawValue,
            recording: self.second.id,
            export: ExportSpec(series: true),
            now: .now()
        )
    }

    /// Gathers until the first recording is here and nothing is left to be done; the exports that were ordered of a recording.
    private func gather(_ hosts: @escaping @Sendable () async -> [PeerHost]) async throws -> [[ExportEntry]] {
        try await self.here.catalogue.refresh(self.second)
        try await self.here.catalogue.exportsOrdered(of: self.second.id)
        let store = try self.here.store()
        let gathering = SeriesGathering(store: store, hosts: hosts, logger: self.logger)
        let (here, first, second) = (self.here, self.first.id, self.second.id)
        gathering.gather(self.job())
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await gathering.run() }
            defer { group.cancelAll() }
            while true {
                let jobs = try await here.catalogue.remembered([GatheringJob].self, as: "series to gather")
                let copy = try? await here.catalogue.recording(first)
                if jobs == [], copy != nil { break }
                try await Task.sleep(for: .milliseconds(20))
            }
            return [try await here.catalogue.exports(of: first), try await here.catalogue.exports(of: second)]
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

    // MARK: The machine

    @Test func partsThatAreMissingAreWaitedForAWeek() {
        let start = UTCTime(nanosecondsSince1970: 0)
        var job = GatheringJob(
            room: "r",
            series: "s",
            recording: .random(),
            export: ExportSpec(series: true),
            now: start
        )
        let nothing = GatheringJob.Found(missing: ["segment 1"])
        var now = start
        #expect(job.attempted(nothing, now: now, random: 0.5) == .init(exports: true, isOver: false))
        #expect(job.due == now.adding(.seconds(2)))
        for _ in 0..<20 {
            now = job.due
            #expect(job.attempted(nothing, now: now, random: 0.5) == .init(exports: false, isOver: false))
        }
        #expect(job.due == now.adding(.seconds(300)))
        let part = GatheringJob.Found(gathered: 1, missing: ["segment 2"])
        #expect(job.attempted(part, now: now, random: 0.5) == .init(exports: true, isOver: false))
        #expect(job.attempted(nothing, now: start.adding(GatheringJob.limit), random: 1).isOver)
        #expect(job.attempted(.init(gathered: 1), now: now, random: 0.5) == .init(exports: true, isOver: true))
    }
}

extension RecordingFolder {
    /// The folder's own name.
    fileprivate var name: String { String(self.path.split(separator: "/").last ?? "") }
}
