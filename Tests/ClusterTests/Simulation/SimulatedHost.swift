// SPDX-License-Identifier: Apache-2.0

import Basics
import Cluster
import Model

/// A host: its clocks, its links, its machine, and what its workers do.
final class SimulatedHost {
    /// A room as the workers of the host have it.
    struct Presence {
        var assignment: RoomAssignment?
        /// The present visit; nil: not a member.
        var visit: Int?
        /// Whether a worker tries to join.
        var isJoining = false
        /// Whether a worker leaves.
        var isLeaving = false
        /// Since when another host owns the room, as the machine said.
        var supersededSince: Int?
        /// Since when side effects are on without a claim in the store.
        var unfoundedSince: Int?
        /// What it recorded last under this assignment.
        var pointer: RecordingPointer?
    }

    /// A recording on the disk of the host, which outlives its daemon.
    struct Part {
        let room: String
        /// What its names in the bucket begin with.
        let key: String
        var isClosed = false
        var uploads: UploadMachine
    }

    /// The files of a part, in the order in which they are uploaded.
    static let files = ["track", "manifest"]

    let index: Int
    let name: String
    let capacity: Int
    /// The monotonic clock: its zero and its rate.
    let clockZero: Int
    let partsPerMillion: Int
    /// What the wall clock is off by.
    var wallOffset = 0
    var machine: ClusterMachine?
    var presences: [String: Presence] = [:]
    var life = 0
    var isOn = true
    var isPaused = false
    var inbox: [ClusterInput] = []
    /// The member of the store that it talks to.
    var member = 0
    /// Members of the store that it reaches.
    var links = [true, true, true]
    var losesAnswers = false
    var reachesRooms = true
    var losesEvents = false
    var liesUntil = 0
    var isDraining = false
    /// When it last ended to drain.
    var drainedAt = -1_000_000_000
    /// The watch, and the next revision that it is to see.
    var watch: (id: ClusterWatchID, next: Int64)?
    var isPumping = false
    var plannedTick = Int.max
    /// Since when its daemon runs.
    var healthySince = 0
    /// When a fault of it last began or was over.
    var disturbed = 0
    /// When it last went on after a pause.
    var resumed = -1_000_000
    /// When its watch last lost something.
    var lostEvents = -1_000_000_000
    /// What a daemon keeps across restarts.
    var clusterID: String?
    var epochs: [String: Int] = [:]
    var isStopping = false
    var parts: [Part] = []
    /// Whether a file is on its way.
    var isUploading = false

    init(index: Int, capacity: Int, clockZero: Int, partsPerMillion: Int) {
        self.index = index
        self.name = "host-\(index)"
        self.capacity = capacity
        self.clockZero = clockZero
        self.partsPerMillion = partsPerMillion
    }

    /// The monotonic clock at a true time, in microseconds.
    func clock(at now: Int) -> Int { self.clockZero + now + now / 1_000_000 * self.partsPerMillion }

    /// The true time of a reading of the clock, not before it.
    func trueTime(of clock: Duration) -> Int {
        let (seconds, attoseconds) = clock.components
        let reading = Int(seconds) * 1_000_000 + Int(attoseconds / 1_000_000_000_000) + 1
        let elapsed = reading - self.clockZero
        return elapsed - elapsed / 1_000_000 * self.partsPerMillion + (self.partsPerMillion > 0 ? 400 : 0)
    }

    /// The wall clock at a true time.
    func wallClock(at now: Int) -> UTCTime {
        UTCTime(nanosecondsSince1970: Int64(1_800_000_000_000_000 + now + self.wallOffset) * 1000)
    }

    var isHealthy: Bool {
        self.isOn && !self.isPaused && self.links.allSatisfy(\.self) && !self.losesAnswers && self.reachesRooms
            && !self.losesEvents && self.machine != nil && !self.isStopping
    }
}
