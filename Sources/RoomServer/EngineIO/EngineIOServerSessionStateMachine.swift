// SPDX-License-Identifier: Apache-2.0

import Signalling

/// One Engine.IO session as the server sees it, versions 3 and 4.
///
/// ```
/// polling --WebSocket with our sid--> probing --"2probe"--> probed --"5"--> webSocket
///    ^                                   |                    |
///    +------- probe closed, wrong packet, or time limit ------+            (a WebSocket-only session begins here)
/// any --close, silence, overlap, overflow, transport gone--> ended (terminal)
/// ```
/// `polling`, `probing` and `probed` share the data of `Polling`. The driver holds the pending poll's connection and the
/// WebSockets; the machine says when to use them. Events in `ended` are harmless races and have no effect.
struct EngineIOServerSessionStateMachine: ~Copyable {
    /// Times and bounds of a session.
    struct Configuration: Hashable, Sendable {
        /// Time between two heartbeats.
        var pingInterval: Duration
        /// How long a heartbeat's answer may take.
        var pingTimeout: Duration
        /// How long a client may take from opening a WebSocket to moving to it.
        ///
        /// The stock server's is 10 s.
        var upgradeTimeout: Duration
        /// Bounds of the queue between two polls.
        var queue: EngineIOSessionQueue.Limits
    }

    /// The machine's timers; starting one that runs replaces it.
    enum Timer: Hashable, Sendable, CaseIterable {
        /// Version 4: the next ping, then its answer. Version 3: silence.
        case heartbeat
        /// The move from polling to a WebSocket.
        case upgrade
    }

    /// Why a session ended.
    enum EndReason: String, Hashable, Sendable, CaseIterable {
        /// The client sent a close packet.
        case closedByClient
        /// The server closes it.
        case closedByServer
        /// The connection under it closed.
        case transportClosed
        /// No heartbeat in time.
        case silent
        /// Two requests of one kind at once.
        case overlappingRequests
        /// A body or frame that is not Engine.IO, or a heartbeat in the wrong direction.
        case unreadable
        /// It did not fetch what the server had for it.
        case slowConsumer
    }

    /// A step for the driver; steps are in order.
    enum Action: Hashable, Sendable {
        /// Answer the pending poll.
        case answerPoll([EngineIOPacket])
        /// Send a frame on the session's WebSocket.
        case sendFrame(EngineIOPacket)
        /// Send a frame on the WebSocket that is being probed.
        case sendProbeFrame(EngineIOPacket)
        /// The WebSocket that was probed is the session's from here on.
        case adoptProbe
        /// Close the WebSocket that was probed.
        case closeProbe
        /// Hand a message to Socket.IO.
        case deliver(EngineIOPacket.Body)
        /// Start or restart a timer.
        case startTimer(Timer, after: Duration)
        /// Stop a timer.
        case cancelTimer(Timer)
        /// Close what is open, stop the timers and forget the session. Always the last action.
        case end(EndReason)
    }

    /// Most packets in the answer to a poll: python-engineio takes no more, and drops the connection for them.
    static let maximumPacketsPerPoll = 16

    private struct Polling {
        var queue: EngineIOSessionQueue
        var isPollPending = false
        var isPostOpen = false
        var upgrade = Upgrade.none
    }

    private enum Upgrade { case none, probing, probed }

    private enum State {
        case polling(Polling)
        case webSocket
        case ended
    }

    private let version: EngineIOVersion
    private let configuration: Configuration
    private var isPongDue = false
    private var state: State

    /// A session that begins on the given transport.
    init(version: EngineIOVersion, transport: EngineIORequest.Transport, configuration: Configuration) {
        self.version = version
        self.configuration = configuration
        switch transport {
        case .polling: self.state = .polling(Polling(queue: EngineIOSessionQueue(limits: configuration.queue)))
        case .webSocket: self.state = .webSocket
        }
    }

    /// The handshake is granted: sends the open packet and starts the heartbeat.
    mutating func start(_ handshake: EngineIOOpenPacket) -> [Action] {
        self.send(EngineIOPacket(.open, handshake.text)) + self.restartHeartbeat()
    }

    /// Sends a packet: at once where there is a way, else with the next poll.
    mutating func send(_ packet: EngineIOPacket) -> [Action] {
        switch self.state {
        case .polling(var polling):
            guard polling.queue.append(packet) else {
                return self.end(.slowConsumer)
            }
            var actions: [Action] = []
            if polling.isPollPending {
                polling.isPollPending = false
                actions = [.answerPoll(polling.queue.remove(first: Self.maximumPacketsPerPoll))]
            }
            self.state = .polling(polling)
            return actions
        case .webSocket:
            return [.sendFrame(packet)]
        case .ended:
            return []
        }
    }

    /// The session's WebSocket holds more unsent bytes than it may.
    mutating func webSocketCongested() -> [Action] { self.end(.slowConsumer) }

    /// The server wants to end the session.
    mutating func close() -> [Action] { self.end(.closedByServer) }

    /// The server cannot read what the client sent.
    mutating func unreadableReceived() -> [Action] { self.end(.unreadable) }

    /// The action for a poll that came.
    enum OnPoll: Hashable, Sendable {
        /// Answer it now.
        case answer([EngineIOPacket])
        /// Keep it: it is the pending poll.
        case hold
        /// Refuse it as overlapping, then run the actions.
        case refuseOverlap([Action])
        /// Refuse it: the session does not poll.
        case refuseTransport
    }

    /// The client polls.
    mutating func pollReceived() -> OnPoll {
        switch self.state {
        case .polling(var polling):
            if polling.isPollPending {
                return .refuseOverlap(self.end(.overlappingRequests))
            }
            let packets = polling.queue.remove(first: Self.maximumPacketsPerPoll)
            let isUpgrading = polling.upgrade == .probed
            polling.isPollPending = packets.isEmpty && !isUpgrading
            self.state = .polling(polling)
            if !packets.isEmpty { return .answer(packets) }
            return isUpgrading ? .answer([EngineIOPacket(.noop)]) : .hold
        case .webSocket:
            return .refuseTransport
        case .ended:
            return .refuseTransport
        }
    }

    /// The connection of the pending poll, or of an open post, closed before its answer.
    mutating func requestAborted() -> [Action] {
        switch self.state {
        case .polling:
            return self.end(.transportClosed)
        case .webSocket:
            // Harmless race: a poll that the upgrade already answered.
            return []
        case .ended:
            return []
        }
    }

    /// The action for a post whose head came.
    enum OnPost: Hashable, Sendable {
        /// Read its body.
        case accept
        /// Refuse it as overlapping, then run the actions.
        case refuseOverlap([Action])
        /// Refuse it: the session does not poll.
        case refuseTransport
    }

    /// The client begins to send.
    mutating func postBegan() -> OnPost {
        switch self.state {
        case .polling(var polling):
            if polling.isPostOpen {
                return .refuseOverlap(self.end(.overlappingRequests))
            }
            polling.isPostOpen = true
            self.state = .polling(polling)
            return .accept
        case .webSocket:
            return .refuseTransport
        case .ended:
            return .refuseTransport
        }
    }

    /// The body of an accepted post is complete; its packets follow as `packetReceived`.
    mutating func postCompleted() {
        switch self.state {
        case .polling(var polling):
            polling.isPostOpen = false
            self.state = .polling(polling)
        case .webSocket, .ended:
            // Harmless race: the client moved, or the session ended, while the post was under way.
            break
        }
    }

    /// The action for a WebSocket that came with this session's id.
    enum OnProbe: Hashable, Sendable {
        /// Keep it next to the polls, then run the actions.
        case accept([Action])
        /// Close it: the session has moved before or is about to.
        case refuse
    }

    /// A WebSocket came with this session's id.
    mutating func probeOpened() -> OnProbe {
        switch self.state {
        case .polling(var polling):
            guard polling.upgrade == .none else {
                return .refuse
            }
            polling.upgrade = .probing
            self.state = .polling(polling)
            return .accept([.startTimer(.upgrade, after: self.configuration.upgradeTimeout)])
        case .webSocket:
            return .refuse
        case .ended:
            return .refuse
        }
    }

    /// A packet came on the WebSocket that is being probed.
    mutating func probeReceived(_ packet: EngineIOPacket) -> [Action] {
        switch self.state {
        case .polling(var polling):
            switch (polling.upgrade, packet.kind, packet.text) {
            case (.probing, .ping, "probe"):
                polling.upgrade = .probed
                var actions = [Action.sendProbeFrame(EngineIOPacket(.pong, "probe"))]
                if polling.isPollPending {
                    polling.isPollPending = false
                    actions.append(.answerPoll([EngineIOPacket(.noop)]))
                }
                self.state = .polling(polling)
                return actions
            case (.probed, .upgrade, _):
                var actions = [Action.cancelTimer(.upgrade)]
                if polling.isPollPending { actions.append(.answerPoll([EngineIOPacket(.noop)])) }
                actions.append(.adoptProbe)
                actions += polling.queue.removeAll().map { .sendFrame($0) }
                self.state = .webSocket
                return actions
            default:
                polling.upgrade = .none
                self.state = .polling(polling)
                return [.cancelTimer(.upgrade), .closeProbe]
            }
        case .webSocket:
            return []
        case .ended:
            return []
        }
    }

    /// The WebSocket that was being probed closed: the session continues polling.
    mutating func probeClosed() -> [Action] {
        switch self.state {
        case .polling(var polling):
            polling.upgrade = .none
            self.state = .polling(polling)
            return [.cancelTimer(.upgrade)]
        case .webSocket:
            return []
        case .ended:
            return []
        }
    }

    /// The session's WebSocket closed.
    mutating func webSocketClosed() -> [Action] { self.end(.transportClosed) }

    /// A packet came on the session's WebSocket or in a post.
    mutating func packetReceived(_ packet: EngineIOPacket) -> [Action] {
        if self.isEnded { return [] }
        switch packet.kind {
        case .message:
            return self.signOfLife() + [.deliver(packet.body)]
        case .ping:
            // In version 4 only the server pings.
            guard self.version == .three else { return self.end(.unreadable) }
            return self.signOfLife() + self.send(EngineIOPacket(.pong, packet.text ?? ""))
        case .pong:
            guard self.version == .four else { return self.signOfLife() }
            guard self.isPongDue else { return [] }
            self.isPongDue = false
            return self.restartHeartbeat()
        case .close:
            return self.end(.closedByClient)
        case .open, .upgrade, .noop:
            return self.signOfLife()
        }
    }

    /// A timer fired.
    mutating func timerFired(_ timer: Timer) -> [Action] {
        if self.isEnded { return [] }
        switch timer {
        case .heartbeat:
            guard self.version == .four, !self.isPongDue else { return self.end(.silent) }
            self.isPongDue = true
            let actions = [Action.startTimer(.heartbeat, after: self.configuration.pingTimeout)]
            return actions + self.send(EngineIOPacket(.ping))
        case .upgrade:
            return self.upgradeTimedOut()
        }
    }

    private mutating func upgradeTimedOut() -> [Action] {
        switch self.state {
        case .polling(var polling):
            let wasUpgrading = polling.upgrade != .none
            polling.upgrade = .none
            self.state = .polling(polling)
            return wasUpgrading ? [.closeProbe] : []
        case .webSocket:
            return []
        case .ended:
            return []
        }
    }

    /// In version 3 every packet counts against silence; in version 4 only the answer to a ping.
    private mutating func signOfLife() -> [Action] {
        self.version == .three ? self.restartHeartbeat() : []
    }

    private mutating func restartHeartbeat() -> [Action] {
        switch self.version {
        case .three:
            [.startTimer(.heartbeat, after: self.configuration.pingInterval + self.configuration.pingTimeout)]
        case .four:
            [.startTimer(.heartbeat, after: self.configuration.pingInterval)]
        }
    }

    private var isEnded: Bool {
        switch self.state {
        case .polling, .webSocket: false
        case .ended: true
        }
    }

    /// Ends the session once; a pending poll learns it by a close packet, or by nothing new if the client wanted it.
    private mutating func end(_ reason: EndReason) -> [Action] {
        switch self.state {
        case .polling(let polling):
            self.state = .ended
            let last = EngineIOPacket(reason == .closedByClient ? .noop : .close)
            return (polling.isPollPending ? [.answerPoll([last])] : []) + [.end(reason)]
        case .webSocket:
            self.state = .ended
            return [.end(reason)]
        case .ended:
            return []
        }
    }
}
