// SPDX-License-Identifier: Apache-2.0

import SDP
import Signalling

/// State that the calls of one session share: limits, our membership, numbers, timers, and pending actions.
struct CallContext {
    /// Fingerprints remembered after they failed.
    private static let maximumRefusals = 64

    let configuration: SessionConfiguration
    /// Whether commands reach the room.
    var isJoined = false
    /// Whether our offer goes out before we are a member, because the server takes us by answering it.
    var isAhead = false
    /// Whether the server of this room admits us by answering at all: there, only we begin calls.
    var isTakenByAnswer = false
    /// Whether the server of this room takes our media at a separate endpoint: a peer that offers there takes none.
    var hasPublishPoint = false
    /// Whether another peer of the room was dropped: it is there all the same.
    var hasOthersGivenUp = false
    /// Messages that we sent.
    var ownMessages = OwnMessages()

    /// Peers of live connections.
    private(set) var owners: [ConnectionID: PeerID] = [:]
    /// Live connections that have no peer at the other end yet.
    private var standing: Set<ConnectionID> = []
    /// Connections that were requested to close and are not closed yet.
    private(set) var closing: Set<ConnectionID> = []
    private var timers: [TimerID: PeerID] = [:]
    private var connectionCount: UInt64 = 0
    private var timerCount: UInt64 = 0
    private var refusals: [(peer: PeerID, fingerprint: String)] = []
    private var actions: [SessionAction] = []

    init(configuration: SessionConfiguration) {
        self.configuration = configuration
    }

    /// Empties the list of actions.
    mutating func takeActions() -> [SessionAction] {
        defer { self.actions = [] }
        return self.actions
    }

    /// Adds one action.
    mutating func emit(_ action: SessionAction) {
        self.actions.append(action)
    }

    /// Reports a fact.
    mutating func report(_ fact: SessionEvent) {
        self.actions.append(.report(fact))
    }

    /// Reports something that had no effect.
    mutating func ignore(_ what: IgnoredInput, _ peer: PeerID?, _ detail: String = "") {
        self.report(.ignored(what, peer: peer, detail: detail))
    }

    // Connections

    /// Opens a connection; `isStanding` means that there is no peer at its other end yet.
    mutating func openConnection(to peer: PeerID, _ role: CallRole, isStanding: Bool) -> ConnectionID {
        self.connectionCount &+= 1
        let id = ConnectionID(self.connectionCount)
        self.owners[id] = peer
        if isStanding { self.standing.insert(id) }
        self.emit(.openConnection(id, peer, role))
        return id
    }

    /// A peer came for a standing offer.
    mutating func noteGreeting(on id: ConnectionID) {
        self.standing.remove(id)
    }

    /// Forgets a connection, and closes it unless it is closed already.
    mutating func endConnection(_ id: ConnectionID, reason: String, isClosed: Bool, when end: ConnectionEnd) {
        self.owners[id] = nil
        self.standing.remove(id)
        guard !isClosed else { return }
        self.closing.insert(id)
        self.emit(.closeConnection(id, reason: reason, when: end))
    }

    /// Notes that a connection that was requested to close is closed.
    mutating func noteClosed(_ id: ConnectionID) {
        self.closing.remove(id)
    }

    /// Whether another peer is in a call with us, or was before we dropped it.
    func hasOtherCalls(than peer: PeerID) -> Bool {
        self.hasOthersGivenUp
            || self.owners.contains { $0.value != peer && !self.standing.contains($0.key) }
    }

    // Refusals

    /// Remembers that the peer could not prove these fingerprints.
    mutating func refuse(_ peer: PeerID, _ fingerprints: Set<String>) {
        for fingerprint in fingerprints {
            if self.refusals.count >= Self.maximumRefusals { self.refusals.removeFirst() }
            self.refusals.append((peer, fingerprint))
        }
    }

    /// Whether the peer could not prove one of these fingerprints before.
    func isRefused(_ peer: PeerID, _ identity: DescriptionIdentity) -> Bool {
        self.refusals.contains { $0.peer == peer && identity.fingerprints.contains($0.fingerprint) }
    }

    // Timers

    /// Starts a timer that belongs to the peer.
    mutating func startTimer(_ purpose: TimerID.Purpose, _ peer: PeerID, _ duration: Duration) -> TimerID {
        let timer = self.makeTimer(purpose, duration)
        self.timers[timer] = peer
        return timer
    }

    /// Starts a timer that belongs to no call.
    mutating func makeTimer(_ purpose: TimerID.Purpose, _ duration: Duration) -> TimerID {
        self.timerCount &+= 1
        let timer = TimerID(purpose: purpose, serial: self.timerCount)
        self.emit(.startTimer(timer, duration))
        return timer
    }

    /// Stops the timer if it runs.
    mutating func cancel(_ timer: TimerID?) {
        guard let timer, self.timers.removeValue(forKey: timer) != nil else { return }
        self.emit(.cancelTimer(timer))
    }

    /// The peer of a timer that fired; nil if the timer is stale.
    mutating func takeTimer(_ timer: TimerID) -> PeerID? {
        self.timers.removeValue(forKey: timer)
    }
}
