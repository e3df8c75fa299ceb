// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import HTTPRequests
internal import Logging
internal import NIOCore
internal import NIOPosix
internal import NIOSSL
internal import Observability
internal import Signalling

/// Runs one machine: takes an input, performs all its actions, takes the next.
///
/// Used by one task.
final class MachineDriver<Machine: SignallingMachine> {
    private typealias Input = MachineInbox.Input

    /// How a run ends.
    private enum Verdict {
        case left
        case failed(SignallingError)

        var error: SignallingError? {
            switch self {
            case .left: nil
            case .failed(let error): error
            }
        }
    }

    private static var leaveLimit: Duration { .seconds(2) }
    private static var closingLimit: Duration { .seconds(1) }

    private let address: any RoomAddress
    private let policy: JoinPolicy
    private let http: HTTPClient
    private let logger: Logger
    private let inbox: MachineInbox
    private let events: AsyncStream<RoomEvent>.Continuation
    private let notes: RoomNotes
    private let trace: TraceFile?
    private let trustedCertificatesFile: String?
    private let eventLoop = MultiThreadedEventLoopGroup.singleton.next()

    private var machine: Machine
    private var inputs: AsyncStream<Input>.Iterator
    private var schedule: ReconnectSchedule
    private var verdict: Verdict?
    private var timers: [MachineInbox.Timer: (serial: Int, scheduled: Scheduled<Void>)] = [:]
    private var lastSerial = 0

    // One attempt.
    private var attempt = 0
    private var transports: MachineTransports
    private var loss: SignallingError?
    private var joinedAt: ContinuousClock.Instant?

    init(
        machine: Machine,
        address: any RoomAddress,
        policy: JoinPolicy,
        environment: SignallerEnvironment,
        logger: Logger,
        inbox: MachineInbox,
        events: AsyncStream<RoomEvent>.Continuation
    ) {
        var logger = logger
        logger[key: .signallingProtocol] = "\(type(of: address).protocolName)"
        logger[key: .serverAddress] = "\(address.serverAddress)"
        // Where the room has a name in a configuration, the one in its URL may be a secret.
        if logger[key: .roomName] == nil { logger[key: .roomID] = "\(address.room)" }
        self.machine = machine
        self.address = address
        self.policy = policy
        self.logger = logger
        self.inbox = inbox
        self.events = events
        self.notes = RoomNotes(directory: environment.notesDirectory, room: "\(address)")
        self.trace = environment.trace
        self.trustedCertificatesFile = environment.trustedCertificatesFile
        self.inputs = inbox.inputs.makeAsyncIterator()
        self.schedule = ReconnectSchedule(policy: policy)
        self.http = HTTPClient(
            isInsecure: !address.verifiesCertificate,
            trustedCertificatesFile: environment.trustedCertificatesFile,
            connectTimeout: policy.connectTimeout
        )
        self.transports = MachineTransports(
            inbox: inbox,
            attempt: 0,
            tls: .makeClientConfiguration(),
            http: self.http,
            connectTimeout: policy.connectTimeout
        )
    }

    /// Makes one attempt after the other until the room is left or the policy allows no further one.
    /// - Returns: The error that ended it; nil after leaving.
    func run() async -> SignallingError? {
        let tls: TLSConfiguration
        do {
            tls = try TLSSettings.client(
                isInsecure: !self.address.verifiesCertificate,
                trustedCertificatesFile: self.trustedCertificatesFile
            )
        } catch {
            return error
        }
        if !self.address.verifiesCertificate {
            self.logger.warning("the room server's certificate is not verified, as configured")
        }
        while true {
            let loss = await self.runAttempt(tls)
            if let verdict = self.verdict { return verdict.error }
            let joinedFor = self.joinedAt.map { ContinuousClock.now - $0 }
            self.tell(joinedFor == nil ? .joinFailed(reason: loss.message) : .signallingLost(reason: loss.message))
            self.joinedAt = nil
            guard let delay = self.schedule.delay(after: loss, joinedFor: joinedFor, random: .random(in: 0...1)) else {
                return self.spent(loss)
            }
            if self.schedule.isSpent { self.tell(.attemptsSpent(self.spent(loss))) }
            self.logger.info(
                "connecting to the room server again",
                metadata: .tagged([
                    .errorCode: "\(loss.code.rawValue)", .errorMessage: "\(loss.message)",
                    .attemptNumber: "\(self.schedule.failedAttempts + 1)",
                    .attemptDelay: "\(delay.milliseconds)",
                ])
            )
            self.trace?.write(note: "the next attempt comes in \(delay.milliseconds) ms: \(loss.message)")
            await self.wait(delay)
            if let verdict = self.verdict { return verdict.error }
        }
    }

    /// The error of the last attempt.
    private func spent(_ error: SignallingError) -> SignallingError {
        guard self.schedule.failedAttempts > 1 else { return error }
        var error = error
        error.message += " Gave up after \(self.schedule.failedAttempts) attempts."
        return error
    }

    // MARK: - Attempt

    /// Makes one attempt and stays in the room.
    ///
    /// Returns after everything that it opened is closed.
    private func runAttempt(_ tls: TLSConfiguration) async -> SignallingError {
        self.attempt += 1
        self.transports = MachineTransports(
            inbox: self.inbox,
            attempt: self.attempt,
            after: self.transports,
            tls: tls,
            http: self.http,
            connectTimeout: self.policy.connectTimeout
        )
        self.loss = nil
        self.logger.debug("connecting to the room server")
        await withDiscardingTaskGroup { group in
            self.take(.attempt(note: self.notes.read()), &group)
            while self.loss == nil, self.verdict == nil, let input = await self.inputs.next(isolation: #isolation) {
                self.handle(input, &group)
                if self.inbox.hasOverflowed { self.verdict = self.verdict ?? .failed(self.overloaded) }
            }
            if self.verdict != nil { await self.drain() }
            self.transports.cancel()
            group.cancelAll()
        }
        self.cancelTimers()
        return self.loss ?? self.overloaded
    }

    /// Lets what was sent go out, and the server close.
    private func drain() async {
        self.transports.webSocket?.close()
        self.transports.stream?.hangUp()
        self.transports.xmpp?.close()
        self.startTimer(.closing, after: Self.closingLimit)
        while self.transports.isBusy, let input = await self.inputs.next(isolation: #isolation) {
            switch input {
            case .timer(.closing, let serial) where self.isCurrent(.closing, serial): return
            case .request(let id, _, let attempt) where attempt == self.attempt: self.transports.requestEnded(id)
            case .webSocket(.closed, let socket) where socket == self.transports.number:
                self.transports.webSocketClosed()
            case .webSocket(.received, let socket) where socket == self.transports.number:
                self.transports.webSocket?.read()
            case .stream(let event, let stream) where stream == self.transports.streamNumber:
                self.transports.streamReported(event)
            case .xmpp(.closed, let stream) where stream == self.transports.xmppNumber: self.transports.xmppClosed()
            case .xmpp(.received, let stream) where stream == self.transports.xmppNumber:
                self.transports.xmpp?.read()
            case .command, .webSocket, .request, .stream, .xmpp, .timer: continue
            }
        }
    }

    /// Waits for the next attempt, or until the room is left.
    private func wait(_ delay: Duration) async {
        self.startTimer(.retry, after: delay)
        while self.verdict == nil, let input = await self.inputs.next(isolation: #isolation) {
            switch input {
            case .timer(.retry, let serial) where self.isCurrent(.retry, serial):
                self.cancelTimers()
                return
            case .command(.leave):
                self.tell(.left)
                self.verdict = self.verdict ?? .left
            case .command, .timer, .request, .webSocket, .stream, .xmpp:
                continue
            }
        }
        self.cancelTimers()
    }

    private func handle(_ input: Input, _ group: inout DiscardingTaskGroup) {
        switch input {
        case .command(let command):
            if command == .leave { self.startTimer(.leave, after: Self.leaveLimit) }
            self.take(.command(command), &group)
        case .webSocket(let event, let socket):
            guard socket == self.transports.number else { return }
            self.webSocketReported(event, &group)
        case .request(let id, let result, let attempt):
            guard attempt == self.attempt else { return }
            self.transports.requestEnded(id)
            switch result {
            case .success(let answer): self.take(.answered(id, answer), &group)
            case .failure(let error): self.take(.requestFailed(id, error), &group)
            }
        case .stream(let event, let stream):
            guard stream == self.transports.streamNumber else { return }
            self.transports.streamReported(event)
            self.take(.stream(event), &group)
            self.transports.stream?.read()
        case .xmpp(let event, let stream):
            guard stream == self.transports.xmppNumber else { return }
            if case .closed = event { self.transports.xmppClosed() }
            self.take(.xmpp(event), &group)
            if case .received = event { self.transports.xmpp?.read() }
        case .timer(let timer, let serial):
            guard self.isCurrent(timer, serial) else { return }
            self.timers[timer] = nil
            switch timer {
            case .machine(let timer): self.take(.timerFired(timer), &group)
            case .leave: self.verdict = self.verdict ?? .left
            case .retry, .closing: break
            }
        }
    }

    private func webSocketReported(_ event: WebSocketConnection.Event, _ group: inout DiscardingTaskGroup) {
        switch event {
        case .opened: self.take(.webSocket(.opened), &group)
        case .received(let messages):
            for message in messages where self.loss == nil && self.verdict == nil {
                self.take(.webSocket(.received(message)), &group)
            }
            self.transports.webSocket?.read()
        case .refused(let status, let body): self.take(.webSocket(.refused(status: status, body: body)), &group)
        case .violation(let violation):
            let limit = self.transports.webSocket?.maximumMessageBytes ?? JSONValue.maximumBytes
            let error = violation.error(address: self.address.serverAddress, limit: limit)
            self.take(.webSocket(.closed(error)), &group)
        case .closed(let error):
            self.transports.webSocketClosed()
            self.take(.webSocket(.closed(error)), &group)
        }
    }

    // MARK: - Actions

    private func take(_ input: SignallingInput, _ group: inout DiscardingTaskGroup) {
        let actions = self.machine.handle(input)
        self.trace?.write(input, actions)
        for action in actions where self.loss == nil && self.verdict == nil {
            self.perform(action, &group)
        }
    }

    private func perform(_ action: SignallingAction, _ group: inout DiscardingTaskGroup) {
        switch action {
        case .event(let event):
            if case .joined = event {
                self.joinedAt = self.joinedAt ?? .now
                self.logger.debug("the room server let us in")
            }
            self.tell(event)
        case .openWebSocket(let request):
            do {
                try self.transports.open(request, &group)
            } catch {
                self.loss = error
            }
        case .sendWebSocket(let message): self.transports.webSocket?.send(message)
        case .closeWebSocket: self.transports.webSocket?.close()
        case .request(let request): self.transports.send(request, &group)
        case .openStream(let request): self.transports.open(request, &group)
        case .sendStream(let bytes): self.transports.stream?.send(bytes)
        case .closeStream: self.transports.stream?.hangUp()
        case .openXMPP(let request):
            self.transports.open(request, trusting: self.trustedCertificatesFile, &group)
        case .sendXMPP(let stanza): self.transports.xmpp?.send(stanza)
        case .closeXMPP: self.transports.xmpp?.close()
        case .startTimer(let timer, let delay, let isSpread):
            let delay = isSpread ? JoinPolicy.spread(delay, random: .random(in: 0...1)) : delay
            self.startTimer(.machine(timer), after: delay)
        case .cancelTimer(let timer): self.cancelTimer(.machine(timer))
        case .note(let text): self.write(text)
        case .attemptFailed(let error): self.loss = error
        case .finished(let error): self.verdict = error.map { .failed($0) } ?? .left
        }
    }

    private func write(_ note: String?) {
        do {
            try self.notes.write(note)
        } catch {
            self.logger.warning(
                "notes for a later run of this room could not be kept",
                metadata: .tagged([.errorMessage: "\(error)"])
            )
        }
    }

    private func tell(_ event: RoomEvent) {
        guard case .dropped = self.events.yield(event) else { return }
        self.verdict = self.verdict ?? .failed(self.overloaded)
    }

    private var overloaded: SignallingError {
        SignallingError(
            .overloaded,
            "The session does not keep up with the room on \(self.address.serverAddress).",
            blame: .ours
        )
    }

    // MARK: - Timers

    private func startTimer(_ timer: MachineInbox.Timer, after delay: Duration) {
        self.cancelTimer(timer)
        self.lastSerial += 1
        let (inbox, serial) = (self.inbox, self.lastSerial)
        let scheduled = self.eventLoop.scheduleTask(in: TimeAmount(delay)) {
            inbox.put(.timer(timer, serial: serial))
        }
        self.timers[timer] = (serial, scheduled)
    }

    private func cancelTimer(_ timer: MachineInbox.Timer) {
        self.timers.removeValue(forKey: timer)?.scheduled.cancel()
    }

    private func cancelTimers() {
        for timer in self.timers.values { timer.scheduled.cancel() }
        self.timers = [:]
    }

    private func isCurrent(_ timer: MachineInbox.Timer, _ serial: Int) -> Bool {
        self.timers[timer]?.serial == serial
    }
}
