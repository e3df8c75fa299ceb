// SPDX-License-Identifier: Apache-2.0

internal import Basics

/// The publishers of the room, each received on a separate handle.
extension JanusRoomStateMachine {
    /// Feeds in an order that does not change from run to run.
    var feedsInOrder: [(PeerID, JanusFeed)] {
        self.feeds.sorted { $0.value.serial < $1.value.serial }.map { ($0.key, $0.value) }
    }

    /// The publisher to which a handle belongs.
    func peer(of handle: Int?) -> PeerID? {
        guard let handle else { return nil }
        return self.feeds.first { $0.value.handle == handle }?.key
    }

    /// A participant publishes, or publishes something else.
    mutating func publisherAppeared(_ publisher: JanusPublisher) {
        let peer = publisher.id.peer
        guard self.options.receives, publisher.id != self.ownID, peer != Self.publishPoint else { return }
        if let name = publisher.name { self.emit(.peerNamed(peer, name)) }
        if let feed = self.feeds[peer] {
            if feed.phase == .waiting {
                self.feeds[peer]?.mids = publisher.mids ?? feed.mids
                self.subscribeAnew(peer)
            } else if let mids = publisher.mids {
                self.subscribe(peer, to: mids)
            }
            return
        }
        if let mids = publisher.mids, mids.isEmpty {
            return self.ignore("publisher without audio and video", peer.rawValue)
        }
        guard self.feeds.count < Self.maximumFeeds else {
            return self.ignore("more publishers than we take", peer.rawValue)
        }
        self.feeds[peer] = JanusFeed(id: publisher.id, mids: publisher.mids ?? [])
        self.attachFeed(peer)
    }

    /// A publisher stopped, or is gone.
    mutating func publisherLeft(_ id: JanusID) {
        guard let feed = self.feeds.removeValue(forKey: id.peer) else { return }
        if let handle = feed.handle { self.send("detach", handle: handle) }
        self.emit(.peerLeft(id.peer))
    }

    /// Forgets publishers that are gone, with what the server has forgotten too.
    mutating func dropFeeds(where isGone: (JanusID) -> Bool) {
        for (_, feed) in self.feedsInOrder where isGone(feed.id) { self.publisherLeft(feed.id) }
    }

    /// Begins a subscription once more, from a new handle.
    mutating func subscribeAnew(_ peer: PeerID) {
        guard self.stage == .joined, let feed = self.feeds[peer] else { return }
        if let handle = feed.handle { self.send("detach", handle: handle) }
        self.attachFeed(peer)
    }

    /// Begins a subscription once more after a while.
    mutating func subscribeLater(_ peer: PeerID) {
        guard let feed = self.feeds[peer] else { return }
        if let handle = feed.handle { self.send("detach", handle: handle) }
        self.feeds[peer]?.failures += 1
        self.feeds[peer]?.phase = .waiting
        if let wait = self.feeds[peer]?.wait { self.startFeedTimer(peer, after: wait) }
    }

    private mutating func attachFeed(_ peer: PeerID) {
        self.feedCount += 1
        let serial = self.feedCount
        self.feeds[peer]?.serial = serial
        self.feeds[peer]?.phase = .attaching
        self.send("attach", ["plugin": .string(Self.plugin)], for: .attachFeed(peer, serial: serial))
    }

    mutating func feedAttached(_ peer: PeerID, serial: Int, handle: Int) {
        guard self.stage == .joined, let feed = self.feeds[peer], feed.serial == serial, feed.phase == .attaching else {
            return self.send("detach", handle: handle)
        }
        self.feeds[peer]?.phase = .subscribing(handle: handle)
        var body = self.roomMembers
        body["request"] = "join"
        body["ptype"] = "subscriber"
        body["streams"] = .array(Self.streams(of: feed.id, feed.mids))
        // Servers before 1.0 know no streams.
        body["feed"] = feed.id.json
        if let privateID { body["private_id"] = privateID }
        self.ask(body, handle: handle, for: .subscribe(peer, serial: serial))
    }

    /// The publisher has these m-lines now: takes those that are new.
    private mutating func subscribe(_ peer: PeerID, to mids: Set<String>) {
        guard let feed = self.feeds[peer], let handle = feed.handle else {
            self.feeds[peer]?.mids = mids
            return
        }
        let known = feed.mids.isEmpty ? feed.offeredMids : feed.mids
        let new = known.isEmpty ? [] : mids.subtracting(known)
        if feed.mids.isEmpty { self.feeds[peer]?.offeredMids.formUnion(new) } else { self.feeds[peer]?.mids = mids }
        guard !new.isEmpty else { return }
        self.ask(["request": "subscribe", "streams": .array(Self.streams(of: feed.id, new))], handle: handle)
    }

    private static func streams(of id: JanusID, _ mids: Set<String>) -> [JSONValue] {
        guard !mids.isEmpty else { return [.object(["feed": id.json])] }
        return mids.sorted().map { .object(["feed": id.json, "mid": .string($0)]) }
    }

    /// The plugin answers on a subscription's handle.
    mutating func feedEventReceived(_ peer: PeerID, _ data: JSONValue, _ description: JanusMessage.Description?) {
        guard self.stage == .joined, let feed = self.feeds[peer], let handle = feed.handle else { return }
        if let description {
            guard description.isOffer else { return self.ignore("answer on a subscription", peer.rawValue) }
            self.feeds[peer]?.phase = .offered(handle: handle)
            if let streams = data["streams"]?.array?.prefix(JanusPublisher.maximumStreams) {
                self.feeds[peer]?.offeredMids = Set(streams.compactMap { $0["feed_mid"]?.string })
            }
            return self.emit(.offerReceived(from: peer, sdp: description.sdp))
        }
        if data["started"]?.string == "ok" { self.feeds[peer]?.phase = .started(handle: handle) }
    }

    /// Answers the offer of a subscription.
    mutating func start(_ peer: PeerID, _ sdp: String) {
        guard self.stage == .joined, let feed = self.feeds[peer] else { return }
        switch feed.phase {
        case .offered(let handle), .started(let handle):
            let jsep = Self.jsep("answer", sdp)
            self.feeds[peer]?.isTrickling = jsep.isTrickling
            self.ask(
                ["request": "start"],
                handle: handle,
                description: jsep.json,
                for: .subscribe(peer, serial: feed.serial)
            )
        case .attaching, .subscribing, .waiting: self.ignore("answer of ours to an older offer", peer.rawValue)
        }
    }

    /// A subscription was refused: its publisher may be gone, or the next try may do.
    mutating func feedRefused(_ peer: PeerID, serial: Int, _ failure: JanusMessage.Failure) {
        guard let feed = self.feeds[peer], feed.serial == serial else { return }
        self.ignore("Janus refuses a subscription", "\(failure.code) \(failure.reason)")
        if failure.code == 428 { return self.publisherLeft(feed.id) }
        self.subscribeLater(peer)
    }
}
