// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Foundation
internal import GStreamer
public import Logging
internal import Observability
public import Rooms
public import Signalling
public import SignallingClients
internal import Synchronization

/// A worker: takes commands from the supervisor's pipe, is in rooms, tells what happens.
///
/// One task takes one input at a time: a command, a tick of the clock, the end of a room. It never waits for a room:
/// each is a child task with orders of its own, so the failure of one does not touch another. The heartbeat comes from
/// that same task, and only while the control thread of every room answers: a worker that hangs is silent.
public final class WorkerProcess: Sendable {
    /// Makes the client that joins a room; tests give another than `Signallers`.
    public typealias MakeSignaller =
        @Sendable (JoinRequest, SignallerEnvironment, Logger) -> any Signaller

    private static let maximumRooms = 256
    private static let maximumWaitingCommands = 1024
    /// Longer than anything that a control thread may rightly take for one piece of work, closing files has another.
    private static let hangLimit = Duration.seconds(20)

    private enum Input: Sendable {
        case command(NumberedCommand)
        case garbage(String)
        case inputEnded
        case tick
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
    ///   - countsObjects: whether heartbeats tell of live objects and memory in use, for soak runs.
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
        let clock = Self.clock { feed.yield(.tick) }
        defer {
            clock.cancel()
            reader.stop()
        }
        output.send(.ready(protocolVersion: WorkerLine.protocolVersion, processID: getpid()))
        await self.serve(inputs, feed, output)
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
                    case .join where deadline != nil: self.refuse(command, "the worker is shutting down", output)
                    case .join(let order): self.join(order, command, &rooms, feed, output, in: &group)
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
                    output.send(.left(room: name, reason))
                case .tick:
                    self.beat(rooms, output)
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
        _ order: RoomSpec,
        _ command: NumberedCommand,
        _ rooms: inout [String: WorkerRoom],
        _ feed: AsyncStream<Input>.Continuation,
        _ output: EventOutput,
        in group: inout DiscardingTaskGroup
    ) {
        guard rooms[order.name] == nil else {
            return self.refuse(command, "the worker is in that room already", output)
        }
        guard rooms.count < Self.maximumRooms else {
            return self.refuse(command, "the worker is in \(Self.maximumRooms) rooms already", output)
        }
        var logger = self.logger.forSession()
        logger[key: .roomName] = "\(order.name)"
        if order.displayName != RoomSpec.usualName { logger[key: .recorderName] = "\(order.displayName)" }
        let plan: RoomPlan
        do {
            plan = try RoomPlan(order)
        } catch {
            output.send(.left(room: order.name, .failed(message: error.message, retriable: false)))
            return
        }
        let room = WorkerRoom(
            plan,
            host: self.host,
            makeSignaller: self.makeSignaller,
            traces: self.traces,
            filesLimit: self.limits.files,
            logger: logger
        ) {
            output.send($0)
        }
        rooms[order.name] = room
        group.addTask {
            let reason = await room.run()
            feed.yield(.roomEnded(order.name, reason))
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

    private func beat(_ rooms: [String: WorkerRoom], _ output: EventOutput) {
        let hanging = rooms.filter { $0.value.hangs(for: Self.hangLimit) }
        guard Self.isWell(hangingRoomsAreLeft: hanging.values.map(\.isLeft), rooms: rooms.count) else {
            return self.logger.critical(
                "rooms hang: no heartbeat",
                metadata: .tagged([.detail: "\(hanging.keys.sorted().joined(separator: ", "))"])
            )
        }
        output.send(.heartbeat(.now(countsObjects: self.countsObjects)))
    }

    /// Whether a worker is well although rooms of it hang.
    ///
    /// A room that is being left has a time limit of its own, while there is another that a kill would end.
    ///
    /// - Parameters:
    ///   - hangingRoomsAreLeft: of each room that hangs, whether it is being left.
    ///   - rooms: how many rooms there are.
    static func isWell(hangingRoomsAreLeft: [Bool], rooms: Int) -> Bool {
        hangingRoomsAreLeft.isEmpty || hangingRoomsAreLeft.allSatisfy(\.self) && hangingRoomsAreLeft.count < rooms
    }

    private static func clock(_ onTick: @escaping @Sendable () -> Void) -> any DispatchSourceTimer {
        let source = DispatchSource.makeTimerSource(queue: .global())
        source.schedule(deadline: .now() + 1, repeating: 1, leeway: .milliseconds(50))
        source.setEventHandler(handler: onTick)
        source.activate()
        return source
    }
}
