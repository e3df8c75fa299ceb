// SPDX-License-Identifier: Apache-2.0

internal import Basics

/// The way into the room, and out of it.
extension JanusRoomStateMachine {
    static let plugin = "janus.plugin.videoroom"

    /// Begins an attempt.
    mutating func begin(_ note: String?) {
        self.resetAttempt()
        if self.session == nil { self.abandoned = note.flatMap { Int($0) } }
        self.actions += self.link.open()
        self.startAnswerTimer()
        if !self.link.isWebSocket { self.opened() }
    }

    /// Messages can be sent from now on.
    mutating func opened() {
        guard self.session != nil else { return self.create() }
        self.stage = .claiming
        self.startAnswerTimer()
        self.send("claim", for: .claim)
    }

    private mutating func create() {
        if let abandoned { self.send("destroy", for: .destroyOld, session: abandoned) }
        self.abandoned = nil
        self.stage = .creating
        self.startAnswerTimer()
        self.send("create", for: .create)
    }

    private mutating func attach() {
        self.stage = .attaching
        self.startAnswerTimer()
        self.send("attach", ["plugin": .string(Self.plugin)], for: .attach)
    }

    private mutating func join(_ handle: Int) {
        self.handle = handle
        self.stage = .joining
        self.startAnswerTimer()
        var body = self.roomMembers
        body["request"] = "join"
        body["ptype"] = "publisher"
        body["display"] = .string(self.options.displayName)
        self.ask(body, handle: handle, for: .join)
    }

    /// Members that every request to join must have.
    var roomMembers: [String: JSONValue] {
        var members = ["room": self.address.roomID.json]
        if let pin = self.options.secret { members["pin"] = .string(pin) }
        if let token = self.address.token { members["token"] = .string(token) }
        return members
    }

    /// The server says that our session, and with it everything we had, is gone.
    mutating func forgetSession() {
        self.session = nil
        self.handle = nil
        self.publishing = .off
        self.actions.append(.note(nil))
    }

    /// A request had its result.
    mutating func succeeded(_ message: JanusMessage, _ purpose: Purpose?) {
        switch purpose {
        case .claim: if self.stage == .claiming { self.claimed() }
        case .create:
            guard self.stage == .creating, let id = message.id else { return self.unexpected("create") }
            self.session = id
            self.actions.append(.note(String(id)))
            self.sessionBegan()
            self.attach()
        case .attach:
            guard self.stage == .attaching, let id = message.id else { return self.unexpected("attach") }
            self.join(id)
        case .attachFeed(let peer, let serial):
            guard let id = message.id else { return self.unexpected("attach") }
            self.feedAttached(peer, serial: serial, handle: id)
        case .list, .join, .publish, .unpublish, .subscribe, nil: self.eventReceived(message, purpose)
        case .keepAlive, .destroyOld: break
        }
    }

    /// The session is ours again: we missed the events of the room in between.
    private mutating func claimed() {
        guard let handle, let ownID, self.hasJoined else {
            // It was lost before the room was joined and is no longer needed.
            self.abandoned = self.session
            self.forgetSession()
            return self.create()
        }
        self.sessionBegan()
        self.enter(ownID)
        var body = self.roomMembers
        body["request"] = "listparticipants"
        self.ask(body, handle: handle, for: .list)
        for (peer, feed) in self.feedsInOrder {
            if case .started = feed.phase { continue }
            self.subscribeAnew(peer)
        }
        self.continuePublishing()
    }

    /// Takes the events of the session from now on, and keeps it.
    private mutating func sessionBegan() {
        if let session { self.actions += self.link.pollAgain(session: session) }
        if self.link.isWebSocket {
            self.actions.append(.startTimer(Self.keepAliveTimer, after: Self.keepAliveInterval))
        }
    }

    /// We are a member.
    mutating func enter(_ ownID: JanusID) {
        self.stage = .joined
        self.hasJoined = true
        self.ownID = ownID
        self.actions.append(.cancelTimer(Self.answerTimer))
        // The limit of a room is one of publishers.
        self.emit(.joined(ownID: ownID.peer, capacity: Self.maximumFeeds + 1))
    }

    /// Sends a keepalive to the server, and checks that it still answers.
    mutating func keepAlive() {
        guard self.session != nil else { return }
        guard !self.isKeepAliveOpen else {
            return self.fail(.timedOut, "Janus at \(self.address.serverAddress) does not answer any more.", .network)
        }
        self.isKeepAliveOpen = true
        self.send("keepalive", for: .keepAlive)
        self.actions.append(.startTimer(Self.keepAliveTimer, after: Self.keepAliveInterval))
    }

    /// Leaves: the end of the session takes our handles, and with them us, out of the room.
    mutating func leave() {
        if let session, self.stage != .idle {
            var members: [String: JSONValue] = ["janus": "destroy", "transaction": "leave"]
            if self.options.seed != 0 {
                members["transaction"] = .string("\(String(self.options.seed, radix: 36))-leave")
            }
            self.actions += self.link.send(members, session: session, handle: nil, isLast: true)
            self.actions.append(.note(nil))
        }
        self.emit(.left)
        self.finish(nil)
    }

    /// A request was refused, by the server or by the plugin.
    mutating func refused(_ failure: JanusMessage.Failure, _ purpose: Purpose?) {
        // After a claim our handle may be gone although the session is not.
        let isGone = failure.code == 458 || (purpose == .list && failure.code == 459)
        switch purpose {
        case .claim:
            self.forgetSession()
            self.create()
        case .create, .attach, .join: self.fail(self.joinError(failure))
        case .publish: self.publishRefused(failure)
        case .unpublish: self.withdrawn()
        case .attachFeed(let peer, let serial), .subscribe(let peer, let serial):
            self.feedRefused(peer, serial: serial, failure)
        case .keepAlive, .list, nil:
            guard isGone else { return self.ignore("Janus refuses a request", "\(failure.code) \(failure.reason)") }
            self.forgetSession()
            self.fail(.unreachable, "Janus at \(self.address.serverAddress) does not know our session any more.", .peer)
        case .destroyOld: break
        }
    }

    /// Why we do not get into the room, in a sentence for a person.
    private func joinError(_ failure: JanusMessage.Failure) -> SignallingError {
        let (server, room) = (self.address.serverAddress, self.address.room)
        switch failure.code {
        case 426 where self.hasJoined:
            return self.error(.unreachable, "Janus at \(server) has no room \(room) any more.", .peer)
        case 426:
            return self.error(.refused, "Janus at \(server) has no room \(room).", .configuration)
        case 433 where self.options.secret == nil:
            let message = "Room \(room) of Janus at \(server) does not take us without its PIN or token."
            return self.error(.refused, message, .configuration)
        case 433:
            let message = "Room \(room) of Janus at \(server) does not take us: the PIN or token is wrong."
            return self.error(.refused, message, .configuration)
        case 403, 405:
            let message = "Janus at \(server) wants a token or an API secret, or another one."
            return self.error(.refused, message, .configuration)
        case 460: return self.error(.refused, "Janus at \(server) has no VideoRoom plugin.", .configuration)
        case 458, 459, 472:
            return self.error(.unreachable, "Janus at \(server) takes no sessions at present.", .peer)
        case 430 where failure.reason.contains("room"):
            let message = "Janus at \(server) wants room ids of the other kind (\(failure.reason)): see the option ids."
            return self.error(.refused, message, .configuration)
        default:
            let message = "Janus at \(server) does not let us into room \(room): \(failure.reason) (\(failure.code))."
            return self.error(.refused, message, .peer)
        }
    }

    private mutating func startAnswerTimer() {
        self.actions.append(.startTimer(Self.answerTimer, after: self.options.policy.connectTimeout))
    }

    private mutating func unexpected(_ what: String) {
        self.ignore("unexpected result", what)
    }
}
