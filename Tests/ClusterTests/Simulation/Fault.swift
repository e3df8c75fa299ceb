// SPDX-License-Identifier: Apache-2.0

/// A fault, or something that operators do, at a time and for a time, in microseconds.
struct Fault: CustomStringConvertible {
    enum Kind: CaseIterable {
        /// The supervisor is killed and starts again after the duration; its workers leave in order.
        case kill
        /// The host is off for the duration: its members are ghosts.
        case powerOff
        /// The host reaches no member of the store.
        case cutOffStore
        /// The host reaches one member of the store only, the one that has no majority.
        case deadMember
        /// Requests of the host are carried out, and answers are lost.
        case lostAnswers
        /// The host does not reach the room server.
        case cutOffRooms
        /// The process stands still.
        case pause
        /// The store's leader dies with its host's network; a new one after a second or two.
        case leaderLost
        /// The store has no majority.
        case quorumLost
        /// The store ends the lease of a living host (etcd#15247).
        case leaseRevoked
        /// And answers its renewals as if it lived.
        case leaseRevokedAndLie
        /// The watch of the host loses events (etcd before 3.4.31).
        case watchLost
        /// The store compacts.
        case compacted
        /// The store takes no writes.
        case full
        /// The host's wall clock is set back or forth by minutes.
        case clockStep
        /// The host drains, with the duration as its deadline, and takes rooms again after it.
        case drain
        /// The host stops in order and starts again after the duration.
        case stop
        /// The room server kicks a recorder.
        case kick
        /// The store is replaced by an empty one, which operators initialise and adopt.
        case recreated
        /// A room is defined otherwise.
        case redefined
        /// The store takes up to 0.7 s longer for each request.
        case storeSlow
        /// The bucket answers 503.
        case bucketFails
        /// The bucket keeps other bytes than it was sent, or none, and says that it has them.
        case bucketDamages
        /// The bucket takes what is sent, and the answers are lost.
        case bucketLosesAnswers
    }

    let kind: Kind
    let time: Int
    let duration: Int
    let host: Int

    var description: String {
        "\(self.kind) host \(self.host) at \(Double(self.time) / 1e6) s for \(Double(self.duration) / 1e6) s"
    }
}

/// A bug in the code around the machine, of which each must be found.
enum PlantedFault: CaseIterable {
    case comparesIgnored
    case renewalTrustedWithoutWatch
    case epochLeftOutOfKeys
    case deleteBeforeVerify
    case wallClock
    case handoverBeforeJoined
    case noFirstRefusal

    /// The kinds of faults that show it most often.
    var kinds: [Fault.Kind] {
        switch self {
        case .comparesIgnored: [.watchLost, .pause, .lostAnswers, .drain, .kill]
        case .renewalTrustedWithoutWatch: [.leaseRevokedAndLie, .leaseRevoked, .kill]
        case .epochLeftOutOfKeys: [.kick, .powerOff, .cutOffStore, .drain]
        case .deleteBeforeVerify: [.bucketDamages, .kill, .kick]
        case .wallClock: [.clockStep, .cutOffStore, .lostAnswers]
        case .handoverBeforeJoined: [.drain, .kill]
        case .noFirstRefusal: [.kill, .leaderLost]
        }
    }
}
