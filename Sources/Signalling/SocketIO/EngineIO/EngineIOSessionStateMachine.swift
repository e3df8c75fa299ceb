// SPDX-License-Identifier: Apache-2.0

internal import Basics

/// One Engine.IO session of a client: handshake, version, heartbeat, upgrade, close.
///
/// Pure: the driver performs requests, frames and timers, and reports what came of them. After `.finished` every
/// event is a harmless race and returns nothing. The wire: docs/signalling/socketio.md.
///
///     idle ──► handshaking ──► polling ──► webSocket
///                  │              │            │
///                  └──────────────┴─► closing ─┴──► closed
public struct EngineIOSessionStateMachine: Sendable {
    /// The transports that a user may ask for.
    public enum Transport: String, Sendable, Hashable, CaseIterable {
        /// Polling first, then the WebSocket if the server offers it.
        case automatic = "auto"
        /// Polling only.
        case polling
        /// WebSocket from the start.
        case webSocket = "websocket"
    }

    /// The timers; each exists once, and starting it again moves it.
    public enum Timer: Sendable, Hashable, CaseIterable {
        /// The next ping of version 3.
        case heartbeat
        /// The answer to that ping.
        case pong
        /// Any packet at all in version 4.
        case silence
        /// The upgrade's probe and drain.
        case upgrade
        /// The open packet of a WebSocket, while another version is left to try.
        case opening
        /// Our own close.
        case close
    }

    /// A step for the driver; steps are in order.
    public enum Action: Sendable, Equatable {
        /// Sends a GET. Its result goes to `pollCompleted` or `transportFailed`.
        case poll(version: EngineIOVersion, sessionID: String?)
        /// Sends a POST with a payload. Its result goes to `postCompleted` or `transportFailed`.
        case post(String, version: EngineIOVersion, sessionID: String)
        /// Connects a WebSocket, instead of one that is open: of that nothing is reported any more. Its result goes to
        /// `webSocketOpened`, `webSocketRefused` or `webSocketClosed`.
        case openWebSocket(version: EngineIOVersion, sessionID: String?)
        /// Sends a message on the WebSocket.
        case sendFrame(WebSocketMessage)
        /// Closes the WebSocket.
        case closeWebSocket
        /// Starts or moves a timer.
        case startTimer(Timer, after: Duration)
        /// Stops a timer.
        case cancelTimer(Timer)
        /// The session is open.
        case opened(EngineIOOpenPacket, version: EngineIOVersion)
        /// The server turned out to speak this version after all.
        case versionChanged(EngineIOVersion)
        /// The session moved to its WebSocket.
        case upgraded
        /// A message came.
        case received(EngineIOPacket.Body)
        /// The session is over; nothing follows. The driver closes whatever is open.
        case finished(EngineIOEnd)
    }

    /// Most packets that wait for the server.
    public static let maximumQueuedPackets = 2048
    /// Most packets in one POST; python-engineio takes 16 and ends the session on more.
    public static let maximumPacketsPerPost = 16
    /// Limit for the probe and again for the drain.
    ///
    /// The server's own limit is 10 s.
    public static let upgradeTimeout = Duration.seconds(5)
    /// How long a WebSocket may be silent before its handshake is done with the other version.
    ///
    /// engine.io 5.0 says nothing to a version that it does not speak.
    public static let openingTimeout = Duration.seconds(3)
    /// Limit for a graceful close.
    public static let closeTimeout = Duration.seconds(1)

    private struct Handshake {
        var version: EngineIOVersion
        var alternative: EngineIOVersion?
        var isWebSocket: Bool
        /// Whether the WebSocket is connected.
        var isOpen = false
    }

    private struct Session {
        var version: EngineIOVersion
        var isVersionCertain: Bool
        let open: EngineIOOpenPacket
        var queue: [EngineIOPacket] = []
        var isAwaitingPong = false
    }

    private enum Upgrade {
        case none
        case connecting
        case probing
        case draining
    }

    private struct Polling {
        var session: Session
        var isPolling = false
        var isPosting = false
        var upgrade = Upgrade.none
    }

    private struct Closing {
        var session: Session
        var isPosting: Bool
        var hasSentClose = false
    }

    private enum State {
        case idle
        case handshaking(Handshake)
        case polling(Polling)
        case webSocket(Session)
        case closing(Closing)
        case closed
    }

    private let transport: Transport
    private let wantedVersion: EngineIOVersion?
    private var state = State.idle

    /// A session not yet begun.
    ///
    /// - Parameter version: nil to detect it from the framing of the first answer.
    public init(transport: Transport, version: EngineIOVersion?) {
        self.transport = transport
        self.wantedVersion = version
    }

    /// Whether the session lives on polling, so that the end of a WebSocket is only a failed upgrade.
    public var isOnPolling: Bool {
        switch self.state {
        case .polling: true
        case .idle, .handshaking, .webSocket, .closing, .closed: false
        }
    }

    /// Whether the end of the WebSocket only means that the handshake is done with the other version.
    public var hasOtherVersion: Bool {
        switch self.state {
        case .handshaking(let handshake): handshake.isOpen && handshake.alternative != nil
        case .idle, .polling, .webSocket, .closing, .closed: false
        }
    }

    // MARK: - Calls of the session's user

    /// Begins the handshake.
    ///
    /// Once only; a second call returns nothing.
    public mutating func start() -> [Action] {
        switch self.state {
        case .idle:
            let isWebSocket = self.transport == .webSocket
            // Polling shows the version in its first bytes whatever was asked, so it asks for the newest. A WebSocket
            // does not: it begins with version 3. Servers of version 4 refuse that by HTTP, or take the WebSocket first
            // and then write an HTTP error on it, close it, or say nothing.
            let version = self.wantedVersion ?? (isWebSocket ? .three : .four)
            let alternative: EngineIOVersion? = self.wantedVersion == nil ? (version == .four ? .three : .four) : nil
            self.state = .handshaking(
                Handshake(version: version, alternative: alternative, isWebSocket: isWebSocket)
            )
            return [Self.handshake(version, isWebSocket: isWebSocket)]
        case .handshaking, .polling, .webSocket, .closing, .closed:
            return []
        }
    }

    /// Queues a packet.
    ///
    /// Before `.opened` and after `.finished` it is lost.
    public mutating func send(_ packet: EngineIOPacket) -> [Action] {
        switch self.state {
        case .polling(var polling):
            if let end = Self.enqueue(packet, in: &polling.session) { return self.finish(end) }
            let actions = Self.advance(&polling)
            self.state = .polling(polling)
            return actions
        case .webSocket(let session):
            self.state = .webSocket(session)
            guard Self.fits(packet, session) else { return self.finish(.packetTooLarge) }
            return [.sendFrame(WebSocketMessage(packet, version: session.version))]
        case .idle, .handshaking, .closing, .closed:
            return []
        }
    }

    /// Ends the session after what is queued has been sent, within `closeTimeout`.
    public mutating func close() -> [Action] {
        switch self.state {
        case .idle, .handshaking:
            return self.finish(.closedByUs)
        case .polling(let polling):
            var closing = Closing(session: polling.session, isPosting: polling.isPosting)
            var actions: [Action] = [.cancelTimer(.heartbeat), .cancelTimer(.pong), .cancelTimer(.silence)]
            switch polling.upgrade {
            case .none: break
            case .connecting, .probing, .draining: actions += [.cancelTimer(.upgrade), .closeWebSocket]
            }
            actions.append(.startTimer(.close, after: Self.closeTimeout))
            actions += Self.postRest(&closing)
            self.state = .closing(closing)
            return actions
        case .webSocket(let session):
            self.state = .closing(Closing(session: session, isPosting: false, hasSentClose: true))
            return [
                .cancelTimer(.heartbeat), .cancelTimer(.pong), .cancelTimer(.silence), .closeWebSocket,
                .startTimer(.close, after: Self.closeTimeout),
            ]
        case .closing, .closed:
            return []
        }
    }

    // MARK: - Reports of the driver

    /// A GET was answered.
    ///
    /// Error bodies are the server's JSON or text.
    public mutating func pollCompleted(status: Int, body: [UInt8]) -> [Action] {
        switch self.state {
        case .handshaking(let handshake):
            return self.handshakeAnswered(handshake, status: status, body: body)
        case .polling(var polling):
            polling.isPolling = false
            guard status == 200 else { return self.finish(.sessionLost(status: status)) }
            // python-engineio ends a closed session's poll with nothing.
            guard !body.isEmpty else { return self.finish(.closedByServer) }
            let packets: [EngineIOPacket]
            do {
                packets = try EngineIOPayload.decode(body, version: polling.session.version)
            } catch {
                return self.finish(.violation(error))
            }
            var actions: [Action] = []
            if let end = Self.receive(packets, &polling.session, &actions) { return actions + self.finish(end) }
            actions += Self.advance(&polling)
            self.settle(polling, &actions)
            return actions
        case .idle, .webSocket, .closing, .closed:
            return []
        }
    }

    /// A POST was answered.
    public mutating func postCompleted(status: Int) -> [Action] {
        switch self.state {
        case .polling(var polling):
            polling.isPosting = false
            guard status == 200 else { return self.finish(.sessionLost(status: status)) }
            var actions = Self.advance(&polling)
            self.settle(polling, &actions)
            return actions
        case .closing(var closing):
            closing.isPosting = false
            if closing.hasSentClose || status != 200 { return self.finish(.closedByUs) }
            let actions = Self.postRest(&closing)
            self.state = .closing(closing)
            return actions
        case .idle, .handshaking, .webSocket, .closed:
            return []
        }
    }

    /// The WebSocket is connected.
    public mutating func webSocketOpened() -> [Action] {
        switch self.state {
        case .polling(var polling):
            guard case .connecting = polling.upgrade else {
                self.state = .polling(polling)
                return [.closeWebSocket]
            }
            polling.upgrade = .probing
            self.state = .polling(polling)
            return [.sendFrame(.text("2probe"))]
        case .closing(let closing):
            self.state = .closing(closing)
            return [.closeWebSocket]
        case .handshaking(var handshake):
            handshake.isOpen = handshake.isWebSocket
            self.state = .handshaking(handshake)
            return self.hasOtherVersion ? [.startTimer(.opening, after: Self.openingTimeout)] : []
        case .idle, .webSocket, .closed:
            return []
        }
    }

    /// A WebSocket message came.
    public mutating func frameReceived(_ frame: WebSocketMessage) -> [Action] {
        switch self.state {
        case .handshaking(let handshake):
            return self.firstFrameReceived(handshake, frame)
        case .polling(var polling):
            return self.probeAnswered(&polling, frame)
        case .webSocket(var session):
            var actions: [Action] = []
            do throws(EngineIOError) {
                let packet = try frame.packet(version: session.version)
                if let end = Self.receive([packet], &session, &actions) { return actions + self.finish(end) }
            } catch {
                return self.finish(.violation(error))
            }
            actions += session.queue.map { .sendFrame(WebSocketMessage($0, version: session.version)) }
            session.queue = []
            self.state = .webSocket(session)
            return actions
        case .idle, .closing, .closed:
            return []
        }
    }

    /// The server answered the WebSocket's handshake with something else than 101.
    public mutating func webSocketRefused(status: Int, body: [UInt8]) -> [Action] {
        switch self.state {
        case .handshaking(let handshake):
            return self.handshakeRefused(handshake, status: status, body: body)
        case .polling(let polling):
            self.state = .polling(polling)
            return self.abandonUpgrade()
        case .idle, .webSocket, .closing, .closed:
            return []
        }
    }

    /// The WebSocket is closed or could not be connected.
    ///
    /// - Parameter failed: Whether the network, not the server's close frame, ended it.
    public mutating func webSocketClosed(failed: Bool) -> [Action] {
        switch self.state {
        case .handshaking:
            return self.tryOtherVersion() ?? self.finish(failed ? .transportFailed : .closedByServer)
        case .webSocket:
            return self.finish(failed ? .transportFailed : .closedByServer)
        case .polling(let polling):
            self.state = .polling(polling)
            return self.abandonUpgrade()
        case .closing(let closing):
            // A closed probe does not end a session that is still posting its close.
            if closing.isPosting {
                self.state = .closing(closing)
                return []
            }
            return self.finish(.closedByUs)
        case .idle, .closed:
            return []
        }
    }

    /// A GET or POST did not get an answer.
    public mutating func transportFailed() -> [Action] {
        switch self.state {
        case .handshaking, .polling:
            return self.finish(.transportFailed)
        case .closing(let closing):
            guard closing.isPosting else {
                self.state = .closing(closing)
                return []
            }
            return self.finish(.closedByUs)
        case .idle, .webSocket, .closed:
            return []
        }
    }

    /// Data from the server is beyond the limits or not readable as its transport.
    ///
    /// Ends the session, or begins its handshake with the other version.
    public mutating func violationSeen(_ error: EngineIOError) -> [Action] {
        switch self.state {
        case .handshaking: return self.tryOtherVersion() ?? self.finish(.violation(error))
        case .idle, .polling, .webSocket: return self.finish(.violation(error))
        case .closing: return self.finish(.closedByUs)
        case .closed:
            return []
        }
    }

    /// A timer fired.
    public mutating func timerFired(_ timer: Timer) -> [Action] {
        switch self.state {
        case .polling(var polling):
            switch timer {
            case .heartbeat:
                var actions = Self.ping(&polling.session)
                actions += Self.advance(&polling)
                self.state = .polling(polling)
                return actions
            case .pong, .silence: return self.finish(.heartbeatMissed)
            case .upgrade:
                self.state = .polling(polling)
                return self.abandonUpgrade()
            case .opening, .close:
                self.state = .polling(polling)
                return []
            }
        case .webSocket(var session):
            switch timer {
            case .heartbeat:
                var actions = Self.ping(&session)
                actions += session.queue.map { .sendFrame(WebSocketMessage($0, version: session.version)) }
                session.queue = []
                self.state = .webSocket(session)
                return actions
            case .pong, .silence: return self.finish(.heartbeatMissed)
            case .upgrade, .opening, .close:
                self.state = .webSocket(session)
                return []
            }
        case .closing(let closing):
            guard timer == .close else {
                self.state = .closing(closing)
                return []
            }
            return self.finish(.closedByUs)
        case .handshaking:
            guard timer == .opening else { return [] }
            return self.tryOtherVersion() ?? []
        case .idle, .closed:
            return []
        }
    }
}

// MARK: - Steps

extension EngineIOSessionStateMachine {
    private static func handshake(_ version: EngineIOVersion, isWebSocket: Bool) -> Action {
        isWebSocket ? .openWebSocket(version: version, sessionID: nil) : .poll(version: version, sessionID: nil)
    }

    private mutating func finish(_ end: EngineIOEnd) -> [Action] {
        self.state = .closed
        return Timer.allCases.map { .cancelTimer($0) } + [.finished(end)]
    }

    private mutating func handshakeAnswered(_ handshake: Handshake, status: Int, body: [UInt8]) -> [Action] {
        guard status == 200 else { return self.handshakeRefused(handshake, status: status, body: body) }
        guard let version = Self.version(of: body),
            let packets = try? EngineIOPayload.decode(body, version: version),
            let first = packets.first, first.kind == .open, let text = first.text,
            let open = try? EngineIOOpenPacket(text: text)
        else {
            return self.finish(.notEngineIO(status: status))
        }
        var polling = Polling(session: Session(version: version, isVersionCertain: true, open: open))
        var actions: [Action] = [.opened(open, version: version)]
        actions += Self.startHeartbeat(polling.session)
        if let end = Self.receive([EngineIOPacket](packets.dropFirst()), &polling.session, &actions) {
            return actions + self.finish(end)
        }
        if self.transport == .automatic, open.upgrades.contains("websocket") {
            polling.upgrade = .connecting
            actions.append(.startTimer(.upgrade, after: Self.upgradeTimeout))
            actions.append(.openWebSocket(version: version, sessionID: open.sessionID))
        }
        actions += Self.advance(&polling)
        self.state = .polling(polling)
        return actions
    }

    /// The version of a body, by its framing, whatever was requested.
    private static func version(of body: [UInt8]) -> EngineIOVersion? {
        guard let first = body.first else { return nil }
        if first <= 1 { return .three }
        if body.starts(with: "0{".utf8) { return .four }
        let digits = body.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        return !digits.isEmpty && body.dropFirst(digits.count).first == UInt8(ascii: ":") ? .three : nil
    }

    private mutating func handshakeRefused(_ handshake: Handshake, status: Int, body: [UInt8]) -> [Action] {
        if status == 400, let alternative = handshake.alternative {
            self.state = .handshaking(
                Handshake(version: alternative, alternative: nil, isWebSocket: handshake.isWebSocket)
            )
            return [Self.handshake(alternative, isWebSocket: handshake.isWebSocket)]
        }
        guard status == 400 || status == 401 || status == 403, let message = Self.message(of: body) else {
            return self.finish(.notEngineIO(status: status))
        }
        return self.finish(.refused(status: status, message: message))
    }

    /// The reason in an error body: `{"code":n,"message":s}`, a JSON string, or short plain text.
    private static func message(of body: [UInt8]) -> String? {
        guard body.count <= 4096, let text = String(validating: body, as: UTF8.self),
            text.utf8.first != UInt8(ascii: "<")
        else { return nil }
        let json = try? JSONValue(parsing: text)
        return String((json?["message"]?.string ?? json?.string ?? text).prefix(200))
    }

    /// Does the handshake of a WebSocket again, with the other version.
    ///
    /// - Returns: nil if there is none left, or if the WebSocket was never connected.
    private mutating func tryOtherVersion() -> [Action]? {
        switch self.state {
        case .handshaking(let handshake):
            guard handshake.isOpen, let alternative = handshake.alternative else { return nil }
            self.state = .handshaking(Handshake(version: alternative, alternative: nil, isWebSocket: true))
            return [.cancelTimer(.opening), Self.handshake(alternative, isWebSocket: true)]
        case .idle, .polling, .webSocket, .closing, .closed:
            return nil
        }
    }

    private mutating func firstFrameReceived(_ handshake: Handshake, _ frame: WebSocketMessage) -> [Action] {
        guard case .text(let whole) = frame, let packet = try? EngineIOPacket(text: whole[...], version: .four),
            packet.kind == .open, let text = packet.text, let open = try? EngineIOOpenPacket(text: text)
        else {
            return self.finish(.notEngineIO(status: 101))
        }
        let tellsFour = open.maximumPayload != nil
        let isAutomatic = self.wantedVersion == nil
        let session = Session(
            version: isAutomatic && tellsFour ? .four : handshake.version,
            isVersionCertain: !isAutomatic || tellsFour || handshake.version == .four,
            open: open
        )
        let stop: [Action] = self.hasOtherVersion ? [.cancelTimer(.opening)] : []
        self.state = .webSocket(session)
        return stop + [.opened(open, version: session.version)] + Self.startHeartbeat(session)
    }

    private mutating func probeAnswered(_ polling: inout Polling, _ frame: WebSocketMessage) -> [Action] {
        guard case .probing = polling.upgrade, frame == .text("3probe") else {
            self.state = .polling(polling)
            return self.abandonUpgrade()
        }
        polling.upgrade = .draining
        var actions: [Action] = [.startTimer(.upgrade, after: Self.upgradeTimeout)]
        self.settle(polling, &actions)
        return actions
    }

    /// Moves to the WebSocket once nothing is in flight on polling, else stays.
    private mutating func settle(_ polling: Polling, _ actions: inout [Action]) {
        guard case .draining = polling.upgrade, !polling.isPolling, !polling.isPosting else {
            self.state = .polling(polling)
            return
        }
        var session = polling.session
        actions += [.cancelTimer(.upgrade), .sendFrame(.text("5")), .upgraded]
        actions += session.queue.map { .sendFrame(WebSocketMessage($0, version: session.version)) }
        session.queue = []
        self.state = .webSocket(session)
    }

    /// Continues polling when the upgrade failed.
    private mutating func abandonUpgrade() -> [Action] {
        switch self.state {
        case .polling(var polling):
            guard polling.upgrade != .none else {
                self.state = .polling(polling)
                return []
            }
            polling.upgrade = .none
            let actions = [.cancelTimer(.upgrade), .closeWebSocket] + Self.advance(&polling)
            self.state = .polling(polling)
            return actions
        case .idle, .handshaking, .webSocket, .closing, .closed:
            return []
        }
    }

    /// Keeps one GET pending and starts a POST if there is something to send and none is in flight.
    private static func advance(_ polling: inout Polling) -> [Action] {
        if case .draining = polling.upgrade { return [] }
        var actions: [Action] = []
        let session = polling.session
        if !polling.isPosting, !session.queue.isEmpty {
            polling.isPosting = true
            actions.append(Self.takePost(&polling.session))
        }
        if !polling.isPolling {
            polling.isPolling = true
            actions.append(.poll(version: session.version, sessionID: session.open.sessionID))
        }
        return actions
    }

    private static func postRest(_ closing: inout Closing) -> [Action] {
        guard !closing.isPosting else { return [] }
        if closing.session.queue.count < Self.maximumPacketsPerPost {
            closing.session.queue.append(EngineIOPacket(.close))
        }
        closing.isPosting = true
        let action = Self.takePost(&closing.session)
        closing.hasSentClose = closing.session.queue.isEmpty
        return [action]
    }

    /// Takes as many packets as fit one POST: at least one.
    private static func takePost(_ session: inout Session) -> Action {
        var bytes = 0
        var count = 0
        for packet in session.queue.prefix(Self.maximumPacketsPerPost) {
            bytes += Self.size(packet, session.version)
            guard count == 0 || bytes <= Self.limit(session) else { break }
            count += 1
        }
        let packets = [EngineIOPacket](session.queue.prefix(count))
        session.queue.removeFirst(count)
        return .post(
            EngineIOPayload.encode(packets, version: session.version),
            version: session.version,
            sessionID: session.open.sessionID
        )
    }

    private static func limit(_ session: Session) -> Int {
        min(session.open.maximumPayload ?? .max, EngineIOLimits.maximumPayloadBytes)
    }

    /// The packet's bytes with its length prefix or separator.
    private static func size(_ packet: EngineIOPacket, _ version: EngineIOVersion) -> Int {
        packet.encodedText(version: version).utf8.count + 8
    }

    private static func fits(_ packet: EngineIOPacket, _ session: Session) -> Bool {
        self.size(packet, session.version) <= self.limit(session)
    }

    private static func enqueue(_ packet: EngineIOPacket, in session: inout Session) -> EngineIOEnd? {
        guard self.fits(packet, session) else { return .packetTooLarge }
        guard session.queue.count < Self.maximumQueuedPackets else { return .overloaded }
        session.queue.append(packet)
        return nil
    }

    private static func startHeartbeat(_ session: Session) -> [Action] {
        switch session.version {
        case .three: [.startTimer(.heartbeat, after: self.heartbeatInterval(session.open))]
        case .four: [.startTimer(.silence, after: session.open.pingInterval + session.open.pingTimeout)]
        }
    }

    /// At most `pingInterval`, as the protocol says, and below `pingTimeout`: python-engineio 3 ends a session that had
    /// nothing to send for `pingTimeout`, and only the answer to our ping gives it something.
    private static func heartbeatInterval(_ open: EngineIOOpenPacket) -> Duration {
        min(open.pingInterval, open.pingTimeout * 3 / 4)
    }

    private static func ping(_ session: inout Session) -> [Action] {
        var actions: [Action] = [.startTimer(.heartbeat, after: self.heartbeatInterval(session.open))]
        guard !session.isAwaitingPong else { return actions }
        session.isAwaitingPong = true
        session.queue.append(EngineIOPacket(.ping))
        actions.append(.startTimer(.pong, after: session.open.pingTimeout))
        return actions
    }

    /// Takes packets of an open session.
    ///
    /// Answers are queued in the session.
    /// - Returns: The reason if the session is over.
    private static func receive(
        _ packets: [EngineIOPacket],
        _ session: inout Session,
        _ actions: inout [Action]
    ) -> EngineIOEnd? {
        if session.version == .four, !packets.isEmpty {
            actions += self.startHeartbeat(session)
        }
        for packet in packets {
            switch packet.kind {
            case .open: return .violation(.invalidOpenPacket)
            case .close: return .closedByServer
            case .ping:
                if !session.isVersionCertain {
                    session.isVersionCertain = true
                    session.version = .four
                    session.isAwaitingPong = false
                    actions += [.cancelTimer(.heartbeat), .cancelTimer(.pong), .versionChanged(.four)]
                    actions += self.startHeartbeat(session)
                }
                if let end = self.enqueue(EngineIOPacket(.pong, packet.text ?? ""), in: &session) { return end }
            case .pong:
                guard session.isAwaitingPong else { continue }
                session.isAwaitingPong = false
                actions.append(.cancelTimer(.pong))
            case .message:
                session.isVersionCertain = true
                actions.append(.received(packet.body))
            case .upgrade, .noop: continue
            }
        }
        return nil
    }
}
