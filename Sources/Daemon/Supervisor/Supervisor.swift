// SPDX-License-Identifier: Apache-2.0

import Catalogue
import Cluster
import ConfigurationFile
import Control
import Fleet
import Foundation
import Logging
import Model
import Observability
import ServiceLifecycle
import Timeline

/// Keeps a worker in every room that is wanted: the fleet's decisions, the rooms' definitions, and the processes.
///
/// An actor, since processes, interface, clock and configuration all come at their own time. Every mutation of the
/// fleet performs all its actions before the next one; none of them waits.
actor Supervisor: Service {
    /// Longest wait for a worker's answer to a request of the HTTP API.
    private static let answerLimit = Duration.seconds(3)
    /// Longest wait for a change of a camera, into which a worker looks for 25 s at most; our own commands wait for 35 s.
    private static let doneLimit = Duration.seconds(30)
    /// A turn that is later than this is reported to the fleet: a busy machine is not that late.
    private static let longestDelay = Duration.seconds(2)
    /// Requests that wait for workers at a time.
    private static let maximumPendingRequests = 256
    /// Changes of one room's camera that wait for each other; each takes as long as its worker's answer.
    private static let maximumTurns = 16
    /// Changes of recordings that the store has not heard of yet, of all rooms.
    private static let maximumUnheard = 16_384
    /// The most of a worker's words that a log line has.
    private static let longestDetail = 200

    let bus: EventBus
    let recordings: RecordingKeeper
    let kept: KeptRooms
    let rtsp: RTSPKeeper
    let logger: Logger
    var configuration: DaemonConfiguration
    var book = RoomRegistry()
    /// What is wanted of each room.
    private(set) var intents: [String: RoomIntent] = [:]
    private var recordingLimit = RecordingLimit.everything
    /// Rooms that have shown no frame yet since they were joined, and when that was.
    private var awaitingFirstFrame: [String: Duration] = [:]
    var fleet: Fleet
    /// Takes news of rooms for the cluster; `nil` where this host shares none.
    private(set) var cluster: (@Sendable (ClusterInput) -> Void)?
    /// This host's own rooms and their costs, as the cluster knows them.
    private var pinned: [String: Int]?
    /// What the cluster knows of the members of rooms.
    private var members: [String: RoomNews] = [:]
    private let launcher: WorkerLauncher
    /// The recordings of the cluster's rooms.
    var shared: [String: SharedRecording] = [:]
    let previews: PreviewMaker
    private let metrics: DaemonMetrics
    private let start = ContinuousClock.now
    /// What workers may say of recordings.
    private var claims = WorkerClaims()
    /// Lines of each worker that were dropped.
    private var refused: [WorkerID: Int] = [:]
    private var mailboxes: [WorkerID: WorkerMailbox] = [:]
    /// Small numbers for the metrics of the workers: a series must not begin with each process.
    private var slots: [WorkerID: Int] = [:]
    /// Rooms whose camera is being changed, and who waits for his turn: a change goes by what the one before made of it.
    private(set) var cameraTurns: [String: [CheckedContinuation<Void, Never>]] = [:]
    private var pendingRequests: [UInt64: PendingRequest] = [:]
    private var nextRequest: UInt64 = 0
    /// Instant of the last turn of `keepTime`, for the health check.
    private(set) var lastTurn = ContinuousClock.now
    /// Media that workers could not write, for the one who watches the disk; of many at a time the newest.
    let writeFailures: AsyncStream<WriteFailure>
    private let failureFeed: AsyncStream<WriteFailure>.Continuation
    private let starts: AsyncStream<WorkerID>
    private let startFeed: AsyncStream<WorkerID>.Continuation
    /// What recordings' store has yet to hear: it may wait for the disk, and no other task waits for it.
    ///
    /// `WorkerClaims` limits those of one room.
    private let storeNotes: AsyncStream<StoreNote>
    private let storeFeed: AsyncStream<StoreNote>.Continuation
    /// How many of these there are, by room.
    private var unheard: [String: Int] = [:]

    private enum StoreNote {
        case started(room: String, RecordingReference, exports: [ExportSpec])
        case finished(room: String, RecordingReference, reason: String, exports: [ExportSpec]?)
    }

    /// A supervisor that has not started anything.
    init(
        configuration: DaemonConfiguration,
        launcher: WorkerLauncher,
        recordings: RecordingKeeper,
        kept: KeptRooms,
        rtsp: RTSPKeeper,
        bus: EventBus,
        metrics: DaemonMetrics,
        logger: Logger
    ) {
        self.configuration = configuration
        self.launcher = launcher
        self.previews = PreviewMaker(
            jobs: JobLauncher(executable: launcher.executable, environment: launcher.environment)
        )
        self.recordings = recordings
        self.kept = kept
        self.rtsp = rtsp
        self.bus = bus
        self.metrics = metrics
        self.logger = logger
        self.fleet = Fleet(settings: FleetSettings(configuration.workers), seed: .random(in: .min ... .max))
        (self.writeFailures, self.failureFeed) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(16))
        // The fleet never starts more workers than there are rooms.
        (self.starts, self.startFeed) = AsyncStream.makeStream(bufferingPolicy: .unbounded)
        (self.storeNotes, self.storeFeed) = AsyncStream.makeStream(
            bufferingPolicy: .bufferingOldest(Self.maximumUnheard)
        )
    }

    /// Takes up the rooms of the configuration, and those that clients added; their workers begin with `run()`.
    ///
    /// Once, before anything asks for a room.
    func takeUpRooms() async {
        let added = await self.kept.all()
        for room in self.configuration.rooms.values { self.define(room, origin: .configuration) }
        self.giveWay(of: Array(added.keys))
        for (name, definition) in added.sorted(by: { $0.key < $1.key }) where self.book.entries[name] == nil {
            self.takeUp(name, definition)
        }
        self.updateWishes()
        await self.kept.write(added.keys.filter { self.configuration.rooms[$0] != nil })
    }

    /// Reports to a cluster from now on what happens to rooms.
    func join(_ cluster: @escaping @Sendable (ClusterInput) -> Void) {
        self.cluster = cluster
        self.pinRooms()
    }

    /// Reports news of a room to the cluster.
    func tellCluster(_ room: String, _ news: RoomNews) { self.cluster?(.room(room, news)) }

    /// Reports this host's own rooms to the cluster, if they are others than before.
    private func pinRooms() {
        guard let cluster = self.cluster else { return }
        let own = self.book.entries.filter { $0.value.origin != .cluster }.mapValues(\.definition.cost)
        guard own != self.pinned else { return }
        self.pinned = own
        cluster(.pin(own))
    }

    /// Serves the workers until a graceful shutdown has come to its end.
    func run() async throws {
        async let keeping: Void = self.keep()
        await withDiscardingTaskGroup { group in
            group.addTask { await self.keepTime() }
            group.addTask {
                do {
                    try await gracefulShutdown()
                    await self.stop()
                } catch {
                    // Cancelled: everything has ended already.
                }
            }
            for await id in self.starts {
                guard let mailbox = self.mailboxes[id] else { continue }
                group.addTask { await self.serve(id, mailbox) }
            }
            group.cancelAll()
        }
        self.storeFeed.finish()
        await keeping
        self.endPendingRequests { _ in true }
    }

    private func keep() async {
        for await note in self.storeNotes {
            switch note {
            case .started(let room, let reference, let exports):
                await self.recordings.started(room: room, reference, exports: exports)
                self.heard(room)
            case .finished(let room, let reference, let reason, let exports):
                await self.recordings.finished(room: room, reference, reason: reason, exports: exports)
                self.heard(room)
            }
        }
    }

    private func feed(_ note: StoreNote, of room: String) {
        guard case .enqueued = self.storeFeed.yield(note) else {
            // A recording that is missed here is found by the next look for abandoned ones, or at the next start.
            self.logger.error(
                "the disk does not answer: a change of a recording is not noted now",
                metadata: .tagged([.roomName: "\(room)"])
            )
            return
        }
        self.unheard[room, default: 0] += 1
    }

    private func heard(_ room: String) {
        let left = (self.unheard[room] ?? 1) - 1
        self.unheard[room] = left > 0 ? left : nil
    }

    /// Finishes every recording, leaves every room; `run()` returns then.
    private func stop() {
        self.apply(.stop)
    }

    /// Ids of the recordings that a worker writes, or that the next one continues.
    var recordingsGoingOn: Set<String> { Set(self.fleet.rooms.values.compactMap { $0.unfinished?.id }) }

    var now: Duration { ContinuousClock.now - self.start }

    // MARK: Fleet

    func apply(_ input: FleetInput) {
        for action in self.fleet.handle(input, now: self.now) {
            switch action {
            case .start(let id):
                self.mailboxes[id] = WorkerMailbox()
                self.slots[id] = (1...).first { !self.slots.values.contains($0) }
                self.startFeed.yield(id)
            case .send(let id, let command):
                self.send(command, to: id)
            case .kill(let id, let reason):
                self.logger.error(
                    "worker is ended",
                    metadata: .tagged([.workerID: "\(id)", .detail: "\(reason)"])
                )
                self.mailboxes[id]?.end()
            case .cancel(let id, let reason):
                self.logger.info(
                    "worker is not needed",
                    metadata: .tagged([.workerID: "\(id)", .detail: "\(reason)"])
                )
                self.mailboxes[id]?.end()
            case .report(let fact):
                self.publish(fact)
            }
        }
        if self.fleet.hasStopped { self.startFeed.finish() }
    }

    private func send(_ command: WorkerCommand, to worker: WorkerID, number: UInt64? = nil) {
        self.mailboxes[worker]?.send(NumberedCommand(command, number: number))
    }

    private func publish(_ fact: FleetEvent) {
        switch fact {
        case .joined(let room):
            self.awaitingFirstFrame[room] = self.now
            self.bus.publish(.roomJoined, room: room)
            self.members[room] = nil
            self.tellCluster(room, .joined)
        case .left(let room, let reason):
            self.awaitingFirstFrame[room] = nil
            self.metrics.left(room: room)
            self.rtsp.note(room, nil)
            self.bus.publish(.roomLeft, room: room, ["reason": reason])
            self.tellCluster(room, .left)
        case .unreachable(let room, let reason):
            self.bus.publish(.roomUnreachable, room: room, ["reason": reason])
        case .workerReady(let id, let processID):
            self.bus.publish(.workerStarted, ["worker": "\(id)", "pid": "\(processID)"])
        case .workerExited(let id, let reason, let rooms, let cause):
            let details = ["worker": "\(id)", "reason": reason]
            if rooms.isEmpty {
                self.logger.info("worker ended", metadata: .tagged([.workerID: "\(id)", .detail: "\(reason)"]))
            } else {
                self.metrics.workerRestarted(RestartReason(cause))
                for room in rooms {
                    // One that was not joined yet is not left, but reported itself already.
                    self.metrics.left(room: room)
                    self.rtsp.note(room, nil)
                    self.bus.publish(.workerExited, room: room, details)
                    self.tellCluster(room, .left)
                }
            }
        case .crashLoop(let room, let reason, let delay):
            self.bus.publish(
                .workerCrashLoop,
                room: room,
                ["reason": reason, "next_try_seconds": "\(delay.components.seconds)"]
            )
        case .misbehaved(let id, let what):
            self.logger.error("worker misbehaved", metadata: .tagged([.workerID: "\(id)", .detail: "\(what)"]))
        case .removed(let room):
            self.shared[room] = nil
            self.metrics.remove(room: room)
            self.book.forget(room)
            self.members[room] = nil
            self.tellCluster(room, .gone)
        }
    }

    // MARK: Workers

    private func serve(_ id: WorkerID, _ mailbox: WorkerMailbox) async {
        let end = await self.launcher.run(mailbox) { line in await self.hear(id, line) }
        self.mailboxes[id] = nil
        self.claims.ended(id)
        self.refused[id] = nil
        self.endPendingRequests { $0.worker == id }
        if let slot = self.slots.removeValue(forKey: id) { self.metrics.remove(worker: "\(slot)") }
        self.apply(.exited(id, reason: end.reason, wasSignal: end.wasSignal))
    }

    /// The one place where a worker's words are believed or dropped.
    private func hear(_ id: WorkerID, _ line: Result<WorkerEvent, any Error>) {
        switch line {
        case .failure(let error):
            self.refuse("line that cannot be read: \(error)", of: id)
        case .success(let event):
            let unheard = event.room.flatMap { self.unheard[$0] } ?? 0
            if let reason = self.claims.refusal(of: event, from: id, in: self.fleet, unheard: unheard) {
                return self.refuse("\(reason), and it names \(event.room ?? "none")", of: id)
            }
            self.apply(.event(id, event))
            if case .heartbeat(let vitals) = event, let slot = self.slots[id] {
                self.metrics.update(worker: "\(slot)", WorkerMeasurement(vitals))
            }
            self.note(event)
            self.answerPendingRequests(event, of: id)
        }
    }

    /// Counts a line that is dropped; the log has the first of each worker, the tenth, the hundredth and so on.
    private func refuse(_ reason: String, of id: WorkerID) {
        self.metrics.workerEventRefused()
        // One that has ended has written everything already.
        guard self.fleet.workers[id] != nil else { return }
        let count = (self.refused[id] ?? 0) + 1
        self.refused[id] = count
        var power = 1
        while power < count, !power.multipliedReportingOverflow(by: 10).overflow { power *= 10 }
        guard power == count else { return }
        self.publish(.misbehaved(id, "\(reason.prefix(Self.longestDetail)) (line \(count) of it that is dropped)"))
    }

    /// What a worker's event means beyond the fleet.
    private func note(_ event: WorkerEvent) {
        switch event {
        case .status(let room, let status):
            self.noteFollowed(in: room, isEmpty: status.isJoined && status.participants.isEmpty)
            self.metrics.update(room: room, RoomMeasurement(status))
            self.rtsp.note(room, status)
            self.book.note(room, participants: status.participants.count, now: self.now)
            // A status may come before the news that we are a member.
            if self.cluster != nil, self.fleet.rooms[room]?.phase == .joined {
                let news = RoomNews(status, self.fleet.rooms[room]?.spec.record)
                if self.members.updateValue(news, forKey: room) != news { self.tellCluster(room, news) }
                // Where both can record, the store decides alone.
                if let epoch = status.rivalEpoch, status.capacity ?? 2 <= 2 {
                    self.tellCluster(room, .rival(epoch: epoch))
                }
            }
        case .recordingStarted(let room, let reference):
            self.bus.publish(.recordingStarted, room: room, recording: reference.id, ["part": "\(reference.part)"])
            self.feed(.started(room: room, reference, exports: self.book.exports(of: room) ?? []), of: room)
            self.intend(room) { $0.recordingBegan(reference.id) }
            self.pointStarted(room, reference)
        case .recordingFinished(let room, let reference, let reason):
            // The store publishes it, with the note that this is done.
            let exports = self.book.exports(of: room)
            self.feed(.finished(room: room, reference, reason: reason, exports: exports), of: room)
            self.intend(room) { $0.recordingEnded(reference.id) }
            self.pointFinished(room, reference, reason: reason)
        case .recordingDegraded(let room, let reference, let reason, let byDisk):
            self.bus.publish(.recordingDegraded, room: room, recording: reference.id, ["reason": reason])
            guard byDisk else { return }
            self.failureFeed.yield(WriteFailure(room: room, reason: reason))
        case .participantJoined(let room, let participant):
            self.bus.publish(.participantJoined, room: room, self.details(of: participant, in: room))
        case .participantLeft(let room, let participant, let reason):
            self.bus.publish(.participantLeft, room: room, self.details(of: participant, in: room, reason: reason))
        case .peerRefused(let room, let participant, let reason):
            self.bus.publish(.participantRefused, room: room, self.details(of: participant, in: room, reason: reason))
        case .outputFailed(let room, let output, let reason):
            self.bus.publish(.outputFailed, room: room, ["output": output, "reason": reason])
        case .outputRecovered(let room, let output):
            self.bus.publish(.outputRecovered, room: room, ["output": output])
        case .firstUnit(let room, _, let kind, let milliseconds, let parts):
            let seconds = parts.compactMap { part, milliseconds in
                SetupPart(rawValue: part).map { ($0, milliseconds / 1000) }
            }
            self.metrics.firstUnit(
                kind: kind,
                after: milliseconds / 1000,
                parts: Dictionary(uniqueKeysWithValues: seconds)
            )
            if kind == "video", let joined = self.awaitingFirstFrame.removeValue(forKey: room) {
                self.metrics.firstFrame(afterJoin: (self.now - joined) / .seconds(1))
            }
        case .commandFailed(let room, let command, _, let reason, _):
            self.logger.warning(
                "command failed",
                metadata: .tagged([.roomName: "\(room ?? "-")", .detail: "\(command): \(reason)"])
            )
        case .ready, .heartbeat, .joined, .notJoined, .left, .keyframe, .graph, .commandDone:
            break
        }
    }

    /// What an event says of a participant, with the name if one is known.
    private func details(of participant: String, in room: String, reason: String? = nil) -> [String: String] {
        var details = ["participant": participant]
        details["name"] = self.fleet.rooms[room]?.status.participants.first { $0.id == participant }?.name
        details["reason"] = reason
        return details
    }

    // MARK: Rooms

    /// Takes the definition of a room.
    ///
    /// - Parameter claim: of a room of the cluster, and whether it certainly holds; `nil` leaves such a room its claim.
    func define(
        _ room: RoomConfiguration,
        origin: RoomRegistry.Origin,
        claim: (RecordingClaim, mayAct: Bool)? = nil
    ) {
        self.book.set(room, origin: origin)
        var spec = room.spec(in: self.configuration)
        // Another directory counts from the next start on: the catalogue is in this one.
        spec.storage = self.recordings.storage
        spec.outputs = self.rtsp.outputs(of: room.name) + spec.outputs
        let byHand = room.recordByHand(in: self.configuration)
        if self.intents[room.name] == nil {
            let limit = self.recordingLimit
            var intent = RoomIntent(spec, byHand: byHand, takesMedia: room.takesMedia, limit: limit)
            if let claim { intent.claim(claim.0, mayAct: claim.mayAct) }
            self.intents[room.name] = intent
            self.apply(.define(intent.spec, revision: intent.revision))
        } else {
            self.intend(room.name) { intent in
                intent.define(spec, byHand: byHand, takesMedia: room.takesMedia)
                if let claim {
                    intent.claim(claim.0, mayAct: claim.mayAct)
                } else if origin != .cluster {
                    intent.claim(nil, mayAct: true)
                    intent.follow(nil)
                }
            }
        }
        self.updateWish(room.name)
    }

    /// Changes what is wanted of a room; its worker hears of it, and so does the next one.
    @discardableResult
    func intend<Result>(_ name: String, _ change: (inout RoomIntent) -> Result) -> Result? {
        guard var intent = self.intents[name] else { return nil }
        let before = intent.revision
        let result = change(&intent)
        self.intents[name] = intent
        if intent.revision != before { self.apply(.define(intent.spec, revision: intent.revision)) }
        return result
    }

    /// Limits what may be recorded to the space on the disk; holds for every room, until the next limit.
    func limitRecording(to limit: RecordingLimit) {
        self.recordingLimit = limit
        for name in self.intents.keys { self.intend(name) { $0.limit(to: limit) } }
    }

    func remove(_ name: String) {
        self.book.remove(name)
        self.intents[name] = nil
        self.rtsp.forget(name)
        self.apply(.remove(room: name))
    }

    /// - Parameter reason: why the room is not wanted, if it is not.
    func updateWish(_ name: String, because reason: String = "it is not wanted") {
        let isWanted = self.book.isWanted(name, at: Date())
        let isLeft = !isWanted && self.fleet.rooms[name]?.isWanted == true
        self.apply(.want(room: name, isWanted, because: reason))
        // Only now: a worker that is about to leave begins nothing.
        if isLeft { self.intend(name) { $0.forgetRecording() } }
    }

    private func updateWishes() {
        for name in self.book.entries.keys { self.updateWish(name) }
    }

    // MARK: Time

    /// Ticks when the fleet asks for it, and at least once a second.
    private func keepTime() async {
        while !Task.isCancelled {
            self.lastTurn = ContinuousClock.now
            self.apply(.tick)
            let now = self.now
            let emptied = self.book.leaveEmptied(now: now, date: Date())
            for name in emptied { self.updateWish(name, because: "everyone left") }
            for name in self.book.scheduled { self.updateWish(name, because: "its schedule ended") }
            self.endPendingRequests { $0.deadline <= now }
            self.measureFleet()
            self.pinRooms()
            let next = min(self.fleet.nextDeadline ?? .seconds(3600), now + .seconds(1))
            let rest = max(.milliseconds(20), next - now)
            try? await Task.sleep(for: rest)
            let late = self.now - now - rest
            guard late > Self.longestDelay, !Task.isCancelled else { continue }
            self.logger.warning("the supervisor stood still", metadata: .tagged([.detail: "for \(late)"]))
            self.apply(.stalled(late))
        }
    }

    private func measureFleet() {
        self.metrics.roomsByPhase(
            self.fleet.rooms.values.reduce(into: [:]) { $0[$1.phase.resource.rawValue, default: 0] += 1 }
        )
        self.metrics.workers(self.fleet.workers.count)
    }

    // MARK: Turns

    /// Waits until no other task changes the camera of a room; `endCameraTurn` must follow.
    ///
    /// Throws `unavailable` if too many wait already.
    func beginCameraTurn(_ room: String) async throws(ControlError) {
        guard let waiting = self.cameraTurns[room] else {
            self.cameraTurns[room] = []
            return
        }
        guard waiting.count < Self.maximumTurns else {
            throw ControlError(.unavailable, "too many others change the camera of \(room)")
        }
        await withCheckedContinuation { self.cameraTurns[room, default: []].append($0) }
    }

    func endCameraTurn(_ room: String) {
        guard var waiting = self.cameraTurns[room], !waiting.isEmpty else {
            self.cameraTurns[room] = nil
            return
        }
        let next = waiting.removeFirst()
        self.cameraTurns[room] = waiting
        next.resume()
    }

    // MARK: Questions

    /// Whether too many requests wait for workers for another one to be sent.
    var isBusy: Bool { self.pendingRequests.count >= Self.maximumPendingRequests }

    /// Waits for what a worker says to a question, and sends the command that asks it, if any; sends nothing while too many
    /// others wait.
    func ask(
        _ worker: WorkerID,
        _ command: WorkerCommand? = nil,
        room: String,
        _ question: PendingRequest.Question
    ) async -> PendingRequest.Answer {
        guard !self.isBusy else { return .silence }
        let limit =
            switch question {
            case .done, .graphs, .inForce(_, .send): Self.doneLimit
            case .inForce, .keyframe: Self.answerLimit
            }
        return await withCheckedContinuation { continuation in
            self.nextRequest += 1
            self.pendingRequests[self.nextRequest] = PendingRequest(
                worker: worker,
                room: room,
                number: self.nextRequest,
                question: question,
                deadline: self.now + limit,
                continuation: continuation
            )
            if let command { self.send(command, to: worker, number: self.nextRequest) }
        }
    }

    private func answerPendingRequests(_ event: WorkerEvent, of worker: WorkerID) {
        for (id, pendingRequest) in self.pendingRequests {
            var pendingRequest = pendingRequest
            let answer = pendingRequest.hear(event, of: worker)
            self.pendingRequests[id] = answer == nil ? pendingRequest : nil
            if let answer { pendingRequest.continuation.resume(returning: answer) }
        }
    }

    private func endPendingRequests(where isOver: (PendingRequest) -> Bool) {
        for (id, pendingRequest) in self.pendingRequests where isOver(pendingRequest) {
            self.pendingRequests[id] = nil
            pendingRequest.continuation.resume(returning: .silence)
        }
    }
}

extension WorkerMeasurement {
    /// What a heartbeat says.
    init(_ vitals: WorkerVitals) {
        self.init(
            cpuSeconds: vitals.cpuSeconds,
            residentBytes: vitals.residentBytes,
            threads: vitals.threads,
            descriptors: vitals.descriptors
        )
        (self.sharedConnections, self.slowConnections) = (vitals.sharedConnections, vitals.slowConnections)
        (self.longTracks, self.forgedPackets) = (vitals.longTracks, vitals.forgedPackets)
        self.objects = vitals.objects
        self.allocatedBytes = vitals.allocatedBytes
    }
}
