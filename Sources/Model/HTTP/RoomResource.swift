// SPDX-License-Identifier: Apache-2.0

public import Basics

/// A room in the HTTP API.
public struct RoomResource: Sendable, Hashable, Codable {
    /// Where the room's life is.
    public enum Phase: String, Sendable, Hashable, Codable, CaseIterable {
        /// No operator asked for it, or its schedule has not come.
        case idle
        /// It waits for the place of another room.
        case queued
        /// A worker is being started.
        case starting
        /// We try to become a member.
        case joining
        /// We are a member.
        case joined
        /// We wait before the next try.
        case backingOff = "backing-off"
        /// We are on the way out.
        case leaving
        /// It cannot work, and is tried again when its definition changes or an operator asks; also about every 15 minutes, if
        /// the server did not kick us.
        case failed
    }

    /// The process that is in the room.
    public struct Worker: Sendable, Hashable, Codable {
        /// Its process id.
        public var processID: Int32
        /// CPU of one core in percent, over the last seconds.
        public var cpuPercent: Double
        /// Resident memory in bytes.
        public var residentBytes: Int64

        /// A worker with each part given.
        public init(processID: Int32, cpuPercent: Double, residentBytes: Int64) {
            self.processID = processID
            self.cpuPercent = cpuPercent
            self.residentBytes = residentBytes
        }
    }

    /// The room's name in the configuration.
    public var name: String
    /// The host of the cluster that has it; `nil` where no host has it, and outside of a cluster.
    public var host: String?
    /// The room URL, without secrets.
    public var url: String
    /// `always`, `on-demand` or the schedule.
    public var join: String
    /// When the next window of the schedule begins: RFC 3339, UTC; `nil` without a schedule.
    public var next: String?
    /// What the room is by its definition, without secrets, camera and outputs; `nil` in lists.
    public var definition: JSONValue?
    /// `configuration`, `api` or `cluster`: where the definition comes from.
    public var origin: String
    /// Where the room's life is.
    public var phase: Phase
    /// Why it is in that phase, human-readable.
    public var reason: String?
    /// Since when: RFC 3339, UTC; `nil` where its host does not say so.
    public var since: String?
    /// The process that is in the room.
    public var worker: Worker?
    /// Workers that ended unexpectedly since the daemon started.
    public var restarts: Int
    /// The room from inside.
    public var status: RoomStatus

    /// A room with each part given.
    public init(
        name: String,
        url: String,
        join: String,
        origin: String,
        phase: Phase,
        reason: String? = nil,
        since: String? = nil,
        worker: Worker? = nil,
        restarts: Int = 0,
        status: RoomStatus = RoomStatus()
    ) {
        self.name = name
        self.url = url
        self.join = join
        self.origin = origin
        self.phase = phase
        self.reason = reason
        self.since = since
        self.worker = worker
        self.restarts = restarts
        self.status = status
    }
}

/// Every room, by name: what `GET /v1/rooms` answers.
public struct RoomList: Sendable, Hashable, Codable {
    /// The rooms.
    public var rooms: [RoomResource]
    /// Hosts of the cluster that did not answer; `nil` where all did.
    public var incomplete: [MissingHost]?

    /// A list of these rooms.
    public init(_ rooms: [RoomResource], incomplete: [MissingHost] = []) {
        self.rooms = rooms
        self.incomplete = incomplete.isEmpty ? nil : incomplete
    }
}
