// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Glibc
internal import Logging
internal import Model
internal import Observability
internal import Synchronization

/// Writes events to the supervisor's pipe, in order, from one thread: senders never wait.
///
/// While the supervisor does not read, a newer status of a room and a newer heartbeat take the place of the one that
/// still waits. Other events are kept, up to a bound that only a supervisor that hangs for hours reaches; recording
/// continues all the same.
final class EventOutput: Sendable {
    private static let maximumWaiting = 20_000
    /// Keyframes and graphs are large, and old ones are of no use.
    private static let maximumLarge = 16
    /// What a pipe takes without blocking whenever poll(2) says that it is writable (PIPE_BUF).
    private static let chunkSize = 4096

    private let descriptor: Int32
    private let logger: Logger
    private let condition = NSCondition()
    nonisolated(unsafe) private var state = State()
    private let ended = DispatchSemaphore(value: 0)

    private struct State {
        var waiting: [WorkerEvent] = []
        var large = 0
        var dropped = 0
        var isBroken = false
        /// Rooms whose status was cut: the log has the first of each, the counter is in all of them.
        var cutRooms: Set<String> = []
        /// After this instant nothing more is waited for; nil while the worker runs.
        var deadline: ContinuousClock.Instant?
    }

    /// Starts the thread.
    init(descriptor: Int32, logger: Logger) {
        self.descriptor = descriptor
        self.logger = logger
        let thread = Thread { [weak self] in
            while let output = self, output.turn() {}
            self?.ended.signal()
        }
        thread.name = "events"
        thread.start()
    }

    /// Queues an event.
    ///
    /// Any thread; never blocks.
    func send(_ event: WorkerEvent) {
        self.condition.lock()
        defer { self.condition.unlock() }
        guard !self.state.isBroken else { return }
        if let key = event.replacedBy, let index = self.state.waiting.lastIndex(where: { $0.replacedBy == key }) {
            self.state.waiting[index] = event
            return
        }
        guard self.state.waiting.count < Self.maximumWaiting, !event.isLarge || self.state.large < Self.maximumLarge
        else {
            self.state.dropped += 1
            if self.state.dropped == 1 { self.logger.error("the supervisor does not read: events are dropped") }
            return
        }
        if event.isLarge { self.state.large += 1 }
        self.state.waiting.append(event)
        self.condition.signal()
    }

    /// Writes what waits, for 2 s at most, and ends the thread.
    func close() {
        self.condition.lock()
        self.state.deadline = .now + .seconds(2)
        self.condition.signal()
        self.condition.unlock()
        self.ended.wait()
    }

    private var isPastDeadline: Bool {
        self.condition.withLock { self.state.deadline.map { ContinuousClock.now >= $0 } ?? false }
    }

    /// Writes what has come; false ends the thread.
    private func turn() -> Bool {
        self.condition.lock()
        while self.state.waiting.isEmpty, self.state.deadline == nil { self.condition.wait() }
        let events = self.state.waiting
        let isLast = self.state.deadline != nil
        self.state.waiting = []
        self.state.large = 0
        self.condition.unlock()
        for event in events where !self.write(event) { return self.gaveUp() }
        return !isLast
    }

    private func gaveUp() -> Bool {
        self.condition.withLock {
            self.state.isBroken = true
            self.state.waiting = []
            // The thread stays until the worker ends: `close` waits for it.
            while self.state.deadline == nil { self.condition.wait() }
        }
        return false
    }

    /// False when no reader is left.
    private func write(_ event: WorkerEvent) -> Bool {
        guard let line = self.line(of: event) else { return true }
        var offset = 0
        while offset < line.count {
            var poll = pollfd(fd: self.descriptor, events: Int16(POLLOUT), revents: 0)
            let ready = Glibc.poll(&poll, 1, 200)
            if ready == 0 || ready < 0 && errno == EINTR {
                if self.isPastDeadline { return false }
                continue
            }
            guard ready > 0, poll.revents & Int16(POLLOUT) != 0 else { return false }
            let count = line.withUnsafeBytes { bytes in
                Glibc.write(
                    self.descriptor,
                    bytes.baseAddress?.advanced(by: offset),
                    min(line.count - offset, Self.chunkSize)
                )
            }
            guard count >= 0 || errno == EINTR || errno == EAGAIN else { return false }
            offset += max(0, count)
        }
        return true
    }

    /// The event as a line; one that is too long says so instead.
    private func line(of event: WorkerEvent) -> Data? {
        guard let line = try? WorkerLine.encode(event) else { return nil }
        guard line.count > WorkerLine.maximumLength else { return line }
        if case .status(let room, let status) = event {
            let cut = status.cut(by: line.count - WorkerLine.maximumLength)
            if let line = try? WorkerLine.encode(WorkerEvent.status(room: room, cut)),
                line.count <= WorkerLine.maximumLength
            {
                self.noteCut(of: room, cut)
                return line
            }
        }
        let substitute: WorkerEvent =
            switch event {
            case .graph(let room, _, _):
                .commandFailed(room: room, command: "graph", reason: "the graph is too large to send")
            case .status(let room, _):
                .commandFailed(room: room, command: "status", reason: "the status is too large to send")
            default:
                .commandFailed(room: event.room, command: "event", reason: "an event is too large to send")
            }
        return try? WorkerLine.encode(substitute)
    }

    private func noteCut(of room: String, _ status: RoomStatus) {
        guard self.condition.withLock({ self.state.cutRooms.insert(room).inserted }) else { return }
        self.logger.warning(
            "status is too long and leaves out tracks",
            metadata: .tagged([
                .roomName: "\(room)", .detail: "\(status.counters[RoomStatus.cutTracks] ?? 0) tracks",
            ])
        )
    }
}

extension WorkerEvent {
    /// What a newer event of the same kind makes obsolete; nil for events that all count.
    fileprivate var replacedBy: String? {
        switch self {
        case .heartbeat: "heartbeat"
        case .status(let room, _): "status \(room)"
        case .ready, .joined, .notJoined, .left, .recordingStarted, .recordingFinished, .recordingDegraded,
            .participantJoined, .participantLeft, .peerRefused, .firstUnit, .outputFailed, .outputRecovered, .keyframe,
            .graph, .commandDone, .commandFailed:
            nil
        }
    }

    fileprivate var isLarge: Bool {
        switch self {
        case .keyframe, .graph: true
        case .ready, .heartbeat, .joined, .notJoined, .left, .status, .recordingStarted, .recordingFinished,
            .recordingDegraded, .participantJoined, .participantLeft, .peerRefused, .firstUnit, .outputFailed,
            .outputRecovered, .commandDone, .commandFailed:
            false
        }
    }
}
