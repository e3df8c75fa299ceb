// SPDX-License-Identifier: Apache-2.0

/// A room that this host owns, owned or is about to own.
///
///     claim ──► held ◄──reachable, mine──► uncertain ──another's──► lost ──successor joined, 10 s──► leaving ──gone──► –
///                 │                                                                                     ▲
///                 ├── moved, removed, stop ─────────────────────────────────────────────────────────────┤
///     handover ► preparing ── joined: takes the claim ──► held          withdrawn, too late ────────────┘
public struct ClusterHolding: Sendable, Hashable {
    /// How it stands.
    public enum Phase: Sendable, Hashable {
        /// The claim is ours and the lease is valid.
        case held
        /// The claim may be gone.
        case uncertain
        /// We join, to take the claim from its owner until `deadline`.
        case preparing(deadline: Duration)
        /// Another host has a higher epoch: we leave when it has joined, at the latest at `deadline`.
        case lost(deadline: Duration)
        /// We leave, and delete the claim if it is still ours then; `next` should have the room.
        case leaving(next: String?)
    }

    /// A move that is in progress.
    struct Move: Sendable, Hashable {
        let handover: Handover
        /// The run of the successor's daemon.
        let life: String?
        let deadline: Duration
    }

    /// The epoch of our ownership.
    public internal(set) var epoch: Int
    /// How it stands.
    public internal(set) var phase: Phase
    /// Whether we are a member.
    public internal(set) var isJoined = false
    /// Whether others are in the room; true until it is known.
    public internal(set) var isOccupied = true
    /// Whether one more member may come.
    public internal(set) var takesOneMore = false
    /// Whether media of all others arrive.
    public internal(set) var areHeard = false
    /// Since when we are a member.
    var joined = Duration.zero
    /// Our recording; nil before the first.
    public internal(set) var pointer: RecordingPointer?
    /// Series of several owners that ended here, until the store has them.
    var ended: [RecordingPointer] = []
    /// The last recording before this host came into the room.
    var continues: RecordingPointer?
    /// The last definition that this host can run; nil for a room of the host's configuration.
    var definition: RoomRecord?
    /// Whether we stay away while the store cannot be reached.
    var leavesWhenCutOff = false
    /// Whether nothing of ours is in the room or joins it.
    var isGone = true
    /// The last assignment.
    var assignment: RoomAssignment?
    var move: Move?
    /// The host that a move to balance goes to, once the budget allows it.
    var balanceTo: String?
    /// Hosts that did not take the room.
    var refused: Set<String> = []
    /// Whether a regression was reported.
    var isRegressed = false

    init(epoch: Int, phase: Phase, continues: RecordingPointer?, definition: RoomRecord?) {
        (self.epoch, self.phase, self.continues, self.definition) = (epoch, phase, continues, definition)
    }

    /// Whether a move would concern people.
    var isInUse: Bool { self.isJoined && self.isOccupied }

    /// Whether this is a room of this host's own configuration.
    var isLocal: Bool { self.definition == nil }
}
