// SPDX-License-Identifier: Apache-2.0

/// One bare TCP peer: the dialling side offers, the listening side answers.
///
/// ```
///          attempt                  connected                   answered, closed
///   idle ───────────► dialling ─────────────────► connected ────────────────────► detached
///     │               │ ▲  ▲                         │   ▲                           │
///     │       refused └─┘  └─────── call reset ──────┼───┼───────────────────────────┘
///     │                                       closed │   │ connected, newest wins
///     │ attempt                  listening           ▼   │
///     └───────────► openingPort ─────────────────► waiting
/// ```
///
/// The protocol knows no leave and no members: a TCP connection that ends says nothing about the call, whose media
/// continue (`detached`, `waiting`). A dialled connection that ends before the answer fails the attempt. `finished` is
/// terminal.
///
/// Wrong inputs: faulty messages of a peer are ignored and reported; events of connections that are gone are harmless
/// races.
///
/// The wire: docs/signalling/lan.md.
public struct LANRoomStateMachine: SignallingMachine {
    /// Limit from our offer to the answer.
    static let answerLimit = Duration.seconds(10)
    /// How often a peer is dialled before the attempt fails: a minute for the person there to press accept.
    static let maximumDials = 15
    private static let firstRedial = Duration.milliseconds(1000)
    private static let longestRedial = Duration.seconds(5)

    static let answerTimer = SignallingTimer(rawValue: "answer")
    static let redialTimer = SignallingTimer(rawValue: "redial")

    private struct Dialling {
        var failures = 0
        var wait = LANRoomStateMachine.firstRedial
    }

    private struct Connection {
        /// How far the call has come on the connection.
        enum Phase {
            case quiet
            case offered
            case answered
        }

        let peer: PeerID
        var framing = LANFraming()
        var phase = Phase.quiet
    }

    private enum State {
        case idle
        case dialling(Dialling)
        case openingPort
        case waiting
        case connected(Connection)
        case detached
        case finished
    }

    private let address: RoomURL.LAN
    /// Whether the policy tries for ever; otherwise a peer that does not accept ends the run.
    private let isPatient: Bool
    private let displayName: String?
    private var state = State.idle
    /// The peer that offered last on the listening port.
    private var caller: PeerID?

    /// A machine before its first attempt.
    ///
    /// - Parameter displayName: The name for the peer; nil for none.
    public init(_ address: RoomURL.LAN, isPatient: Bool, displayName: String? = nil) {
        self.address = address
        self.isPatient = isPatient
        self.displayName = displayName
    }

    /// Takes one thing that happened, and says what to do.
    public mutating func handle(_ input: SignallingInput) -> [SignallingAction] {
        switch input {
        case .attempt: self.attempt()
        case .command(let command): self.command(command)
        case .timerFired(let timer): self.timerFired(timer)
        case .stream(let event): self.streamEvent(event)
        case .webSocket, .answered, .requestFailed, .xmpp: []
        }
    }

    private mutating func attempt() -> [SignallingAction] {
        switch self.state {
        case .finished: return []
        case .idle, .dialling, .openingPort, .waiting, .connected, .detached:
            guard self.address.isListening else { return self.dial() }
            self.state = .openingPort
            return [.openStream(.listen(host: self.address.host, port: self.address.port))]
        }
    }

    private mutating func dial(_ dialling: Dialling = Dialling()) -> [SignallingAction] {
        self.state = .dialling(dialling)
        return [.openStream(.dial(host: self.address.host, port: self.address.port))]
    }

    private mutating func fail(_ error: SignallingError) -> [SignallingAction] {
        self.state = .idle
        return [.attemptFailed(error)]
    }

    // MARK: - Commands

    private mutating func command(_ command: RoomCommand) -> [SignallingAction] {
        switch command {
        case .offer(let peer, let sdp):
            guard var connection = self.connection(with: peer) else { return [self.unsent("offer")] }
            connection.phase = .offered
            self.state = .connected(connection)
            return [
                .sendStream(LANMessage.write(event: "offer", sdp: sdp, name: self.displayName)),
                .startTimer(Self.answerTimer, after: Self.answerLimit),
            ]
        case .answer(let peer, let sdp):
            guard var connection = self.connection(with: peer) else { return [self.unsent("answer")] }
            connection.phase = .answered
            self.state = .connected(connection)
            let message = LANMessage.write(event: "answer", sdp: sdp, name: self.displayName)
            return [.cancelTimer(Self.answerTimer), .sendStream(message)]
        case .candidate(let peer, let candidate):
            // Our descriptions hold the first candidates already, so one that comes too late is no loss.
            guard self.connection(with: peer) != nil, !candidate.line.isEmpty else { return [] }
            return [.sendStream(LANMessage.write(event: "candidate", sdp: candidate.line, candidate: candidate))]
        case .resetCall(let peer): return self.reset(peer)
        case .yield: return []
        case .leave: return self.leave()
        }
    }

    private func connection(with peer: PeerID) -> Connection? {
        guard case .connected(let connection) = self.state, connection.peer == peer else { return nil }
        return connection
    }

    private func unsent(_ what: String) -> SignallingAction {
        .event(.ignored(what: "a description of ours could not be sent: the peer is not connected", detail: what))
    }

    /// Redials, or hangs up to make the peer redial.
    private mutating func reset(_ peer: PeerID) -> [SignallingAction] {
        switch self.state {
        case .idle, .dialling, .openingPort, .waiting, .finished: return []
        case .detached: return self.dial()
        case .connected(let connection):
            guard self.address.isListening else { return [.cancelTimer(Self.answerTimer)] + self.dial() }
            guard connection.peer == peer else { return [] }
            self.state = .waiting
            return [.cancelTimer(Self.answerTimer), .closeStream]
        }
    }

    private mutating func leave() -> [SignallingAction] {
        let isOver = if case .finished = self.state { true } else { false }
        guard !isOver else { return [] }
        self.state = .finished
        return [.closeStream, .event(.left), .finished(nil)]
    }

    // MARK: - Timers

    private mutating func timerFired(_ timer: SignallingTimer) -> [SignallingAction] {
        switch self.state {
        case .dialling(let dialling) where timer == Self.redialTimer:
            return self.dial(dialling)
        case .connected(let connection) where timer == Self.answerTimer && connection.phase == .offered:
            return self.unanswered("did not answer our offer within 10 s", .timedOut)
        case .idle, .dialling, .openingPort, .waiting, .connected, .detached, .finished:
            return []
        }
    }

    /// Our offer came to nothing: a dialled peer is dialled again as the policy says.
    private mutating func unanswered(_ what: String, _ code: SignallingError.Code) -> [SignallingAction] {
        guard !self.address.isListening else {
            self.state = .waiting
            return [.closeStream]
        }
        return self.fail(SignallingError(code, "The peer at \(self.address.serverAddress) \(what).", blame: .peer))
    }

    // MARK: - Stream

    private mutating func streamEvent(_ event: StreamEvent) -> [SignallingAction] {
        switch event {
        case .listening:
            guard case .openingPort = self.state else { return [] }
            self.state = .waiting
            return [.event(.joined(ownID: nil))]
        case .connected(let peer): return self.connected(Self.peerID(peer))
        case .received(let bytes): return self.received(bytes)
        case .disconnected(let error): return self.disconnected(error)
        case .failed(let error): return self.failed(error)
        }
    }

    /// The address of the peer without its port, which differs from connection to connection.
    private static func peerID(_ address: String) -> PeerID {
        guard let colon = address.lastIndex(of: ":") else { return PeerID(address) }
        return PeerID(String(address[..<colon].filter { $0 != "[" && $0 != "]" }))
    }

    private mutating func connected(_ peer: PeerID) -> [SignallingAction] {
        switch self.state {
        case .dialling:
            self.state = .connected(Connection(peer: peer))
            return [.event(.joined(ownID: nil)), .event(.peerArrived(peer))]
        case .waiting:
            self.state = .connected(Connection(peer: peer))
            return []
        case .connected where self.address.isListening:
            self.state = .connected(Connection(peer: peer))
            return [.cancelTimer(Self.answerTimer)]
        case .idle, .openingPort, .connected, .detached, .finished:
            return []
        }
    }

    private mutating func disconnected(_ error: SignallingError?) -> [SignallingAction] {
        guard case .connected(let connection) = self.state else { return [] }
        if self.address.isListening {
            self.state = .waiting
            return [.cancelTimer(Self.answerTimer)]
        }
        guard connection.phase != .answered else {
            self.state = .detached
            return []
        }
        return error.map { self.fail($0) } ?? self.unanswered("hung up before it answered", .unreachable)
    }

    private mutating func failed(_ error: SignallingError) -> [SignallingAction] {
        switch self.state {
        case .dialling(var dialling):
            guard error.code == .timedOut || error.code == .unreachable, error.blame == .network else {
                return self.fail(error)
            }
            dialling.failures += 1
            guard dialling.failures < Self.maximumDials else { return self.notAccepted(error) }
            let wait = dialling.wait
            dialling.wait = min(wait * 3 / 2, Self.longestRedial)
            self.state = .dialling(dialling)
            let timer = SignallingAction.startTimer(Self.redialTimer, after: wait, isSpread: true)
            guard dialling.failures == 1 else { return [timer] }
            let reason = "\(error.message) Dialling continues until a peer accepts there."
            return [.event(.joinFailed(reason: reason)), timer]
        case .openingPort, .waiting, .connected, .detached: return self.fail(error)
        case .idle, .finished: return []
        }
    }

    private mutating func notAccepted(_ error: SignallingError) -> [SignallingAction] {
        var error = error
        error.message = "No peer accepted the call after \(Self.maximumDials) tries. \(error.message)"
        guard !self.isPatient else { return self.fail(error) }
        self.state = .finished
        return [.finished(error)]
    }

    private mutating func received(_ bytes: [UInt8]) -> [SignallingAction] {
        guard case .connected(var connection) = self.state else { return [] }
        let (messages, violation) = connection.framing.append(bytes)
        var actions: [SignallingAction] = []
        var ignored: (what: LANMessage.ReadingError, first: [UInt8], count: Int)?
        for message in messages {
            do throws(LANMessage.ReadingError) {
                actions += self.message(try LANMessage.read(message), &connection)
            } catch {
                ignored = (ignored?.what ?? error, ignored?.first ?? message, (ignored?.count ?? 0) + 1)
            }
        }
        self.state = .connected(connection)
        if let ignored {
            // One for the whole read, so that a peer cannot fill the session's queue with them.
            let excerpt = String(decoding: ignored.first.prefix(80), as: UTF8.self)
            let detail = ignored.count == 1 ? excerpt : "\(excerpt) (and \(ignored.count - 1) more)"
            actions.append(.event(.ignored(what: ignored.what.rawValue, detail: detail)))
        }
        guard let violation else { return actions }
        return actions
            + [.closeStream]
            + self.disconnected(
                SignallingError(
                    .protocolViolation,
                    "The peer at \(self.address.serverAddress) sent \(violation.rawValue).",
                    blame: .peer
                )
            )
    }

    private mutating func message(
        _ message: (content: PeerMessage, name: String?),
        _ connection: inout Connection
    ) -> [SignallingAction] {
        let peer = connection.peer
        let events = RoomEvent.said(message.content, name: message.name, by: peer).map(SignallingAction.event)
        switch message.content {
        case .offer:
            connection.phase = .quiet
            var actions: [SignallingAction] = [.cancelTimer(Self.answerTimer)]
            // The port takes one call: another caller's offer ends the one before.
            if let caller, caller != peer { actions.append(.event(.peerLeft(caller))) }
            self.caller = peer
            return actions + events
        case .answer:
            if connection.phase == .offered { connection.phase = .answered }
            return [.cancelTimer(Self.answerTimer)] + events
        case .candidate, .endOfCandidates: return events
        }
    }
}
