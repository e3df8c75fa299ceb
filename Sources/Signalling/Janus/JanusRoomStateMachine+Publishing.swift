// SPDX-License-Identifier: Apache-2.0

internal import Basics

/// Our own media, on the handle that made us a member.
extension JanusRoomStateMachine {
    private static let withdrawalLimit = Duration.milliseconds(500)
    private static let fullWait = Duration.seconds(30)

    /// Lets the session offer.
    mutating func announcePublishing() {
        self.publishing = .announced
        self.emit(.publishPointArrived(Self.publishPoint))
    }

    /// Continues after the session was claimed: steps under way are started again.
    mutating func continuePublishing() {
        guard self.options.sends else { return }
        switch self.publishing {
        case .configured: break
        case .off, .announced, .waiting: self.announcePublishing()
        case .offered, .withdrawing: self.withdraw()
        }
    }

    /// Publishes the session's offer.
    mutating func publish(_ sdp: String) {
        guard self.stage == .joined, let handle else { return }
        let jsep = Self.jsep("offer", sdp)
        self.publishing = .offered
        self.isPublishTrickling = jsep.isTrickling
        let body: [String: JSONValue] = ["request": "publish", "display": .string(self.options.displayName)]
        self.ask(body, handle: handle, description: jsep.json, for: .publish)
    }

    mutating func publishAnswered(_ sdp: String) {
        guard self.publishing == .offered else { return self.ignore("answer to no offer of ours", "") }
        self.publishing = .configured
        self.emit(.answerReceived(from: Self.publishPoint, sdp: sdp))
    }

    /// Ends our publication, to start it again.
    mutating func withdraw() {
        guard self.stage == .joined, let handle else { return }
        self.publishing = .withdrawing
        self.ask(["request": "unpublish"], handle: handle, for: .unpublish)
    }

    /// Our publication is gone.
    ///
    /// The server needs a moment for the old peer connection.
    mutating func withdrawn() {
        guard self.publishing == .withdrawing else { return self.publishHungUp("unpublished") }
        self.publishing = .waiting
        self.actions.append(.startTimer(Self.publishTimer, after: Self.withdrawalLimit))
    }

    /// The server ended our peer connection.
    mutating func publishHungUp(_ reason: String) {
        switch self.publishing {
        case .off, .announced, .withdrawing, .waiting: return
        case .offered, .configured: break
        }
        self.retryPublishing("Janus ended it: \(reason)", after: self.publishWait)
    }

    /// The server does not take what we offer.
    mutating func publishRefused(_ failure: JanusMessage.Failure) {
        guard self.publishing == .offered else { return }
        let reason = "\(failure.reason) (\(failure.code))"
        switch failure.code {
        case 432 where !self.options.policy.waitsWhenFull:
            let (server, room) = (self.address.serverAddress, self.address.room)
            let message = "Room \(room) of Janus at \(server) has as many publishers as it takes."
            self.leave(because: self.error(.full, message, .peer))
        case 432: self.retryPublishing(reason, after: self.options.policy.fullWait ?? Self.fullWait)
        case 434:
            self.emit(.publishPointRefused(Self.publishPoint, reason: reason))
            self.withdraw()
        default: self.retryPublishing(reason, after: self.publishWait)
        }
    }

    /// 2 s, then twice as long each time, up to a minute.
    private var publishWait: Duration { .seconds(min(60, 2 << min(self.publishFailures, 5))) }

    private mutating func retryPublishing(_ reason: String, after wait: Duration) {
        self.publishFailures += 1
        self.publishing = .waiting
        self.emit(.publishPointRefused(Self.publishPoint, reason: reason))
        self.actions.append(.startTimer(Self.publishTimer, after: wait, isSpread: true))
    }

    /// Ends the run with an error, and our membership with it.
    private mutating func leave(because error: SignallingError) {
        if let session {
            let members: [String: JSONValue] = ["janus": "destroy", "transaction": "leave"]
            self.actions += self.link.send(members, session: session, handle: nil, isLast: true)
        }
        self.forgetSession()
        self.finish(error)
    }
}
