// SPDX-License-Identifier: Apache-2.0

import Basics
import Catalogue
import ConfigurationFile
import Control
import Fleet
import Foundation
import Model
import NIOPosix
import Storage
import Timeline

/// What the HTTP interface asks of the daemon, answered by those who know.
struct DaemonBackend: ControlBackend {
    private let supervisor: Supervisor
    private let store: RecordingStore
    private let reloader: ConfigurationReloader
    private let dispatcher: WebhookDispatcher
    /// This host in its cluster; `nil` where it shares no rooms.
    private let clusterService: ClusterService?
    /// The other hosts of the cluster; `nil` without a cluster.
    private let peers: ClusterPeers?
    private let version: String
    /// Looks for the pipeline files that rooms name; may wait for the disk.
    private let checkPipelines: @Sendable (DaemonConfiguration) throws -> Void
    private let started = ContinuousClock.now
    /// The disk is measured every second; one that has said nothing for so long hangs.
    private static let longestMeasurement = Duration.seconds(10)

    /// A backend of a running daemon.
    init(
        supervisor: Supervisor,
        store: RecordingStore,
        reloader: ConfigurationReloader,
        dispatcher: WebhookDispatcher,
        cluster: ClusterService? = nil,
        peers: ClusterPeers? = nil,
        version: String,
        checkPipelines: @escaping @Sendable (DaemonConfiguration) throws -> Void = { _ = try $0.pipelineCatalogue() }
    ) {
        self.supervisor = supervisor
        self.store = store
        self.reloader = reloader
        self.dispatcher = dispatcher
        self.clusterService = cluster
        self.peers = peers
        self.version = version
        self.checkPipelines = checkPipelines
    }

    func rooms(isLocal: Bool) async -> RoomList {
        let own = await self.supervisor.roomResources()
        guard !isLocal, let peers = self.peers else { return RoomList(own) }
        return await peers.rooms(own)
    }

    func host(of subject: ControlSubject) async throws(ControlError) -> (any ControlPeer)? {
        guard let peers = self.peers else { return nil }
        switch subject {
        case .room(let name):
            let origin = await self.supervisor.book.entries[name]?.origin
            guard origin == nil || origin == .cluster else { return nil }
            return try await peers.host(ofRoom: name, isHere: origin != nil)
        case .recording(let id):
            do throws(ControlError) {
                _ = try await self.entry(id)
                return nil
            } catch {
                // What else is wrong, this host says.
                guard error.code == .notFound, RecordingID(rawValue: id) != nil else { return nil }
            }
            return try await peers.host(ofRecording: id)
        }
    }

    func room(_ name: String) async throws(ControlError) -> RoomResource {
        try await self.supervisor.roomResource(name)
    }

    func addRoom(_ name: String, definition: String) async throws(ControlError) -> RoomResource {
        try await self.define(name) { before throws(ControlError) in
            guard before == nil else { throw ControlError(.conflict, "there is a room named \(name) already") }
            return { try RoomConfiguration.parse(name: name, text: definition) }
        }
    }

    func changeRoom(_ name: String, patch: String) async throws(ControlError) -> RoomResource {
        try await self.define(name) { before throws(ControlError) in
            guard let before else { throw Supervisor.unknown(name) }
            return { try before.applying(patch: patch) }
        }
    }

    func removeRoom(_ name: String) async throws(ControlError) {
        try await self.supervisor.removeRoom(name)
        await self.supervisor.kept.write([name])
    }

    func perform(_ action: RoomAction, on room: String) async throws(ControlError) -> RoomResource {
        try await self.supervisor.perform(action, on: room)
    }

    func thumbnail(room: String, participant: String) async throws(ControlError) -> [UInt8] {
        try await self.supervisor.thumbnailImage(room: room, participant: participant)
    }

    func pipelineGraphs(room: String) async throws(ControlError) -> [String: String] {
        try await self.supervisor.graphs(room: room)
    }

    func recordings(_ query: RecordingQuery) async throws(ControlError) -> RecordingPage {
        let filter = RecordingFilter(
            room: query.room,
            text: query.text,
            from: try Self.time(query.from, "from"),
            to: try Self.time(query.to, "to"),
            limit: query.limit,
            cursor: query.cursor
        )
        let own = try await Self.translated {
            let listing = try await self.store.catalogue.list(filter)
            return RecordingPage(recordings: try await self.resources(listing.recordings), next: listing.next)
        }
        guard !query.isLocal, let peers = self.peers else { return own }
        return await peers.recordings(own, query)
    }

    func recording(_ id: String) async throws(ControlError) -> RecordingResource {
        let (entry, folder) = try await self.found(id)
        return try await Self.translated {
            var resource = try await self.resources([entry])[0]
            let shown = ParticipantRoster(entry.participants).shown
            resource.tracks = entry.tracks.map { .init($0, name: shown[$0.participant], inFull: false) }
            let (files, manifest) = try await Self.onDisk {
                // A manifest that cannot be read hides nothing else of the recording.
                (try folder.files(), (try? Manifest.read(folder)) ?? nil)
            }
            resource.files = files.map {
                RecordingResource.File(name: $0.name, bytes: $0.bytes, type: $0.mediaType)
            }
            resource.certificate = manifest.flatMap { RecordingResource.Certificate($0) }
            return resource
        }
    }

    /// What the catalogue says of recordings, how far their uploads are, and the state of those in progress.
    private func resources(_ entries: [RecordingEntry]) async throws -> [RecordingResource] {
        let uploads = try await self.store.catalogue.uploadProgress(of: entries.map(\.id))
        let rooms = entries.contains { $0.state == .recording } ? await self.supervisor.fleet.rooms : [:]
        let live = Dictionary(
            rooms.values.compactMap { room in room.status.recording.map { ($0.id, room.status) } },
            uniquingKeysWith: { first, _ in first }
        )
        return entries.map { entry in
            var resource = RecordingResource(entry)
            if entry.state == .recording, let status = live[entry.id.rawValue] { resource.note(status) }
            resource.upload = uploads[entry.id].map { .init($0) }
            resource.host = self.peers?.host
            return resource
        }
    }

    func timeline(recording id: String) async throws(ControlError) -> RecordingTimeline {
        let (entry, folder) = try await self.found(id)
        return try await Self.translated {
            let (course, manifest) = try await Self.onDisk {
                (try RecordingCourse(folder), (try? Manifest.read(folder)) ?? nil)
            }
            return RecordingTimeline(course, manifest, shown: ParticipantRoster(entry.participants).shown)
        }
    }

    func thumbnail(recording id: String, at second: Int?) async throws(ControlError) -> [UInt8] {
        let (entry, folder) = try await self.found(id)
        return try await self.supervisor.previews.image { () async throws(ControlError) -> PreviewMaker.Keyframe in
            let still = try await Self.translated {
                try await Self.onDisk {
                    // The participant who sent most is most worth a look.
                    guard let second else {
                        let track = entry.tracks.filter { $0.media == .video }.max { $0.bytes < $1.bytes }
                        return try track.flatMap { try folder.still(of: $0.file) }
                    }
                    return try Manifest.read(folder)?.certificate?.still(in: folder, at: Int64(second) * 1_000_000_000)
                }
            }
            guard let still else { throw ControlError(.notFound, "the recording has no video there") }
            return (still.codec.rawValue, still.rotation.rawValue, still.bytes)
        }
    }

    func levels(recording id: String) async throws(ControlError) -> RecordingLevels {
        let (entry, folder) = try await self.found(id)
        let certificate = try await Self.translated { try await Self.onDisk { try Manifest.read(folder)?.certificate } }
        guard entry.state != .recording, let certificate else {
            throw ControlError(.notFound, "nothing was exported of the recording yet")
        }
        guard certificate.tracks.contains(where: { $0.media == .audio }) else {
            return RecordingLevels(stepSeconds: Double(certificate.durationNanoseconds) / 1e9, participants: [])
        }
        return try await self.supervisor.previews.levels(of: folder.path)
    }

    func deleteRecording(_ id: String) async throws(ControlError) {
        // Also one whose folder an operator removed: it is forgotten.
        let entry = try await self.entry(id)
        guard !self.store.ledger.isActive(entry.id) else {
            throw ControlError(.conflict, "the recording \(id) is in progress")
        }
        try await Self.translated { try await self.store.retention.delete(entry, because: "a client requested it") }
    }

    func export(_ recording: String, _ spec: ExportSpec) async throws(ControlError) -> ExportResource {
        let (entry, folder) = try await self.found(recording)
        var id = entry.id
        if spec.series {
            let series = try await Self.translated { try await Self.onDisk { try RecordingSeries.find(folder) } }
            guard let first = series?.segments.first?.folder.id else {
                throw ControlError(.invalid, "the recording \(recording) is not of a series")
            }
            id = first
        }
        let export = ExportEntry(recording: id, spec: spec, created: .now())
        guard await self.store.exports.enqueue(export) else {
            throw ControlError(.failed, "the export could not be queued")
        }
        return ExportResource(export)
    }

    func exports(_ recording: String) async throws(ControlError) -> [ExportResource] {
        let (entry, _) = try await self.found(recording)
        return try await Self.translated {
            try await self.store.catalogue.exports(of: entry.id).map { ExportResource($0) }
        }
    }

    func cancelExport(_ export: String, of recording: String) async throws(ControlError) {
        let entry = try await self.entry(recording)
        try await Self.translated { try await self.store.exports.cancel(export, of: entry.id) }
    }

    func filePath(_ recording: String, file: String) async throws(ControlError) -> String {
        let (_, folder) = try await self.found(recording)
        return try await Self.translated { try await Self.onDisk { try folder.path(of: file) } }
    }

    func webhooks() async throws(ControlError) -> WebhookOverview {
        try await Self.translated {
            let letters = try await self.dispatcher.deadLetters()
            let states = try await self.dispatcher.status()
            let targets = Dictionary(states.map { ($0.key, $0.target) }) { first, _ in first }
            let webhooks = states.map { status in
                WebhookOverview.Webhook(
                    target: status.target,
                    queued: status.deliveries.queued,
                    dead: status.deliveries.dead,
                    delivered: status.counters.delivered,
                    failedAttempts: status.counters.failedAttempts,
                    dropped: status.counters.dropped,
                    retry: status.deliveries.next.map {
                        WebhookOverview.Retry(attempts: $0.attempts, due: $0.due.iso8601, error: $0.error)
                    }
                )
            }
            return WebhookOverview(
                webhooks: webhooks.sorted { $0.target < $1.target },
                deadLetters: letters.map {
                    WebhookOverview.DeadLetter(
                        id: $0.id,
                        // Those of webhooks that are configured no more are forgotten with them.
                        target: targets[$0.webhook] ?? "",
                        event: $0.event,
                        created: $0.created.iso8601,
                        attempts: $0.attempts,
                        error: $0.error
                    )
                }
            )
        }
    }

    func retryDelivery(_ id: String) async throws(ControlError) {
        try await Self.translated { try await self.dispatcher.requeue(id) }
    }

    func cluster() async throws(ControlError) -> ClusterResource { try await self.shared().resource }

    func drain(within time: Duration?, untilRestart: Bool) async throws(ControlError) -> ClusterResource {
        let cluster = try self.shared()
        await cluster.drain(within: time, untilRestart: untilRestart)
        return await cluster.resource
    }

    private func shared() throws(ControlError) -> ClusterService {
        guard let cluster = self.clusterService else {
            throw ControlError(.notFound, "this host shares no rooms: its configuration has no section cluster")
        }
        return cluster
    }

    func reload() async throws(ControlError) -> ReloadReport { try await self.reloader.reload() }

    func health() async -> Health {
        var problems: [String] = []
        let silence = ContinuousClock.now - (await self.supervisor.lastTurn)
        let isLive = silence < .seconds(10)
        if !isLive { problems.append("the supervisor has not turned for \(silence.components.seconds) s") }
        // As measured: asking the disk may take as long as it likes.
        let (storage, figures) = (self.store.catalogue.storage, self.store.figures)
        let isWritable = figures.disk?.isWritable ?? true
        if !isWritable { problems.append("\(storage) cannot be written") }
        let age = ContinuousClock.now - figures.measured
        let answers = figures.disk == nil || age < Self.longestMeasurement
        if !answers { problems.append("\(storage) has not answered for \(age.components.seconds) s") }
        let isStopping = await self.supervisor.fleet.isStopping
        if isStopping { problems.append("the daemon is shutting down") }
        let isReady = isLive && isWritable && answers && !isStopping
        // It records and answers all the same: without the etcd, no host of the cluster would be ready.
        if let since = await self.clusterService?.outOfReach {
            problems.append("the etcd of the cluster is out of reach since \(since.iso8601.prefix(19))Z")
        }
        return Health(isLive: isLive, isReady: isReady, problems: problems)
    }

    func overview() async -> Overview {
        let fleet = await self.supervisor.fleet
        let uptime = ContinuousClock.now - self.started
        let figures = self.store.figures
        var overview = Overview(
            version: self.version,
            uptimeSeconds: Double(uptime.components.seconds),
            roomsByPhase: fleet.rooms.values.reduce(into: [:]) { $0[$1.phase.resource.rawValue, default: 0] += 1 },
            activeRecordings: figures.activeRecordings,
            pendingExports: figures.pendingExports,
            freeBytes: figures.disk?.freeBytes ?? 0,
            secondsUntilFull: figures.disk?.secondsUntilFull,
            workers: fleet.workers.count
        )
        overview.host = self.peers?.host
        return overview
    }

    /// Rooms and recordings in a few words, from memory alone: asked for every second.
    func occupancy() async -> String {
        let rooms = await self.supervisor.fleet.rooms.values
        let joined = rooms.count { $0.phase.resource == .joined }
        return "in \(joined) of \(rooms.count) rooms, \(self.store.figures.activeRecordings) recording"
    }

    // MARK: Helpers

    /// Has a room be what an operator wants, with pipeline files that there are, as a reload does.
    ///
    /// They are looked for, and secrets read that are in files, before the supervisor takes it, whose turns wait for no disk.
    ///
    /// - Parameter room: gives what reads its definition, from what it is now; nil if there is none of that name.
    private func define(
        _ name: String,
        _ room: (RoomConfiguration?) throws(ControlError) -> @Sendable () throws -> RoomConfiguration
    ) async throws(ControlError) -> RoomResource {
        while true {
            let (before, configuration) = await self.supervisor.definition(of: name)
            let wanted = RoomDraft(try await Self.reading(try room(before)), before: before, in: configuration)
            if let unchecked = wanted.unchecked {
                let check = self.checkPipelines
                try await Self.reading { try check(unchecked) }
            }
            if let room = try await self.supervisor.take(wanted) {
                await self.supervisor.kept.write([name])
                return room
            }
            // Another request was faster: what is wanted goes by what the room is now.
        }
    }

    /// Files that a definition names may be on a disk that hangs, which holds up no reader of recordings, and other
    /// definitions only if so many hang.
    private static let definitionThreads = NIOThreadPool.started(8)

    /// Reads what a definition names.
    private static func reading<Result: Sendable>(
        _ body: @escaping @Sendable () throws -> Result
    ) async throws(ControlError) -> Result {
        do {
            return try await Self.definitionThreads.runIfActive(body)
        } catch let error as ConfigurationError {
            throw ControlError(error)
        } catch {
            throw ControlError(.failed, "the files that the definition names cannot be read")
        }
    }

    private func entry(_ id: String) async throws(ControlError) -> RecordingEntry {
        guard let known = RecordingID(rawValue: id) else {
            throw ControlError(.notFound, "there is no such recording")
        }
        return try await Self.translated { try await self.store.catalogue.recording(known) }
    }

    private func found(_ id: String) async throws(ControlError) -> (RecordingEntry, RecordingFolder) {
        let entry = try await self.entry(id)
        return try await Self.translated {
            let storage = self.store.catalogue.storage
            return (entry, try await Self.onDisk { try RecordingFolder.open(entry.folder, in: storage) })
        }
    }

    /// Reads files on a thread that may wait for the disk: the few that all tasks share must not.
    private static func onDisk<Result: Sendable>(
        _ body: @escaping @Sendable () throws -> Result
    ) async throws -> Result {
        try await NIOThreadPool.singleton.runIfActive(body)
    }

    private static func time(_ text: String?, _ name: String) throws(ControlError) -> UTCTime? {
        guard let text else { return nil }
        guard let time = UTCTime(iso8601: text) else {
            throw ControlError(.invalid, "\(name) is not a time like 2026-07-04T12:00:00Z")
        }
        return time
    }

    private static func translated<Result>(_ body: () async throws -> Result) async throws(ControlError) -> Result {
        do {
            return try await body()
        } catch let error as ControlError {
            throw error
        } catch let error as CatalogueError {
            throw ControlError(error.controlCode, error.message)
        } catch let error as StorageError {
            // The path does not leave this host.
            throw error.code == .notFound
                ? ControlError(.notFound, "there is no such recording or file")
                : ControlError(.failed, "the recording's files cannot be read")
        } catch {
            throw ControlError(.failed, "the catalogue cannot be read")
        }
    }
}

extension RecordingResource {
    /// The catalogue knows a recording as it began; its room knows how it stands.
    fileprivate mutating func note(_ status: RoomStatus) {
        let recorded = status.tracks.filter { $0.number > 0 }
        let ids = Set(recorded.map(\.participant))
        let names = status.participants.filter { ids.contains($0.id) }.map(\.shownName)
        self.participants = self.participants.filter { !ids.contains($0) && !names.contains($0) } + names
        self.bytes = max(self.bytes, Int64(clamping: recorded.reduce(0) { $0 &+ $1.bytes }))
    }
}

extension Certificate {
    /// A keyframe of the track with the most bytes of those that have video in the second that begins at a time.
    fileprivate func still(in folder: RecordingFolder, at nanoseconds: Int64) throws(StorageError) -> RecordedStill? {
        let tracks = self.tracks.filter { track in
            let offset = nanoseconds &- track.startNanoseconds
            return track.media == .video && offset > -1_000_000_000 && offset < track.durationNanoseconds
        }
        guard let track = tracks.max(by: { $0.bytes < $1.bytes }) else { return nil }
        return try folder.still(of: track.file, at: nanoseconds &- track.startNanoseconds)
    }
}
