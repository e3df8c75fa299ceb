// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import ConfigurationFile
internal import GStreamer
internal import Logging
internal import Media
internal import Model
internal import Observability
internal import PipelineCatalogue
internal import Platform
internal import Recording
internal import Session
internal import Signalling
internal import SignallingClients
internal import Storage
internal import Synchronization
internal import Timeline

/// One room of a worker: a recorder for as long as the worker is in it, and one session after the other.
///
/// `RoomLife` decides what to do about the room's spec, and this performs it. A session ends before the room does only when
/// peers need a message about a change: then we leave and join again, and the recording continues.
final class WorkerRoom: Sendable {
    private static let maximumWaitingCommands = 256
    private static let maximumStills = 4
    /// Longest time for what the recorder's thread does between two units.
    private static let orderLimit = Duration.seconds(60)

    let plan: RoomPlan
    private let recorderSettings: RecorderSettings
    let recorder: RoomRecorder
    let outputs: RTPOutputs
    /// What is posted into the chat.
    private let announcement: Announcement
    let control: ControlThread
    /// Waits for what the recorder answers, which may wait for its disk: nothing of GStreamer waits for it.
    let orders: ControlThread
    /// Waits for the disk when the recording is finished: nothing of GStreamer waits for it.
    private let files: ControlThread
    /// Longest time for a look into what is to be sent, and for its capture.
    private let trialLimit: Duration
    private let filesLimit: Duration
    let send: @Sendable (WorkerEvent) -> Void
    private let makeSignaller: WorkerProcess.MakeSignaller
    private let traces: TraceSettings?
    private let logger: Logger
    private let inputs: AsyncStream<Input>
    private let feed: AsyncStream<Input>.Continuation
    private let state: Mutex<State>

    private enum Input {
        /// `RoomLife` may have something to do.
        case change
        case command(NumberedCommand)
    }

    private struct State: ~Copyable {
        var life: RoomLife
        var session: RoomSession?
        var camera: CameraSource?
        /// An operator wants it left; what was ordered before comes first.
        var isLeft = false
        /// The recording was finished, or could not be in time.
        var hasFinished = false
        /// Keyframes for stills on their way.
        var stills = 0
        /// Something changed since the last status.
        var isChanged = true
        var lastStatus = ContinuousClock.now

        init(life: consuming RoomLife) { self.life = life }

        /// Takes an input of the room's life; what is muted by it is muted at once.
        mutating func live<Result: Sendable>(_ input: (inout RoomLife) -> Result) -> Result {
            defer { self.camera?.hide(self.life.mutes) }
            return input(&self.life)
        }
    }

    /// A room that is not joined yet; the recorder's thread runs.
    ///
    /// - Parameters:
    ///   - host: this host's name, for journals.
    ///   - filesLimit: how long its files may take to be completed.
    ///   - trialLimit: how long a look into what is sent may take.
    init(
        _ plan: RoomPlan,
        revision: UInt64,
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
        self.recorder = RoomRecorder(settings: self.recorderSettings, logger: logger) { event in
            announcement.note(event)
            send(WorkerEvent(event, room: name))
        }
        self.outputs = RTPOutputs(plan.outputs, room: name, logger: logger) { event in
            send(WorkerEvent(event, room: name))
        }
        (self.inputs, self.feed) = AsyncStream.makeStream(
            bufferingPolicy: .bufferingOldest(Self.maximumWaitingCommands)
        )
        self.state = Mutex(State(life: RoomLife(spec, revision: revision)))
        self.feed.yield(.change)
    }

    // MARK: From the worker's task

    /// Has the room be like this from now on.
    func be(_ spec: RoomSpec, revision: UInt64) {
        self.live { $0.be(spec, revision: revision) }
        // If too many commands wait, it is its turn after the first of them.
        self.feed.yield(.change)
    }

    /// Queues a command; false if too many wait.
    func perform(_ command: NumberedCommand) -> Bool {
        guard case .dropped = self.feed.yield(.command(command)) else { return true }
        return false
    }

    /// Finishes the recording and leaves, after the commands that wait.
    func leave() {
        self.state.withLock { $0.isLeft = true }
        self.feed.finish()
    }

    /// Whether it was ordered to leave.
    var isLeft: Bool { self.state.withLock { $0.isLeft } }

    // MARK: The room's life

    /// Is in the room until `leave()`, or until the room cannot be kept.
    ///
    /// Returns after every file is closed and everything is released.
    func run() async -> LeaveReason {
        await withTaskGroup(of: LeaveReason?.self) { group in
            group.addTask { await self.runSessions() }
            group.addTask {
                await self.work()
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
            await self.finishRecording(reason: RecordingFinished.left)
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
                return state.life.sessionEnded()
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
        guard let calls = self.live({ $0.beginSession() }) else { return nil }
        var camera: CameraSource?
        var refusal: String?
        if let sends = calls.send {
            let logger = self.logger
            let name = self.plan.spec.shownName(records: false)
            do {
                // No other task has it yet.
                camera = try await self.looking(for: self.trialLimit) {
                    let pipelines = try PipelineCatalogue.load(directory: sends.pipelines)
                    let usable = try sends.reconciled(from: pipelines, logger: logger)
                    let camera = CameraSource(settings: usable, name: name, pipelines: pipelines, logger: logger)
                    try camera.open()
                    return camera
                }
            } catch let error where Self.leavesOthers(error) {
                // A participant that only listens is better than none.
                refusal = "nothing is sent: \(error)"
                self.refuse(.send, "nothing is sent: \(error)")
                logger.error("nothing is sent", metadata: .tagged([.errorMessage: "\(error)"]))
            }
        }
        let session = RoomSession(
            signaller: self.makeSignaller(
                self.plan.request(sends: camera != nil, records: calls.records),
                self.environment,
                self.logger
            ),
            context: try RoomComposition.context(
                self.plan,
                control: self.control,
                recorder: self.recorder,
                announcement: self.announcement,
                outputs: self.outputs,
                camera: camera,
                preferred: calls.preferred ?? calls.send?.preferredCodec ?? .vp8,
                recordsChat: calls.takesChat,
                logger: self.logger
            ),
            logger: self.logger
        ) { [weak self] fact in
            self?.note(fact)
        }
        let made = self.state.withLock { state -> RoomSession? in
            switch state.life.sessionMade(usable: camera?.settings, refusal: refusal) {
            case .leave: return nil
            // A change came while it was made: it ends as soon as it begins.
            case .stop: session.stop()
            case .run: break
            }
            (state.session, state.camera, state.isChanged) = (session, camera, true)
            camera?.hide(state.life.mutes)
            return session
        }
        self.feed.yield(.change)
        return made
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

    // MARK: Work

    private func live<Result: Sendable>(_ input: (inout RoomLife) -> Result) -> Result {
        self.state.withLock { $0.live(input) }
    }

    /// Performs commands and what the room's life asks for, until the room is to be left.
    private func work() async {
        await withDiscardingTaskGroup { group in
            for await input in self.inputs {
                if case .command(let command) = input { await self.perform(command, in: &group) }
                await self.settle(in: &group)
            }
            // Files first: what is in them is safe while the peers get messages.
            await self.finishRecording(reason: RecordingFinished.left)
            let session = self.state.withLock { state in
                state.life.leave()
                return state.session
            }
            session?.stop()
            group.cancelAll()
        }
    }

    /// Performs what the room's life asks for; looks and captures take their time next to everything else.
    private func settle(in group: inout DiscardingTaskGroup) async {
        while let action = self.live({ $0.next() }) {
            switch action {
            case .settings, .start, .resume, .pause, .stop, .outputs:
                let refusal = await self.perform(action)
                self.live { $0.done(action, refusal: refusal) }
                if let refusal { self.refuse(action.part, refusal) }
            case .look(let send): group.addTask { await self.look(into: send) }
            case .capture(let send): group.addTask { await self.capture(send) }
            case .rejoin: self.session?.stop()
            case .refuse(let part, let reason): self.refuse(part, reason)
            case .report: self.report()
            }
        }
    }

    /// Performs what recorder and outputs do; why not, if they could not.
    private func perform(_ action: RoomLife.Action) async -> String? {
        do {
            switch action {
            case .settings(let record):
                var settings = self.recorderSettings
                settings.take(record)
                self.announcement.take(record.announcement)
                self.recorder.take(settings)
                return nil
            case .start: return try await self.order { $0.record(endsPause: false) }
            case .resume:
                return try await self.order { recorder in
                    let result = recorder.resume()
                    // The recording that was paused may have ended.
                    return result == .nothingRecorded ? recorder.record(endsPause: false) : result
                }
            case .pause: return try await self.order { $0.pause() }
            case .stop:
                defer { self.announcement.stopped() }
                return try await self.order { $0.stopRecording() }
            case .outputs(let outputs): return try await self.changeOutputs(outputs)
            case .rejoin, .look, .capture, .refuse, .report: return nil
            }
        } catch {
            return "\(error)"
        }
    }

    private func look(into send: SendSpec) async {
        let found: Result<SendSpec, RoomLife.Refusal>
        do {
            let logger = self.logger
            found = .success(
                try await self.looking(for: self.trialLimit) {
                    try send.reconciled(from: try PipelineCatalogue.load(directory: send.pipelines), logger: logger)
                }
            )
        } catch {
            found = .failure(RoomLife.Refusal(reason: "\(error)"))
        }
        if let reason = self.live({ $0.looked(found) }) { self.refuse(.send, reason) }
        self.feed.yield(.change)
    }

    private func capture(_ send: SendSpec) async {
        let camera = self.camera
        let captured: RoomLife.Captured
        do {
            let limit = self.trialLimit
            let isDone = try await self.control.runInTime("changing what is sent", deadline: limit, limit: limit) {
                try camera?.capture(send) ?? false
            }
            captured = isDone ? .done : .needsSession
        } catch {
            captured = .refused("\(error)")
        }
        if let reason = self.live({ $0.captured(captured) }) { self.refuse(.send, reason) }
        self.feed.yield(.change)
    }

    /// Says that a part of the spec is not in force.
    private func refuse(_ part: RoomPart, _ reason: String) {
        self.fail(part == .send ? "camera" : part.rawValue, reason)
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

    private func perform(_ order: NumberedCommand, in group: inout DiscardingTaskGroup) async {
        let (command, number) = (order.command, order.number)
        if case .thumbnail(_, let participant) = command {
            self.startStill(of: participant, number: number, in: &group)
        } else if let reason = await self.perform(command) {
            self.fail(command.name, reason, number: number)
        } else {
            self.send(.commandDone(room: self.plan.spec.name, command: command.name, number: number))
        }
        self.state.withLock { $0.isChanged = true }
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
    private func perform(_ command: WorkerCommand) async -> String? {
        do {
            switch command {
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
            case .graph:
                return try await self.sendGraphs()
            case .thumbnail, .be, .leave, .shutDown:
                return "not a command for a room"
            }
        } catch {
            return "\(error)"
        }
    }

    private func order(
        _ body: @escaping @Sendable (RoomRecorder) -> RecordingStateMachine.OnOrder
    ) async throws -> String? {
        let recorder = self.recorder
        switch try await self.orders.run("an order for the recorder", deadline: Self.orderLimit, { body(recorder) }) {
        case .done, .finish, .alreadySo: return nil
        case .nothingRecorded: return "nothing is recorded"
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
        var wasEmpty: Bool?
        while (try? await CommonSecond.sleep()) != nil {
            let isOutputChanged = self.outputs.takeChange()
            let (session, isDue) = self.state.withLock { state in
                let isOld = ContinuousClock.now - state.lastStatus >= .milliseconds(4500)
                return (state.session, state.isChanged || isOutputChanged || isOld)
            }
            if let number = self.announcement.current?.number, number != announced {
                announced = number
                session?.announce()
            }
            let isEmpty = session?.status.presentPeers.isEmpty ?? true
            if isEmpty != wasEmpty {
                wasEmpty = isEmpty
                self.control.enqueue { [weak self] in self?.recorder.presenceChanged(isEmpty: isEmpty) }
            }
            if isDue { self.report() }
        }
    }

    /// Sends a status, once the control thread has read it.
    private func report() {
        let (session, camera) = self.state.withLock { state in
            (state.isChanged, state.lastStatus) = (false, .now)
            return (state.session, state.camera)
        }
        self.control.enqueue { [weak self] in
            guard let self else { return }
            // Before what it says of the recorder: that is as new at least.
            let inForce = self.state.withLock { $0.life.inForce }
            var room = RoomStatus(
                session?.status ?? RoomSessionStatus(),
                self.recorder,
                self.outputs.status,
                camera,
                jitter: { session?.jitterMilliseconds(of: $0) },
                roundTrip: { session?.roundTripMilliseconds(of: $0) },
                refusedPackets: { session?.refusedPackets(of: $0) ?? 0 },
                droppedReports: { session?.droppedReports(of: $0) ?? 0 }
            )
            room.revision = inForce?.revision
            if let refused = inForce?.refused, !refused.isEmpty { room.refused = refused }
            self.send(.status(room: self.plan.spec.name, room))
        }
    }
}

extension RoomLife.Action {
    /// The part of the spec that it is about.
    fileprivate var part: RoomPart {
        switch self {
        case .settings: .record
        case .start, .resume, .pause, .stop: .recording
        case .outputs: .outputs
        case .rejoin, .look, .capture, .report: .send
        case .refuse(let part, _): part
        }
    }
}
