// SPDX-License-Identifier: Apache-2.0

import Cluster
import TestSupport

/// What the faults do.
extension Simulation {
    func begin(_ fault: Fault) {
        let host = self.hosts[fault.host]
        switch fault.kind {
        case .kill:
            guard host.machine != nil else { return }
            self.kill(host)
            self.after(fault.duration) { self.start(host) }
        case .powerOff:
            guard host.isOn else { return }
            self.powerOff(host)
            self.after(fault.duration) {
                host.isOn = true
                self.start(host)
            }
        case .cutOffStore: self.disturb(host, fault) { $0.links = $1 ? [false, false, false] : [true, true, true] }
        case .deadMember:
            let member = host.member
            self.disturb(host, fault) { $0.links[member] = !$1 }
        case .lostAnswers: self.disturb(host, fault) { $0.losesAnswers = $1 }
        case .cutOffRooms: self.cutOffRooms(host, fault)
        case .pause: self.pause(host, fault)
        case .leaderLost: self.etcd.stall(until: self.now + self.random.pick(800_000...2_500_000))
        case .quorumLost: self.etcd.stall(until: self.now + min(fault.duration, 25_000_000))
        case .leaseRevoked, .leaseRevokedAndLie:
            let key = ClusterKey.host(host.name).text(cluster: Self.cluster)
            guard let lease = self.etcd.values[key]?.lease else { return }
            host.disturbed = self.now
            if fault.kind == .leaseRevokedAndLie { host.liesUntil = self.now + fault.duration }
            self.changed(self.etcd.end(lease))
        case .watchLost:
            self.disturb(host, fault) {
                $0.losesEvents = $1
                $0.lostEvents = self.now
            }
        case .compacted: self.etcd.compact()
        case .full: self.etcd.fullUntil = max(self.etcd.fullUntil, self.now + fault.duration)
        case .clockStep: self.stepClock(host, until: self.now + fault.duration, isForward: true)
        case .drain: self.drain(host, fault)
        case .stop: self.stop(host, fault)
        case .kick:
            let rooms = self.roomNames.filter { host.presences[$0]?.visit != nil }
            guard !rooms.isEmpty else { return }
            self.kick(rooms[self.random.pick(0...rooms.count - 1)], host)
        case .recreated: self.recreate()
        case .redefined: self.define(self.roomNames[fault.duration % self.roomNames.count], 2)
        case .storeSlow: self.etcd.slowUntil = max(self.etcd.slowUntil, self.now + fault.duration)
        case .bucketFails: self.bucket.failsUntil = max(self.bucket.failsUntil, self.now + fault.duration)
        case .bucketDamages: self.bucket.damagesUntil = max(self.bucket.damagesUntil, self.now + fault.duration)
        case .bucketLosesAnswers:
            self.bucket.losesAnswersUntil = max(self.bucket.losesAnswersUntil, self.now + fault.duration)
        }
    }

    /// Minutes forth and back, again and again.
    private func stepClock(_ host: SimulatedHost, until end: Int, isForward: Bool) {
        guard self.now < end || !isForward else { return }
        host.wallOffset += (isForward ? 1 : -1) * 180_000_000
        self.give(host, .tick)
        self.after(2_000_000) { self.stepClock(host, until: end, isForward: !isForward) }
    }

    private func disturb(_ host: SimulatedHost, _ fault: Fault, _ change: @escaping (SimulatedHost, Bool) -> Void) {
        host.disturbed = self.now
        change(host, true)
        self.after(fault.duration) {
            change(host, false)
            host.disturbed = self.now
        }
    }

    /// The room server does not hear the host, which then notices that it is out.
    private func cutOffRooms(_ host: SimulatedHost, _ fault: Fault) {
        self.disturb(host, fault) { $0.reachesRooms = !$1 }
        self.server.abandon(host: host.index, at: self.now)
        for room in host.presences.keys.sorted() { self.kick(room, host) }
    }

    private func pause(_ host: SimulatedHost, _ fault: Fault) {
        guard host.machine != nil, !host.isPaused else { return }
        host.isPaused = true
        host.disturbed = self.now
        let life = host.life
        self.after(fault.duration) {
            host.isPaused = false
            (host.resumed, host.disturbed) = (self.now, self.now)
            guard host.life == life else {
                host.inbox = []
                return
            }
            let inbox = host.inbox
            host.inbox = []
            for input in inbox { self.give(host, input) }
            self.give(host, .tick)
        }
    }

    private func drain(_ host: SimulatedHost, _ fault: Fault) {
        guard !host.isDraining else { return }
        host.isDraining = true
        let deadline = Duration.microseconds(host.clock(at: self.now) + fault.duration * 2 / 3)
        self.give(host, .drain(deadline: deadline))
        self.after(fault.duration) {
            host.isDraining = false
            (host.disturbed, host.drainedAt) = (self.now, self.now)
            self.give(host, .undrain)
        }
    }

    private func stop(_ host: SimulatedHost, _ fault: Fault) {
        guard host.machine != nil, !host.isStopping else { return }
        host.isStopping = true
        self.give(host, .stop)
        self.after(fault.duration) {
            if host.machine != nil { self.kill(host) }
            self.start(host)
        }
    }

    /// An empty store; an operator initialises it, and then has the hosts adopt it.
    private func recreate() {
        guard !self.isRecreated else { return }
        self.isRecreated = true
        self.etcd.recreate()
        self.checker.recreated()
        self.after(3_000_000) {
            self.clusterNumber += 1
            self.initialise()
            self.checker.storeDisturbed = self.now
        }
        self.after(6_000_000) {
            let meta = MetaRecord(
                id: "cluster-\(self.clusterNumber)",
                replaced: (1..<self.clusterNumber).map { "cluster-\($0)" }
            )
            self.changed(self.etcd.write(ClusterKey.meta.text(cluster: Self.cluster), meta.text))
            for host in self.hosts { host.disturbed = self.now }
            self.checker.storeDisturbed = self.now
        }
    }
}
