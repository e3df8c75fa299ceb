// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import Model

extension Fleet {
    mutating func define(_ spec: RoomSpec, _ revision: UInt64, _ now: Duration) {
        guard var room = self.rooms[spec.name] else {
            self.rooms[spec.name] = FleetRoom(spec: spec, revision, settings: self.settings.restart, now: now)
            return
        }
        guard room.spec != spec || room.isRemoved else { return }
        let before = room.spec
        (room.spec, room.revision, room.isRemoved) = (spec, revision, false)
        let changes = spec.changes(from: before)
        // A request for the recording is none for another try.
        let isAnother = changes != [.recording]
        if isAnother {
            room.restart.reset()
            room.refusal = nil
        }
        self.rooms[spec.name] = room
        // Waits are the fleet's; but a room that is full has a worker that knows the old one.
        let hasItsWait = room.phase == .joined || before.whenFullSeconds == spec.whenFullSeconds
        let staysCalled =
            hasItsWait && changes.isSubset(of: [.send, .record, .recording, .outputs, .priority, .rejoin])
        let staysKicked = staysCalled && before.afterKickSeconds == spec.afterKickSeconds
        if staysCalled, let worker = self.commandable(spec.name) {
            // The call continues.
            self.actions.append(.send(worker, .be(spec, revision: revision)))
        } else if room.phase == .starting {
            // Its worker has not heard of it yet, and will hear of the new spec.
        } else if room.worker != nil {
            self.leave(spec.name, reason: "the room's definition changed", now)
        } else {
            // The recording of a worker that died was to be finished: it is left to a repair.
            if spec.recording == .off { self.rooms[spec.name]?.unfinished = nil }
            if room.isWanted, isAnother, !(room.isKicked && staysKicked) { self.assign(spec.name, now) }
        }
    }

    mutating func remove(_ name: String, _ now: Duration) {
        guard var room = self.rooms[name] else { return }
        room.isRemoved = true
        room.isWanted = false
        self.rooms[name] = room
        if room.worker != nil { self.leave(name, reason: "the room was removed", now) } else { self.forget(name) }
    }

    mutating func want(_ name: String, _ isWanted: Bool, _ reason: String, _ now: Duration) {
        guard var room = self.rooms[name], room.isWanted != isWanted, !room.isRemoved else { return }
        room.isWanted = isWanted
        self.rooms[name] = room
        if isWanted {
            if room.worker == nil { self.assign(name, now) }
        } else if room.worker != nil {
            self.leave(name, reason: reason, now)
        } else {
            self.rooms[name]?.unfinished = nil
            self.rooms[name]?.enter(.idle, now: now)
        }
    }

    mutating func retry(_ name: String, _ now: Duration) {
        guard let room = self.rooms[name], !room.isRemoved else { return }
        self.rooms[name]?.restart.reset()
        self.rooms[name]?.refusal = nil
        switch room.phase {
        case .backingOff, .failed:
            if room.isWanted { self.assign(name, now) }
        case .idle, .queued, .starting, .joining, .joined, .leaving:
            break
        }
    }

    /// Gives a room without a worker one.
    mutating func assign(_ name: String, _ now: Duration) {
        guard !self.isStopping, let room = self.rooms[name], room.worker == nil else { return }
        guard self.hasPlace(for: room) else {
            self.queue(name, now)
            return
        }
        let wantsIsolation = room.restart.wantsIsolation
        let id = self.workerWithPlace(for: room, wantsIsolation) ?? self.newWorker(now)
        self.workers[id]?.rooms.insert(name)
        if wantsIsolation { self.workers[id]?.isExclusive = true }
        self.rooms[name]?.worker = id
        self.rooms[name]?.isKicked = false
        self.rooms[name]?.enter(.starting, now: now)
        if case .ready = self.workers[id]?.phase { self.sendJoin(name, to: id, now) }
    }

    private func workerWithPlace(for room: FleetRoom, _ wantsIsolation: Bool) -> WorkerID? {
        guard self.settings.roomsPerWorker > 1, !wantsIsolation else { return nil }
        return self.workers.filter { _, worker in
            switch worker.phase {
            // A worker that should leave a room and does not gets no other room: so it ends some day.
            case .starting, .ready:
                !worker.isExclusive && worker.rooms.count < self.settings.roomsPerWorker
                    && !worker.rooms.contains { self.rooms[$0]?.isOverdue == true }
            case .ending, .killed: false
            }
        }.keys.min()
    }

    mutating func sendJoin(_ name: String, to id: WorkerID, _ now: Duration) {
        guard var room = self.rooms[name] else { return }
        var spec = room.spec
        // A recording that was to be finished and is not, is left to a repair.
        if spec.recording == .off { room.unfinished = nil }
        spec.continues = room.unfinished?.folder
        room.isContinuing = spec.continues != nil
        room.enter(.joining, now: now)
        self.rooms[name] = room
        self.actions.append(.send(id, .be(spec, revision: room.revision)))
    }

    mutating func leave(_ name: String, reason: String, _ now: Duration) {
        guard let room = self.rooms[name], let id = room.worker else { return }
        switch room.phase {
        case .joining, .joined:
            self.rooms[name]?.enter(.leaving(deadline: now + self.settings.stop.process), reason: reason, now: now)
            self.actions.append(.send(id, .leave(room: name)))
        case .starting:
            // Its worker has not heard of it yet.
            self.detach(name, now)
            self.settle(name, reason: reason, now)
        case .idle, .queued, .leaving, .backingOff, .failed:
            break
        }
    }

    /// Takes a room from its worker, and ends the worker if it has no other.
    mutating func detach(_ name: String, _ now: Duration) {
        guard let id = self.rooms[name]?.worker else { return }
        self.rooms[name]?.worker = nil
        self.rooms[name]?.status = RoomStatus()
        self.workers[id]?.rooms.remove(name)
        guard let worker = self.workers[id], worker.rooms.isEmpty else { return }
        switch worker.phase {
        case .starting: self.cancel(id, reason: "no room needs it")
        case .ready: self.shutDown(id, now)
        case .ending, .killed: break
        }
    }

    /// A room that was left in order: forgotten, joined again, or idle.
    mutating func settle(_ name: String, reason: String, _ now: Duration) {
        guard let room = self.rooms[name] else { return }
        if room.isRemoved {
            self.forget(name)
        } else if room.isWanted, !self.isStopping {
            self.assign(name, now)
        } else {
            // No worker continues what one that died left there.
            if !room.isWanted { self.rooms[name]?.unfinished = nil }
            self.rooms[name]?.enter(.idle, reason: reason, now: now)
        }
    }

    private mutating func forget(_ name: String) {
        self.rooms[name] = nil
        self.report(.removed(room: name))
    }
}
