// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import ConfigurationFile
internal import GStreamer
internal import Logging
internal import Media
internal import Model
internal import Observability
internal import PipelineCatalogue
internal import Recording
internal import Session
internal import Signalling
internal import SignallingClients
internal import Storage
internal import Synchronization

/// One room of a worker: a recorder for as long as the worker is in it, and one session after the other.
///
/// A session ends before the room does only when what we send or ask for changes in a way that peers have to be told:
/// then we leave and join again, and the recording goes on.
final class WorkerRoom: Sendable {
    private static let maximumWaitingCommands = 256
    private static let maximumStills = 4
    /// Longest time for what the recorder's thread does between two units.
    private static let orderLimit = Duration.seconds(60)

    let plan: RoomPlan
    private let recorderSettings: RecorderSettings
    let recorder: RecorderThread
    let outputs: RTPOutputs
    /// What is posted into the chat.
    private let announcement: Announcement
    let control: ControlThread
    /// Waits for what the recorder answers, which may wait for its disk: nothing of GStreamer waits for it.
    let orders: ControlThread
    /// Waits for the disk when the recording is finished: nothing of GStreamer waits for it.
    private let files: ControlThread
    /// Longest time for a look into files that are to be sent, and until an order for the camera that somebody waits for
    /// begins: less than the supervisor waits, so that nothing begins that it has given up.
    private let trialLimit: Duration
    private let filesLimit: Duration
    let send: @Sendable (WorkerEvent) -> Void
    private let makeSignaller: WorkerProcess.MakeSignaller
    private let traces: TraceSettings?
    private let logger: Logger
    private let commands: AsyncStream<QueuedCommand>
    private let feed: AsyncStream<QueuedCommand>.Continuation
    private let state: Mutex<State>

    /// A command that waits for its turn.
    private struct QueuedCommand {
        let order: NumberedCommand
        let deadline: OrderDeadline
    }

    private struct State {
        var session: RoomSession?
        var camera: CameraSource?
        var sends: SendSpec?
        /// What the camera sends is being changed, also for an order that was given up meanwhile.
        var isChangingCamera = false
        /// What each order for the camera mutes that waits, in turn: that is muted already.
        var expectedMutes: [CameraMutes] = []
        /// The video codec that others are asked to send, where something else than the camera decides it.
        var preferred: PreferredCodec?
        /// Whether data channels are taken.
        var recordsChat: Bool
        /// Whether we are there to record, as others learn.
        var records: Bool
        /// Somebody ordered that nothing is recorded; other settings do not change that.
        var isStopped: Bool
        /// What the next session sends is not what this one does.
        var isRejoining = false
        var isLeaving = false
        /// Somebody wants it left; what was ordered before comes first.
        var isLeft = false
        /// The recording was finished, or could not be in time.
        var hasFinished = false
        /// Keyframes for stills on their way.
        var stills = 0
        /// Something changed since the last status.
        var isChanged = true
        var lastStatus = ContinuousClock.now

        /// Has the camera mute what orders mute that wait.
        func muteWhatIsExpected() {
            self.camera?.expect(self.expectedMutes.reduce(into: CameraMutes()) { $0.formUnion($1) })
        }

        /// What an order mutes stays muted, whatever became of it.
        mutating func mute(_ mutes: CameraMutes) {
            self.sends?.mutes.formUnion(mutes)
            self.camera?.mute(mutes)
        }
    }

    /// A room that is not joined yet; the recorder's thread runs.
    ///
    /// - Parameters:
    ///   - host: this host's name, for journals.
    ///   - filesLimit: how long its files may take to be completed.
    ///   - trialLimit: how long a look into what is sent may take, and an order for it that somebody waits for.
    init(
        _ plan: RoomPlan,
        host: String,
        makeSignaller: @escaping WorkerProcess.MakeSignaller,
        traces: TraceSettings? = nil,
        filesLimit: Duration = StopLimits().files,
        trialLimit: Duration = .seconds(25),
        logger: Logger,
        send: @escaping @Sendable (WorkerEvent) -> Void
    ) {
        self.plan = plan
        self.makeSignaller = makeSignaller
        self.traces = traces
        self.logger = logger
        self.send = send
        self.control = ControlThread(name: "control")
        self.orders = ControlThread(name: "orders")
        self.files = ControlThread(name: "files")
        self.trialLimit = trialLimit
        self.filesLimit = filesLimit
        let (spec, name) = (plan.spec, plan.spec.name)
        self.recorderSettings = plan.recorder(host: host)
        let announcement = Announcement(spec.record?.announcement)
        self.announcement = announcement
        self.recorder = RecorderThread(settings: self.recorderSettings, logger: logger) { event in
            announcement.note(event)
            send(WorkerEvent(event, room: name))
        }
        self.outputs = RTPOutputs(plan.outputs, room: name, logger: logger) { event in
            send(WorkerEvent(event, room: name))
        }
        (self.commands, self.feed) = AsyncStream.makeStream(
            bufferingPolicy: .bufferingOldest(Self.maximumWaitingCommands)
        )
        self.state = Mutex(
            State(
                sends: spec.send,
                preferred: spec.record?.preferredCodec,
                recordsChat: self.recorderSettings.recordsChat,
                records: spec.record != nil,
                isStopped: spec.ordered == .stop || spec.ordered == .hold
            )
        )
    }

    // MARK: From the worker's task

    /// Queues a command; false if too many wait.
    ///
    /// What it mutes is muted at once.
    func perform(_ command: NumberedCommand) -> Bool {
        guard case .camera(_, let order) = command.command else { return self.queue(command) }
        let mutes = order?.mutes ?? CameraMutes()
        self.state.withLock { state in
            state.expectedMutes.append(mutes)
            state.muteWhatIsExpected()
        }
        let isQueued = self.queue(command)
        if !isQueued {
            self.state.withLock { state in
                state.mute(mutes)
                _ = state.expectedMutes.popLast()
                // One that is being performed would take it back.
                if let last = state.expectedMutes.indices.last { state.expectedMutes[last].formUnion(mutes) }
                state.muteWhatIsExpected()
            }
        }
        return isQueued
    }

    private func queue(_ command: NumberedCommand) -> Bool {
        let queued = QueuedCommand(order: command, deadline: OrderDeadline(command, limit: self.trialLimit))
        guard case .dropped = self.feed.yield(queued) else { return true }
        return false
    }

    /// Finishes the recording and leaves, after the commands that wait.
    func leave() {
        self.state.withLock { $0.isLeft = true }
        self.feed.finish()
    }

    /// Whether it was told to leave.
    var isLeft: Bool { self.state.withLock { $0.isLeft } }

    // MARK: The room's life

    /// Is in the room until `leave()`, or until the room cannot be kept.
    ///
    /// Returns after every file is closed and everything is released.
    func run() async -> LeaveReason {
        await withTaskGroup(of: LeaveReason?.self) { group in
            group.addTask { await self.runSessions() }
            group.addTask {
                await self.performCommands()
                return nil
            }
            group.addTask {
                await self.watch()
                return nil
            }
            var reason = LeaveReason.ordered
            for await result in group {
                guard let result else { continue }
                reason = result
                self.feed.finish()
                group.cancelAll()
            }
            await self.finishRecording(reason: "left")
            await self.finishOutputs()
            return reason
        }
    }

    private func runSessions() async -> LeaveReason {
        while true {
            let outcome: SessionOutcome
            do {
                try Runtime.initialise()
                guard let session = try await self.makeSession() else { return .ordered }
                outcome = await session.run()
            } catch {
                await self.stopCamera()
                return .failed(message: "\(error)", retriable: false)
            }
            await self.stopCamera()
            let rejoins = self.state.withLock { state in
                state.session = nil
                defer { state.isRejoining = false }
                return state.isRejoining && !state.isLeaving
            }
            if rejoins { continue }
            switch outcome {
            case .stopped: return .ordered
            case .left: return .failed(message: "the room server ended the session", retriable: true)
            case .failed(let error) where error.code == .removed: return .removed(message: error.message)
            case .failed(let error): return .failed(message: error.message, retriable: error.isRetriable)
            }
        }
    }

    /// The next session; nil if the room is to be left.
    private func makeSession() async throws -> RoomSession? {
        let (sends, preferred, recordsChat, records) = self.state.withLock { state in
            // What changed until now is in this session already.
            state.isRejoining = false
            return (state.sends, state.preferred, state.recordsChat, state.records)
        }
        var camera: CameraSource?
        if let sends {
            let logger = self.logger
            let name = self.plan.spec.shownName(records: false)
            do {
                // Nobody else has it yet.
                camera = try await self.looking(for: self.trialLimit) {
                    let pipelines = try PipelineCatalogue.load(directory: sends.pipelines)
                    let usable = try sends.reconciled(from: pipelines, logger: logger)
                    let camera = CameraSource(settings: usable, name: name, pipelines: pipelines, logger: logger)
                    try camera.open()
                    return camera
                }
            } catch let error where Self.leavesOthers(error) {
                // Who only listens is better than nobody.
                self.fail("camera", "nothing is sent: \(error)")
                logger.error("nothing is sent", metadata: .tagged([.errorMessage: "\(error)"]))
            }
        }
        let session = RoomSession(
            signaller: self.makeSignaller(
                self.plan.request(sends: camera != nil, records: records),
                self.environment,
                self.logger
            ),
            context: try RoomComposition.context(
                url: self.plan.url,
                network: self.plan.spec.ice,
                control: self.control,
                recorder: self.recorder,
                announcement: self.announcement,
                outputs: self.outputs,
                camera: camera,
                preferred: preferred ?? sends?.preferredCodec ?? .vp8,
                recordsChat: recordsChat,
                logger: self.logger
            ),
            logger: self.logger
        ) { [weak self] fact in
            self?.note(fact)
        }
        return self.state.withLock { state in
            guard !state.isLeaving else { return nil }
            (state.session, state.camera, state.isChanged) = (session, camera, true)
            // What was muted meanwhile.
            if let mutes = state.sends?.mutes { camera?.mute(mutes) }
            state.muteWhatIsExpected()
            // A change came meanwhile: it ends as soon as it begins, for one that has it.
            if state.isRejoining { session.stop() }
            return session
        }
    }

    /// Looks into what is to be sent, which may be on a slow disk: nothing of a call waits for it, and one that hangs keeps
    /// its thread.
    private func looking<Found: Sendable>(
        for limit: Duration,
        _ look: @escaping @Sendable () throws -> Found
    ) async throws -> Found {
        try await ControlThread(name: "trial").run("looking into what is sent", deadline: limit, look)
    }

    /// Whether an error is about what is sent, and the room can be joined without that.
    private static func leavesOthers(_ error: any Error) -> Bool {
        error is ConfigurationError || error is CaptureError || (error as? GStreamerError)?.code == .timedOut
    }

    private var environment: SignallerEnvironment {
        var environment = SignallerEnvironment()
        environment.notesDirectory = self.plan.spec.storage + "/signalling"
        do throws(TraceFileError) {
            environment.trace = try self.traces?.file(room: self.plan.spec.name)
        } catch {
            self.logger.warning("signalling is not traced", metadata: .tagged([.detail: "\(error.message)"]))
        }
        return environment
    }

    private func stopCamera() async {
        let camera = self.state.withLock { state in
            defer { state.camera = nil }
            return state.camera
        }
        guard let camera else { return }
        do {
            try await self.control.run("stopping the camera") { camera.stop() }
        } catch {
            self.logger.critical("camera did not stop", metadata: .tagged([.errorMessage: "\(error)"]))
        }
    }

    /// Completes every file, once: files that take too long are waited for once, too.
    private func finishRecording(reason: String) async {
        let isFirst = self.state.withLock { state in
            defer { state.hasFinished = true }
            return !state.hasFinished
        }
        guard isFirst else { return }
        do {
            try await self.files.run("finishing the recording", deadline: self.filesLimit) {
                self.recorder.finish(reason: reason)
            }
        } catch {
            self.logger.critical("files did not close", metadata: .tagged([.errorMessage: "\(error)"]))
        }
    }

    private func finishOutputs() async {
        await self.outputs.finishPipelines()
        do {
            try await self.control.run("ending the outputs") { self.outputs.finish() }
        } catch {
            self.logger.critical("outputs did not end", metadata: .tagged([.errorMessage: "\(error)"]))
        }
    }

    // MARK: Commands

    private func performCommands() async {
        await withDiscardingTaskGroup { group in
            for await queued in self.commands {
                let (command, number) = (queued.order.command, queued.order.number)
                if case .thumbnail(_, let participant) = command {
                    self.startStill(of: participant, number: number, in: &group)
                } else if let reason = await self.perform(command, by: queued.deadline) {
                    self.fail(command.name, reason, number: number)
                } else {
                    self.send(.commandDone(room: self.plan.spec.name, command: command.name, number: number))
                }
                self.state.withLock { $0.isChanged = true }
            }
            group.cancelAll()
        }
        // Files first: what is in them is safe while the peers are told.
        await self.finishRecording(reason: "left")
        let session = self.state.withLock { state in
            state.isLeaving = true
            return state.session
        }
        session?.stop()
    }

    private func fail(_ command: String, of participant: String? = nil, _ reason: String, number: UInt64? = nil) {
        self.send(
            .commandFailed(
                room: self.plan.spec.name,
                command: command,
                participant: participant,
                reason: reason,
                number: number
            )
        )
    }

    /// Stills wait for keyframes: the commands behind them do not.
    private func startStill(of participant: String, number: UInt64?, in group: inout DiscardingTaskGroup) {
        let isFree = self.state.withLock { state in
            guard state.stills < Self.maximumStills else { return false }
            state.stills += 1
            return true
        }
        let fail = { (reason: String) in self.fail("thumbnail", of: participant, reason, number: number) }
        guard isFree else { return fail("\(Self.maximumStills) others are on the way") }
        group.addTask {
            do {
                if let reason = try await self.sendKeyframe(of: participant, number: number) { fail(reason) }
            } catch {
                fail("\(error)")
            }
            self.state.withLock { $0.stills -= 1 }
        }
    }

    /// Performs a command; why not, if it could not.
    private func perform(_ command: WorkerCommand, by deadline: OrderDeadline) async -> String? {
        do {
            switch command {
            case .record:
                self.state.withLock { $0.isStopped = false }
                return try await self.order { $0.record() }
            case .stopRecording:
                self.state.withLock { $0.isStopped = true }
                return try await self.order { $0.stopRecording() }
            case .pause:
                return try await self.order { $0.pause() }
            case .resume:
                return try await self.order { $0.resume() }
            case .mark(_, let text):
                let isMarked = try await self.orders.run("marking", deadline: Self.orderLimit) {
                    self.recorder.mark(text: text)
                }
                return isMarked ? nil : "nothing is recorded"
            case .requestKeyframe(_, let participant):
                let count = try await self.orders.run("requesting keyframes") {
                    self.recorder.requestKeyframes(participant: participant)
                }
                return count > 0 ? nil : "no participant sends video"
            case .camera(_, let order):
                defer { self.takeMutes(of: order) }
                return try await self.changeCamera(order, by: deadline)
            case .recordOrder(_, let order):
                return try await self.changeRecording(order)
            case .outputs(_, let orders):
                return try await self.changeOutputs(orders)
            case .graph:
                return try await self.sendGraphs()
            case .thumbnail, .join, .leave, .shutDown:
                return "not a command for a room"
            }
        } catch {
            return "\(error)"
        }
    }

    private func order(
        _ body: @escaping @Sendable (RecorderThread) -> RecordingStateMachine.OnOrder
    ) async throws -> String? {
        let recorder = self.recorder
        switch try await self.orders.run("an order for the recorder", deadline: Self.orderLimit, { body(recorder) }) {
        case .done, .finish, .alreadySo: return nil
        case .nothingRecorded: return "nothing is recorded"
        }
    }

    private func changeRecording(_ order: RecordSpec?) async throws -> String? {
        guard let order else { return try await self.order { $0.stopRecording() } }
        var settings = self.recorderSettings
        if let problem = order.problems.first { return problem.description }
        settings.take(order)
        self.announcement.take(order.announcement)
        self.rejoin { state in
            // Channels that are there may stay: what comes is not recorded. Others must know that we record now.
            let isNew =
                state.preferred != order.preferredCodec || order.chat && !state.recordsChat || !state.records
            (state.preferred, state.recordsChat, state.records) = (order.preferredCodec, order.chat, true)
            return isNew
        }
        let startsByItself = order.isAutomatic && !self.state.withLock { $0.isStopped }
        return try await self.order { [settings] recorder in
            recorder.take(settings)
            return startsByItself ? recorder.record(endsPause: false) : .alreadySo
        }
    }

    private func changeOutputs(_ orders: [OutputSpec]) async throws -> String? {
        let settings: [RTPOutputSettings]
        do throws(RoomPlanError) {
            settings = try RTPOutputSettings.all(orders)
        } catch {
            return error.message
        }
        try await self.control.run("changing the outputs") { self.outputs.take(settings) }
        return nil
    }

    /// An order for the camera was performed, or could not be: what it mutes is muted in any case.
    private func takeMutes(of order: SendSpec?) {
        self.state.withLock { state in
            if let order { state.mute(order.mutes) }
            if !state.expectedMutes.isEmpty { state.mute(state.expectedMutes.removeFirst()) }
            state.muteWhatIsExpected()
        }
    }

    /// Performs an order for the camera; one that was given up meanwhile changes nothing.
    private func changeCamera(_ order: SendSpec?, by deadline: OrderDeadline) async throws -> String? {
        if let problem = order?.problems.first { return problem.description }
        if let order {
            let (old, camera, isChanging) = self.state.withLock { ($0.sends, $0.camera, $0.isChangingCamera) }
            let usable = try await self.usable(order, in: camera, within: try deadline.rest())
            // A camera for a camera: nobody has to be told.
            if let camera, let old, old != order || isChanging, old.preferredCodec == order.preferredCodec,
                old.pipelines == order.pipelines
            {
                let isSwitched = try await self.control.runInTime(
                    "changing what is sent",
                    deadline: try deadline.rest(),
                    limit: self.trialLimit
                ) {
                    // A timer may be late, and stands still while the machine is suspended.
                    _ = try deadline.rest()
                    self.state.withLock { $0.isChangingCamera = true }
                    defer { self.state.withLock { $0.isChangingCamera = false } }
                    guard try camera.capture(usable) else { return false }
                    // Before this camera can end: the next session's sends the same, and what was muted meanwhile stays so.
                    return self.state.withLock { state in
                        guard state.camera === camera else { return false }
                        state.sends = order
                        state.sends?.mutes = camera.settings.mutes
                        return true
                    }
                }
                if isSwitched { return nil }
            }
        }
        // Where nothing had to be looked for, too.
        _ = try deadline.rest()
        self.rejoin { state in
            guard state.sends != order else { return false }
            state.sends = order
            return true
        }
        return nil
    }

    /// What can be sent of an order: what cannot be sent at all changes nothing.
    private func usable(
        _ order: SendSpec,
        in camera: CameraSource?,
        within limit: Duration
    ) async throws -> SendSpec {
        if let camera {
            var same = camera.settings
            same.mutes = order.mutes
            // Nothing has to be looked for to be muted, where what is ordered is what is captured.
            if same == order { return same }
        }
        let logger = self.logger
        return try await self.looking(for: limit) {
            try order.reconciled(from: try PipelineCatalogue.load(directory: order.pipelines), logger: logger)
        }
    }

    /// Leaves and joins again if a change says that the calls have to be made anew; the recording goes on.
    private func rejoin(_ change: (inout State) -> Bool) {
        let session = self.state.withLock { state -> RoomSession? in
            guard change(&state) else { return nil }
            state.isRejoining = true
            return state.session
        }
        session?.stop()
    }

    /// The session that runs at present.
    var session: RoomSession? { self.state.withLock { $0.session } }
    /// What it sends.
    var camera: CameraSource? { self.state.withLock { $0.camera } }

    // MARK: Status

    /// On the session's task; must not block.
    private func note(_ fact: SessionEvent) {
        self.state.withLock { $0.isChanged = true }
        if let event = WorkerEvent(fact, room: self.plan.spec.name) { self.send(event) }
    }

    /// Once a second: whether anybody is there, and a status if something changed or 5 s have passed.
    private func watch() async {
        var announced: UInt64 = 0
        while (try? await Task.sleep(for: .seconds(1))) != nil {
            let isOutputChanged = self.outputs.takeChange()
            let (session, camera, isDue) = self.state.withLock { state in
                let isOld = ContinuousClock.now - state.lastStatus >= .milliseconds(4500)
                let isDue = state.isChanged || isOutputChanged || isOld
                if isDue { (state.isChanged, state.lastStatus) = (false, .now) }
                return (state.session, state.camera, isDue)
            }
            if let number = self.announcement.current?.number, number != announced {
                announced = number
                session?.announce()
            }
            let status = session?.status ?? RoomSessionStatus()
            self.control.enqueue { [weak self] in
                guard let self else { return }
                self.recorder.presenceChanged(isEmpty: status.presentPeers.isEmpty)
                guard isDue else { return }
                let room = RoomStatus(
                    status,
                    self.recorder,
                    self.outputs.status,
                    camera,
                    jitter: { session?.jitterMilliseconds(of: $0) },
                    roundTrip: { session?.roundTripMilliseconds(of: $0) },
                    refusedPackets: { session?.refusedPackets(of: $0) ?? 0 },
                    droppedReports: { session?.droppedReports(of: $0) ?? 0 }
                )
                self.send(.status(room: self.plan.spec.name, room))
            }
        }
    }
}
