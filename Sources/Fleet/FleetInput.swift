// SPDX-License-Identifier: Apache-2.0

public import Model

/// What happens to the fleet.
public enum FleetInput: Sendable, Hashable {
    /// A room is to be like this, as `RoomIntent` says; an equal spec changes nothing.
    case define(RoomSpec, revision: UInt64 = 1)
    /// A room is to be left and forgotten.
    case remove(room: String)
    /// Whether we should be in a room.
    case want(room: String, Bool, because: String = "it is not wanted")
    /// An operator asks for the room now: what failed before is forgotten.
    case retry(room: String)
    /// A line of a worker.
    case event(WorkerID, WorkerEvent)
    /// A worker's process ended, or could not be started; `wasSignal` if a signal ended it: a crash, or an operator who
    /// killed it.
    case exited(WorkerID, reason: String, wasSignal: Bool = false)
    /// Time has passed.
    case tick
    /// This process itself did nothing for so long, as the whole machine may have: what workers said in that time is yet to
    /// be read, and a worker with a time limit could not keep it.
    case stalled(Duration)
    /// Everything ends: recordings are finished, rooms left.
    case stop
}

/// What is to be done.
public enum FleetAction: Sendable, Hashable {
    /// Start a worker process; `.exited` follows some day.
    case start(WorkerID)
    /// Write a line to a worker.
    case send(WorkerID, WorkerCommand)
    /// End the process at once (SIGKILL), because something is wrong with it; `.exited` follows.
    case kill(WorkerID, reason: String)
    /// End a process that is still starting, because no room needs it any more; `.exited` follows.
    case cancel(WorkerID, reason: String)
    /// Something to be reported.
    case report(FleetEvent)
}

/// What the fleet wants to be known.
public enum FleetEvent: Sendable, Hashable {
    /// We are a member of the room.
    case joined(room: String)
    /// We are in the room no more.
    case left(room: String, reason: String)
    /// The room cannot be joined at present.
    case unreachable(room: String, reason: String)
    /// A worker takes commands.
    case workerReady(WorkerID, processID: Int32)
    /// A worker's process ended; `rooms` lost it.
    case workerExited(WorkerID, reason: String, rooms: [String], cause: WorkerEndCause)
    /// A room's workers crash again and again; the next try is after `delay`.
    case crashLoop(room: String, reason: String, delay: Duration)
    /// A worker did something that it should not.
    case misbehaved(WorkerID, String)
    /// A room is forgotten.
    case removed(room: String)
}

/// Who or what ended a worker's process.
public enum WorkerEndCause: Sendable, Hashable {
    /// It ended without a signal, or could not be started.
    case exited
    /// A signal that was none of ours.
    case crashed
    /// The fleet: it hung, was too large, or did not do what it was ordered.
    case killed
}
