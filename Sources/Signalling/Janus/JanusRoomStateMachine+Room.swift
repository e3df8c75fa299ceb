// SPDX-License-Identifier: Apache-2.0

internal import Basics

/// Answers and events of the plugin.
extension JanusRoomStateMachine {
    /// The plugin answers, or reports on the room.
    mutating func eventReceived(_ message: JanusMessage, _ purpose: Purpose?) {
        if let failure = message.failure { return self.refused(failure, purpose) }
        guard let data = message.data else { return self.ignore("event without content", "") }
        if message.sender == nil || message.sender == self.handle {
            self.roomEventReceived(data, message.description)
        } else if let peer = self.peer(of: message.sender) {
            self.feedEventReceived(peer, data, message.description)
        } else {
            self.ignore("event of a handle that is not ours any more", data["videoroom"]?.string ?? "")
        }
    }

    private mutating func roomEventReceived(_ data: JSONValue, _ description: JanusMessage.Description?) {
        switch data["videoroom"]?.string {
        case "joined": self.joined(data)
        case "participants": self.listed(data)
        case "destroyed":
            self.forgetMembership()
            let room = self.address.room
            self.fail(.unreachable, "Room \(room) of Janus at \(self.address.serverAddress) was destroyed.", .peer)
        case "event": self.changed(data, description)
        case "talking", "stopped-talking", "slow_link": break
        default: self.ignore("unknown event", data["videoroom"]?.string ?? "")
        }
    }

    private mutating func joined(_ data: JSONValue) {
        guard self.stage == .joining, let id = JanusID(data["id"]) else { return self.ignore("joined", "unasked") }
        self.privateID = data["private_id"]
        self.enter(id)
        let publishers = (data["publishers"]?.array ?? []).compactMap { JanusPublisher($0) }
        // Subscriptions of a session before are gone with it.
        for peer in self.feeds.keys { self.feeds[peer]?.phase = .waiting }
        self.dropFeeds { id in !publishers.contains { $0.id == id } }
        for publisher in publishers { self.publisherAppeared(publisher) }
        if self.options.sends { self.announcePublishing() }
    }

    /// Takes the list of participants, after a time without events.
    private mutating func listed(_ data: JSONValue) {
        guard self.stage == .joined, let members = data["participants"]?.array else { return }
        let publishers = members.filter { $0["publisher"]?.bool == true }.compactMap { JanusPublisher($0) }
        self.dropFeeds { id in !publishers.contains { $0.id == id } }
        for publisher in publishers { self.publisherAppeared(publisher) }
    }

    private mutating func changed(_ data: JSONValue, _ description: JanusMessage.Description?) {
        guard self.stage == .joined else { return }
        if let description {
            guard !description.isOffer else { return self.ignore("offer for what we publish", "") }
            self.publishAnswered(description.sdp)
        }
        for value in data["publishers"]?.array ?? [] {
            guard let publisher = JanusPublisher(value) else { continue }
            self.publisherAppeared(publisher)
        }
        for key in ["unpublished", "leaving", "kicked"] {
            guard let value = data[key] else { continue }
            if value.string == "ok", self.feeds[PeerID("ok")] == nil {
                self.weAre(gone: key, data["reason"]?.string)
            } else if let id = JanusID(value) {
                if id == self.ownID, key == "kicked" { self.kicked() } else { self.publisherLeft(id) }
            }
        }
        if let id = JanusID(data["id"]), let name = data["display"]?.string, self.feeds[id.peer] != nil {
            self.emit(.peerNamed(id.peer, name))
        }
    }

    /// Something of ours ended, because we asked for it or not.
    private mutating func weAre(gone key: String, _ reason: String?) {
        switch key {
        case "unpublished": self.withdrawn()
        case "leaving" where reason == "kicked": self.kicked()
        case "leaving":
            self.forgetMembership()
            self.fail(.unreachable, "Janus at \(self.address.serverAddress) ended our membership.", .peer)
        default: self.kicked()
        }
    }

    private mutating func kicked() {
        self.emit(.removed)
        if let session {
            let members: [String: JSONValue] = ["janus": "destroy", "transaction": "kicked"]
            self.actions += self.link.send(members, session: session, handle: nil, isLast: true)
        }
        self.forgetSession()
        let (server, room) = (self.address.serverAddress, self.address.room)
        self.finish(self.error(.removed, "Janus at \(server) kicked us from room \(room).", .peer))
    }

    /// The session stays without use: the next attempt makes another and destroys this one.
    private mutating func forgetMembership() {
        let session = self.session
        self.forgetSession()
        self.abandoned = session
        if let session { self.actions.append(.note(String(session))) }
    }

    /// The server trickles a candidate.
    mutating func trickleReceived(_ message: JanusMessage) {
        guard self.stage == .joined else { return }
        guard let peer = message.sender == self.handle ? Self.publishPoint : self.peer(of: message.sender) else {
            return self.ignore("candidate of a handle that is not ours any more", "")
        }
        do throws(PeerMessage.ReadingError) {
            switch try PeerMessage.candidate(message.raw) {
            case .candidate(let candidate): self.emit(.candidateReceived(from: peer, candidate))
            case .endOfCandidates: self.emit(.endOfCandidatesReceived(from: peer))
            case .offer, .answer: break
            }
        } catch {
            self.ignore("candidate that is none", "\(error)")
        }
    }

    /// ICE and DTLS of a handle are up: no more candidates are needed.
    mutating func connectionCameUp(_ sender: Int?) {
        guard self.stage == .joined, let sender else { return }
        if sender == self.handle {
            self.publishFailures = 0
            if self.isPublishTrickling { self.endTrickling(sender) }
            self.isPublishTrickling = false
        } else if let peer = self.peer(of: sender) {
            if self.feeds[peer]?.isTrickling == true { self.endTrickling(sender) }
            self.feeds[peer]?.isTrickling = false
            self.feeds[peer]?.failures = 0
        }
    }

    private mutating func endTrickling(_ handle: Int) {
        self.send("trickle", ["candidate": .object(["completed": .bool(true)])], handle: handle)
    }

    /// The peer connection of a handle is gone.
    mutating func hungUp(_ sender: Int?, _ reason: String) {
        guard self.stage == .joined else { return }
        if sender == self.handle {
            self.publishHungUp(reason)
        } else if let peer = self.peer(of: sender) {
            self.subscribeLater(peer)
        }
    }

    /// A handle is gone.
    mutating func detached(_ sender: Int?) {
        if sender == self.handle, self.stage == .joined || self.stage == .joining {
            self.forgetMembership()
            self.fail(.unreachable, "Janus at \(self.address.serverAddress) dropped us from the room.", .peer)
        } else if let peer = self.peer(of: sender) {
            self.feeds[peer]?.phase = .waiting
            self.subscribeLater(peer)
        }
    }

    /// Trickles one of our candidates.
    mutating func trickle(_ peer: PeerID, _ candidate: ICECandidate) {
        guard self.stage == .joined else { return }
        guard let handle = peer == Self.publishPoint ? self.handle : self.feeds[peer]?.handle else { return }
        let index = candidate.mLineIndex ?? 0
        let members: [String: JSONValue] = [
            "candidate": .string(candidate.line), "sdpMLineIndex": .integer(index),
            "sdpMid": .string(candidate.mid ?? String(index)),
        ]
        self.send("trickle", ["candidate": .object(members)], handle: handle)
    }

    /// A description of ours, as it travels; one with all candidates says so.
    static func jsep(_ type: String, _ sdp: String) -> (json: JSONValue, isTrickling: Bool) {
        let isComplete = sdp.contains("a=end-of-candidates")
        var members: [String: JSONValue] = ["type": .string(type), "sdp": .string(sdp)]
        if isComplete { members["trickle"] = .bool(false) }
        return (.object(members), !isComplete)
    }
}
