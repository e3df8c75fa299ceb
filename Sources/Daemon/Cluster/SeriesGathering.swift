// SPDX-License-Identifier: Apache-2.0

import Basics
import Catalogue
import Cluster
import Delivery
import FoundationEssentials
import Glibc
import Logging
import Model
import Observability
import ServiceLifecycle
import Storage
import Synchronization
import Timeline

/// Brings the recordings of series that several hosts recorded together on this one, where the cluster says so, and has each series
/// exported.
///
/// One recording comes at a time, by the HTTP API of its host, or from the remote where that host uploaded it. Its folder gets its
/// name when it is whole; then it is a recording of this host like any other, whose end was reported, whose exports were made and
/// which is uploaded elsewhere. Works on a separate thread, which waits for the disk.
actor SeriesGathering: Service {
    /// What the cluster says of series.
    struct Orders: Sendable {
        /// All that are to be brought together, by their ids; nil: the cluster cannot say so at present.
        var series: [String: SeriesRecord]?
        /// The definitions of their rooms, as far as these are there.
        var definitions: [String: RoomRecord] = [:]
        /// The hosts that live.
        var hosts: Set<String> = []
    }

    private static let fact = "series of the cluster"
    /// Bytes of a file that come at once.
    private static let pieceBytes: UInt64 = 4 << 20
    /// A first recording that no host has may have begun this long before the last.
    private static let longestCall = Duration.seconds(86_400)
    /// The clocks of two hosts may differ by this.
    private static let clockDifference = Duration.seconds(600)
    /// More files are no recording's.
    private static let mostFiles = 10_000

    private let store: RecordingStore
    private let cluster: String
    /// This host's name.
    private let host: String
    private let orders: AsyncStream<Orders>
    /// The other hosts that live at present.
    private let hosts: @Sendable () async -> [PeerHost]
    /// The export of a series in a room; nil where its room has none.
    private let exportOf: @Sendable (String, RoomRecord?) async -> ExportSpec?
    /// Takes that a series is brought together, as often as it likes.
    private let hasGathered: @Sendable (String) -> Void
    private let logger: Logger
    private var queue = GatheringQueue([])
    /// Recordings that are known to be of no series that is wanted, by series.
    private var others: [String: Set<String>] = [:]
    private let thread = DiskThread(name: "gathering")
    private let bell: AsyncStream<Void>
    private let ring: AsyncStream<Void>.Continuation
    private var alarm: Task<Void, Never>?

    nonisolated var unownedExecutor: UnownedSerialExecutor { self.thread.asUnownedSerialExecutor() }

    init(
        store: RecordingStore,
        cluster: String,
        host: String,
        orders: AsyncStream<Orders>,
        hosts: @escaping @Sendable () async -> [PeerHost],
        export: @escaping @Sendable (String, RoomRecord?) async -> ExportSpec?,
        gathered: @escaping @Sendable (String) -> Void,
        logger: Logger
    ) {
        (self.store, self.cluster, self.host, self.orders) = (store, cluster, host, orders)
        (self.hosts, self.exportOf, self.hasGathered, self.logger) = (hosts, export, gathered, logger)
        (self.bell, self.ring) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Works on what the cluster orders, and on what an earlier life left of it, until a graceful shutdown.
    func run() async throws {
        let jobs = (try? await self.store.catalogue.remembered([GatheringJob].self, as: Self.fact)) ?? []
        self.queue = GatheringQueue(jobs)
        self.store.retention.keep(series: Dictionary(jobs.map { ($0.series, $0.room) }) { first, _ in first })
        await cancelWhenGracefulShutdown {
            await withDiscardingTaskGroup { group in
                group.addTask { for await orders in self.orders { await self.take(orders) } }
                for await _ in self.bell { await self.work() }
                group.cancelAll()
            }
        }
        self.alarm?.cancel()
    }

    private func take(_ orders: Orders) async {
        let own = orders.series?.filter { $0.value.host == self.host }
        let before = self.queue.jobs
        let new = self.queue.take(own?.mapValues(\.epoch), hosts: orders.hosts, now: .now())
        for series in new {
            guard let record = own?[series] else { continue }
            guard let export = await self.exportOf(record.room, orders.definitions[record.room]) else {
                self.hasGathered(series)
                continue
            }
            self.queue.add(
                GatheringJob(
                    room: record.room,
                    series: series,
                    last: record.pointer.recording,
                    segment: record.pointer.segment,
                    began: record.pointer.began.flatMap { UTCTime(iso8601: $0) },
                    epoch: record.epoch,
                    export: export,
                    now: .now()
                )
            )
        }
        if let series = orders.series { self.store.retention.keep(series: series.mapValues(\.room)) }
        let left = Set(self.queue.jobs.map(\.series))
        for job in before where !left.contains(job.series) {
            self.others[job.series] = nil
            self.removePartialFolder(of: job)
        }
        if self.queue.jobs != before { await self.remember() }
        for series in self.queue.over { self.hasGathered(series) }
        self.ring.yield()
    }

    /// Attempts what is due; what is due later rings the bell.
    private func work() async {
        self.alarm?.cancel()
        while let next = self.queue.next(at: .now()) {
            await self.attempt(next)
            if Task.isCancelled { return }
        }
        guard let wait = self.queue.wait(at: .now()) else { return }
        self.alarm = Task { [ring = self.ring] in
            guard (try? await Task.sleep(for: wait)) != nil else { return }
            ring.yield()
        }
    }

    private func attempt(_ job: GatheringJob) async {
        var after = job
        if job.phase == .exporting {
            after.looked(isExporting: await self.isExporting(job), now: .now())
        } else {
            let found: GatheringJob.Found
            do {
                found = try await self.found(job)
            } catch is CancellationError {
                return
            } catch {
                found = GatheringJob.Found(missing: ["\(error)"])
            }
            // What an attempt brings is of use to any host; what follows is the business of one.
            guard self.queue.has(job.series) else { return }
            let exports = after.attempted(found, now: .now(), random: .random(in: 0...1))
            if after.reports(found) { self.report(after, found.missing) }
            if exports { await self.export(job) }
            if after.phase != .gathering { self.removePartialFolder(of: job) }
        }
        self.queue.replace(after)
        if after.phase == .over { self.hasGathered(job.series) }
        await self.remember()
    }

    private func remember() async {
        do {
            try await self.store.catalogue.remember(self.queue.jobs, as: Self.fact)
        } catch {
            self.logger.error("catalogue failed", metadata: .tagged([.errorMessage: "\(error)"]))
        }
    }

    private func report(_ job: GatheringJob, _ missing: [String]) {
        self.logger.warning(
            job.phase == .gathering
                ? "parts of a recording are on other hosts: it is exported without them, and again when they come"
                : "parts of a recording stay on other hosts: they did not come in time",
            metadata: .tagged([
                .roomName: "\(job.room)",
                .detail: "series \(job.series): \(missing.prefix(10).joined(separator: "; "))",
            ])
        )
    }

    // MARK: Exports

    /// Orders the export of a series, of which one that waits is as good.
    private func export(_ job: GatheringJob) async {
        do {
            guard let first = try self.series(of: job)?.segments.first?.folder.id else { return }
            let waiting = try await self.store.catalogue.exports(of: first)
            guard !waiting.contains(where: { $0.state == .queued && $0.spec == job.export }) else { return }
            await self.store.exports.enqueue(first, job.export)
        } catch {
            self.logger.error(
                "a series is not exported",
                metadata: .tagged([.recordingID: "\(job.series)", .errorMessage: "\(error)"])
            )
        }
    }

    /// Whether the export that was ordered last waits or runs.
    private func isExporting(_ job: GatheringJob) async -> Bool {
        guard let first = try? self.series(of: job)?.segments.first?.folder.id,
            let exports = try? await self.store.catalogue.exports(of: first)
        else { return false }
        return exports.contains { $0.spec == job.export && ($0.state == .queued || $0.state == .running) }
    }

    // MARK: One attempt

    private func series(of job: GatheringJob) throws -> RecordingSeries? {
        try RecordingSeries.find(job.series, storage: self.store.catalogue.storage, room: job.room)
    }

    /// Fetches what living hosts and the remote have of a series.
    private func found(_ job: GatheringJob) async throws -> GatheringJob.Found {
        var found = GatheringJob.Found()
        let hosts = await self.hosts()
        let since = await self.beginning(of: job, hosts)
        for host in hosts {
            do {
                for id in try await self.wanted(job, from: host, since: since) {
                    guard let recording = try await host.recording(id) else { continue }
                    guard recording.state == "finished" else {
                        found.missing.append("\(host.name) has not finished \(id)")
                        continue
                    }
                    try await self.fetch(recording, job, from: host)
                }
            } catch is CancellationError {
                throw CancellationError()
            } catch {
                found.missing.append("\(host.name): \(error)")
            }
        }
        if try !self.missing(of: job).isEmpty, let remote = self.store.uploads.remote {
            let parts = RemoteParts(spec: remote.spec, rclone: remote.rclone, cluster: self.cluster)
            do {
                try await self.fetch(job, from: parts, since: since, &found)
            } catch is CancellationError {
                throw CancellationError()
            } catch {
                found.missing.append("the remote: \(error)")
            }
        }
        for segment in try self.series(of: job)?.segments ?? [] {
            let entry = try? await self.store.catalogue.recording(segment.folder.id)
            if entry?.state == .finished {
                found.present += 1
            } else {
                found.missing.append("this host has not finished \(segment.folder.id)")
            }
        }
        found.missing += try self.missing(of: job)
        return found
    }

    /// When the first recording of a series may have begun.
    private func beginning(of job: GatheringJob, _ hosts: [PeerHost]) async -> UTCTime {
        if let began = job.began { return began.adding(.zero - Self.clockDifference) }
        if let id = RecordingID(rawValue: job.series), let first = try? await self.store.catalogue.recording(id) {
            return first.start
        }
        for host in hosts {
            let first = try? await host.recording(job.series)
            if let start = first.flatMap({ UTCTime(iso8601: $0.start) }) { return start }
        }
        return job.ordered.adding(.zero - Self.longestCall)
    }

    /// What is not here of a series, as far as its recordings tell.
    private func missing(of job: GatheringJob) throws -> [String] {
        let series = try self.series(of: job)
        var missing = (series?.missing ?? []).map { numbers in
            "segment \(numbers.count == 1 ? "\(numbers.lowerBound)" : "\(numbers)")"
        }
        if series?.segments.contains(where: { $0.folder.id.rawValue == job.last }) != true {
            missing.append("segment \(job.segment), the last that is known: \(job.last)")
        }
        return missing
    }

    private func present(_ job: GatheringJob) throws -> Set<String> {
        let folders = try RecordingFolder.list(storage: self.store.catalogue.storage, room: job.room)
        return Set(folders.map(\.id.rawValue))
    }

    // MARK: From hosts

    /// The ids of the recordings of a series that a host has and this one has not.
    private func wanted(_ job: GatheringJob, from host: PeerHost, since: UTCTime) async throws -> [String] {
        let present = try self.present(job)
        var wanted: [String] = []
        for recording in try await host.recordings(of: job.room, since: since) {
            guard !present.contains(recording.id), self.others[job.series]?.contains(recording.id) != true,
                RecordingID(rawValue: recording.id) != nil
            else { continue }
            if recording.id == job.series {
                wanted.append(recording.id)
            } else if let beginning = try await host.beginning(of: recording.id) {
                if beginning.series == job.series {
                    wanted.append(recording.id)
                } else {
                    self.others[job.series, default: []].insert(recording.id)
                }
            }
        }
        return wanted
    }

    /// Fetches a recording into its room's folder; one that was interrupted resumes.
    private func fetch(_ recording: RecordingResource, _ job: GatheringJob, from host: PeerHost) async throws {
        guard let start = UTCTime(iso8601: recording.start), let id = RecordingID(rawValue: recording.id) else {
            throw PeerHost.Failure(description: "its answer cannot be read")
        }
        let files = recording.files.filter { Self.isSource($0.name) && $0.bytes >= 0 }
        guard files.contains(where: { $0.name == Self.journal }), files.count <= Self.mostFiles else {
            throw PeerHost.Failure(description: "it has no journal of \(id)")
        }
        let names = Set(files.map(\.name))
        let digests = (recording.certificate?.files ?? []).filter { names.contains($0.name) }
        try self.requireSpace(for: files.map(\.bytes), id)
        let partial = try self.makePartialFolder(of: job, id)
        for file in files { try await self.fetch(file, of: recording.id, from: host, into: partial) }
        try Self.check(partial, digests, id)
        try await self.take(partial, as: "\(start.compact)-\(id)", id, job, from: host.name)
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

    // MARK: From the remote

    /// Fetches the recordings of a series that are whole at the remote and not here.
    private func fetch(
        _ job: GatheringJob,
        from remote: RemoteParts,
        since: UTCTime,
        _ found: inout GatheringJob.Found
    ) async throws {
        let present = try self.present(job)
        let until = job.ordered.adding(Self.clockDifference)
        for (name, place) in try await remote.folders(ofRoom: job.room, from: since, to: until).sorted(by: {
            $0.key < $1.key
        }) {
            guard let id = RecordingFolder.id(ofName: name), !present.contains(id.rawValue),
                self.others[job.series]?.contains(id.rawValue) != true
            else { continue }
            switch try await remote.look(at: name, place, for: job.series) {
            case .unfinished: break
            case .other: self.others[job.series, default: []].insert(id.rawValue)
            case .foreign(let cluster):
                self.others[job.series, default: []].insert(id.rawValue)
                found.missing.append("\(place) is of another cluster, \(cluster)")
            case .part(let part):
                do {
                    try await self.fetch(part, id, job, from: remote)
                } catch let failure as PeerHost.Failure {
                    found.missing.append("the remote: \(failure)")
                }
            }
        }
    }

    private func fetch(
        _ part: RemoteParts.Part,
        _ id: RecordingID,
        _ job: GatheringJob,
        from remote: RemoteParts
    ) async throws {
        let digests = (part.manifest.files ?? []).filter { Self.isSource($0.name) }
        guard digests.contains(where: { $0.name == Self.journal }), digests.count <= Self.mostFiles else {
            throw PeerHost.Failure(description: "it has no journal of \(id)")
        }
        try self.requireSpace(for: digests.map { Int64(clamping: $0.bytes) }, id)
        let partial = try self.makePartialFolder(of: job, id)
        try await remote.rclone.fetch(part.place, to: partial, only: ["/\(Self.journal)", "/tracks/*"])
        try Self.check(partial, digests, id)
        try await self.take(partial, as: part.name, id, job, from: part.place)
    }

    // MARK: Folders

    private func requireSpace(for files: [Int64], _ id: RecordingID) throws {
        let bytes = files.reduce(Int64(0)) { $0.addingReportingOverflow($1).partialValue }
        guard let disk = self.store.figures.disk, disk.freeBytes - bytes < disk.minimumFreeBytes else { return }
        throw PeerHost.Failure(description: "there is no free space for the \(bytes) bytes of \(id)")
    }

    /// Makes the folder where a recording is until it is whole.
    private func makePartialFolder(of job: GatheringJob, _ id: RecordingID) throws -> String {
        let partial = "\(self.partialFolder(of: job))/\(id)"
        try FileManager.default.createDirectory(atPath: partial + "/tracks", withIntermediateDirectories: true)
        return partial
    }

    /// Where recordings of a series are until they are whole.
    private func partialFolder(of job: GatheringJob) -> String {
        let room = RecordingFolder.path(ofRoom: job.room, in: self.store.catalogue.storage)
        return "\(room)/.gathering-\(Sanitiser.pathComponent(job.series, fallback: "series"))"
    }

    private func removePartialFolder(of job: GatheringJob) {
        try? FileManager.default.removeItem(atPath: self.partialFolder(of: job))
    }

    /// Throws if a file is not there as it was recorded; the next attempt begins it again.
    private static func check(_ folder: String, _ digests: [Certificate.FileDigest], _ id: RecordingID) throws {
        for digest in digests {
            let file = "\(folder)/\(digest.name)"
            guard (try? HashingFile.sha256(file, first: digest.bytes)) != digest.sha256 else { continue }
            unlink(file)
            throw PeerHost.Failure(description: "\(digest.name) of \(id) is not what its certificate says")
        }
    }

    /// Gives a recording that is whole its name.
    private func take(
        _ partial: String,
        as name: String,
        _ id: RecordingID,
        _ job: GatheringJob,
        from source: String
    ) async throws {
        let path = "\(RecordingFolder.path(ofRoom: job.room, in: self.store.catalogue.storage))/\(name)"
        try RecordingFolder.markAsGathered(partial, epoch: job.epoch)
        try File.rename(partial, to: path)
        await self.store.keeper.gathered(id, in: path)
        self.logger.notice(
            "a part of a recording came from elsewhere",
            metadata: .tagged([.recordingID: "\(id)", .recordingPath: "\(path)", .detail: "\(source)"])
        )
    }

    private static let journal = "journal.jsonl"

    /// Whether a file is one of those that a recorder writes; no other name of an answer becomes one here.
    private static func isSource(_ name: String) -> Bool {
        if name == Self.journal { return true }
        let parts = name.split(separator: "/", omittingEmptySubsequences: false)
        return parts.count == 2 && parts[0] == "tracks" && !parts[1].isEmpty && !parts[1].hasPrefix(".")
    }
}
