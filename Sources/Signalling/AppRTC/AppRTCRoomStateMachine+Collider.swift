// SPDX-License-Identifier: Apache-2.0

internal import Basics

/// A member's WebSocket, and the servers for ICE that are asked for while it opens.
extension AppRTCRoomStateMachine {
    /// Extra time for TLS and the first handshake, in addition to the limit for connecting.
    static let handshakeLimit = Duration.seconds(5)
    /// For so long the collider keeps a client whose WebSocket is gone; a little less than the 10 s that it says.
    static let resumeLimit = Duration.seconds(9)
    /// Wait before the collider is tried again.
    static let reconnectWait = Duration.milliseconds(500)
    /// A connection that lives so long makes up for all that did not.
    static let stableAfter = Duration.seconds(30)
    /// Most connections in a row that the collider closes before the membership is dropped.
    static let maximumDrops = 5
    /// Limit for all requests for servers together.
    static let serversTimeout = Duration.seconds(5)

    /// We are a member: everything that the call needs begins at once.
    mutating func entered(_ parameters: AppRTCJoinAnswer.Parameters) -> [SignallingAction] {
        var member = AppRTCMember(parameters)
        var actions: [SignallingAction] = [.note(member.membership.note)]
        for notice in parameters.notices { actions.append(Self.ignored("The room server has a notice", notice)) }
        if parameters.unreadableMessages > 0 {
            actions.append(Self.ignored("Stored messages could not be read", "\(parameters.unreadableMessages)"))
        }
        actions.append(self.openCollider(member))
        actions.append(.startTimer(Timer.resume.name, after: self.policy.connectTimeout + Self.handshakeLimit))
        member.serverRequests = self.serverRequests(parameters)
        if let request = member.serverRequests.first {
            actions += [.startTimer(Timer.servers.name, after: Self.serversTimeout), .request(request)]
        }
        self.state = .member(member)
        return actions
    }

    private func openCollider(_ member: AppRTCMember) -> SignallingAction {
        .openWebSocket(WebSocketRequest(url: member.webSocketURL, headers: [HTTPField("Origin", self.room.origin)]))
    }

    mutating func webSocketReported(_ event: WebSocketEvent) -> [SignallingAction] {
        switch self.state {
        case .idle, .joining, .fullWait, .ended:
            return []
        case .leaving(let leaving):
            switch event {
            case .opened, .received: return []
            case .refused, .closed: return self.socketClosed(leaving)
            }
        case .member(let member):
            switch event {
            case .opened: return self.registered(member)
            case .received(let message): return self.frameReceived(message, member)
            case .refused(let status, _):
                return self.colliderLost(
                    self.error(.unreachable, "The collider at \(member.webSocketURL.address) answered with \(status)."),
                    member
                )
            case .closed(let error):
                let message = "The collider at \(member.webSocketURL.address) hung up"
                let complaint = member.complaint.map { ": " + $0 } ?? "."
                return self.colliderLost(error ?? self.error(.unreachable, message + complaint), member)
            }
        }
    }

    private mutating func registered(_ member: AppRTCMember) -> [SignallingAction] {
        guard case .connecting = member.collider else { return [] }
        var member = member
        member.collider = .registered
        member.complaint = nil
        var actions: [SignallingAction] = [
            .sendWebSocket(.text(AppRTCColliderFrame.register(member.membership))),
            .startTimer(Timer.stable.name, after: Self.stableAfter), .cancelTimer(Timer.resume.name),
        ]
        let isFirst = !member.hasRegistered
        member.hasRegistered = true
        if isFirst {
            actions.append(.event(.joined(ownID: PeerID(member.membership.client))))
        } else {
            actions.append(.cancelTimer(Timer.reconnect.name))
        }
        for message in member.unsent { actions.append(.sendWebSocket(.text(AppRTCColliderFrame.send(message)))) }
        member.unsent = []
        self.state = .member(member)
        if isFirst { return actions + self.settle() }
        // The collider accepts every client; whether the room server restarted as well only the room server can say.
        return actions + self.post(AppRTCMessage.probeText)
    }

    private mutating func frameReceived(_ message: WebSocketMessage, _ member: AppRTCMember) -> [SignallingAction] {
        guard case .registered = member.collider else { return [] }
        guard let text = message.text, let frame = AppRTCColliderFrame(parsing: text) else {
            return [Self.ignored("A frame of the collider that cannot be read was ignored", message.text ?? "binary")]
        }
        switch frame {
        case .error(let complaint):
            var member = member
            member.complaint = complaint
            self.state = .member(member)
            return [Self.ignored("The collider complains", complaint)]
        case .message(let value):
            guard let message = AppRTCMessage(value) else {
                return [Self.ignored("A message that is no object was ignored", value.text)]
            }
            guard !member.isSettled else { return self.received(message) }
            guard member.early.count < AppRTCMember.maximumMessages else {
                return [Self.ignored("A message that came too early was dropped")]
            }
            var member = member
            member.early.append(message)
            self.state = .member(member)
            return []
        }
    }

    /// The first connection must succeed; later ones are made again with the same names while the collider knows us.
    private mutating func colliderLost(_ error: SignallingError, _ member: AppRTCMember) -> [SignallingAction] {
        if case .down = member.collider { return [] }
        var member = member
        let wasRegistered = if case .registered = member.collider { true } else { false }
        member.collider = .down
        if wasRegistered { member.drops += 1 }
        self.state = .member(member)
        guard member.hasRegistered, member.drops <= Self.maximumDrops else { return self.leave(.failure(error)) }
        var actions: [SignallingAction] = [.cancelTimer(Timer.stable.name)]
        if wasRegistered {
            actions.append(Self.ignored("The collider hung up, and we register again", error.message))
            actions.append(.startTimer(Timer.resume.name, after: Self.resumeLimit))
        }
        return actions + [.startTimer(Timer.reconnect.name, after: Self.reconnectWait, isSpread: true)]
    }

    mutating func memberTimerFired(_ timer: Timer, _ member: AppRTCMember) -> [SignallingAction] {
        switch timer {
        case .full, .close:
            return []
        case .stable:
            var member = member
            member.drops = 0
            self.state = .member(member)
            return []
        case .reconnect:
            guard case .down = member.collider else { return [] }
            var member = member
            member.collider = .connecting
            self.state = .member(member)
            return [self.openCollider(member)]
        case .resume:
            if case .registered = member.collider { return [] }
            let what = member.hasRegistered ? "did not come back" : "did not answer in time"
            let code: SignallingError.Code = member.hasRegistered ? .unreachable : .timedOut
            let message = "The collider at \(member.webSocketURL.address) \(what)"
            let complaint = member.complaint.map { ": " + $0 } ?? "."
            return self.leave(.failure(self.error(code, message + complaint)))
        case .servers:
            var member = member
            member.serverRequests = []
            self.state = .member(member)
            return self.settle()
        case .post:
            return self.postNext()
        case .renewal:
            return member.isStanding ? self.leave(.rejoin) : []
        }
    }
}

// MARK: - Servers for ICE

extension AppRTCRoomStateMachine {
    /// The requests for servers, to be sent in this order until one answers with servers.
    private mutating func serverRequests(_ parameters: AppRTCJoinAnswer.Parameters) -> [HTTPRequest] {
        var requests: [HTTPRequest] = []
        if let url = parameters.iceServerURL { requests.append(self.serverRequest("POST", url, "Referer")) }
        if let url = parameters.legacyTURNURL {
            requests += [self.serverRequest("GET", url, "Origin"), self.serverRequest("POST", url, "Origin")]
        }
        return requests
    }

    private mutating func serverRequest(_ method: String, _ url: WebURL, _ header: String) -> HTTPRequest {
        HTTPRequest(
            self.nextID("servers"),
            method: method,
            url: url,
            headers: [HTTPField(header, self.room.origin + (header == "Referer" ? "/" : ""))],
            body: method == "POST" ? [] : nil,
            timeout: Self.serversTimeout
        )
    }

    /// A request for servers ended; without them the call may succeed all the same.
    mutating func serversAnswered(
        _ result: Result<HTTPAnswer, SignallingError>,
        _ member: AppRTCMember
    ) -> [SignallingAction] {
        var member = member
        member.serverRequests.removeFirst()
        var found: [ICEServer] = []
        var actions: [SignallingAction] = []
        switch result {
        case .success(let answer):
            found = AppRTCICEServers.read(answer)
            if found.isEmpty {
                actions.append(Self.ignored("A request for TURN servers gave none", "HTTP status \(answer.status)"))
            }
        case .failure(let error):
            actions.append(Self.ignored("A request for TURN servers failed", error.message))
        }
        if !found.isEmpty {
            member.servers += found
            member.serverRequests = []
        }
        self.state = .member(member)
        if let next = member.serverRequests.first { return actions + [.request(next)] }
        return actions + [.cancelTimer(Timer.servers.name)] + self.settle()
    }
}
