// SPDX-License-Identifier: Apache-2.0

import Basics
import Logging
import NIOCore
import Observability
import Signalling

/// Everything that one running server holds: its connections, sessions, sockets and rooms.
///
/// Lives on the server's only event loop and is used only there. Effects of sessions on the rooms go through a queue
/// that is worked off after each event from outside, which keeps a session from being entered while it is being worked
/// on.
final class RoomServerHub {
    /// An event of a session for the rooms.
    enum Event {
        /// A socket exists.
        case socketOpened(any RoomMember)
        /// A socket sent an event.
        case eventReceived(PeerID, name: String, arguments: [JSONValue])
        /// A socket asked for something in another dialect.
        case requestReceived(PeerID, RoomRequest)
        /// A socket is gone.
        case socketClosed(PeerID)
    }

    /// The settings.
    let configuration: RoomServerConfiguration

    private let eventLoop: any EventLoop
    private let logger: Logger
    private var channels: [ObjectIdentifier: any Channel] = [:]
    private var sessions: [String: EngineIOSession] = [:]
    private var skyRTCSessions: [PeerID: SkyRTCSession] = [:]
    private var sockets: [PeerID: any RoomMember] = [:]
    private var registry: RoomRegistry
    private var queue: [Event] = []
    private var isDraining = false
    private var isStopping = false
    private var ignoredCount = 0

    /// A hub without connections.
    init(configuration: RoomServerConfiguration, eventLoop: any EventLoop, logger: Logger) {
        self.configuration = configuration
        self.eventLoop = eventLoop
        self.logger = logger
        self.registry = RoomRegistry(
            limits: RoomRegistry.Limits(
                capacity: configuration.roomCapacity,
                rooms: configuration.maximumRooms,
                roomsPerSocket: RoomServerConfiguration.maximumRoomsPerSocket
            )
        )
    }

    /// Times and bounds for sessions.
    var sessionConfiguration: EngineIOServerSessionStateMachine.Configuration {
        EngineIOServerSessionStateMachine.Configuration(
            pingInterval: self.configuration.pingInterval,
            pingTimeout: self.configuration.pingTimeout,
            upgradeTimeout: RoomServerConfiguration.upgradeTimeout,
            queue: EngineIOSessionQueue.Limits(
                packets: RoomServerConfiguration.maximumQueuedPackets,
                bytes: self.configuration.maximumUnsentBytes
            )
        )
    }

    /// The body of `/healthz`: counts of what is held now, and of what was ignored since the start.
    var health: String {
        JSONValue.object([
            "status": "ok",
            "connections": .integer(self.channels.count),
            "sessions": .integer(self.sessions.count + self.skyRTCSessions.count),
            "rooms": .integer(self.registry.roomCount),
            "members": .integer(self.registry.memberCount),
            "ignored": .integer(self.ignoredCount),
        ]).text
    }

    /// A connection came; false: there are too many, close it.
    func channelOpened(_ channel: any Channel) -> Bool {
        guard !self.isStopping, self.channels.count < self.configuration.maximumConnections else { return false }
        self.channels[ObjectIdentifier(channel)] = channel
        return true
    }

    /// A connection closed.
    func channelClosed(_ channel: any Channel) {
        self.channels[ObjectIdentifier(channel)] = nil
    }

    /// A new session, or nil if there are too many.
    func makeSession(version: EngineIOVersion, transport: EngineIORequest.Transport) -> EngineIOSession? {
        guard self.mayOpenSession else { return nil }
        let id = Self.randomID()
        let session = EngineIOSession(
            id: id,
            socketID: PeerID(version == .three ? id : Self.randomID()),
            version: version,
            transport: transport,
            hub: self
        )
        self.sessions[id] = session
        return session
    }

    /// Whether another session may begin.
    var mayOpenSession: Bool {
        !self.isStopping && self.sessions.count + self.skyRTCSessions.count < self.configuration.maximumSockets
    }

    /// A new SkyRTC session, or nil if there are too many.
    func makeSkyRTCSession(on webSocket: WebSocketHandler) -> SkyRTCSession? {
        guard self.mayOpenSession else { return nil }
        let session = SkyRTCSession(socketID: PeerID(Self.randomID()), webSocket: webSocket, hub: self)
        self.skyRTCSessions[session.socketID] = session
        session.start()
        return session
    }

    /// A SkyRTC session ended.
    func sessionEnded(_ session: SkyRTCSession) {
        self.skyRTCSessions[session.socketID] = nil
    }

    /// The session with this id.
    func session(_ id: String) -> EngineIOSession? { self.sessions[id] }

    /// A session ended.
    func sessionEnded(_ session: EngineIOSession, reason: EngineIOServerSessionStateMachine.EndReason) {
        self.sessions[session.id] = nil
        self.logger.debug(
            "session ended",
            metadata: self.metadata(session.socketID, .detail, reason.rawValue)
        )
    }

    /// Counts and logs something that has no effect.
    func countIgnored(_ reason: String, peer: PeerID) {
        self.ignoredCount &+= 1
        self.logger.debug("what a client sent is ignored", metadata: self.metadata(peer, .detail, reason))
    }

    /// Runs a block on this event loop later.
    func schedule(after delay: Duration, _ block: @escaping () -> Void) -> Scheduled<Void> {
        self.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(delay), block)
    }

    /// Queues an event for the rooms.
    func enqueue(_ event: Event) {
        self.queue.append(event)
    }

    /// Works off the queue, including what the work itself adds.
    func drain() {
        guard !self.isDraining else { return }
        self.isDraining = true
        while !self.queue.isEmpty {
            let events = self.queue
            self.queue = []
            for event in events { self.handle(event) }
        }
        self.isDraining = false
    }

    /// Ends every session and closes every connection.
    func stop() -> [EventLoopFuture<Void>] {
        self.isStopping = true
        for session in self.sessions.values { session.close() }
        for session in self.skyRTCSessions.values { session.close() }
        let channels = self.channels.values
        for channel in channels { channel.close(promise: nil) }
        return channels.map(\.closeFuture)
    }

    private func handle(_ event: Event) {
        switch event {
        case .socketOpened(let session):
            self.sockets[session.socketID] = session
        case .eventReceived(let socket, let name, let arguments):
            guard self.sockets[socket] != nil else { return }
            do {
                self.handle(try RoomRequest(event: name, arguments: arguments), of: socket)
            } catch {
                self.countIgnored(error.rawValue, peer: socket)
            }
        case .requestReceived(let socket, let request):
            guard self.sockets[socket] != nil else { return }
            self.handle(request, of: socket)
        case .socketClosed(let socket):
            self.sockets[socket] = nil
            self.run(self.registry.disconnect(socket), data: nil)
        }
    }

    private func handle(_ request: RoomRequest, of socket: PeerID) {
        switch request {
        case .join(let room): self.run(self.registry.join(socket, room: room), data: nil)
        case .leave(let room): self.run(self.registry.leave(socket, room: room), data: nil)
        case .message(let room, let data, let addressee):
            self.run(self.registry.message(from: socket, room: room, addressee: addressee), data: data)
        }
    }

    private func run(_ directives: [RoomDirective], data: JSONValue?) {
        for directive in directives {
            self.log(directive)
            for directive in directive.translated(dialect: { self.sockets[$0]?.dialect ?? .socketIO }) {
                for recipient in directive.recipients { self.sockets[recipient]?.tell(directive, data: data) }
            }
        }
    }

    private func log(_ directive: RoomDirective) {
        switch directive {
        case .sendJoined(let socket, let room, _):
            self.logger.info("joined", metadata: self.metadata(socket, .roomID, room.rawValue))
        case .sendFull(let socket, let room):
            self.logger.info("room is full", metadata: self.metadata(socket, .roomID, room.rawValue))
        case .sendBye(_, let room, let leaver):
            self.logger.info("left", metadata: self.metadata(leaver, .roomID, room.rawValue))
        case .ignore(let reason, let sender, _):
            self.countIgnored(reason.rawValue, peer: sender)
        case .sendOtherJoined, .sendLeaved, .relay:
            break
        }
    }

    private func metadata(_ peer: PeerID, _ key: LogKey, _ value: String) -> Logger.Metadata {
        .tagged([.peerID: "\(peer)", key: "\(value)"])
    }

    /// 120 random bits in the alphabet of Base64 for URLs (RFC 4648 section 5): not to be guessed, and safe in a query and
    /// a cookie.
    private static func randomID() -> String {
        let alphabet = [UInt8]("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
        let characters = (0..<20).compactMap { _ in alphabet.randomElement() }
        return String(decoding: characters, as: UTF8.self)
    }
}
