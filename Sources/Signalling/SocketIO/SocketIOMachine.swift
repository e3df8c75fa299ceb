// SPDX-License-Identifier: Apache-2.0

internal import Basics

/// A Socket.IO room: the machine of its connection and that of its membership, fed and asked as one.
///
/// Each attempt is one Engine.IO session. Whatever ends it, the attempt or the run ends only after the session is closed, so
/// that a leave is still sent.
public struct SocketIOMachine: SignallingMachine {
    private typealias Engine = EngineIOSessionStateMachine
    private typealias Room = SocketIORoomStateMachine

    /// Work that one of the machines asked for and that waits its turn.
    private enum Work {
        case engine(Engine.Action)
        case room(Room.Action)
    }

    /// How the run ends.
    private enum Verdict {
        case left
        case failed(SignallingError)
    }

    private static let postTimeout = Duration.seconds(30)
    static let connectTimer = SignallingTimer(rawValue: "connect")

    private let address: RoomURL.SocketIO
    private let connectTimeout: Duration
    private let failures: SocketIOFailures
    private var engine: Engine
    private var room: Room

    // One attempt.
    private var isUnderWay = false
    private var requests = 0
    private var cookies = CookieJar()
    private var work: [Work] = []
    private var end: EngineIOEnd?
    private var loss: SignallingError?
    private var open: EngineIOOpenPacket?
    private var verdict: Verdict?

    /// A machine before its first attempt.
    public init(_ address: RoomURL.SocketIO, options: SignallingOptions) {
        self.address = address
        self.connectTimeout = options.policy.connectTimeout
        self.failures = SocketIOFailures(
            address: address.serverAddress,
            connectTimeout: options.policy.connectTimeout
        )
        self.engine = Self.engine(address)
        self.room = Room(
            room: address.room,
            dialect: address.dialect,
            displayName: DisplayName.line(options.displayName),
            isRecorder: options.records,
            waitsWhenFull: options.policy.waitsWhenFull,
            fullWait: options.policy.fullWait
        )
    }

    private static func engine(_ address: RoomURL.SocketIO) -> Engine {
        Engine(
            transport: Engine.Transport(rawValue: address.transport.rawValue) ?? .automatic,
            version: Int(address.version.rawValue).flatMap { EngineIOVersion(rawValue: $0) }
        )
    }

    private var isConnecting: Bool { self.room.phase == .offline || self.room.phase == .connecting }

    /// Takes one thing that happened, and says what to do, in order.
    public mutating func handle(_ input: SignallingInput) -> [SignallingAction] {
        var actions: [SignallingAction] = []
        let wasConnecting = self.isConnecting
        switch input {
        case .attempt:
            self.begin()
            actions.append(.startTimer(Self.connectTimer, after: self.connectTimeout))
            self.add(self.engine.start())
        case .command(let command): self.add(self.room.command(command))
        case .timerFired(let timer): self.timerFired(timer)
        case .answered(let id, let answer): self.answered(id, answer)
        case .requestFailed(_, let error): self.requestFailed(error)
        case .webSocket(let event): self.webSocketReported(event)
        case .stream, .xmpp: break
        }
        self.perform(&actions)
        if wasConnecting, self.isUnderWay, !self.isConnecting { actions.append(.cancelTimer(Self.connectTimer)) }
        self.conclude(&actions)
        return actions
    }

    private mutating func begin() {
        self.engine = Self.engine(self.address)
        self.isUnderWay = true
        self.cookies = CookieJar()
        self.end = nil
        self.loss = nil
        self.open = nil
    }

    private mutating func add(_ actions: [Engine.Action]) {
        self.work += actions.map { .engine($0) }
    }

    private mutating func add(_ actions: [Room.Action]) {
        self.work += actions.map { .room($0) }
    }

    // MARK: - Inputs

    private mutating func timerFired(_ timer: SignallingTimer) {
        if timer == Self.connectTimer {
            guard self.isUnderWay else { return }
            self.loss = self.loss ?? self.failures.connectTimedOut(isOpen: self.open != nil)
            self.add(self.engine.close())
        } else if let timer = Engine.Timer.allCases.first(where: { Self.name($0) == timer }) {
            self.add(self.engine.timerFired(timer))
        } else if let timer = Room.Timer.allCases.first(where: { Self.name($0) == timer }) {
            self.add(self.room.timerFired(timer))
        }
    }

    private static func name(_ timer: Engine.Timer) -> SignallingTimer { SignallingTimer(rawValue: "engine.\(timer)") }

    private static func name(_ timer: Room.Timer) -> SignallingTimer { SignallingTimer(rawValue: "room.\(timer)") }

    private mutating func answered(_ id: HTTPRequest.ID, _ answer: HTTPAnswer) {
        self.cookies.store(answer.values(of: "Set-Cookie"))
        if id.rawValue.hasPrefix("post") {
            self.add(self.engine.postCompleted(status: answer.status))
        } else {
            self.add(self.engine.pollCompleted(status: answer.status, body: answer.body))
        }
    }

    private mutating func requestFailed(_ error: SignallingError) {
        // A protocol violation of the transport means that a message is too large; every other error is the network's.
        guard error.code != .protocolViolation else { return self.add(self.engine.violationSeen(.oversize)) }
        self.loss = self.loss ?? error
        self.add(self.engine.transportFailed())
    }

    private mutating func webSocketReported(_ event: WebSocketEvent) {
        switch event {
        case .opened: self.add(self.engine.webSocketOpened())
        case .received(let message): self.add(self.engine.frameReceived(message))
        case .refused(let status, let body): self.add(self.engine.webSocketRefused(status: status, body: body))
        case .closed(let error):
            // A bad WebSocket ends the upgrade only, as long as polling works.
            if self.engine.isOnPolling {
                self.add(self.engine.webSocketClosed(failed: true))
            } else if let error, error.code == .protocolViolation {
                let isOversize = error == self.failures.error(for: .violation(.oversize))
                self.add(self.engine.violationSeen(isOversize ? .oversize : .unknownPacketType))
            } else {
                // Nothing is lost while there is another version to try.
                if !self.engine.hasOtherVersion { self.loss = self.loss ?? error }
                self.add(self.engine.webSocketClosed(failed: error != nil))
            }
        }
    }

    // MARK: - Work

    /// Performs what is queued, in the order in which it was asked for.
    private mutating func perform(_ actions: inout [SignallingAction]) {
        var index = 0
        while index < self.work.count {
            let work = self.work[index]
            index += 1
            switch work {
            case .engine(let action): self.perform(action, &actions)
            case .room(let action): self.perform(action, &actions)
            }
        }
        self.work = []
    }

    private mutating func perform(_ action: Engine.Action, _ actions: inout [SignallingAction]) {
        switch action {
        case .poll(let version, let sessionID):
            // The heartbeat ends a poll that hangs, and the connect limit a handshake; this is the net below them.
            let patience = self.open.map { $0.pingInterval + $0.pingTimeout + Self.postTimeout }
            let timeout = patience ?? self.connectTimeout + .seconds(1)
            actions.append(self.request(version, sessionID, body: nil, timeout: timeout))
        case .post(let payload, let version, let sessionID):
            actions.append(self.request(version, sessionID, body: payload, timeout: Self.postTimeout))
        case .openWebSocket(let version, let sessionID):
            actions.append(
                .openWebSocket(
                    WebSocketRequest(
                        url: self.url(isWebSocket: true, version, sessionID),
                        headers: self.cookies.header.map { [HTTPField("Cookie", $0)] } ?? [],
                        maximumMessageBytes: EngineIOLimits.maximumPayloadBytes
                    )
                )
            )
        case .sendFrame(let frame): actions.append(.sendWebSocket(frame))
        case .closeWebSocket: actions.append(.closeWebSocket)
        case .startTimer(let timer, let delay): actions.append(.startTimer(Self.name(timer), after: delay))
        case .cancelTimer(let timer): actions.append(.cancelTimer(Self.name(timer)))
        case .opened(let open, let version):
            self.open = open
            self.add(self.room.opened(sessionID: open.sessionID, version: version))
        case .versionChanged: self.add(self.room.versionChanged())
        case .upgraded: break
        case .received(let body): self.received(body)
        case .finished(let end): self.end = self.end ?? end
        }
    }

    private mutating func received(_ body: EngineIOPacket.Body) {
        guard case .text(let text) = body else {
            return self.work.append(.room(.event(.ignored(what: "A binary message was ignored", detail: ""))))
        }
        do {
            let packet = try SocketIOPacket(text: text)
            self.add(self.room.received(packet))
        } catch {
            guard self.room.phase == .connecting else {
                let what = "A message that is no Socket.IO packet was ignored"
                return self.work.append(.room(.event(.ignored(what: what, detail: "\(error)"))))
            }
            self.loss = self.failures.notSocketIO(error)
            self.add(self.engine.close())
        }
    }

    private mutating func perform(_ action: Room.Action, _ actions: inout [SignallingAction]) {
        switch action {
        case .send(let packet): self.add(self.engine.send(EngineIOPacket(.message, packet.text)))
        case .event(let event): actions.append(.event(event))
        case .startTimer(let timer, let delay):
            actions.append(.startTimer(Self.name(timer), after: delay, isSpread: timer == .full))
        case .cancelTimer(let timer): actions.append(.cancelTimer(Self.name(timer)))
        case .reconnect(let reason):
            self.loss = self.loss ?? self.failures.error(for: reason)
            self.add(self.engine.close())
        case .finish(let outcome):
            self.verdict = self.verdict ?? self.failures.error(for: outcome).map { .failed($0) } ?? .left
            self.add(self.engine.close())
        }
    }

    /// Ends the attempt or the run once the session is over.
    private mutating func conclude(_ actions: inout [SignallingAction]) {
        if self.isUnderWay, let end {
            self.isUnderWay = false
            let loss = self.loss ?? self.failures.error(for: end)
            if self.verdict == nil {
                for action in self.room.closed(reason: loss.message) {
                    switch action {
                    // The driver reports it.
                    case .event(.signallingLost): continue
                    case .send, .startTimer, .reconnect: continue
                    case .event(let event): actions.append(.event(event))
                    case .cancelTimer(let timer): actions.append(.cancelTimer(Self.name(timer)))
                    case .finish(let outcome):
                        self.verdict = self.failures.error(for: outcome).map { .failed($0) } ?? .left
                    }
                }
            }
            if self.verdict == nil { actions.append(.attemptFailed(loss)) }
        }
        guard !self.isUnderWay, let verdict else { return }
        switch verdict {
        case .left: actions.append(.finished(nil))
        case .failed(let error): actions.append(.finished(error))
        }
        self.verdict = nil
    }

    // MARK: - Requests

    private mutating func request(
        _ version: EngineIOVersion,
        _ sessionID: String?,
        body: String?,
        timeout: Duration
    ) -> SignallingAction {
        self.requests += 1
        var headers = [HTTPField("Accept", "*/*")]
        if let cookie = self.cookies.header { headers.append(HTTPField("Cookie", cookie)) }
        if body != nil { headers.append(HTTPField("Content-Type", "text/plain;charset=UTF-8")) }
        return .request(
            HTTPRequest(
                HTTPRequest.ID(rawValue: "\(body == nil ? "poll" : "post") \(self.requests)"),
                method: body == nil ? "GET" : "POST",
                url: self.url(isWebSocket: false, version, sessionID),
                headers: headers,
                body: body.map { Array($0.utf8) },
                timeout: timeout
            )
        )
    }

    private func url(isWebSocket: Bool, _ version: EngineIOVersion, _ sessionID: String?) -> WebURL {
        let transport = isWebSocket ? "websocket" : "polling"
        let session = sessionID.map { "&sid=" + PercentCoding.encode($0) } ?? ""
        return WebURL(
            isSecure: self.address.isSecure,
            isWebSocket: isWebSocket,
            host: self.address.host,
            port: self.address.port,
            target: "\(self.address.path)?EIO=\(version.rawValue)&transport=\(transport)\(session)"
        )
    }
}
