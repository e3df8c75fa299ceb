// SPDX-License-Identifier: Apache-2.0

/// Leaving, in the order that the other member's next offer depends on: the room server, `bye`, the
/// WebSocket, and our traces at the collider.
extension AppRTCRoomStateMachine {
    /// Leaves whatever was joined; without anything, it is done.
    mutating func leave(_ purpose: AppRTCLeaving.Purpose) -> [SignallingAction] {
        switch self.state {
        case .idle, .fullWait:
            return [.cancelTimer(Timer.full.name)] + self.end()
        case .joining(let id, _):
            // If the server lets us in, we must leave again.
            self.state = .joining(id, leaves: true)
            return []
        case .ended:
            return []
        case .leaving(var leaving):
            leaving.purpose = purpose
            self.state = .leaving(leaving)
            // The last step is under way: its answer changes nothing.
            if case .removal = leaving.step { return self.finish(leaving) }
            return []
        case .member(let member):
            let socket = Self.socket(member)
            return Self.cancelTimers
                + self.leave(member.membership, purpose, socket: socket, timeout: Self.leaveTimeout)
        }
    }

    /// Takes the first step.
    mutating func leave(
        _ membership: AppRTCMembership,
        _ purpose: AppRTCLeaving.Purpose,
        socket: AppRTCLeaving.Socket,
        timeout: Duration
    ) -> [SignallingAction] {
        let id = self.nextID("leave")
        let url = self.room.url("leave/\(membership.room)/\(membership.client)", keepsQuery: false)
        self.state = .leaving(
            AppRTCLeaving(purpose: purpose, membership: membership, socket: socket, step: .leave(id))
        )
        return [.request(HTTPRequest(id, method: "POST", url: url, body: [], timeout: timeout))]
    }

    /// The room server does not know us any more: there is nothing to leave, and the other member's media may continue.
    mutating func forgotten() -> [SignallingAction] {
        guard case .member(let member) = self.state else { return [] }
        let error = self.error(.unreachable, "The room server at \(self.room.serverAddress) does not know us any more.")
        let leaving = AppRTCLeaving(
            purpose: .failure(error),
            membership: member.membership,
            socket: Self.socket(member)
        )
        return Self.cancelTimers + [.note(nil)] + self.hangUp(leaving)
    }

    private static var cancelTimers: [SignallingAction] { Timer.allCases.map { .cancelTimer($0.name) } }

    private static func socket(_ member: AppRTCMember) -> AppRTCLeaving.Socket {
        switch member.collider {
        case .connecting: .opening
        case .registered: .open
        case .down: .none
        }
    }

    mutating func leavingRequestEnded(
        _ id: HTTPRequest.ID,
        _ result: Result<HTTPAnswer, SignallingError>,
        _ leaving: AppRTCLeaving
    ) -> [SignallingAction] {
        switch leaving.step {
        case .leave(id):
            guard case .success = result else {
                // The note stays: the next attempt, perhaps in another process, leaves first.
                self.abandoned = leaving.membership
                return self.hangUp(leaving)
            }
            self.abandoned = nil
            return [.note(nil)] + self.hangUp(leaving)
        case .bye(id): return self.remove(leaving)
        case .removal(id): return self.finish(leaving)
        case .leave, .bye, .close, .removal: return []
        }
    }

    private mutating func hangUp(_ leaving: AppRTCLeaving) -> [SignallingAction] {
        var leaving = leaving
        let close: [SignallingAction]
        switch leaving.socket {
        case .open:
            leaving.step = .close
            self.state = .leaving(leaving)
            let bye = SignallingAction.sendWebSocket(.text(AppRTCColliderFrame.send(AppRTCMessage.byeText)))
            return (leaving.saysBye ? [bye] : [])
                + [.closeWebSocket, .startTimer(Timer.close.name, after: Self.closeTimeout)]
        case .opening: close = [.closeWebSocket]
        case .none: close = []
        }
        guard leaving.saysBye, let url = leaving.membership.colliderURL else { return close + self.remove(leaving) }
        let id = self.nextID("bye")
        leaving.step = .bye(id)
        self.state = .leaving(leaving)
        let body = Array(AppRTCMessage.byeText.utf8)
        return close + [.request(HTTPRequest(id, method: "POST", url: url, body: body, timeout: Self.closeTimeout))]
    }

    /// The WebSocket is closed, or had its time.
    mutating func socketClosed(_ leaving: AppRTCLeaving) -> [SignallingAction] {
        var leaving = leaving
        leaving.socket = .none
        self.state = .leaving(leaving)
        guard case .close = leaving.step else { return [] }
        return [.cancelTimer(Timer.close.name)] + self.remove(leaving)
    }

    private mutating func remove(_ leaving: AppRTCLeaving) -> [SignallingAction] {
        // Without a URL the collider takes no requests, and forgets us automatically.
        guard let url = leaving.membership.colliderURL else { return self.finish(leaving) }
        let id = self.nextID("removal")
        let request = SignallingAction.request(
            HTTPRequest(id, method: "DELETE", url: url, timeout: Self.removalTimeout)
        )
        // At the end of the run what was sent still goes out.
        if case .end = leaving.purpose { return [request] + self.finish(leaving) }
        var leaving = leaving
        leaving.step = .removal(id)
        self.state = .leaving(leaving)
        return [request]
    }

    private mutating func finish(_ leaving: AppRTCLeaving) -> [SignallingAction] {
        switch leaving.purpose {
        case .end:
            return self.end()
        case .rejoin, .resume:
            return self.join()
        case .yield:
            self.state = .fullWait
            let wait = max(Self.yieldWait, self.policy.fullWait ?? .zero)
            return [.event(.yielded), .startTimer(Timer.full.name, after: wait, isSpread: true)]
        case .failure(let error):
            self.state = .idle
            return [.attemptFailed(error)]
        }
    }
}
