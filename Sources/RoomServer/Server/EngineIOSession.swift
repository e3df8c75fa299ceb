// SPDX-License-Identifier: Apache-2.0

import Basics
import NIOCore
import NIOWebSocket
import Signalling

/// One client: runs the actions of its Engine.IO and Socket.IO machines.
///
/// Lives on the server's event loop and is used only there. It holds the connections that are its own: a pending poll, an
/// open post, the WebSocket, and one that is being probed. Every method that takes an event ends by letting the hub work
/// off what the event caused in the rooms.
final class EngineIOSession: RoomMember, WebSocketOwner {
    /// The name of the session in requests.
    let id: String
    /// The protocol revision of the client.
    let version: EngineIOVersion
    /// The name of its socket in rooms.
    let socketID: PeerID
    /// Its rules in rooms.
    let dialect = RoomDialect.socketIO

    private unowned let hub: RoomServerHub
    private let transport: EngineIORequest.Transport
    private var machine: EngineIOServerSessionStateMachine
    private var connection: SocketIOServerConnection
    private var poll: HTTPRequestHandler?
    private var post: HTTPRequestHandler?
    private var webSocket: WebSocketHandler?
    private var probe: WebSocketHandler?
    private var timers: [Timer: Scheduled<Void>] = [:]

    private enum Timer: Hashable {
        case engine(EngineIOServerSessionStateMachine.Timer)
        case connect
    }

    /// A session that has not sent anything yet.
    init(
        id: String,
        socketID: PeerID,
        version: EngineIOVersion,
        transport: EngineIORequest.Transport,
        hub: RoomServerHub
    ) {
        self.id = id
        self.version = version
        self.socketID = socketID
        self.transport = transport
        self.hub = hub
        self.machine = EngineIOServerSessionStateMachine(
            version: version,
            transport: transport,
            configuration: hub.sessionConfiguration
        )
        self.connection = SocketIOServerConnection(version: version, socketID: socketID)
    }

    /// Sends the handshake, on the WebSocket if the session begins with one.
    func start(on webSocket: WebSocketHandler?) {
        defer { self.hub.drain() }
        self.webSocket = webSocket
        let handshake = EngineIOOpenPacket(
            sessionID: self.id,
            upgrades: self.transport == .polling ? ["websocket"] : [],
            pingInterval: self.hub.configuration.pingInterval,
            pingTimeout: self.hub.configuration.pingTimeout,
            maximumPayload: self.version == .four ? RoomServerConfiguration.maximumMessageBytes : nil
        )
        self.run(self.machine.start(handshake))
        self.run(self.connection.start())
    }

    /// Says what happened in the rooms.
    func tell(_ directive: RoomDirective, data: JSONValue?) {
        guard let delivery = directive.delivery(data: data, capacity: self.hub.configuration.roomCapacity) else {
            return
        }
        self.send(delivery.packet)
    }

    /// Sends a Socket.IO packet to the client.
    func send(_ packet: SocketIOPacket) {
        self.run(self.machine.send(EngineIOPacket(.message, packet.text)))
    }

    /// Ends the session because the server stops.
    func close() {
        defer { self.hub.drain() }
        self.run(self.machine.close())
    }

    /// The client polls; the answer goes to `handler`, now or later.
    func pollReceived(_ handler: HTTPRequestHandler) {
        defer { self.hub.drain() }
        switch self.machine.pollReceived() {
        case .answer(let packets): handler.respond(.payload(packets, version: self.version))
        case .hold:
            self.poll = handler
            handler.isHeld(by: self)
        case .refuseOverlap(let actions):
            handler.respond(.refusal(.badRequest))
            self.run(actions)
        case .refuseTransport: handler.respond(.refusal(.badRequest))
        }
    }

    /// The head of a post came.
    ///
    /// False: it was refused, its answer is sent.
    func postBegan(_ handler: HTTPRequestHandler) -> Bool {
        defer { self.hub.drain() }
        switch self.machine.postBegan() {
        case .accept:
            self.post = handler
            handler.isHeld(by: self)
            return true
        case .refuseOverlap(let actions):
            handler.respondAndClose(.refusal(.badRequest))
            self.run(actions)
            return false
        case .refuseTransport:
            handler.respondAndClose(.refusal(.badRequest))
            return false
        }
    }

    /// The body of an accepted post is complete.
    func postCompleted(_ handler: HTTPRequestHandler, body: [UInt8]) {
        defer { self.hub.drain() }
        guard self.post === handler else {
            handler.respond(.refusal(.unknownSessionID))
            return
        }
        self.post = nil
        self.machine.postCompleted()
        guard let packets = try? EngineIOPayload.decode(body, version: self.version) else {
            handler.respond(.refusal(.badRequest))
            self.run(self.machine.unreadableReceived())
            return
        }
        for packet in packets { self.run(self.machine.packetReceived(packet)) }
        handler.respond(.posted)
    }

    /// The connection of a poll or post closed before its answer.
    func requestAborted(_ handler: HTTPRequestHandler) {
        guard self.poll === handler || self.post === handler else { return }
        defer { self.hub.drain() }
        if self.poll === handler { self.poll = nil }
        if self.post === handler { self.post = nil }
        self.run(self.machine.requestAborted())
    }

    /// A WebSocket came with this session's id.
    func probeOpened(_ handler: WebSocketHandler) {
        defer { self.hub.drain() }
        switch self.machine.probeOpened() {
        case .accept(let actions):
            self.probe = handler
            self.run(actions)
        case .refuse: handler.close(.normalClosure)
        }
    }

    /// A WebSocket message came.
    func frameReceived(_ frame: WebSocketMessage, on handler: WebSocketHandler) {
        defer { self.hub.drain() }
        let packet = try? frame.packet(version: self.version)
        if self.probe === handler {
            self.run(self.machine.probeReceived(packet ?? EngineIOPacket(.close)))
        } else if self.webSocket === handler {
            self.run(packet.map { self.machine.packetReceived($0) } ?? self.machine.unreadableReceived())
        }
    }

    /// Engine.IO has separate heartbeats.
    func pongReceived() {}

    /// A WebSocket closed.
    func webSocketClosed(_ handler: WebSocketHandler) {
        defer { self.hub.drain() }
        if self.probe === handler {
            self.probe = nil
            self.run(self.machine.probeClosed())
        } else if self.webSocket === handler {
            self.webSocket = nil
            self.run(self.machine.webSocketClosed())
        }
    }

    private func timerFired(_ timer: Timer) {
        defer { self.hub.drain() }
        self.timers[timer] = nil
        switch timer {
        case .engine(let timer): self.run(self.machine.timerFired(timer))
        case .connect: self.run(self.connection.connectTimerFired())
        }
    }

    private func run(_ actions: [EngineIOServerSessionStateMachine.Action]) {
        for action in actions { self.run(action) }
    }

    private func run(_ action: EngineIOServerSessionStateMachine.Action) {
        switch action {
        case .answerPoll(let packets):
            self.poll?.respond(.payload(packets, version: self.version))
            self.poll = nil
        case .sendFrame(let packet):
            guard let webSocket = self.webSocket else { return }
            guard webSocket.isWritable else { return self.run(self.machine.webSocketCongested()) }
            webSocket.send(WebSocketMessage(packet, version: self.version))
        case .sendProbeFrame(let packet):
            self.probe?.send(WebSocketMessage(packet, version: self.version))
        case .adoptProbe:
            self.webSocket = self.probe
            self.probe = nil
        case .closeProbe:
            self.probe?.close(.protocolError)
            self.probe = nil
        case .deliver(.text(let text)): self.run(self.connection.textReceived(text))
        case .deliver(.binary): self.run(self.connection.binaryReceived())
        case .startTimer(let timer, let delay): self.startTimer(.engine(timer), after: delay)
        case .cancelTimer(let timer): self.cancelTimer(.engine(timer))
        case .end(let reason): self.end(reason)
        }
    }

    private func run(_ actions: [SocketIOServerConnection.Action]) {
        for action in actions {
            switch action {
            case .send(let packet): self.send(packet)
            case .socketOpened: self.hub.enqueue(.socketOpened(self))
            case .socketClosed: self.hub.enqueue(.socketClosed(self.socketID))
            case .deliver(let name, let arguments):
                self.hub.enqueue(.eventReceived(self.socketID, name: name, arguments: arguments))
            case .startConnectTimer: self.startTimer(.connect, after: RoomServerConfiguration.connectTimeout)
            case .cancelConnectTimer: self.cancelTimer(.connect)
            case .endSession: self.run(self.machine.close())
            case .ignore(let reason): self.hub.countIgnored(reason.rawValue, peer: self.socketID)
            }
        }
    }

    private func end(_ reason: EngineIOServerSessionStateMachine.EndReason) {
        self.run(self.connection.sessionEnded())
        for timer in self.timers.values { timer.cancel() }
        self.timers = [:]
        self.probe?.close(.goingAway)
        self.webSocket?.close(reason == .unreadable ? .protocolError : .normalClosure)
        self.probe = nil
        self.webSocket = nil
        self.poll = nil
        self.post = nil
        self.hub.sessionEnded(self, reason: reason)
    }

    private func startTimer(_ timer: Timer, after delay: Duration) {
        self.timers[timer]?.cancel()
        self.timers[timer] = self.hub.schedule(after: delay) { [weak self] in self?.timerFired(timer) }
    }

    private func cancelTimer(_ timer: Timer) {
        self.timers.removeValue(forKey: timer)?.cancel()
    }
}
