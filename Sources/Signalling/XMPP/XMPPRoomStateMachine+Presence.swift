// SPDX-License-Identifier: Apache-2.0

/// Presence of others, and requests to see ours.
extension XMPPRoomStateMachine {
    private static let absencePrefix = "absent "

    static func absenceTimer(_ peer: PeerID) -> SignallingTimer {
        SignallingTimer(rawValue: Self.absencePrefix + peer.rawValue)
    }

    mutating func presenceReceived(_ stanza: XMPPStanza) -> [SignallingAction] {
        guard let from = stanza.from, from.bare != self.address.account.bare else { return [] }
        switch stanza.type {
        case nil: return self.cameOnline(from)
        case "unavailable": return self.wentOffline(from)
        case "subscribe":
            guard self.isAllowed(from) else {
                return [.ignored("An account that may not call us wants to see us: ignored", "\(from)")]
            }
            // Callers have us in their contact list, and call the client that they see there.
            return [.sendXMPP(XMPPStanza(.presence, type: "subscribed", to: from.account))]
        case .some: return []
        }
    }

    private mutating func cameOnline(_ jid: JID) -> [SignallingAction] {
        var actions: [SignallingAction] = []
        for (peer, call) in self.calls where call.jid == jid {
            self.calls[peer]?.isPresent = true
            actions.append(.cancelTimer(Self.absenceTimer(peer)))
        }
        guard self.address.isCaller, jid.bare == self.address.peer?.bare, jid.resource != nil else { return actions }
        // It came, after it was gone: it may be called again.
        if self.clients.isEmpty, !self.wantsCall, self.hasSeenPeerLeave {
            self.wantsCall = true
            self.hasSeenPeerLeave = false
        }
        if self.clients.count < Self.maximumClients { self.clients.insert(jid) }
        return actions + self.callIfWanted()
    }

    private mutating func wentOffline(_ jid: JID) -> [SignallingAction] {
        if self.clients.remove(jid) != nil, self.clients.isEmpty { self.hasSeenPeerLeave = true }
        let gone = self.calls.filter { $0.value.jid == jid || (jid.resource == nil && $0.value.jid.bare == jid.bare) }
        return gone.keys.flatMap { self.startAbsence($0) }
    }

    /// The other side of a call cannot be reached: its media may live on, so it has some time.
    mutating func startAbsence(_ peer: PeerID) -> [SignallingAction] {
        guard self.calls[peer]?.isPresent == true else { return [] }
        self.calls[peer]?.isPresent = false
        return [.startTimer(Self.absenceTimer(peer), after: Self.absenceLimit)]
    }

    mutating func absenceEnded(_ timer: SignallingTimer) -> [SignallingAction] {
        guard timer.rawValue.hasPrefix(Self.absencePrefix) else { return [] }
        let peer = PeerID(String(timer.rawValue.dropFirst(Self.absencePrefix.count)))
        guard let call = self.calls[peer], !call.isPresent else { return [] }
        let actions = self.forget(peer)
        // Another client of the called account may have come in between: its call had to wait for the end of this one.
        guard call.jid.bare == self.address.peer?.bare, !self.clients.isEmpty else { return actions }
        return actions + self.callIfWanted()
    }
}
