// SPDX-License-Identifier: Apache-2.0

import SDP
import Signalling

/// Recognises our own messages when a server relays them back to us: the only place where that is decided.
///
/// Three rules: what comes under our own name is ours; so is a description with our fingerprint and our username
/// fragment, whatever a server changed in it; and a candidate whose line is one that the call sent.
struct OwnMessages {
    /// Descriptions of ours that are remembered.
    private static let maximumDescriptions = 64

    /// Our own name in the room, where the protocol says it.
    var ownID: PeerID?
    private var descriptions: [DescriptionIdentity] = []

    /// Remembers a description of ours.
    mutating func remember(_ description: SessionDescription) {
        if self.descriptions.count >= Self.maximumDescriptions { self.descriptions.removeFirst() }
        var identity = DescriptionIdentity(description)
        if let before = self.descriptions.last { identity.shareFingerprints(with: before) }
        self.descriptions.append(identity)
    }

    /// Whether the name is ours.
    func isFromUs(_ peer: PeerID) -> Bool { peer == self.ownID }

    /// Whether we wrote the description.
    func contains(_ description: PeerDescription) -> Bool {
        self.descriptions.contains { description.identity.isEcho(of: $0) }
    }

    /// Whether a candidate is one of those that a call sent.
    func contains(_ candidate: ICECandidate, amongSent sent: CandidateQueue) -> Bool {
        sent.candidates.contains { $0.line == candidate.line }
    }
}
