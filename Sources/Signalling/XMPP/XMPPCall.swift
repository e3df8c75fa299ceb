// SPDX-License-Identifier: Apache-2.0

/// State of one call: a plain record.
struct XMPPCall: Sendable, Hashable {
    /// Where messages go: a client's full address, or the account while no client has answered.
    var jid: JID
    /// Whether we called.
    var isOutgoing: Bool
    /// Whether the other one has said something that belongs to the call.
    var isAnswered: Bool
    /// Whether the client is taken to be online.
    var isPresent = true
    /// Whether our first offer is out.
    var hasOffered = false
    /// The room that the call is booked in.
    var room: String?
    /// Our name in that room, once the room server gave one.
    var roomClient: String?
}
