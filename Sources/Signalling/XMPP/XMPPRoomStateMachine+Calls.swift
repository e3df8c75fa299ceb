// SPDX-License-Identifier: Apache-2.0

/// Messages from peers, and our messages to them.
extension XMPPRoomStateMachine {
    /// A message came.
    ///
    /// Only allowed callers are listened to; what people and programs write otherwise stays unanswered.
    mutating func messageReceived(_ stanza: XMPPStanza) -> [SignallingAction] {
        guard let from = stanza.from, from.bare != self.address.account.bare || from.resource != nil else { return [] }
        if stanza.type == "error" { return self.returned(from, stanza.condition ?? "no reason") }
        guard stanza.type != "groupchat", stanza.type != "headline", let body = stanza.body else { return [] }
        guard self.isAllowed(from) else {
            return [.ignored("A message of an account that may not call us was ignored", "\(from)")]
        }
        guard !stanza.isDelayed else {
            return [.ignored("A message that was kept while we were away was ignored", "\(from)")]
        }
        do {
            return self.said(try XMPPCallMessage(body: body), by: from)
        } catch {
            switch error {
            case .unrelated: return [.ignored("A message that is not about a call was ignored", "\(from)")]
            case .unreadable(let reason): return [.ignored("A message was ignored: \(reason)", "\(from)")]
            }
        }
    }

    func isAllowed(_ jid: JID) -> Bool {
        jid.bare == self.address.peer?.bare || self.address.callers.contains(jid)
    }

    private mutating func said(_ message: XMPPCallMessage, by from: JID) -> [SignallingAction] {
        let known = self.find(from)
        let peer = known ?? PeerID("\(from)")
        var actions: [SignallingAction] = []
        if known != nil {
            actions = self.heard(peer, from)
        } else if !self.mayOpenCall(for: message) {
            return [.ignored("A call was ignored: there are \(Self.maximumCalls) already", "\(from)")]
        }
        switch message {
        case .room(let room):
            self.open(peer, from)
            return actions + self.leaveRoom(peer) + self.book(peer, room)
        case .bye:
            // One that comes after the end is the echo of ours, and is not answered.
            guard known != nil else { return [] }
            return actions + self.hangUp(peer)
        case .peer(.offer(let sdp), let name):
            if XMPPCallMessage.requiresSDES(sdp) {
                let refusal = SignallingAction.ignored(
                    "An offer was refused: the peer requires SDES, and we speak DTLS-SRTP",
                    "\(from)"
                )
                self.open(peer, from)
                return actions + [refusal] + self.hangUp(peer)
            }
            self.open(peer, from)
            return actions + RoomEvent.said(.offer(sdp: sdp), name: name, by: peer).map(SignallingAction.event)
        case .peer(let content, let name):
            return actions + RoomEvent.said(content, name: name, by: peer).map(SignallingAction.event)
        }
    }

    private func mayOpenCall(for message: XMPPCallMessage) -> Bool {
        switch message {
        case .room, .peer(.offer, _): self.calls.count < Self.maximumCalls
        case .bye, .peer: true
        }
    }

    private mutating func open(_ peer: PeerID, _ jid: JID) {
        guard self.calls[peer] == nil else { return }
        self.calls[peer] = XMPPCall(jid: jid, isOutgoing: false, isAnswered: true)
    }

    /// The call that a message of this client belongs to.
    ///
    /// A peer that was called by account answers as a client. A client that went away may come back under another
    /// resource.
    private func find(_ jid: JID) -> PeerID? {
        if let call = self.calls.first(where: { $0.value.jid == jid }) { return call.key }
        let others = self.calls.filter { $0.value.jid.bare == jid.bare }
        if let called = others.first(where: { $0.value.isOutgoing && $0.value.jid.resource == nil }) {
            return called.key
        }
        let absent = others.filter { !$0.value.isPresent }
        return absent.count == 1 ? absent.first?.key : nil
    }

    /// Notes that the other side of a call is there, under this address.
    private mutating func heard(_ peer: PeerID, _ jid: JID) -> [SignallingAction] {
        guard let call = self.calls[peer] else { return [] }
        self.calls[peer]?.jid = jid
        self.calls[peer]?.isAnswered = true
        self.calls[peer]?.isPresent = true
        var actions: [SignallingAction] = [.cancelTimer(Self.absenceTimer(peer))]
        if call.isOutgoing, !call.isAnswered {
            actions.append(.cancelTimer(Self.ringTimer))
            // This was the call that we wanted.
            self.wantsCall = false
            self.hasSeenPeerLeave = false
        }
        return actions
    }

    /// A message of ours came back: what is in it is ours, and is not read.
    private mutating func returned(_ from: JID, _ condition: String) -> [SignallingAction] {
        guard let (peer, call) = self.calls.first(where: { $0.value.jid == from }) else { return [] }
        guard call.isOutgoing, !call.isAnswered else { return self.startAbsence(peer) }
        self.wantsCall = true
        return [
            .ignored("The one we call cannot be reached: we try again later", "\(from): \(condition)"),
            .cancelTimer(Self.ringTimer),
            .startTimer(Self.callTimer, after: Self.unreachableWait, isSpread: true),
        ] + self.forget(peer)
    }

    // MARK: - Our side

    /// Calls the peer if none of its clients is in a call with us.
    mutating func callIfWanted() -> [SignallingAction] {
        guard self.wantsCall, self.state == .online, let account = self.address.peer,
            !self.calls.values.contains(where: { $0.jid.bare == account.bare }), self.calls.count < Self.maximumCalls
        else { return [] }
        self.wantsCall = false
        // Our call may wait on the server: a client that comes after it has ended is called as one that came back.
        self.hasSeenPeerLeave = self.clients.isEmpty
        let client = self.clients.min { "\($0)" < "\($1)" } ?? account
        let peer = PeerID("\(client)")
        self.calls[peer] = XMPPCall(jid: client, isOutgoing: true, isAnswered: false)
        let actions: [SignallingAction] = [
            .cancelTimer(Self.callTimer), .startTimer(Self.ringTimer, after: Self.ringLimit),
        ]
        // The digits of the known apps: at least 6, at most 10.
        self.seed = self.seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        let room = String(100_000_000 + (self.seed >> 33) % 900_000_000)
        self.calls[peer]?.room = room
        guard let request = self.joinRequest(peer, room) else { return actions + [.event(.peerAwaited(peer))] }
        return actions + [.request(request)]
    }

    /// Our offer, the first one of a call after the room that the other side may book.
    mutating func offer(_ peer: PeerID, _ sdp: String) -> [SignallingAction] {
        guard let call = self.calls[peer] else { return self.say(.offer(sdp: sdp), to: peer) }
        self.calls[peer]?.hasOffered = true
        let begins = call.isOutgoing && !call.hasOffered
        let room = begins ? call.room.map { self.say(.room($0), to: peer) } ?? [] : []
        return room + self.say(.offer(sdp: sdp), to: peer)
    }

    /// Our side of the negotiation, with Tapedeck's name.
    func say(_ content: PeerMessage, to peer: PeerID) -> [SignallingAction] {
        self.say(.peer(content, name: self.displayName), to: peer)
    }

    func say(_ message: XMPPCallMessage, to peer: PeerID) -> [SignallingAction] {
        guard let call = self.calls[peer] else {
            return [.ignored("A message for a call that is over was dropped", peer.rawValue)]
        }
        return [.sendXMPP(XMPPStanza(.message, type: "chat", to: call.jid, body: message.body))]
    }

    /// Ends a call with `bye`, ours or the echo of the other's.
    mutating func hangUp(_ peer: PeerID) -> [SignallingAction] {
        self.say(.bye, to: peer) + self.forget(peer)
    }

    /// Media failed: hangs up; the caller calls again.
    mutating func resetCall(_ peer: PeerID) -> [SignallingAction] {
        guard let call = self.calls[peer] else { return [] }
        let actions = self.hangUp(peer)
        guard call.isOutgoing else { return actions }
        self.wantsCall = true
        return actions + [.startTimer(Self.callTimer, after: Self.resetWait)]
    }

    mutating func nobodyAnswered() -> [SignallingAction] {
        guard let (peer, call) = self.calls.first(where: { $0.value.isOutgoing && !$0.value.isAnswered }) else {
            return []
        }
        // A client may have come while it rang elsewhere.
        return [.ignored("No one took our call: we hung up", "\(call.jid)")] + self.hangUp(peer) + self.callIfWanted()
    }

    /// Ends a call without a word.
    mutating func forget(_ peer: PeerID) -> [SignallingAction] {
        let booking = self.leaveRoom(peer)
        guard let call = self.calls.removeValue(forKey: peer) else { return [] }
        let timers: [SignallingAction] =
            [.cancelTimer(Self.absenceTimer(peer))] + (call.isAnswered ? [] : [.cancelTimer(Self.ringTimer)])
        return timers + [.event(.peerLeft(peer))] + booking
    }
}
