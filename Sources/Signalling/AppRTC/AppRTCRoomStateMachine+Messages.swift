// SPDX-License-Identifier: Apache-2.0

internal import Basics

/// Messages to and from a member.
extension AppRTCRoomStateMachine {
    /// Waits between the tries to post one message.
    static let postWaits: [Duration] = [.seconds(1), .seconds(2), .seconds(4)]
    /// An offer without an answer is replaced after this long: TURN credentials and the server's memory of us end.
    static let renewalWait = Duration.seconds(3600)
    /// The room's only other place.
    static let peer = PeerID.unidentified

    /// Reports to the session who is there, once we are registered and servers for ICE are known or unobtainable.
    mutating func settle() -> [SignallingAction] {
        guard case .member(var member) = self.state, !member.isSettled, member.hasRegistered,
            member.serverRequests.isEmpty
        else { return [] }
        var actions: [SignallingAction] = []
        if member.servers != self.toldServers {
            self.toldServers = member.servers
            actions.append(.event(.iceServersReceived(member.servers)))
        }
        let early = member.early
        member.early = []
        member.isSettled = true
        self.state = .member(member)
        if member.isInitiator { actions.append(.event(.peerAwaited(Self.peer))) }
        for message in early { actions += self.received(message) }
        return actions
    }

    /// The other member says something.
    mutating func received(_ message: AppRTCMessage) -> [SignallingAction] {
        switch message {
        case .peer(let content, let name):
            let events = RoomEvent.said(content, name: name, by: Self.peer).map(SignallingAction.event)
            return (content.isDescription ? self.answered() : []) + events
        case .removedCandidates: return [Self.ignored("Candidates that were taken back are kept")]
        case .unknown(let reason): return [Self.ignored("A message of an unknown kind was ignored", reason)]
        case .bye: return self.byeReceived()
        }
    }

    /// The other member is there: our offer is no longer open.
    private mutating func answered() -> [SignallingAction] {
        guard case .member(var member) = self.state, member.isStanding else { return [] }
        member.isStanding = false
        self.state = .member(member)
        return [.cancelTimer(Timer.renewal.name)]
    }

    /// The other member left the room server before it said so: we are the first now, and offer to the next.
    private mutating func byeReceived() -> [SignallingAction] {
        guard case .member(var member) = self.state else { return [] }
        member.isInitiator = true
        member.isStanding = false
        member.unsent = []
        member.outbox = Array(member.outbox.prefix(member.posting == nil ? 0 : 1))
        self.state = .member(member)
        return [
            .cancelTimer(Timer.renewal.name), .event(.peerLeft(Self.peer)), .event(.peerAwaited(Self.peer)),
        ]
    }

    mutating func command(_ command: RoomCommand) -> [SignallingAction] {
        switch command {
        case .offer(_, let sdp):
            return self.standing() + self.say(AppRTCMessage.description("offer", sdp, name: self.displayName))
        case .answer(_, let sdp): return self.say(AppRTCMessage.description("answer", sdp, name: self.displayName))
        case .candidate(_, let candidate): return self.say(AppRTCMessage.candidate(candidate))
        case .resetCall:
            guard case .member = self.state else { return [] }
            return self.leave(.rejoin)
        case .yield:
            guard case .member = self.state, self.policy.waitsWhenFull else { return [] }
            return self.leave(.yield)
        case .leave:
            return self.leave(.end)
        }
    }

    private mutating func standing() -> [SignallingAction] {
        guard case .member(var member) = self.state, member.isInitiator else { return [] }
        member.isStanding = true
        self.state = .member(member)
        return [.startTimer(Timer.renewal.name, after: Self.renewalWait, isSpread: true)]
    }

    /// The first member posts, so that nothing is lost before the other one comes; the second one sends.
    private mutating func say(_ message: String) -> [SignallingAction] {
        guard case .member(var member) = self.state else {
            return [Self.ignored("A message for the room was dropped: we are no member")]
        }
        if member.isInitiator { return self.post(message) }
        if case .registered = member.collider {
            return [.sendWebSocket(.text(AppRTCColliderFrame.send(message)))]
        }
        guard member.unsent.count < AppRTCMember.maximumMessages else {
            return [Self.ignored("A message for the room was dropped: the collider is away")]
        }
        member.unsent.append(message)
        self.state = .member(member)
        return []
    }

    /// Puts a message at the end of those that go through the room server, one at a time.
    mutating func post(_ message: String) -> [SignallingAction] {
        guard case .member(var member) = self.state else { return [] }
        guard member.outbox.count < AppRTCMember.maximumMessages else {
            return [Self.ignored("A message for the room was dropped: the room server does not keep up")]
        }
        member.outbox.append(message)
        self.state = .member(member)
        return member.outbox.count == 1 ? self.postNext() : []
    }

    /// Posts the first message of the outbox.
    mutating func postNext() -> [SignallingAction] {
        guard case .member(var member) = self.state, member.posting == nil, let message = member.outbox.first else {
            return []
        }
        let id = self.nextID("message")
        member.posting = id
        self.state = .member(member)
        let (room, client) = (member.membership.room, member.membership.client)
        return [
            .request(
                HTTPRequest(
                    id,
                    method: "POST",
                    url: self.room.url("message/\(room)/\(client)", keepsQuery: true),
                    headers: [HTTPField("Content-Type", "text/plain;charset=UTF-8")],
                    body: Array(message.utf8)
                )
            )
        ]
    }

    mutating func memberRequestEnded(
        _ id: HTTPRequest.ID,
        _ result: Result<HTTPAnswer, SignallingError>,
        _ member: AppRTCMember
    ) -> [SignallingAction] {
        if id == member.serverRequests.first?.id { return self.serversAnswered(result, member) }
        guard id == member.posting else { return [] }
        var member = member
        member.posting = nil
        let failure: SignallingError
        switch result {
        case .failure(let error): failure = error
        case .success(let answer):
            let value = answer.text.flatMap { try? JSONValue(parsing: $0) }
            switch value?["result"]?.string {
            case "UNKNOWN_ROOM", "UNKNOWN_CLIENT":
                self.state = .member(member)
                return self.forgotten()
            case nil where answer.isSuccess, "SUCCESS":
                if !member.outbox.isEmpty { member.outbox.removeFirst() }
                member.failedPosts = 0
                self.state = .member(member)
                return self.postNext()
            case let result:
                let what = result.map { "\"\($0.prefix(64))\"" } ?? "HTTP status \(answer.status)"
                failure = self.error(.unreachable, "The room server answered a message with \(what).")
            }
        }
        let tries = member.failedPosts
        member.failedPosts += 1
        self.state = .member(member)
        guard tries < Self.postWaits.count else { return self.leave(.failure(failure)) }
        return [
            Self.ignored("A message is posted again", failure.message),
            .startTimer(Timer.post.name, after: Self.postWaits[tries], isSpread: true),
        ]
    }
}
