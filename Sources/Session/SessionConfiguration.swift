// SPDX-License-Identifier: Apache-2.0

public import SDP
internal import Signalling

/// Limits and times of one room session.
public struct SessionConfiguration: Equatable, Sendable {
    /// Whether we send anything; if not, a peer that is a recorder like us is not called.
    public var sends = true
    /// Our claim to the room.
    ///
    /// Another host that claims it is not called, whatever it sends. If its claim is an earlier one, we stay.
    public var claim: RoomClaim?
    /// Peers served at the same time, 1 and up; more are ignored and reported.
    ///
    /// With two tracks of each there is room in a recording for those who come again: it has 125 at most.
    public var maximumPeers = SignallingOptions.maximumPeers
    /// Candidates held or passed on for one description of one peer, 0 and up.
    public var maximumCandidates = 256
    /// Largest description taken from a peer, in UTF-8 bytes.
    public var maximumDescriptionLength = 262_144
    /// Longest time from opening a connection to its first `connected`.
    public var connectLimit: Duration = .seconds(15)
    /// Longest time that ICE may look for another path.
    public var disconnectLimit: Duration = .seconds(15)
    /// Time from `mediaSilent` to closing, after 9 s without media.
    public var staleLimit: Duration = .seconds(20)
    /// Longest time from `stop` to `finished`.
    public var stopLimit: Duration = .seconds(2)
    /// Wait before the first new attempt after a failed negotiation; doubles with each further failure.
    public var backOff: Duration = .milliseconds(250)
    /// Failed negotiations of one peer in one `burstWindow` before the call is reset.
    public var maximumRebuilds = 3
    /// Connections opened for one peer in one `burstWindow` before each further one waits for `throttledWait`.
    public var maximumConnections = 60
    /// Wait of a peer that makes us open too many connections; its newest offer wins.
    public var throttledWait: Duration = .seconds(1)
    /// Wait before a server that takes us by answering is asked again, after an answer that we cannot take.
    public var refusedWait: Duration = .seconds(30)
    /// Window of `maximumRebuilds` and `maximumConnections`.
    public var burstWindow: Duration = .seconds(60)
    /// Call resets of one peer in one `resetWindow` before it is dropped.
    public var maximumResets = 3
    /// Longest time from a call reset to the peer's return; later it counts as gone.
    public var returnLimit: Duration = .seconds(15)
    /// Window of `maximumResets`; a dropped peer is taken again when it ends.
    public var resetWindow: Duration = .seconds(300)

    /// The defaults that the documents ask for.
    public init() {}
}
