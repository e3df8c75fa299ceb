// SPDX-License-Identifier: Apache-2.0

/// A request to the store that awaits its answer.
public struct ClusterRequestID: Sendable, Hashable, Comparable {
    /// A number that is not used again.
    public let number: Int

    /// The request with this number.
    public init(_ number: Int) { self.number = number }

    /// Whether one was sent before the other.
    public static func < (left: Self, right: Self) -> Bool { left.number < right.number }
}

/// A watch of the store.
public struct ClusterWatchID: Sendable, Hashable {
    /// A number that is not used again.
    public let number: Int

    /// The watch with this number.
    public init(_ number: Int) { self.number = number }
}

/// What happens to a host of a cluster.
public enum ClusterInput: Sendable, Hashable {
    /// The answer to a request, or the reason why there is none.
    case answer(ClusterRequestID, Result<StoreAnswer, StoreError>)
    /// News of a watch.
    case watched(ClusterWatchID, StoreWatchUpdate)
    /// Whether this host can run a room as it is defined in this revision: the answer to `ClusterAction.examine`.
    ///
    /// Another answer may follow, as when a secret appears.
    case examined(room: String, Revision, RoomVerdict)
    /// News of a room that this host is in.
    case room(String, RoomNews)
    /// The rooms of this host's own configuration and their costs: they run here whatever the cluster does, and are claimed
    /// to be visible.
    case pin([String: Int])
    /// An operator's request for a room, which is to outlive this host.
    case wish(room: String, WishRecord)
    /// A series with this id is brought together and exported, or what is missing of it did not come in time.
    case gathered(series: String)
    /// Another record of this host.
    case configure(HostRecord)
    /// Take no more rooms and move those that are here: empty ones now, others when they are empty, all at the deadline.
    case drain(deadline: Duration)
    /// Take rooms again.
    case undrain
    /// Leave every room, then the cluster.
    case stop
    /// Time has passed.
    case tick
}

/// Whether a host can run a room.
public enum RoomVerdict: Sendable, Hashable {
    /// It can.
    ///
    /// - Parameter leavesWhenCutOff: whether a room that does not say so is left while the store cannot be reached.
    case usable(leavesWhenCutOff: Bool)
    /// It cannot: the definition or a secret that it refers to; why, human-readable.
    case unusable(String)
}

/// News of a room.
public enum RoomNews: Sendable, Hashable {
    /// We are a member.
    case joined
    /// We are a member no more, and join again.
    case left
    /// We are not in the room and do not join any more: the answer to an assignment of nil, also where we never joined.
    case gone
    /// Whether others are in the room, whether it takes one more member, and whether media of all others arrive.
    case members(isOccupied: Bool, takesOneMore: Bool, areHeard: Bool = true)
    /// A recording began, or its next segment, or it ended.
    case recording(RecordingPointer)
    /// Another recorder of this cluster shows this epoch, in a room that may have no place for two recorders.
    case rival(epoch: Int)
}

/// What is to be done.
public enum ClusterAction: Sendable, Hashable {
    /// Send a request; exactly one `.answer` follows, at the latest after the limit.
    case request(ClusterRequestID, StoreRequest, limit: Duration)
    /// Watch all keys that begin with the prefix, from a revision on.
    case watch(ClusterWatchID, prefix: String, from: Revision)
    /// End a watch.
    case endWatch(ClusterWatchID)
    /// Find out whether this host can run a room as it is defined; `.examined` follows.
    case examine(room: String, RoomRecord, Revision)
    /// Be this in a room; nil: leave it, and `.room(_, .gone)` follows.
    case be(room: String, RoomAssignment?)
    /// The series that hosts are to bring together, by their ids, this one those with its name, and the hosts that live; nil: it
    /// is not known at present, and nothing is brought together.
    case gather([String: SeriesRecord]?, hosts: Set<String>)
    /// A fact to be logged, counted or sent to webhooks.
    case report(ClusterEvent)
}

/// The part of a room's intent that the cluster decides.
public struct RoomAssignment: Sendable, Hashable {
    /// How this host stands to the room.
    public enum Standing: String, Sendable, Hashable, CaseIterable {
        /// It owns the room.
        case held
        /// It may own the room: it records, and side effects wait.
        case uncertain
        /// It joins to take the room from its owner: it records, and side effects wait.
        case preparing
        /// Another host owns the room: the recording is finished in order.
        case superseded
    }

    /// The epoch under which everything is written.
    public let epoch: Int
    /// How this host stands to the room.
    public let standing: Standing
    /// The definition.
    public let definition: RoomRecord
    /// The last request of an operator.
    public let wish: WishRecord?
    /// The recording that was in progress when its owner lost the room, or this host left it; nil if there is none.
    ///
    /// The next one continues it, as the next segment of its series.
    public let continues: RecordingPointer?

    /// An assignment with each part given.
    public init(
        epoch: Int,
        standing: Standing,
        definition: RoomRecord,
        wish: WishRecord? = nil,
        continues: RecordingPointer? = nil
    ) {
        (self.epoch, self.standing, self.definition) = (epoch, standing, definition)
        (self.wish, self.continues) = (wish, continues)
    }

    /// Whether camera, outputs, commits and webhooks are allowed.
    public var mayAct: Bool { self.standing == .held }
}

/// What a host of a cluster reports.
public enum ClusterEvent: Sendable, Hashable {
    /// The store answers, and this host is a member of the cluster with this id.
    case connected(id: String)
    /// The lease is not certain any more; why, human-readable.
    case disconnected(String)
    /// A request failed; reported once until one succeeds.
    case storeFailed(StoreError)
    /// The store has no `meta`: `tapedeck cluster init` is missing.
    case notInitialised
    /// The store is not the cluster that this host knows; nil: it has no `meta`.
    case otherCluster(expected: String, found: String?)
    /// The cluster requires a newer schema than this version has.
    case tooOld(requiredSchema: Int)
    /// Another living daemon has this host's name.
    case nameTaken(life: String)
    /// A key that this host cannot use, with the reason.
    case unusable(ClusterKey, String)
    /// This host owns a room; nil: no host did before, or this one.
    case claimed(room: String, epoch: Int, from: String?)
    /// This host may own a room no more; why, human-readable.
    case uncertain(room: String, epoch: Int, String)
    /// This host owned the room all the time.
    case heldAgain(room: String, epoch: Int)
    /// Another host owns the room.
    case lost(room: String, epoch: Int, to: String?)
    /// The store knows a lower epoch of a room than this host had: it was restored to its past.
    case regressed(room: String, epoch: Int, stored: Int)
    /// This host left a room that it owned; the host that should have it next.
    case released(room: String, epoch: Int, next: String?)
    /// This host drains and has no room left.
    case drained
    /// A host that was there since a revision is gone without saying so; reported by one host of the cluster.
    case hostLost(String, life: String, since: Revision)
}
