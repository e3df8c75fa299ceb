// SPDX-License-Identifier: Apache-2.0

internal import GStreamer
internal import Logging
internal import Media
internal import Observability
internal import Session
internal import Signalling
internal import Storage
internal import Supervision
internal import Synchronization

/// One room of a worker: a recorder for as long as the worker is in it, and one session after the other.
///
/// A session ends before the room does only when what we send changes in a way that peers have to be told: then we
/// leave and join again, and the recording goes on.
final class WorkerRoom: Sendable {
    private static let maximumWaitingCommands = 256
    private static let maximumStills = 4
    /// Closing files waits for the disk.
    private static let finishLimit = Duration.seconds(60)

    let plan: RoomPlan
    let recorder: RoomRecorder
    let control: ControlThread
    /// Decodes stills: nothing of a call waits for it.
    let stills: ControlThread
    let send: @Sendable (WorkerEvent) -> Void
    private let makeSignaller: WorkerProcess.MakeSignaller
    private let logger: Logger
    private let commands: AsyncStream<WorkerCommand>
    private let feed: AsyncStream<WorkerCommand>.Continuation
    private let state: Mutex<State>

    private struct State {
        var session: RoomSession?
        var camera: CameraSource?
        var cameraPlan: CameraPlan?
        /// What the next session sends is not what this one does.
        var isRejoining = false
        var isLeaving = false
        /// Thumbnails on their way.
        var stills = 0
        /// Something changed since the last status.
        var isChanged = true
        var lastStatus = ContinuousClock.now
        /// When the control thread answered last.
        var lastAnswer = ContinuousClock.now
    }

    /// A room that is not joined yet; the recorder's thread runs.
    init(
        _ plan: RoomPlan,
        makeSignaller: @escaping WorkerProcess.MakeSignaller,
        logger: Logger,
        send: @escaping @Sendable (WorkerEvent) -> Void
    ) {
        self.plan = plan
        self.makeSignaller = makeSignaller
        self.logger = logger
        self.send = send
        self.control = ControlThread(name: "control")
        self.stills = ControlThread(name: "stills")
        self.recorder = RoomRecorder(settings: plan.recorder, logger: logger) { event in
            send(WorkerEvent(event, room: plan.name))
        }
        (self.commands, self.feed) = AsyncStream.makeStream(
            bufferingPolicy: .bufferingOldest(Self.maximumWaitingCommands)
        )
        self.state = Mutex(State(cameraPlan: plan.camera))
    }

    // MARK: From the worker's task

    /// Queues a command; false if too many wait.
    func perform(_ command: WorkerCommand) -> Bool {
        guard case .dropped = self.feed.yield(command) else { return true }
        return false
    }

    /// Finishes the recording and leaves, after the commands that wait.
    func leave() {
        self.feed.finish()
    }

    /// Whether the control thread has not answered for so long; asks it again.
    func hangs(for limit: Duration) -> Bool {
        self.control.enqueue { [weak self] in
            self?.state.withLock { $0.lastAnswer = .now }
        }
        return self.state.withLock { ContinuousClock.now - $0.lastAnswer > limit }
    }

    // MARK: The room's life

    /// Is in the room until `leave()`, or until the room cannot be kept.
    ///
    /// Returns after every file is closed and everything is released.
    func run() async -> LeaveReason {
        if let failure = self.recorder.failure, self.plan.recorder.continues != nil {
            let reason = "the recording does not go on, the next media start another: \(failure.message)"
            self.send(.commandFailed(room: self.plan.name, command: "join", reason: reason))
        }
        return await withTaskGroup(of: LeaveReason?.self) { group in
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
        let cameraPlan = self.state.withLock { $0.cameraPlan }
        var camera: CameraSource?
        if let settings = cameraPlan?.settings {
            let logger = self.logger
            let usable = try await self.control.run("looking into what is sent", deadline: .seconds(40)) {
                settings.reconciled(logger: logger)
            }
            camera = CameraSource(settings: usable, logger: logger)
        }
        let session = RoomSession(
            signaller: self.makeSignaller(self.plan.url, self.plan.policy, self.logger),
            context: try RoomConnection.context(
                url: self.plan.url,
                network: self.plan.network,
                control: self.control,
                recorder: self.recorder,
                camera: camera,
                preferred: cameraPlan?.preferred ?? .vp8
            ),
            logger: self.logger
        ) { [weak self] fact in
            self?.note(fact)
        }
        return self.state.withLock { state in
            guard !state.isLeaving else { return nil }
            (state.session, state.camera, state.isChanged) = (session, camera, true)
            return session
        }
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

    private func finishRecording(reason: String) async {
        do {
            try await self.control.run("finishing the recording", deadline: Self.finishLimit) {
                self.recorder.finish(reason: reason)
            }
        } catch {
            self.logger.critical("files did not close", metadata: .tagged([.errorMessage: "\(error)"]))
        }
    }

    // MARK: Commands

    private func performCommands() async {
        await withDiscardingTaskGroup { group in
            for await command in self.commands {
                if case .thumbnail(_, let participant) = command {
                    self.startStill(of: participant, in: &group)
                } else if let reason = await self.perform(command) {
                    self.fail(command.name, reason)
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

    private func fail(_ command: String, _ reason: String) {
        self.send(.commandFailed(room: self.plan.name, command: command, reason: reason))
    }

    /// Stills wait for keyframes: the commands behind them do not.
    private func startStill(of participant: String, in group: inout DiscardingTaskGroup) {
        let isFree = self.state.withLock { state in
            guard state.stills < Self.maximumStills else { return false }
            state.stills += 1
            return true
        }
        guard isFree else { return self.fail("thumbnail", "\(Self.maximumStills) others are on the way") }
        group.addTask {
            do {
                if let reason = try await self.sendThumbnail(of: participant) { self.fail("thumbnail", reason) }
            } catch {
                self.fail("thumbnail", "\(error)")
            }
            self.state.withLock { $0.stills -= 1 }
        }
    }

    /// Performs a command; why not, if it could not.
    private func perform(_ command: WorkerCommand) async -> String? {
        do {
            switch command {
            case .record:
                return try await self.order { $0.record() }
            case .stopRecording:
                return try await self.order { $0.stopRecording() }
            case .pause:
                return try await self.order { $0.pause() }
            case .resume:
                return try await self.order { $0.resume() }
            case .mark(_, let text):
                let isMarked = try await self.control.run("marking") { self.recorder.mark(text: text) }
                return isMarked ? nil : "nothing is recorded"
            case .requestKeyframe(_, let participant):
                let count = try await self.control.run("requesting keyframes") {
                    self.recorder.requestKeyframes(participant: participant)
                }
                return count > 0 ? nil : "nobody sends pictures"
            case .camera(_, let order):
                return self.changeCamera(order)
            case .recordOrder(_, let order):
                return try await self.changeRecording(order)
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
        _ body: @escaping @Sendable (RoomRecorder) -> RecordingStateMachine.OnOrder
    ) async throws -> String? {
        let recorder = self.recorder
        switch try await self.control.run("an order for the recorder", deadline: Self.finishLimit, { body(recorder) }) {
        case .done, .finish, .alreadySo: return nil
        case .nothingRecorded: return "nothing is recorded"
        }
    }

    private func changeRecording(_ order: RecordOrder?) async throws -> String? {
        guard let order else { return try await self.order { $0.stopRecording() } }
        return try await self.order { recorder in
            recorder.select(video: order.video, audio: order.audio)
            return order.isAutomatic ? recorder.record() : .alreadySo
        }
    }

    private func changeCamera(_ order: CameraOrder?) -> String? {
        let plan: CameraPlan?
        do throws(RoomPlanError) {
            plan = try order.map { order throws(RoomPlanError) in try CameraPlan(order) }
        } catch {
            return error.message
        }
        let session = self.state.withLock { state -> RoomSession? in
            guard state.cameraPlan != plan else { return nil }
            state.cameraPlan = plan
            state.isRejoining = true
            return state.session
        }
        session?.stop()
        return nil
    }

    /// The session that runs at present.
    var session: RoomSession? { self.state.withLock { $0.session } }

    // MARK: Status

    /// On the session's task; must not block.
    private func note(_ fact: SessionFact) {
        self.state.withLock { $0.isChanged = true }
        if let event = WorkerEvent(fact, room: self.plan.name) { self.send(event) }
    }

    /// Once a second: whether anybody is there, and a status if something changed or 5 s have passed.
    private func watch() async {
        while (try? await Task.sleep(for: .seconds(1))) != nil {
            let (session, isDue) = self.state.withLock { state in
                let isDue = state.isChanged || ContinuousClock.now - state.lastStatus >= .milliseconds(4500)
                if isDue { (state.isChanged, state.lastStatus) = (false, .now) }
                return (state.session, isDue)
            }
            let status = session?.status ?? RoomSessionStatus()
            self.control.enqueue { [weak self] in
                guard let self else { return }
                self.recorder.presenceChanged(isEmpty: status.presentPeers.isEmpty)
                guard isDue else { return }
                let room = RoomStatus(status, self.recorder) { session?.jitterMilliseconds(of: $0) }
                self.send(.status(room: self.plan.name, room))
            }
        }
    }
}
