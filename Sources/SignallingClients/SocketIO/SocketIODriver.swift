// SPDX-License-Identifier: Apache-2.0

internal import Logging
internal import NIOCore
internal import NIOPosix
internal import NIOSSL
internal import Observability
internal import Signalling

/// Runs the two machines of one client: takes an input, mutates one machine, performs all its actions, takes the next.
///
/// Used by one task. Requests and sockets are child tasks of a connection's group, so leaving a connection means that
/// all of them are closed. Timers are the event loop's, because they are moved with every packet.
final class SocketIODriver {
    private typealias Engine = EngineIOSessionStateMachine
    private typealias Room = SocketIORoomStateMachine
    private typealias Input = SocketIOInbox.Input

    /// Work that a machine asked for and that waits its turn.
    private enum Work {
        case engine(Engine.Action)
        case room(Room.Action)
    }

    /// How a run ends.
    private enum Verdict {
        case left
        case failed(SignallingError)
    }

    private static let postTimeout = Duration.seconds(30)

    private let configuration: SocketIOClient.Configuration
    private let policy: JoinPolicy
    private var logger: Logger
    private let inbox: SocketIOInbox
    private let events: AsyncStream<RoomEvent>.Continuation
    private let failures: SocketIOFailures
    private let eventLoop = MultiThreadedEventLoopGroup.singleton.next()

    private var inputs: AsyncStream<Input>.Iterator
    private var room: Room
    private var schedule: ReconnectSchedule
    private var verdict: Verdict?
    private var timers: [SocketIOInbox.Timer: (serial: Int, scheduled: Scheduled<Void>)] = [:]
    private var lastSerial = 0

    // One connection.
    private var engine: Engine
    private var connection = 0
    private var socket = 0
    private var webSocket: WebSocketConnection?
    private var polling: PollingTransport?
    private var tls: TLSConfiguration?
    private var tlsContext: NIOSSLContext?
    private var cookies = CookieJar()
    private var work: [Work] = []
    private var end: EngineIOEnd?
    private var loss: SignallingError?
    private var open: EngineIOOpenPacket?
    private var joinedAt: ContinuousClock.Instant?

    init(
        configuration: SocketIOClient.Configuration,
        policy: JoinPolicy,
        logger: Logger,
        inbox: SocketIOInbox,
        events: AsyncStream<RoomEvent>.Continuation
    ) {
        self.configuration = configuration
        self.policy = policy
        self.logger = logger
        self.logger[metadataKey: LogKey.signallingProtocol.rawValue] = "socketio"
        self.logger[metadataKey: LogKey.serverAddress.rawValue] = "\(configuration.address)"
        // Where the room has a name in a configuration, the one in its URL may be a secret.
        if logger[metadataKey: LogKey.roomName.rawValue] == nil {
            self.logger[metadataKey: LogKey.roomID.rawValue] = "\(configuration.room)"
        }
        self.inbox = inbox
        self.events = events
        self.failures = SocketIOFailures(configuration: configuration, policy: policy)
        self.inputs = inbox.inputs.makeAsyncIterator()
        self.room = Room(
            room: configuration.room,
            dialect: configuration.dialect,
            waitsWhenFull: policy.waitsWhenFull,
            fullWait: policy.fullWait
        )
        self.schedule = ReconnectSchedule(policy: policy)
        self.engine = Engine(transport: configuration.transport, version: configuration.version)
    }

    /// Connects again and again until the room is left or the policy gives up.
    /// - Returns: Why it gave up; nil after leaving.
    func run() async -> SignallingError? {
        if let error = self.prepareTLS() { return error }
        while true {
            let loss = await self.runConnection()
            switch self.verdict {
            case .left: return nil
            case .failed(let error): return error
            case nil: break
            }
            let joinedFor = self.joinedAt.map { ContinuousClock.now - $0 }
            self.joinedAt = nil
            guard
                let delay = self.schedule.delay(
                    after: loss,
                    joinedFor: joinedFor,
                    random: .random(in: 0...1)
                )
            else {
                return self.failures.givenUp(loss, attempts: self.schedule.failedAttempts)
            }
            self.logger.info(
                "Connecting to the room server again",
                metadata: [
                    LogKey.errorCode.rawValue: "\(loss.code.rawValue)",
                    LogKey.errorMessage.rawValue: "\(loss.message)",
                    LogKey.attemptNumber.rawValue: "\(self.schedule.failedAttempts + 1)",
                    LogKey.attemptDelay.rawValue: "\(Int(delay / .milliseconds(1)))",
                ]
            )
            await self.wait(delay)
            switch self.verdict {
            case .left: return nil
            case .failed(let error): return error
            case nil: continue
            }
        }
    }

    private func prepareTLS() -> SignallingError? {
        guard self.configuration.isSecure else { return nil }
        do {
            let tls = try TLSSettings.client(
                isInsecure: self.configuration.isInsecure,
                trustedCertificatesFile: self.configuration.trustedCertificatesFile
            )
            self.tls = tls
            self.tlsContext = try NIOSSLContext(configuration: tls)
        } catch {
            return ConnectionFailure.error(for: error, address: self.configuration.address)
        }
        if self.configuration.isInsecure {
            self.logger.warning("The room server's certificate is not verified, as configured")
        }
        return nil
    }

    // MARK: - Connection

    /// Makes one connection and stays on it.
    ///
    /// Returns after all of it is closed.
    private func runConnection() async -> SignallingError {
        self.connection += 1
        self.engine = Engine(transport: self.configuration.transport, version: self.configuration.version)
        self.cookies = CookieJar()
        self.end = nil
        self.loss = nil
        self.open = nil
        self.logger.debug("Connecting to the room server")
        await withDiscardingTaskGroup { group in
            self.startTimer(.connect, after: self.policy.connectTimeout)
            self.perform(self.engine.start(), &group)
            while self.end == nil, let input = await self.inputs.next(isolation: #isolation) {
                self.handle(input, &group)
                self.checkOverflow(&group)
            }
            self.webSocket?.cancel()
            group.cancelAll()
        }
        self.cancelTimers()
        self.webSocket = nil
        let polling = self.polling
        self.polling = nil
        do {
            try await polling?.shutdown()
        } catch {
            self.logger.debug("Closing the connections failed", metadata: [LogKey.detail.rawValue: "\(error)"])
        }
        let loss = self.loss ?? self.failures.error(for: self.end ?? .closedByUs)
        if self.verdict == nil {
            switch self.room.phase {
            case .offline, .connecting: self.tell(.joinFailed(reason: loss.message))
            case .joining, .fullWait, .joined, .joinedConnected, .joinedUnbound, .resetting, .leaving, .left: break
            }
            self.performRoom(self.room.closed(reason: loss.message))
        }
        return loss
    }

    /// Waits for the next attempt, or until the room is left.
    private func wait(_ delay: Duration) async {
        self.startTimer(.retry, after: delay)
        while self.verdict == nil, let input = await self.inputs.next(isolation: #isolation) {
            switch input {
            case .timer(.retry, let serial) where self.isCurrent(.retry, serial):
                return
            case .command(let command):
                self.performRoom(self.room.command(command))
            case .timer, .polled, .posted, .webSocket:
                continue
            }
            if self.inbox.hasOverflowed { self.verdict = .failed(self.failures.overloaded) }
        }
        self.cancelTimers()
    }

    private func handle(_ input: Input, _ group: inout DiscardingTaskGroup) {
        switch input {
        case .command(let command):
            self.perform(self.room.command(command), &group)
        case .polled(let outcome, let connection):
            guard connection == self.connection else { return }
            switch outcome {
            case .answered(let status, let body, let cookies):
                self.cookies.store(cookies)
                self.perform(self.engine.pollCompleted(status: status, body: body), &group)
            case .oversize: self.perform(self.engine.violationSeen(.oversize), &group)
            case .failed(let error): self.transportFailed(error, &group)
            }
        case .posted(let outcome, let connection):
            guard connection == self.connection else { return }
            switch outcome {
            case .answered(let status, _, let cookies):
                self.cookies.store(cookies)
                self.perform(self.engine.postCompleted(status: status), &group)
            case .oversize: self.perform(self.engine.violationSeen(.oversize), &group)
            case .failed(let error): self.transportFailed(error, &group)
            }
        case .webSocket(let event, let socket):
            guard socket == self.socket else { return }
            self.webSocketReported(event, &group)
        case .timer(let timer, let serial):
            guard self.isCurrent(timer, serial) else { return }
            self.timers[timer] = nil
            self.timerFired(timer, &group)
        }
        if self.room.phase != .offline, self.room.phase != .connecting { self.cancelTimer(.connect) }
    }

    private func transportFailed(_ error: SignallingError, _ group: inout DiscardingTaskGroup) {
        self.loss = self.loss ?? error
        self.perform(self.engine.transportFailed(), &group)
    }

    private func webSocketReported(_ event: WebSocketConnection.Event, _ group: inout DiscardingTaskGroup) {
        switch event {
        case .opened(let cookies):
            self.cookies.store(cookies)
            self.perform(self.engine.webSocketOpened(), &group)
        case .received(let frames):
            for frame in frames where self.end == nil {
                self.perform(self.engine.frameReceived(frame), &group)
            }
            self.webSocket?.read()
        case .refused(let status, let body):
            self.perform(self.engine.webSocketRefused(status: status, body: body), &group)
        case .violation(let error):
            // A bad WebSocket ends the upgrade only, as long as polling works.
            let actions =
                self.engine.isOnPolling
                ? self.engine.webSocketClosed(failed: true) : self.engine.violationSeen(error)
            self.perform(actions, &group)
        case .closed(let failure):
            if !self.engine.isOnPolling { self.loss = self.loss ?? failure }
            self.perform(self.engine.webSocketClosed(failed: failure != nil), &group)
        }
    }

    private func timerFired(_ timer: SocketIOInbox.Timer, _ group: inout DiscardingTaskGroup) {
        switch timer {
        case .engine(let timer): self.perform(self.engine.timerFired(timer), &group)
        case .room(let timer): self.perform(self.room.timerFired(timer), &group)
        case .connect:
            self.loss = self.loss ?? self.failures.connectTimedOut(isOpen: self.open != nil)
            self.perform(self.engine.close(), &group)
        case .retry: break
        }
    }

    private func checkOverflow(_ group: inout DiscardingTaskGroup) {
        guard self.inbox.hasOverflowed, self.verdict == nil else { return }
        self.verdict = .failed(self.failures.overloaded)
        self.perform(self.engine.close(), &group)
    }

    // MARK: - Actions

    private func perform(_ actions: [Engine.Action], _ group: inout DiscardingTaskGroup) {
        self.work += actions.map { .engine($0) }
        self.performWork(&group)
    }

    private func perform(_ actions: [Room.Action], _ group: inout DiscardingTaskGroup) {
        self.work += actions.map { .room($0) }
        self.performWork(&group)
    }

    /// Performs what is queued, in the order in which it was asked for.
    private func performWork(_ group: inout DiscardingTaskGroup) {
        var index = 0
        while index < self.work.count {
            let work = self.work[index]
            index += 1
            switch work {
            case .engine(let action): self.run(action, &group)
            case .room(let action): self.run(action)
            }
        }
        self.work = []
    }

    private func run(_ action: Engine.Action, _ group: inout DiscardingTaskGroup) {
        switch action {
        case .poll(let version, let sessionID):
            self.request(version, sessionID, body: nil, &group)
        case .post(let payload, let version, let sessionID):
            self.request(version, sessionID, body: payload, &group)
        case .openWebSocket(let version, let sessionID):
            self.openWebSocket(version, sessionID, &group)
        case .sendFrame(let frame):
            self.webSocket?.send(frame)
        case .closeWebSocket:
            self.webSocket?.close()
        case .startTimer(let timer, let delay):
            self.startTimer(.engine(timer), after: delay)
        case .cancelTimer(let timer):
            self.cancelTimer(.engine(timer))
        case .opened(let open, let version):
            self.open = open
            self.logger.debug("The connection to the room server is open")
            self.work += self.room.opened(sessionID: open.sessionID, version: version).map { .room($0) }
        case .versionChanged:
            self.work += self.room.versionChanged().map { .room($0) }
        case .upgraded:
            self.logger.debug("Moved to the WebSocket")
        case .received(let body):
            self.received(body)
        case .finished(let end):
            self.end = self.end ?? end
        }
    }

    private func received(_ body: EngineIOPacket.Body) {
        guard case .text(let text) = body else {
            self.work.append(.room(.event(.ignored(what: "A binary message was ignored", detail: ""))))
            return
        }
        do {
            let packet = try SocketIOPacket(text: text)
            self.work += self.room.received(packet).map { .room($0) }
        } catch {
            guard self.room.phase == .connecting else {
                let what = "A message that is no Socket.IO packet was ignored"
                self.work.append(.room(.event(.ignored(what: what, detail: "\(error)"))))
                return
            }
            self.loss = self.failures.notSocketIO(error)
            self.work += self.engine.close().map { .engine($0) }
        }
    }

    private func run(_ action: Room.Action) {
        switch action {
        case .send(let packet):
            self.work += self.engine.send(EngineIOPacket(.message, packet.text)).map { .engine($0) }
        case .event(let event):
            if case .joined = event {
                self.joinedAt = self.joinedAt ?? .now
                self.logger.debug("Joined the room")
            }
            self.tell(event)
        case .startTimer(let timer, let delay):
            let wait = timer == .full ? JoinPolicy.spread(delay, random: .random(in: 0...1)) : delay
            self.startTimer(.room(timer), after: wait)
        case .cancelTimer(let timer):
            self.cancelTimer(.room(timer))
        case .reconnect(let reason):
            self.loss = self.loss ?? self.failures.error(for: reason)
            self.work += self.engine.close().map { .engine($0) }
        case .finish(let outcome):
            self.verdict = self.verdict ?? self.failures.error(for: outcome).map { .failed($0) } ?? .left
            self.work += self.engine.close().map { .engine($0) }
        }
    }

    /// Performs the room's actions when there is no connection: nothing is sent.
    private func performRoom(_ actions: [Room.Action]) {
        for action in actions {
            switch action {
            case .event(let event): self.tell(event)
            case .cancelTimer(let timer): self.cancelTimer(.room(timer))
            case .finish(let outcome): self.verdict = self.failures.error(for: outcome).map { .failed($0) } ?? .left
            case .send, .startTimer, .reconnect: continue
            }
        }
    }

    private func tell(_ event: RoomEvent) {
        guard case .dropped = self.events.yield(event) else { return }
        self.verdict = self.verdict ?? .failed(self.failures.overloaded)
        self.work += self.engine.close().map { .engine($0) }
    }

    // MARK: - Transports

    private func request(
        _ version: EngineIOVersion,
        _ sessionID: String?,
        body: String?,
        _ group: inout DiscardingTaskGroup
    ) {
        let polling: PollingTransport
        if let existing = self.polling {
            polling = existing
        } else {
            polling = PollingTransport(
                address: self.configuration.address,
                tls: self.tls,
                connectTimeout: self.policy.connectTimeout
            )
            self.polling = polling
        }
        let url =
            "\(self.configuration.isSecure ? "https" : "http")://\(self.configuration.address)"
            + self.configuration.target(transport: "polling", version: version, sessionID: sessionID)
        // The heartbeat ends a poll that hangs; this is the net below it.
        let patience = self.open.map { $0.pingInterval + $0.pingTimeout + Self.postTimeout }
        let timeout = body == nil ? patience ?? self.policy.connectTimeout : Self.postTimeout
        let (inbox, connection, cookie) = (self.inbox, self.connection, self.cookies.header)
        group.addTask {
            let outcome = await polling.request(url: url, body: body, cookie: cookie, timeout: timeout)
            inbox.put(body == nil ? .polled(outcome, connection: connection) : .posted(outcome, connection: connection))
        }
    }

    private func openWebSocket(
        _ version: EngineIOVersion,
        _ sessionID: String?,
        _ group: inout DiscardingTaskGroup
    ) {
        self.socket += 1
        let webSocket = WebSocketConnection(
            WebSocketConnection.Request(
                host: self.configuration.host,
                port: self.configuration.port,
                target: self.configuration.target(transport: "websocket", version: version, sessionID: sessionID),
                cookie: self.cookies.header,
                tls: self.tlsContext,
                connectTimeout: self.policy.connectTimeout,
                address: self.configuration.address,
                maximumMessageBytes: EngineIOLimits.maximumPayloadBytes
            )
        )
        self.webSocket = webSocket
        let (inbox, socket) = (self.inbox, self.socket)
        group.addTask {
            await webSocket.run { inbox.put(.webSocket($0, socket: socket)) }
        }
    }

    // MARK: - Timers

    private func startTimer(_ timer: SocketIOInbox.Timer, after delay: Duration) {
        self.cancelTimer(timer)
        self.lastSerial += 1
        let (inbox, serial) = (self.inbox, self.lastSerial)
        let scheduled = self.eventLoop.scheduleTask(in: TimeAmount(delay)) {
            inbox.put(.timer(timer, serial: serial))
        }
        self.timers[timer] = (serial, scheduled)
    }

    private func cancelTimer(_ timer: SocketIOInbox.Timer) {
        self.timers.removeValue(forKey: timer)?.scheduled.cancel()
    }

    private func cancelTimers() {
        for timer in self.timers.values { timer.scheduled.cancel() }
        self.timers = [:]
    }

    private func isCurrent(_ timer: SocketIOInbox.Timer, _ serial: Int) -> Bool {
        self.timers[timer]?.serial == serial
    }
}
