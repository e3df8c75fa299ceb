// SPDX-License-Identifier: Apache-2.0

import Signalling

/// The place where the server takes our media: a call that is only ours, with nobody behind it.
extension RoomCalls {
    private static let nothingToSend = "we have nothing to send: give a camera or a microphone"

    /// The server takes our media here, perhaps again.
    ///
    /// One that comes because we asked for a reset keeps its failures.
    mutating func publishPointArrived(_ peer: PeerID) {
        guard peer != self.ownID else { return self.ignore(.echo, peer, "our own arrival") }
        guard self.configuration.sends else {
            return self.emit(.report(.publishingFailed(peer, reason: Self.nothingToSend)))
        }
        guard let call = self.calls[peer] else {
            for other in self.arrivals where self.calls[other]?.isPublishPoint == true {
                self.remove(other, reason: "the server takes our media elsewhere")
            }
            self.keepRecord(of: peer, isPublishPoint: true)
            self.announcePublishPoint(peer)
            return self.open(peer, .offer)
        }
        guard call.isPublishPoint else { return self.ignore(.echo, peer, "a member is no publish point") }
        if call.returnTimer == nil { self.forgetResets(peer) }
        self.update(peer) { _ = $0.held.takeAll() }
        if call.connection != nil {
            self.rebuild(peer, .offer, reason: "the server takes our media anew")
        } else {
            self.end(peer, reason: "")
            self.open(peer, .offer)
        }
    }

    /// Says that there is a publish point, unless the server has yet to take us.
    mutating func announcePublishPoint(_ peer: PeerID) {
        guard !self.isAhead, let call = self.calls[peer], call.isPublishPoint, !call.isAnnounced else { return }
        self.update(peer) { $0.isAnnounced = true }
        self.emit(.report(.publishPointArrived(peer)))
    }

    /// The server does not take our media: no connection until it names the place anew.
    mutating func publishPointRefused(_ peer: PeerID, _ reason: String) {
        guard let call = self.calls[peer], call.isPublishPoint else {
            return self.ignore(.unknownPeer, peer, "refusal")
        }
        self.end(peer, reason: reason)
        self.emit(.report(.publishingFailed(peer, reason: reason)))
    }

    /// Makes the server take our media anew, after a failure that was reported; or lets it be for a while.
    mutating func resetPublishing(_ peer: PeerID, _ call: Call, _ reason: String) {
        guard call.resets < self.configuration.maximumResets else {
            self.update(peer) { $0.phase = .givenUp }
            return self.emit(.report(.publishingFailed(peer, reason: reason)))
        }
        self.countReset(peer)
        self.emit(.report(.callReset(peer, reason: reason)))
        self.askForPublishPoint(peer)
    }

    /// Asks for a publish point in place of one that does not work.
    mutating func askForPublishPoint(_ peer: PeerID) {
        guard self.isJoined else { return }
        self.emit(.send(.resetCall(peer)))
        let timer = self.startTimer(.returning, peer, self.configuration.returnLimit)
        self.update(peer) { $0.returnTimer = timer }
    }

    /// A member goes by a name: one line of it is passed on.
    mutating func peerNamed(_ peer: PeerID, _ name: String) {
        guard peer != self.ownID, let name = Self.displayName(name) else { return }
        self.emit(.report(.peerNamed(peer, name)))
    }

    /// The name as one line of at most 256 bytes; nil if nothing is left of it.
    static func displayName(_ text: String) -> String? {
        var name = ""
        for scalar in text.unicodeScalars.prefix(1024) {
            let isBlank = scalar.value <= 0x20 || (0x7F...0xA0).contains(scalar.value) || scalar.isFormatting
            if isBlank, name.isEmpty || name.hasSuffix(" ") { continue }
            let next = isBlank ? " " : scalar
            guard name.utf8.count + UTF8.width(next) <= 256 else { break }
            name.unicodeScalars.append(next)
        }
        if name.hasSuffix(" ") { name.removeLast() }
        return name.isEmpty ? nil : name
    }
}

extension Unicode.Scalar {
    /// Whether it only changes how other text looks: line ends, directions, private use, nothing at all.
    fileprivate var isFormatting: Bool {
        switch self.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: true
        default: false
        }
    }
}
