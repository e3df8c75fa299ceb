// SPDX-License-Identifier: Apache-2.0

import Basics
public import Model

extension Fleet {
    /// Why an event of a worker is not believed; `nil` if it is.
    ///
    /// A worker speaks of the rooms that are its own at that instant, and until it is killed. Nothing else of what it writes
    /// may be looked at: one that mixes up rooms, or lies, reaches its own rooms only.
    public func refusal(of event: WorkerEvent, from id: WorkerID) -> String? {
        guard let worker = self.workers[id] else { return "the worker is not known" }
        guard worker.phase != .killed else { return "the worker was killed" }
        if case .ready = event, worker.processID != nil { return "the worker was ready before" }
        guard let room = event.room, self.rooms[room]?.worker != id else { return nil }
        return "the room is not one of this worker's"
    }

    mutating func handle(_ event: WorkerEvent, of id: WorkerID, _ now: Duration) {
        guard self.refusal(of: event, from: id) == nil, let worker = self.workers[id] else { return }
        switch event {
        case .ready(let version, let processID):
            self.ready(id, version, processID, now)
        case .heartbeat(let vitals):
            // Nothing else is a sign of life: the rooms of a worker that do not hang still report.
            if case .ready = worker.phase { self.workers[id]?.phase = .ready(heard: now) }
            if let before = worker.vitals {
                // One second apart, give or take a late line.
                self.workers[id]?.cpuPercent = max(0, (vitals.cpuSeconds - before.cpuSeconds) * 100)
            }
            self.workers[id]?.vitals = vitals
            self.checkMemory(of: id, vitals)
        case .joined(let room):
            self.joined(room, now)
        case .notJoined(let room, let reason):
            self.notJoined(room, reason, now)
        case .left(let room, let reason):
            self.left(room, reason, now)
        case .status(let room, let status):
            self.rooms[room]?.status = status
        case .recordingStarted(let room, let reference):
            self.rooms[room]?.recordingStarted(reference)
        case .recordingFinished(let room, let reference, _):
            guard self.rooms[room]?.unfinished?.id == reference.id else { return }
            self.rooms[room]?.unfinished = nil
        case .recordingDegraded, .participantJoined, .participantLeft, .peerRefused, .firstUnit, .outputFailed,
            .outputRecovered, .keyframe, .graph, .commandDone, .commandFailed:
            break
        }
    }

    /// A worker that grows without end would take the host with it: its rooms get a new one.
    private mutating func checkMemory(of id: WorkerID, _ vitals: WorkerVitals) {
        guard let limit = self.settings.maximumMemoryBytes, vitals.residentBytes >= limit,
            case .ready = self.workers[id]?.phase
        else { return }
        self.kill(id, reason: "too large: \(vitals.residentBytes) bytes are resident, the limit is \(limit)")
    }

    private mutating func ready(_ id: WorkerID, _ version: Int, _ processID: Int32, _ now: Duration) {
        guard version == WorkerLine.protocolVersion else {
            self.kill(id, reason: "speaks version \(version) of the worker protocol, not \(WorkerLine.protocolVersion)")
            return
        }
        self.workers[id]?.phase = .ready(heard: now)
        self.workers[id]?.processID = processID
        self.report(.workerReady(id, processID: processID))
        for room in self.workers[id]?.rooms.sorted() ?? [] { self.sendJoin(room, to: id, now) }
    }

    private mutating func joined(_ name: String, _ now: Duration) {
        switch self.rooms[name]?.phase {
        case .joining:
            self.rooms[name]?.enter(.joined, now: now)
            self.report(.joined(room: name))
        case .joined, .leaving, .idle, .queued, .starting, .backingOff, .failed, nil:
            break
        }
    }

    private mutating func notJoined(_ name: String, _ reason: String, _ now: Duration) {
        switch self.rooms[name]?.phase {
        case .joining:
            // The worker still tries; operators want to know once for each reason.
            guard self.rooms[name]?.reason != reason else { return }
            self.rooms[name]?.enter(.joining, reason: reason, now: now)
            self.report(.unreachable(room: name, reason: reason))
        case .joined:
            self.rooms[name]?.enter(.joining, reason: reason, now: now)
            self.report(.unreachable(room: name, reason: reason))
        case .leaving, .idle, .queued, .starting, .backingOff, .failed, nil:
            break
        }
    }

    private mutating func left(_ name: String, _ reason: LeaveReason, _ now: Duration) {
        guard let room = self.rooms[name] else { return }
        let why = room.reason
        self.rooms[name]?.unfinished = nil
        switch (reason, room.phase) {
        case (.ordered, _), (_, .leaving):
            self.detach(name, now)
            self.report(.left(room: name, reason: why ?? "left"))
            self.settle(name, reason: why ?? "left", now)
        case (.failed(let message, let isRetriable), _):
            self.detach(name, now)
            if isRetriable || room.refusal != message { self.report(.left(room: name, reason: message)) }
            if isRetriable {
                self.failed(name, message, now)
            } else {
                self.rooms[name]?.refusal = message
                let until = self.retryTime(of: room, now)
                self.rooms[name]?.enter(.failed(until: until), reason: message, now: now)
            }
        case (.removed(let message), _):
            self.detach(name, now)
            self.report(.left(room: name, reason: message))
            self.kicked(name, message, now)
        }
    }

    /// When a room that is refused for good is tried again all the same.
    private mutating func retryTime(of room: FleetRoom, _ now: Duration) -> Duration? {
        guard room.isWanted, !self.isStopping else { return nil }
        let random = self.chance()
        return now + self.settings.refusalDelay.varied(by: 900...1100, random: random)
    }

    /// The server kicked us: a moderator meant it, so we stay away for a time, or until an operator asks.
    private mutating func kicked(_ name: String, _ reason: String, _ now: Duration) {
        guard let room = self.rooms[name], room.isWanted, !self.isStopping else {
            self.settle(name, reason: reason, now)
            return
        }
        self.rooms[name]?.isKicked = true
        if let seconds = room.spec.afterKickSeconds {
            // Up to a tenth more: many recorders of one server do not come back at the same instant.
            let until = now + Duration.seconds(seconds).varied(by: 1000...1100, random: self.chance())
            self.rooms[name]?.enter(.backingOff(until: until), reason: reason, now: now)
        } else {
            self.rooms[name]?.enter(.failed(until: nil), reason: reason, now: now)
        }
    }

    /// A room lost its worker, or its worker gave it up: another try, at once or later.
    private mutating func failed(_ name: String, _ reason: String, _ now: Duration) {
        guard var room = self.rooms[name], room.isWanted, !self.isStopping else {
            self.settle(name, reason: reason, now)
            return
        }
        let delay = room.restart.failed(at: now, random: self.chance())
        self.rooms[name] = room
        if room.restart.isCrashLoop {
            self.report(.crashLoop(room: name, reason: reason, delay: delay))
        }
        if delay > .zero {
            self.rooms[name]?.enter(.backingOff(until: now + delay), reason: reason, now: now)
        } else {
            self.assign(name, now)
        }
    }

    mutating func exited(_ id: WorkerID, _ reason: String, wasSignal: Bool, _ now: Duration) {
        guard let worker = self.workers.removeValue(forKey: id) else { return }
        let rooms = worker.rooms.sorted()
        let reason = worker.killReason ?? reason
        let cause: WorkerEndCause = worker.killReason != nil ? .killed : wasSignal ? .crashed : .exited
        self.report(.workerExited(id, reason: reason, rooms: rooms, cause: cause))
        for name in rooms {
            guard let room = self.rooms[name], room.worker == id else { continue }
            self.rooms[name]?.worker = nil
            self.rooms[name]?.status = RoomStatus()
            self.rooms[name]?.workerEnded()
            switch room.phase {
            case .leaving:
                self.rooms[name]?.unfinished = nil
                self.report(.left(room: name, reason: reason))
                self.settle(name, reason: reason, now)
            case .starting, .joining, .joined:
                self.rooms[name]?.restarts += 1
                if room.phase == .joined { self.report(.left(room: name, reason: reason)) }
                self.failed(name, reason, now)
            case .idle, .queued, .backingOff, .failed:
                break
            }
        }
    }

    /// No limit runs while we do not look.
    mutating func stalled(_ duration: Duration, _ now: Duration) {
        guard duration > .zero else { return }
        for (id, worker) in self.workers {
            switch worker.phase {
            case .starting(let deadline): self.workers[id]?.phase = .starting(deadline: deadline + duration)
            case .ready(let heard): self.workers[id]?.phase = .ready(heard: min(now, heard + duration))
            case .ending(let deadline): self.workers[id]?.phase = .ending(deadline: deadline + duration)
            case .killed: break
            }
        }
        for (name, room) in self.rooms {
            if case .leaving(let deadline) = room.phase {
                self.rooms[name]?.phase = .leaving(deadline: deadline + duration)
            }
        }
    }

    mutating func tick(_ now: Duration) {
        for (id, worker) in self.workers.sorted(by: { $0.key < $1.key }) {
            switch worker.phase {
            case .starting(let deadline) where now >= deadline:
                self.kill(id, reason: "did not start within \(self.settings.startLimit)")
            case .ready(let heard) where now >= heard + self.settings.hangLimit:
                self.kill(id, reason: "hung: no heartbeat for \(self.settings.hangLimit)")
            case .ending(let deadline) where now >= deadline:
                self.kill(id, reason: "did not end within \(self.settings.stop.process)")
            case .starting, .ready, .ending, .killed:
                break
            }
        }
        for (name, room) in self.rooms.sorted(by: { $0.key < $1.key }) {
            switch room.phase {
            case .backingOff(let until) where now >= until, .failed(let until?) where now >= until:
                self.assign(name, now)
            case .leaving(let deadline) where now >= deadline:
                self.outstayed(name, now)
            case .idle, .queued, .starting, .joining, .joined, .leaving, .backingOff, .failed:
                break
            }
        }
    }

    /// A room that is left is not left in time: its worker is ended, once none of its other rooms loses by that.
    private mutating func outstayed(_ name: String, _ now: Duration) {
        guard let id = self.rooms[name]?.worker, let worker = self.workers[id] else { return }
        let limit = self.settings.stop.process
        let reason = "did not leave \(name) within \(limit)"
        // One that ends has a separate limit.
        if case .ending(let deadline) = worker.phase {
            self.rooms[name]?.phase = .leaving(deadline: deadline)
            return
        }
        guard worker.rooms.contains(where: { self.isWell($0) && $0 != name }) else {
            return self.kill(id, reason: reason)
        }
        // Silence still ends it.
        if self.rooms[name]?.isOverdue == false { self.report(.misbehaved(id, "\(reason): its other rooms continue")) }
        self.rooms[name]?.isOverdue = true
        self.rooms[name]?.phase = .leaving(deadline: now + limit)
    }

    private func isWell(_ name: String) -> Bool {
        switch self.rooms[name]?.phase {
        case .joining, .joined: true
        case .leaving: self.rooms[name]?.isOverdue == false
        case .idle, .queued, .starting, .backingOff, .failed, nil: false
        }
    }

    mutating func stop(_ now: Duration) {
        guard !self.isStopping else { return }
        self.isStopping = true
        for (name, room) in self.rooms {
            switch room.phase {
            case .joining, .joined:
                self.rooms[name]?.enter(
                    .leaving(deadline: now + self.settings.stop.process),
                    reason: "the daemon ends",
                    now: now
                )
            case .queued, .starting, .backingOff:
                if room.worker == nil { self.rooms[name]?.enter(.idle, reason: "the daemon ends", now: now) }
            case .failed:
                self.rooms[name]?.phase = .failed(until: nil)
            case .idle, .leaving:
                break
            }
        }
        for (id, worker) in self.workers.sorted(by: { $0.key < $1.key }) {
            switch worker.phase {
            case .starting: self.cancel(id, reason: "the daemon ends")
            case .ready: self.shutDown(id, now)
            case .ending, .killed: break
            }
        }
    }

    mutating func shutDown(_ id: WorkerID, _ now: Duration) {
        self.workers[id]?.phase = .ending(deadline: now + self.settings.stop.process)
        self.actions.append(.send(id, .shutDown))
    }

    mutating func kill(_ id: WorkerID, reason: String) {
        if self.note(endOf: id, reason: reason) { self.actions.append(.kill(id, reason: reason)) }
    }

    /// Ends a worker that has not done anything yet, neither right nor wrong.
    mutating func cancel(_ id: WorkerID, reason: String) {
        if self.note(endOf: id, reason: reason) { self.actions.append(.cancel(id, reason: reason)) }
    }

    /// Notes that a worker ends at once; false if it did before.
    private mutating func note(endOf id: WorkerID, reason: String) -> Bool {
        guard let worker = self.workers[id], worker.phase != .killed else { return false }
        self.workers[id]?.phase = .killed
        self.workers[id]?.killReason = reason
        return true
    }
}
