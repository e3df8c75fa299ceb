// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import GStreamer
public import Logging
public import Model
internal import Observability
public import Signalling
public import SignallingClients
internal import Synchronization

/// A worker: takes commands from the supervisor's pipe, is in rooms, reports what happens.
///
/// One task takes one input at a time: a command, the end of a room, a question of the heart. It never waits for a room:
/// each is a child task with separate orders, so the failure of one does not touch another. The heartbeat comes only
/// while that task and the control thread of every room answer: a worker that hangs is silent.
public final class WorkerProcess: Sendable {
    /// Makes the client that joins a room; tests give another than `Signallers`.
    public typealias MakeSignaller =
        @Sendable (JoinRequest, SignallerEnvironment, Logger) -> any Signaller

    private static let maximumRooms = 256
    private static let maximumWaitingCommands = 1024

    private enum Input: Sendable {
        case command(NumberedCommand)
        case garbage(String)
        case inputEnded
        /// Whether this task does anything; runs what is given, once a second.
        case question(@Sendable () -> Void)
        case roomEnded(String, LeaveReason)
        case shutDown(String)
    }

    private let inputs: AsyncStream<Input>
    private let feed: AsyncStream<Input>.Continuation
    private let inputDescriptor: Int32
    private let outputDescriptor: Int32
    private let host: String
    private let logger: Logger
    private let makeSignaller: MakeSignaller
    private let traces: TraceSettings?
    private let countsObjects: Bool
    private let limits: StopLimits
    private let abandon: @Sendable () -> Void
    private let waitingCommands = Atomic(0)

    /// A worker that has not begun.
    ///
    /// - Parameters:
    ///   - input: where commands come from; its end ends the worker.
    ///   - output: where events go.
    ///   - host: this host's name, for journals.
    ///   - traces: where the rooms' signalling is traced; nil traces none.
    ///   - countsObjects: whether heartbeats have live objects and memory in use, for soak runs.
    ///   - limits: how long files and rooms may take to end.
    ///   - abandon: ends the process: a room hangs, and nothing can be waited for.
    public init(
        input: Int32,
        output: Int32,
        host: String,
        logger: Logger,
        traces: TraceSettings? = nil,
        countsObjects: Bool = false,
        limits: StopLimits = StopLimits(),
        makeSignaller: @escaping MakeSignaller = { request, environment, logger in
            Signallers.signaller(for: request, environment: environment, logger: logger)
        },
        abandon: @escaping @Sendable () -> Void
    ) {
        self.inputDescriptor = input
        self.outputDescriptor = output
        self.host = host
        self.logger = logger
        self.makeSignaller = makeSignaller
        self.traces = traces
        self.countsObjects = countsObjects
        self.limits = limits
        self.abandon = abandon
        // Twice as many as commands may wait: the other inputs are a few a second, and none of them may be lost.
        (self.inputs, self.feed) = AsyncStream.makeStream(
            bufferingPolicy: .bufferingOldest(2 * Self.maximumWaitingCommands)
        )
    }

    /// Finishes every recording and leaves every room, as a command to shut down does; `run` returns then.
    ///
    /// Any thread.
    public func shutDown(because reason: String) {
        self.feed.yield(.shutDown(reason))
    }

    /// Works until it is shut down or its input ends; returns after every file is closed.
    public func run() async {
        self.startCounting()
        let (inputs, feed) = (self.inputs, self.feed)
        let output = EventOutput(descriptor: self.outputDescriptor, logger: self.logger)
        let reader = CommandInput(descriptor: self.inputDescriptor) { item in
            switch item {
            case .end: feed.yield(.inputEnded)
            case .garbage(let reason): feed.yield(.garbage(reason))
            case .command(let command):
                if self.waitingCommands.add(1, ordering: .relaxed).newValue <= Self.maximumWaitingCommands {
                    feed.yield(.command(command))
                } else {
                    self.waitingCommands.subtract(1, ordering: .relaxed)
                    self.refuse(command, "more commands wait than the worker can take", output)
                }
            }
        }
        let countsObjects = self.countsObjects
        let heart = WorkerHeart(logger: self.logger, task: { feed.yield(.question($0)) }) {
            output.send(.heartbeat(.now(countsObjects: countsObjects)))
        }
        defer {
            heart.stop()
            reader.stop()
        }
        output.send(.ready(protocolVersion: WorkerLine.protocolVersion, processID: getpid()))
        heart.start()
        await self.serve(inputs, feed, heart, output)
        output.close()
    }

    private func startCounting() {
        guard self.countsObjects else { return }
        do {
            try Runtime.startCountingObjects()
        } catch {
            self.logger.warning("objects are not counted", metadata: .tagged([.errorMessage: "\(error)"]))
        }
    }

    private func serve(
        _ inputs: AsyncStream<Input>,
        _ feed: AsyncStream<Input>.Continuation,
        _ heart: WorkerHeart,
        _ output: EventOutput
    ) async {
        var rooms: [String: WorkerRoom] = [:]
        var deadline: ContinuousClock.Instant?
        await withDiscardingTaskGroup { group in
            loop: for await input in inputs {
                switch input {
                case .command(let command):
                    self.waitingCommands.subtract(1, ordering: .relaxed)
                    switch command.command {
                    case .shutDown: self.shutDown("ordered", rooms, &deadline)
                    case .be where deadline != nil: self.refuse(command, "the worker is shutting down", output)
                    case .be(let spec, let revision):
                        guard let room = rooms[spec.name] else {
                            self.join(spec, revision, command, &rooms, feed, heart, output, in: &group)
                            break
                        }
                        if room.isLeft {
                            self.refuse(command, "the worker is leaving that room", output)
                        } else {
                            room.be(spec, revision: revision)
                        }
                    default: self.forward(command, rooms, output)
                    }
                case .garbage(let reason):
                    self.logger.warning("command not understood", metadata: .tagged([.detail: "\(reason)"]))
                    output.send(.commandFailed(room: nil, command: "", reason: reason))
                case .inputEnded:
                    self.shutDown("the supervisor is gone", rooms, &deadline)
                case .shutDown(let reason):
                    self.shutDown(reason, rooms, &deadline)
                case .roomEnded(let name, let reason):
                    rooms[name] = nil
                    heart.forget(name)
                    output.send(.left(room: name, reason))
                case .question(let answer):
                    answer()
                }
                if let deadline {
                    if rooms.isEmpty { break loop }
                    if ContinuousClock.now >= deadline {
                        self.logger.critical(
                            "rooms hang and are left behind",
                            metadata: .tagged([.detail: "\(rooms.keys.sorted().joined(separator: ", "))"])
                        )
                        output.close()
                        self.abandon()
                        break loop
                    }
                }
            }
            group.cancelAll()
        }
    }

    private func shutDown(
        _ reason: String,
        _ rooms: [String: WorkerRoom],
        _ deadline: inout ContinuousClock.Instant?
    ) {
        guard deadline == nil else { return }
        self.logger.info("worker shuts down", metadata: .tagged([.detail: "\(reason)"]))
        // Files first, then rooms, then the rest; a room that takes longer is left behind.
        deadline = .now + self.limits.rooms
        for room in rooms.values { room.leave() }
    }

    private func join(
        _ spec: RoomSpec,
        _ revision: UInt64,
        _ command: NumberedCommand,
        _ rooms: inout [String: WorkerRoom],
        _ feed: AsyncStream<Input>.Continuation,
        _ heart: WorkerHeart,
        _ output: EventOutput,
        in group: inout DiscardingTaskGroup
    ) {
        guard rooms.count < Self.maximumRooms else {
            return self.refuse(command, "the worker is in \(Self.maximumRooms) rooms already", output)
        }
        var logger = self.logger.forSession()
        logger[key: .roomName] = "\(spec.name)"
        if let name = spec.displayName { logger[key: .recorderName] = "\(name)" }
        let plan: RoomPlan
        do {
            plan = try RoomPlan(spec)
        } catch {
            output.send(.left(room: spec.name, .failed(message: error.message, retriable: false)))
            return
        }
        let room = WorkerRoom(
            plan,
            revision: revision,
            host: self.host,
            makeSignaller: self.makeSignaller,
            traces: self.traces,
            filesLimit: self.limits.files,
            logger: logger
        ) {
            output.send($0)
        }
        rooms[spec.name] = room
        heart.watch(spec.name, ask: { [control = room.control] in control.enqueue($0) }, isLeft: { room.isLeft })
        group.addTask {
            let reason = await room.run()
            feed.yield(.roomEnded(spec.name, reason))
        }
    }

    private func forward(_ command: NumberedCommand, _ rooms: [String: WorkerRoom], _ output: EventOutput) {
        guard let name = command.command.room, let room = rooms[name] else {
            return self.refuse(command, "the worker is not in that room", output)
        }
        if case .leave = command.command {
            room.leave()
        } else if !room.perform(command) {
            self.refuse(command, "the room has more commands than it can take", output)
        }
    }

    private func refuse(_ order: NumberedCommand, _ reason: String, _ output: EventOutput) {
        let command = order.command
        output.send(
            .commandFailed(
                room: command.room,
                command: command.name,
                participant: command.pictured,
                reason: reason,
                number: order.number
            )
        )
    }
}
