// SPDX-License-Identifier: Apache-2.0

import SDP

/// A description of a peer, read once, and which peer connection wrote it.
struct PeerDescription: Equatable, Sendable {
    let content: SessionDescription
    let identity: DescriptionIdentity

    init(_ content: SessionDescription) {
        self.content = content
        self.identity = DescriptionIdentity(content)
    }
}
