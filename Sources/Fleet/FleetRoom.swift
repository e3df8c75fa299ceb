// SPDX-License-Identifier: Apache-2.0

public import Basics
public import Model

/// A room as the fleet knows it.
public struct FleetRoom: Sendable, Hashable {
    /// Where the room's life is.
    ///
    ///     idle ──wanted──► starting ──ready──► joining ◄──────► joined
    ///      ▲                   │                  │               │
    ///      │               worker ended ──────────┴───────────────┤
    ///      │                   ▼                                  │ not wanted, changed, removed
    ///      ├─────────── backingOff, failed                        ▼
    ///      └───────────────────────────────────────────────── leaving
    ///
    /// Where as many rooms have a worker as `FleetSettings.maximumRooms` allows, a room is `queued` before `starting`.
    public enum Phase: Sendable, Hashable {
        /// No operator wants us there.
        case idle
        /// It waits for the place of another room.
        case queued
        /// Its worker has not said anything yet.
        case starting
        /// Its worker tries to become a member.
        case joining
        /// We are a member.
        case joined
        /// Its worker was ordered to leave; it is ended at `deadline`, if that costs no other room.
        case leaving(deadline: Duration)
        /// The next try is at `until`: workers failed, or the server kicked us.
        case backingOff(until: Duration)
        /// It cannot work; a change or a request starts another try, or the time `until`; nil leaves it to people.
        case failed(until: Duration?)
    }

    /// The spec of its worker.
    public internal(set) var spec: RoomSpec
    /// The revision of that.
    public internal(set) var revision: UInt64
    /// Whether we should be there.
    public internal(set) var isWanted = false
    /// Where its life is.
    public internal(set) var phase = Phase.idle
    /// Since when, since any fixed instant.
    public internal(set) var since: Duration
    /// Why, human-readable.
    public internal(set) var reason: String?
    /// Why the server refused us the last time, since we were there or an operator asked: it is reported once.
    var refusal: String?
    /// Who is there for us.
    public internal(set) var worker: WorkerID?
    /// Workers that ended unexpectedly.
    public internal(set) var restarts = 0
    /// The room from inside, as its worker last reported.
    public internal(set) var status = RoomStatus()
    /// The recording in progress, or the one that the next worker continues.
    public internal(set) var unfinished: RecordingReference?
    /// Workers that were to continue `unfinished`, and ended before they reported that they do.
    var failedContinuations = 0
    /// Whether its worker was to continue `unfinished`, and has not reported that it does.
    var isContinuing = false
    /// Whether the server kicked us and we stay away for it.
    var isKicked = false
    /// Whether it has been left for longer than it may take.
    var isOverdue = false
    /// Whether the room is forgotten once it is left.
    var isRemoved = false
    var restart: RestartPolicy

    init(spec: RoomSpec, _ revision: UInt64, settings: RestartPolicy.Settings, now: Duration) {
        (self.spec, self.revision) = (spec, revision)
        self.since = now
        self.restart = RestartPolicy(settings: settings)
    }

    /// How important it is, 0 to 100.
    var priority: Int { self.spec.priority }

    /// The worker that was to continue the recording ended.
    ///
    /// A recording that costs a second worker its life is left to a repair: what comes is a new recording.
    mutating func workerEnded() {
        guard self.isContinuing else { return }
        self.isContinuing = false
        self.failedContinuations += 1
        guard self.failedContinuations >= Self.maximumFailedContinuations else { return }
        self.failedContinuations = 0
        self.unfinished = nil
    }

    /// The worker records.
    mutating func recordingStarted(_ reference: RecordingReference) {
        self.unfinished = reference
        self.isContinuing = false
        self.failedContinuations = 0
    }

    private static let maximumFailedContinuations = 2

    mutating func enter(_ phase: Phase, reason: String? = nil, now: Duration) {
        self.reason = reason
        if phase == .joined { self.refusal = nil }
        guard self.phase != phase else { return }
        self.phase = phase
        self.since = now
        self.isOverdue = false
    }
}

/// A worker process as the fleet knows it.
public struct FleetWorker: Sendable, Hashable {
    /// Where the process's life is; it only climbs.
    public enum Phase: Sendable, Hashable {
        /// The process was started and must say something until `deadline`.
        case starting(deadline: Duration)
        /// It takes commands, and was last heard at `heard`.
        case ready(heard: Duration)
        /// It was ordered to end, and must until `deadline`.
        case ending(deadline: Duration)
        /// It was killed; its end has not been seen yet.
        case killed
    }

    /// Where the process's life is.
    public internal(set) var phase: Phase
    /// The rooms that it is in or joins.
    public internal(set) var rooms: Set<String> = []
    /// Its process id, once it is ready.
    public internal(set) var processID: Int32?
    /// How it is, as it last reported.
    public internal(set) var vitals: WorkerVitals?
    /// CPU of one core in percent between its last two heartbeats.
    public internal(set) var cpuPercent = 0.0
    /// Whether no other room may come.
    var isExclusive = false
    /// Why it was killed.
    var killReason: String?
}
