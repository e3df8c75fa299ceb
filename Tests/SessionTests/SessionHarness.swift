// SPDX-License-Identifier: Apache-2.0

import SDP
import Session
import Signalling

/// A machine with short words for what goes in and what comes out.
struct SessionHarness: ~Copyable {
    static let peer = PeerID("p")
    static let candidate = ICECandidate(line: "candidate:1 1 udp 1 192.0.2.7 50000 typ host", mLineIndex: 0, mid: "0")
    static let ownCandidate = ICECandidate(line: "candidate:9 1 udp 1 192.0.2.9 5 typ host", mLineIndex: 0, mid: "0")

    static let down = SignallingError(.unreachable, "down", blame: .network)

    var machine: RoomSessionStateMachine
    private(set) var actions: [SessionAction] = []
    /// The run of each timer that was started last.
    private(set) var timers: [TimerID.Purpose: TimerID] = [:]

    init(_ configuration: SessionConfiguration = SessionConfiguration(), _ inputs: [SessionInput] = []) {
        self.machine = RoomSessionStateMachine(configuration: configuration)
        for input in inputs { _ = self.feed(input) }
    }

    /// Feeds one input and returns what came out.
    mutating func feed(_ input: SessionInput) -> [SessionAction] {
        self.actions = self.machine.handle(input)
        for case .startTimer(let timer, _) in self.actions { self.timers[timer.purpose] = timer }
        return self.actions
    }

    /// Feeds room events; returns the words of the last one.
    @discardableResult
    mutating func room(_ event: RoomEvent) -> String { Self.words(self.feed(.room(event))) }

    /// Feeds an event of a connection.
    @discardableResult
    mutating func connection(_ number: UInt64, _ event: ConnectionEvent) -> String {
        Self.words(self.feed(.connection(ConnectionID(number), event)))
    }

    /// Fires the newest timer with this purpose.
    @discardableResult
    mutating func fire(_ purpose: TimerID.Purpose) -> String {
        Self.words(self.feed(.timerFired(self.timers[purpose] ?? TimerID(purpose: purpose, serial: .max))))
    }

    @discardableResult
    mutating func stop() -> String { Self.words(self.feed(.stop)) }

    /// A session description with the lines that matter to the session.
    static func sdp(session: String = "11", version: Int = 2, ufrag: String? = nil, fingerprint: String? = nil)
        -> String
    {
        "v=0\r\no=- \(session) \(version) IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\n"
            + "m=audio 9 UDP/TLS/RTP/SAVPF 111\r\na=ice-ufrag:\(ufrag ?? "u\(session)")\r\n"
            + "a=fingerprint:sha-256 \(fingerprint ?? "AA:\(session)")\r\n"
    }

    /// A text as a description; one that is none becomes a description that says only this.
    static func description(_ text: String) -> SessionDescription {
        (try? SessionDescription(parsing: text)) ?? SessionDescription(lines: [SDPLine("s", text)], media: [])
    }

    /// Actions in words, for comparison.
    static func words(_ actions: [SessionAction]) -> String {
        actions.map(Self.word).joined(separator: ", ")
    }

    private static func word(_ action: SessionAction) -> String {
        switch action {
        case .openConnection(let id, _, let role): "open \(id) \(role)"
        case .createOffer(let id): "createOffer \(id)"
        case .applyOffer(let id, _): "applyOffer \(id)"
        case .applyAnswer(let id, _): "applyAnswer \(id)"
        case .addCandidate(let id, _): "add \(id)"
        case .closeConnection(let id, _, let end): end == .quiet ? "close \(id) when quiet" : "close \(id)"
        case .send(let command): Self.word(command)
        case .useICEServers: "use servers"
        case .startTimer(let timer, _): "start \(timer.purpose)"
        case .cancelTimer(let timer): "cancel \(timer.purpose)"
        case .report(let fact): Self.word(fact)
        case .finished(.stopped): "finished stopped"
        case .finished(.left): "finished left"
        case .finished(.failed): "finished failed"
        }
    }

    private static func word(_ command: RoomCommand) -> String {
        switch command {
        case .offer: "send offer"
        case .answer: "send answer"
        case .candidate: "send candidate"
        case .resetCall: "send reset"
        case .leave: "send leave"
        case .yield: "send yield"
        }
    }

    private static func word(_ fact: SessionEvent) -> String {
        switch fact {
        case .joined: "joined"
        case .roomFull: "full"
        case .joinFailed: "joinFailed"
        case .signallingLost: "lost"
        case .removed: "removed"
        case .yielded: "yielded"
        case .otherRecorderFound: "twin"
        case .peerJoined: "peerJoined"
        case .peerLeft: "peerLeft"
        case .peerNamed(_, let name): "named \(name)"
        case .publishPointArrived: "publishPoint"
        case .publishPointLeft: "publishPointLeft"
        case .publishingFailed: "publishingFailed"
        case .peerConnected: "connected"
        case .peerDisconnected: "disconnected"
        case .peerStale: "stale"
        case .peerRecovered: "recovered"
        case .callRebuilt: "rebuilt"
        case .callFailed: "failed"
        case .callReset: "reset"
        case .peerGivenUp: "givenUp"
        case .peerRefused: "refused"
        case .ignored(let what, _, _): "ignored \(what)"
        }
    }
}

/// Descriptions of ours as texts.
extension ConnectionEvent {
    static func offerCreated(sdp: String) -> ConnectionEvent { .offerCreated(SessionHarness.description(sdp)) }

    static func answerCreated(sdp: String) -> ConnectionEvent { .answerCreated(SessionHarness.description(sdp)) }

    static func offerDeclined(sdp: String, reason: String) -> ConnectionEvent {
        .offerDeclined(SessionHarness.description(sdp), reason: reason)
    }
}
