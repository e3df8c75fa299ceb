// SPDX-License-Identifier: Apache-2.0

/// Decides which worker process is in which room: the supervisor without its processes.
///
/// Rooms are desired state: what is defined and wanted gets a worker, now or after a wait. A room has at most one
/// worker at any time; another one joins only after the end of the process before it was seen, so that we never meet
/// ourselves. Pure: time comes with each input, chance from a seed. After each input, perform the actions in order,
/// then hand in the next one, at the latest `.tick` at `nextDeadline`.
public struct Fleet: Sendable {
    /// Rooms by name.
    public internal(set) var rooms: [String: FleetRoom] = [:]
    /// Workers whose processes have not ended.
    public internal(set) var workers: [WorkerID: FleetWorker] = [:]
    /// Whether everything ends.
    public internal(set) var isStopping = false

    let settings: FleetSettings
    private var nextWorker = 1
    private var random: SplitMix64
    var actions: [FleetAction] = []

    /// No rooms, no workers.
    ///
    /// - Parameter seed: for the random part of waits.
    public init(settings: FleetSettings, seed: UInt64) {
        self.settings = settings
        self.random = SplitMix64(state: seed)
    }

    /// Whether everything has ended.
    public var hasStopped: Bool { self.isStopping && self.workers.isEmpty }

    /// When `.tick` is due, if nothing happens before; `nil` when nothing is waited for.
    public var nextDeadline: Duration? {
        let workers = self.workers.values.compactMap { worker -> Duration? in
            switch worker.phase {
            case .starting(let deadline), .ending(let deadline): deadline
            case .ready(let heard): heard + self.settings.hangLimit
            case .killed: nil
            }
        }
        let rooms = self.rooms.values.compactMap { room -> Duration? in
            switch room.phase {
            case .backingOff(let until): until
            case .leaving(let deadline): deadline
            case .failed(let until): until
            case .idle, .queued, .starting, .joining, .joined: nil
            }
        }
        return (workers + rooms).min()
    }

    /// Takes one input.
    ///
    /// - Parameter now: time since any fixed instant; never goes back.
    public mutating func handle(_ input: FleetInput, now: Duration) -> [FleetAction] {
        switch input {
        case .define(let spec, let revision): self.define(spec, revision, now)
        case .remove(let room): self.remove(room, now)
        case .want(let room, let isWanted, let reason): self.want(room, isWanted, reason, now)
        case .retry(let room): self.retry(room, now)
        case .event(let id, let event): self.handle(event, of: id, now)
        case .exited(let id, let reason, let wasSignal): self.exited(id, reason, wasSignal: wasSignal, now)
        case .tick: self.tick(now)
        case .stalled(let duration): self.stalled(duration, now)
        case .stop: self.stop(now)
        }
        self.givePlaces(now)
        defer { self.actions.removeAll() }
        return self.actions
    }

    /// The worker that takes commands about a room.
    public func commandable(_ room: String) -> WorkerID? {
        guard let room = self.rooms[room], let id = room.worker else { return nil }
        switch room.phase {
        case .joining, .joined: return id
        case .idle, .queued, .starting, .leaving, .backingOff, .failed: return nil
        }
    }

    mutating func report(_ fact: FleetEvent) { self.actions.append(.report(fact)) }

    mutating func chance() -> Double { Double(self.random.next() >> 11) / Double(1 << 53) }

    mutating func newWorker(_ now: Duration) -> WorkerID {
        let id = WorkerID(self.nextWorker)
        self.nextWorker += 1
        self.workers[id] = FleetWorker(phase: .starting(deadline: now + self.settings.startLimit))
        self.actions.append(.start(id))
        return id
    }
}
