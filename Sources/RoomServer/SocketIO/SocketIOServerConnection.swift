// SPDX-License-Identifier: Apache-2.0

import Basics
import Signalling

/// The server's end of Socket.IO's default namespace in one Engine.IO session.
///
/// ```
/// waiting --start (version 3) or "40"--> connected --"41"--> waiting --time limit--> ended
/// ```
/// Version 3 connects by itself and its socket bears the session's id; version 4 waits for the client's `40` and gives
/// the socket an id of its own. `ended` is terminal.
struct SocketIOServerConnection: ~Copyable {
    private enum State {
        case waiting
        case connected
        case ended
    }

    /// What the driver does, in order.
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
        guard let packet = try? SocketIOPacket(text: text) else { return [.ignore(.unreadablePacket)] }
        guard packet.namespace == "/" else { return self.otherNamespaceReceived(packet) }
        switch packet.kind {
        case .connect: return self.connectReceived()
        case .disconnect: return self.disconnectReceived()
        case .event: return self.eventReceived(packet)
        case .acknowledgement, .error: return [.ignore(.unexpectedPacket)]
        case .binaryEvent, .binaryAcknowledgement: return [.ignore(.binary)]
        }
    }

    /// A binary message came: an attachment of an event that was ignored.
    func binaryReceived() -> [Action] { [.ignore(.binary)] }

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
            return [.ignore(.repeatedConnect)]
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
            return [.ignore(.packetBeforeConnect)]
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
            return [.ignore(.packetBeforeConnect)]
        case .connected:
            guard let event = packet.event else { return [.ignore(.unreadablePacket)] }
            var actions = [Action.deliver(name: event.name, arguments: event.arguments)]
            if let id = packet.acknowledgementID {
                actions.append(.send(SocketIOPacket(.acknowledgement, acknowledgementID: id, data: .array([]))))
            }
            return actions
        case .ended:
            return []
        }
    }

    /// Version 3 clients read a bare string, version 4 clients an object.
    private func otherNamespaceReceived(_ packet: SocketIOPacket) -> [Action] {
        guard packet.kind == .connect else { return [.ignore(.otherNamespace)] }
        let message: JSONValue = "Invalid namespace"
        let data = self.version == .four ? .object(["message": message]) : message
        return [.send(SocketIOPacket(.error, namespace: packet.namespace, data: data)), .ignore(.otherNamespace)]
    }
}
