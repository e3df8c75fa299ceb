// SPDX-License-Identifier: Apache-2.0

import Basics
import Catalogue
import FoundationEssentials
import Glibc
import Logging
import Model
import Observability
import ServiceLifecycle
import Storage
import Timeline

/// Brings the recordings of a series that several hosts recorded together on this one, and has the series exported.
///
/// One recording comes at a time, by the HTTP API of its host. Its folder gets its name when it is whole; then it is a recording
/// of this host like any other, whose end was reported and whose exports were made elsewhere. Works on a separate thread, which
/// waits for the disk.
actor SeriesGathering: Service {
    private static let fact = "series to gather"
    /// The most series that wait; further ones push out the oldest.
    private static let most = 1000
    /// Bytes of a file that come at once.
    private static let pieceBytes: UInt64 = 4 << 20
    /// A first recording that no host has may have begun this long before the last.
    private static let longestCall = Duration.seconds(86_400)
    /// More files are no recording's.
    private static let mostFiles = 10_000

    private let store: RecordingStore
    /// The other hosts that live at present.
    private let hosts: @Sendable () async -> [PeerHost]
    private let logger: Logger
    private var jobs: [GatheringJob] = []
    /// Recordings that are known to be of no series that is wanted.
    private var others: [RecordingID: Set<String>] = [:]
    private let thread = DiskThread(name: "gathering")
    private let orders: AsyncStream<GatheringJob>
    private let orderFeed: AsyncStream<GatheringJob>.Continuation
    private let bell: AsyncStream<Void>
    private let ring: AsyncStream<Void>.Continuation

    nonisolated var unownedExecutor: UnownedSerialExecutor { self.thread.asUnownedSerialExecutor() }

    init(store: RecordingStore, hosts: @escaping @Sendable () async -> [PeerHost], logger: Logger) {
        (self.store, self.hosts, self.logger) = (store, hosts, logger)
        (self.orders, self.orderFeed) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(Self.most))
        (self.bell, self.ring) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Has a series gathered and exported; never waits.
    nonisolated func gather(_ job: GatheringJob) { self.orderFeed.yield(job) }

    /// Works on what is ordered, and on what an earlier life left, until a graceful shutdown.
    func run() async throws {
        self.jobs = (try? await self.store.catalogue.remembered([GatheringJob].self, as: Self.fact)) ?? []
        self.ring.yield()
        await cancelWhenGracefulShutdown {
            await withDiscardingTaskGroup { group in
                group.addTask { for await order in self.orders { await self.take(order) } }
                for await _ in self.bell { await self.work() }
                group.cancelAll()
            }
        }
    }

    private func take(_ job: GatheringJob) async {
        self.jobs.removeAll { $0.series == job.series }
        if self.jobs.count >= Self.most { self.jobs.removeFirst() }
        self.jobs.append(job)
        await self.remember()
        self.ring.yield()
    }

    /// Attempts what is due, until nothing waits.
    private func work() async {
        while let next = self.jobs.min(by: { $0.due < $1.due }) {
            let wait = next.due.nanosecondsSince1970 - UTCTime.now().nanosecondsSince1970
            if wait > 0 {
                // An order that came during the wait may be due at once.
                guard (try? await Task.sleep(for: min(.nanoseconds(wait), .seconds(1)))) != nil else { return }
            } else {
                await self.attempt(next)
                if Task.isCancelled { return }
            }
        }
    }

    private func attempt(_ job: GatheringJob) async {
        let found: GatheringJob.Found?
        do {
            found = try await self.found(job)
        } catch is CancellationError {
            return
        } catch {
            found = GatheringJob.Found(missing: ["\(error)"])
        }
        var after = job
        // Without its recording there is nothing to export any more.
        guard let found else { return await self.replace(job, with: nil) }
        let step = after.attempted(found, now: .now(), random: .random(in: 0...1))
        if !found.missing.isEmpty, step.isOver || job.attempts == 0 { self.tell(job, found.missing, step) }
        if step.exports { await self.export(job) }
        await self.replace(job, with: step.isOver ? nil : after)
    }

    private func replace(_ job: GatheringJob, with after: GatheringJob?) async {
        // Another order of the series may have come.
        guard let index = self.jobs.firstIndex(of: job) else { return }
        if let after {
            self.jobs[index] = after
        } else {
            self.jobs.remove(at: index)
            self.others[job.recording] = nil
            if let folder = try? await self.folder(of: job.recording) {
                try? FileManager.default.removeItem(atPath: Self.partialFolder(of: job.series, nextTo: folder))
            }
        }
        await self.remember()
    }

    private func remember() async {
        do {
            try await self.store.catalogue.remember(self.jobs, as: Self.fact)
        } catch {
            self.logger.error("catalogue failed", metadata: .tagged([.errorMessage: "\(error)"]))
        }
    }

    private func tell(_ job: GatheringJob, _ missing: [String], _ step: GatheringJob.Step) {
        self.logger.warning(
            step.isOver
                ? "parts of a recording stay on other hosts: they did not come in time"
                : "parts of a recording are on other hosts: it is exported without them, and again when they come",
            metadata: .tagged([
                .roomName: "\(job.room)", .recordingID: "\(job.recording)",
                .detail: "series \(job.series): \(missing.prefix(10).joined(separator: "; "))",
            ])
        )
    }

    /// Orders the export of a series, of which one that waits is as good.
    private func export(_ job: GatheringJob) async {
        do {
            let folder = try await self.folder(of: job.recording)
            let first = try RecordingSeries.find(folder)?.segments.first?.folder.id ?? job.recording
            let waiting = try await self.store.catalogue.exports(of: first)
            guard !waiting.contains(where: { $0.state == .queued && $0.spec == job.export }) else { return }
            await self.store.exports.enqueue(first, job.export)
        } catch {
            self.logger.error(
                "a series is not exported",
                metadata: .tagged([.recordingID: "\(job.recording)", .errorMessage: "\(error)"])
            )
        }
    }

    // MARK: One attempt

    /// Fetches what living hosts have of a series; nil if this host's recording of it is gone.
    private func found(_ job: GatheringJob) async throws -> GatheringJob.Found? {
        guard let entry = try? await self.store.catalogue.recording(job.recording),
            let folder = try? await self.folder(of: job.recording)
        else { return nil }
        var found = GatheringJob.Found()
        let hosts = await self.hosts()
        var since = entry.start.adding(.zero - Self.longestCall)
        if let id = RecordingID(rawValue: job.series), let first = try? await self.store.catalogue.recording(id) {
            since = first.start
        } else {
            for host in hosts {
                let first = try? await host.recording(job.series)
                if let start = first.flatMap({ UTCTime(iso8601: $0.start) }) { since = start }
            }
        }
        for host in hosts {
            do {
                let wanted = try await self.wanted(job, from: host, since: since, nextTo: folder)
                for id in wanted {
                    guard let recording = try await host.recording(id) else { continue }
                    guard recording.state == "finished" else {
                        found.missing.append("\(host.name) has not finished \(id)")
                        continue
                    }
                    try await self.fetch(recording, of: job.series, from: host, nextTo: folder)
                    found.gathered += 1
                }
            } catch is CancellationError {
                throw CancellationError()
            } catch {
                found.missing.append("\(host.name): \(error)")
            }
        }
        for numbers in try RecordingSeries.find(folder)?.missing ?? [] {
            let isOne = numbers.count == 1
            found.missing.append("segment \(isOne ? "\(numbers.lowerBound)" : "\(numbers)")")
        }
        return found
    }

    /// The ids of the recordings of a series that a host has and this one has not.
    private func wanted(
        _ job: GatheringJob,
        from host: PeerHost,
        since: UTCTime,
        nextTo folder: RecordingFolder
    ) async throws -> [String] {
        let present = Set(try folder.ofSameRoom().map(\.id.rawValue))
        var wanted: [String] = []
        for recording in try await host.recordings(of: job.room, since: since) {
            guard !present.contains(recording.id), self.others[job.recording]?.contains(recording.id) != true,
                RecordingID(rawValue: recording.id) != nil
            else { continue }
            if recording.id == job.series {
                wanted.append(recording.id)
            } else if let beginning = try await host.beginning(of: recording.id) {
                if beginning.series == job.series {
                    wanted.append(recording.id)
                } else {
                    self.others[job.recording, default: []].insert(recording.id)
                }
            }
        }
        return wanted
    }

    /// Fetches a recording into its room's folder; one that was interrupted resumes.
    private func fetch(
        _ recording: RecordingResource,
        of series: String,
        from host: PeerHost,
        nextTo folder: RecordingFolder
    ) async throws {
        guard let start = UTCTime(iso8601: recording.start), let id = RecordingID(rawValue: recording.id) else {
            throw PeerHost.Failure(description: "its answer cannot be read")
        }
        let files = recording.files.filter { Self.isSource($0.name) && $0.bytes >= 0 }
        guard files.contains(where: { $0.name == Self.journal }), files.count <= Self.mostFiles else {
            throw PeerHost.Failure(description: "it has no journal of \(id)")
        }
        let bytes = files.reduce(Int64(0)) { $0.addingReportingOverflow($1.bytes).partialValue }
        if let disk = self.store.figures.disk, disk.freeBytes - bytes < disk.minimumFreeBytes {
            throw PeerHost.Failure(description: "there is no free space for the \(bytes) bytes of \(id)")
        }
        let path = "\(Self.room(of: folder))/\(start.compact)-\(id)"
        let partial = "\(Self.partialFolder(of: series, nextTo: folder))/\(id)"
        try FileManager.default.createDirectory(atPath: partial + "/tracks", withIntermediateDirectories: true)
        for file in files { try await self.fetch(file, of: recording.id, from: host, into: partial) }
        for digest in recording.certificate?.files ?? [] where files.contains(where: { $0.name == digest.name }) {
            let file = "\(partial)/\(digest.name)"
            guard try HashingFile.sha256(file, first: digest.bytes) != digest.sha256 else { continue }
            // The next attempt begins it again.
            unlink(file)
            throw PeerHost.Failure(description: "\(digest.name) of \(id) is not what its certificate says")
        }
        try File.rename(partial, to: path)
        await self.store.keeper.gathered(id, in: path)
        self.logger.notice(
            "a part of a recording came from another host",
            metadata: .tagged([.recordingID: "\(id)", .recordingPath: "\(path)", .detail: "\(host.name)"])
        )
    }

    private func fetch(
        _ listed: RecordingResource.File,
        of id: String,
        from host: PeerHost,
        into folder: String
    ) async throws {
        let file = try File("\(folder)/\(listed.name)", .overwrite)
        let size = UInt64(listed.bytes)
        var offset = file.count
        if offset > size {
            try file.truncate(to: 0)
            offset = 0
        }
        while offset < size {
            let range = offset..<min(offset + Self.pieceBytes, size)
            guard let bytes = try await host.bytes(of: listed.name, of: id, range), bytes.count == range.count else {
                throw PeerHost.Failure(description: "\(listed.name) of \(id) has changed")
            }
            try file.write(bytes, at: offset)
            offset = range.upperBound
        }
        try file.synchronise()
    }

    private func folder(of id: RecordingID) async throws -> RecordingFolder {
        try RecordingFolder.open(
            try await self.store.catalogue.recording(id).folder,
            in: self.store.catalogue.storage
        )
    }

    private static func room(of folder: RecordingFolder) -> String {
        folder.path.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
    }

    /// Where recordings of a series are until they are whole.
    private static func partialFolder(of series: String, nextTo folder: RecordingFolder) -> String {
        "\(Self.room(of: folder))/.gathering-\(series)"
    }

    private static let journal = "journal.jsonl"

    /// Whether a file is one of those that a recorder writes; no other name of an answer becomes one here.
    private static func isSource(_ name: String) -> Bool {
        if name == Self.journal { return true }
        let parts = name.split(separator: "/", omittingEmptySubsequences: false)
        return parts.count == 2 && parts[0] == "tracks" && !parts[1].isEmpty && !parts[1].hasPrefix(".")
    }
}
