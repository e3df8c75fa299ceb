// SPDX-License-Identifier: Apache-2.0

import Basics
import Signalling

/// The server's end of Socket.IO's default namespace in one Engine.IO session.
///
/// ```
/// waiting --start (version 3) or "40"--> connected --"41"--> waiting --time limit--> ended
/// ```
/// Version 3 connects automatically and its socket bears the session's id; version 4 waits for the client's `40` and
/// gives the socket a separate id. `ended` is terminal. As with the stock servers, a packet that is none, or that does
/// not fit the state, ends a session of version 4 and is passed over in version 3.
struct SocketIOServerConnection: ~Copyable {
    private enum State {
        case waiting
        case connected
        case ended
    }

    /// A step for the driver; steps are in order.
    enum Action: Hashable, Sendable {
        /// Send a packet.
        case send(SocketIOPacket)
        /// The socket exists from here on.
        case socketOpened
        /// The socket is gone; the session may connect another.
        case socketClosed
        /// Hand an event to the rooms.
        case deliver(name: String, arguments: [JSONValue])
        /// Start the limit on waiting for a connect packet.
        case startConnectTimer
        /// Stop it.
        case cancelConnectTimer
        /// End the session.
        case endSession
        /// Count and log, and do nothing else.
        case ignore(Ignored)
    }

    /// Why a packet has no effect.
    enum Ignored: String, Hashable, Sendable, CaseIterable {
        /// Not Socket.IO.
        case unreadablePacket
        /// An event or acknowledgement while no namespace is connected.
        case packetBeforeConnect
        /// A connect packet for a namespace that is connected.
        case repeatedConnect
        /// An acknowledgement, though we never ask for one, or a packet that only servers send.
        case unexpectedPacket
        /// A binary event: the rooms have none.
        case binary
        /// A packet for another namespace than `/`.
        case otherNamespace
    }

    private let version: EngineIOVersion
    private let socketID: PeerID
    private var state = State.waiting
    /// Binary messages that the last packet announced and that have not come.
    private var attachments = 0
    /// The id under which the last packet is acknowledged when they have.
    private var acknowledgementID: Int?

    /// A connection whose socket is to have the given id.
    init(version: EngineIOVersion, socketID: PeerID) {
        self.version = version
        self.socketID = socketID
    }

    /// The session is open.
    mutating func start() -> [Action] {
        switch self.version {
        case .three: self.connect(timerRuns: false)
        case .four: [.startConnectTimer]
        }
    }

    /// A text message came.
    mutating func textReceived(_ text: String) -> [Action] {
        if self.attachments > 0, self.version == .four { return self.refuse(.unreadablePacket) }
        self.acknowledgementID = nil
        self.attachments = 0
        guard let packet = try? SocketIOPacket(text: text) else { return self.refuse(.unreadablePacket) }
        self.attachments = packet.attachments
        guard packet.namespace == "/" else { return self.otherNamespaceReceived(packet) }
        switch packet.kind {
        case .connect: return self.connectReceived()
        case .disconnect: return self.disconnectReceived()
        case .event, .binaryEvent: return self.eventReceived(packet)
        case .acknowledgement, .binaryAcknowledgement: return self.acknowledgementReceived()
        case .error: return self.refuse(.unexpectedPacket)
        }
    }

    /// A binary message came: an attachment of an event that is ignored, acknowledged with the last one.
    ///
    /// One that no packet announced ends the session in both versions.
    mutating func binaryReceived() -> [Action] {
        guard self.attachments > 0 else { return [.ignore(.binary), .endSession] }
        self.attachments -= 1
        guard self.attachments == 0, let id = self.acknowledgementID else { return [.ignore(.binary)] }
        return [.ignore(.binary), Self.acknowledgement(id)]
    }

    /// The limit on waiting for a connect packet has passed.
    mutating func connectTimerFired() -> [Action] {
        switch self.state {
        case .waiting:
            self.state = .ended
            return [.endSession]
        case .connected:
            // Harmless race: the packet came just in time.
            return []
        case .ended:
            return []
        }
    }

    /// The session is over.
    mutating func sessionEnded() -> [Action] {
        switch self.state {
        case .waiting:
            self.state = .ended
            return [.cancelConnectTimer]
        case .connected:
            self.state = .ended
            return [.socketClosed]
        case .ended:
            return []
        }
    }

    private mutating func connectReceived() -> [Action] {
        switch self.state {
        case .waiting:
            return self.connect(timerRuns: true)
        case .connected:
            return self.refuse(.repeatedConnect)
        case .ended:
            return []
        }
    }

    private mutating func connect(timerRuns: Bool) -> [Action] {
        self.state = .connected
        let data: JSONValue? = self.version == .four ? .object(["sid": .string(self.socketID.rawValue)]) : nil
        return (timerRuns ? [.cancelConnectTimer] : []) + [.send(SocketIOPacket(.connect, data: data)), .socketOpened]
    }

    private mutating func disconnectReceived() -> [Action] {
        switch self.state {
        case .waiting:
            return self.refuse(.packetBeforeConnect)
        case .connected:
            self.state = .waiting
            return [.socketClosed, .startConnectTimer]
        case .ended:
            return []
        }
    }

    private mutating func eventReceived(_ packet: SocketIOPacket) -> [Action] {
        switch self.state {
        case .waiting:
            return self.refuse(.packetBeforeConnect)
        case .connected:
            guard let event = packet.event else { return self.refuse(.unreadablePacket) }
            let isBinary = packet.kind == .binaryEvent
            let first = isBinary ? Action.ignore(.binary) : .deliver(name: event.name, arguments: event.arguments)
            self.acknowledgementID = packet.acknowledgementID
            guard packet.attachments == 0, let id = packet.acknowledgementID else { return [first] }
            return [first, Self.acknowledgement(id)]
        case .ended:
            return []
        }
    }

    private static func acknowledgement(_ id: Int) -> Action {
        .send(SocketIOPacket(.acknowledgement, acknowledgementID: id, data: .array([])))
    }

    /// We ask for none.
    private func acknowledgementReceived() -> [Action] {
        switch self.state {
        case .waiting: self.refuse(.packetBeforeConnect)
        case .connected: [.ignore(.unexpectedPacket)]
        case .ended: []
        }
    }

    /// A packet that the stock server of version 4 closes the connection for, and that of version 3 does not look at.
    private func refuse(_ reason: Ignored) -> [Action] {
        switch self.state {
        case .waiting, .connected: [.ignore(reason)] + (self.version == .four ? [.endSession] : [])
        case .ended: []
        }
    }

    /// Version 3 clients read a bare string, version 4 clients an object.
    private func otherNamespaceReceived(_ packet: SocketIOPacket) -> [Action] {
        guard packet.kind == .connect else { return self.refuse(.otherNamespace) }
        let message: JSONValue = "Invalid namespace"
        let data = self.version == .four ? .object(["message": message]) : message
        return [.send(SocketIOPacket(.error, namespace: packet.namespace, data: data)), .ignore(.otherNamespace)]
    }
}
