// SPDX-License-Identifier: Apache-2.0

import Basics
import NIOCore
import NIOWebSocket
import Signalling

/// One SkyRTC client on its WebSocket.
///
/// Lives on the server's event loop and is used only there. A client that says nothing is pinged, and dropped when it does
/// not answer; one that never joins is dropped too.
final class SkyRTCSession: RoomMember, WebSocketOwner {
    let socketID: PeerID
    let dialect = RoomDialect.skyRTC

    private unowned let hub: RoomServerHub
    private var connection: SkyRTCServerConnection
    private var webSocket: WebSocketHandler?
    private var joinTimer: Scheduled<Void>?
    private var pingTimer: Scheduled<Void>?

    /// A client whose WebSocket has just opened.
    init(socketID: PeerID, webSocket: WebSocketHandler, hub: RoomServerHub) {
        self.socketID = socketID
        self.connection = SkyRTCServerConnection(socketID: socketID)
        self.webSocket = webSocket
        self.hub = hub
    }

    /// Begins to watch the client.
    func start() {
        defer { self.hub.drain() }
        self.hub.enqueue(.socketOpened(self))
        self.joinTimer = self.hub.schedule(after: RoomServerConfiguration.connectTimeout) { [weak self] in
            self?.joinTimerFired()
        }
        self.watch()
    }

    func tell(_ directive: RoomDirective, data: JSONValue?) {
        self.run(self.connection.told(directive, data: data))
    }

    /// Ends the session because the server stops.
    func close() {
        self.end(.goingAway)
    }

    func frameReceived(_ frame: WebSocketMessage, on handler: WebSocketHandler) {
        defer { self.hub.drain() }
        self.watch()
        self.run(self.connection.received(frame))
    }

    func pongReceived() {
        self.watch()
    }

    func webSocketClosed(_ handler: WebSocketHandler) {
        self.end(.normalClosure)
    }

    private func run(_ actions: [SkyRTCServerConnection.Action]) {
        for action in actions {
            switch action {
            case .send(let message):
                guard let webSocket = self.webSocket else { return }
                guard webSocket.isWritable else { return self.end(.policyViolation) }
                webSocket.send(message)
            case .request(let request): self.hub.enqueue(.requestReceived(self.socketID, request))
            case .closeFull: self.end(.unknown(Self.tryAgainLater))
            case .ignore(let reason): self.hub.countIgnored(reason.rawValue, peer: self.socketID)
            }
        }
    }

    /// Waits for a sign of life; asks for one first.
    private func watch() {
        self.pingTimer?.cancel()
        let configuration = self.hub.configuration
        self.pingTimer = self.hub.schedule(after: configuration.pingInterval) { [weak self] in
            guard let self, let webSocket = self.webSocket else { return }
            webSocket.ping()
            self.pingTimer = self.hub.schedule(after: configuration.pingTimeout) { [weak self] in
                self?.end(.policyViolation)
            }
        }
    }

    private func joinTimerFired() {
        if !self.connection.hasJoined { self.end(.policyViolation) }
    }

    private func end(_ code: WebSocketErrorCode) {
        guard let webSocket = self.webSocket else { return }
        defer { self.hub.drain() }
        self.webSocket = nil
        self.joinTimer?.cancel()
        self.pingTimer?.cancel()
        self.connection.ended()
        webSocket.close(code)
        self.hub.enqueue(.socketClosed(self.socketID))
        self.hub.sessionEnded(self)
    }

    /// "Try again later", in the registry of RFC 6455 section 11.7.
    private static let tryAgainLater: UInt16 = 1013
}
