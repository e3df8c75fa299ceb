// SPDX-License-Identifier: Apache-2.0

import SDP
import Session

@testable import Signalling

/// A protocol's machine and a room session wired together, with peer connections that succeed at once.
///
/// The machine's output is kept as it would go out; nothing waits and nothing runs on its own.
struct CallBench<Machine: SignallingMachine> {
    private(set) var machine: Machine
    private let session: SessionBox
    /// Everything the machine sent or asked for, except events, in order.
    private(set) var sent: [SignallingAction] = []
    /// Every event from the machine to the session, in order.
    private(set) var events: [RoomEvent] = []
    /// The session's reports, in order.
    private(set) var facts: [SessionEvent] = []
    /// Live connections by peer.
    private(set) var connections: [PeerID: ConnectionID] = [:]
    /// The role of the connection that each peer had last.
    private(set) var roles: [PeerID: CallRole] = [:]
    /// How many connections were ever opened.
    private(set) var openings = 0
    /// Candidates handed to connections, in order.
    private(set) var candidates: [ICECandidate] = []
    /// Offers and answers of peers handed to connections, in order.
    private(set) var applied: [String] = []
    /// The machine's text of each description, by its parsed value.
    private var texts: [SessionDescription: String] = [:]
    /// Why the attempt or the run ended, if it did.
    private(set) var end: SignallingAction?
    /// Timers of the machine that run.
    private(set) var timers: Set<SignallingTimer> = []
    /// Timers of the session that run, oldest first.
    private var sessionTimers: [TimerID] = []

    /// The session's machine cannot be copied, this bench can: one owner for both.
    private final class SessionBox {
        var machine = RoomSessionStateMachine(configuration: SessionConfiguration())
    }

    init(_ machine: Machine) {
        self.machine = machine
        self.session = SessionBox()
    }

    /// Gives one input to the machine and lets everything follow.
    mutating func feed(_ input: SignallingInput) {
        for action in self.machine.handle(input) { self.perform(action) }
    }

    /// Gives one input to the session, such as the end of a connection.
    mutating func feed(session input: SessionInput) {
        for action in self.session.machine.handle(input) { self.perform(action) }
    }

    /// Lets all timers of the session with this purpose run out.
    mutating func fire(_ purpose: TimerID.Purpose) {
        let due = self.sessionTimers.filter { $0.purpose == purpose }
        self.sessionTimers.removeAll { $0.purpose == purpose }
        for timer in due { self.feed(session: .timerFired(timer)) }
    }

    /// Ends the attempt as the driver does, and begins the next.
    mutating func reconnect(note: String? = nil) {
        guard case .attemptFailed(let error) = self.end else { return }
        self.end = nil
        self.timers = []
        self.feed(session: .room(.signallingLost(reason: error.message)))
        self.feed(.attempt(note: note))
    }

    /// Our description number `index`, of our own session.
    static func ourDescription(_ index: Int) -> String {
        "v=0\r\no=- 42 \(index) IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\n"
            + "m=audio 9 UDP/TLS/RTP/SAVPF 111\r\na=mid:0\r\na=ice-ufrag:ours\r\na=ice-pwd:ourpasswordourpassword\r\n"
            + "a=fingerprint:sha-256 0U:RS\r\na=rtpmap:111 opus/48000/2\r\n"
    }

    private static func described(_ index: Int) -> SessionDescription {
        (try? SessionDescription(parsing: Self.ourDescription(index))) ?? SessionDescription(lines: [], media: [])
    }

    private mutating func perform(_ action: SignallingAction) {
        switch action {
        case .event(let event):
            self.events.append(event)
            switch event {
            case .offerReceived(_, let sdp), .answerReceived(_, let sdp):
                if let description = try? SessionDescription(parsing: sdp) { self.texts[description] = sdp }
            default: break
            }
            self.feed(session: .room(event))
        case .attemptFailed, .finished:
            self.end = self.end ?? action
        case .startTimer(let timer, _, _):
            self.timers.insert(timer)
            self.sent.append(action)
        case .cancelTimer(let timer):
            self.timers.remove(timer)
            self.sent.append(action)
        case .openWebSocket, .sendWebSocket, .closeWebSocket, .request, .openStream, .sendStream, .closeStream,
            .openXMPP, .sendXMPP, .closeXMPP, .note:
            self.sent.append(action)
        }
    }

    private mutating func perform(_ action: SessionAction) {
        switch action {
        case .openConnection(let id, let peer, let role):
            self.connections[peer] = id
            self.roles[peer] = role
            self.openings += 1
        case .createOffer(let id):
            self.feed(session: .connection(id, .offerCreated(Self.described(self.openings))))
        case .applyOffer(let id, let offer):
            self.applied.append(self.texts[offer] ?? offer.text)
            self.feed(session: .connection(id, .answerCreated(Self.described(100 + self.applied.count))))
        case .applyAnswer(_, let answer):
            self.applied.append(self.texts[answer] ?? answer.text)
        case .addCandidate(_, let candidate):
            self.candidates.append(candidate)
        case .closeConnection(let id, _, _):
            self.connections = self.connections.filter { $0.value != id }
            self.feed(session: .connection(id, .closed))
        case .send(let command):
            self.feed(.command(command))
        case .report(let fact):
            self.facts.append(fact)
        case .startTimer(let timer, _):
            self.sessionTimers.append(timer)
        case .cancelTimer(let timer):
            self.sessionTimers.removeAll { $0 == timer }
        case .useICEServers, .finished:
            break
        }
    }
}
