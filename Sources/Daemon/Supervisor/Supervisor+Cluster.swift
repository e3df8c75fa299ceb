// SPDX-License-Identifier: Apache-2.0

import Basics
import Cluster
import ConfigurationFile
import Control
import Fleet
import Model
import Storage
import Timeline

/// Rooms that a cluster gives to this host and takes away again.
extension Supervisor {
    /// Why this host cannot have a room of the cluster; nil if it can.
    func refusal(of room: RoomConfiguration) -> String? {
        if let entry = self.book.entries[room.name], entry.origin != .cluster {
            return "this host has a room of the name (\(entry.origin.rawValue))"
        }
        return self.book.twin(of: room).map { "the room \($0) of this host has the same URL and display name" }
    }

    /// Takes another claim of a room that is defined as before.
    ///
    /// - Returns: false, with nothing done, if it is not.
    func claim(_ name: String, _ definition: JSONValue, _ claim: RecordingClaim, mayAct: Bool) -> Bool {
        guard let entry = self.book.entries[name], entry.origin == .cluster, entry.definition.definition == definition
        else { return false }
        self.intend(name) { $0.claim(claim, mayAct: mayAct) }
        return true
    }

    /// Takes a room of the cluster; the host's own rooms are not replaced.
    ///
    /// - Parameter wish: what was last requested of its recording, on whatever host; counts for a room that is new here.
    func take(_ room: RoomConfiguration, _ claim: RecordingClaim, mayAct: Bool, wish: WishRecord.Order?) {
        let entry = self.book.entries[room.name]
        guard entry == nil || entry?.origin == .cluster else { return }
        self.define(room, origin: .cluster, claim: (claim, mayAct: mayAct))
        self.bus.publish(entry == nil ? .roomAdded : .roomChanged, room: room.name)
        guard entry == nil, let wish else { return }
        switch wish {
        case .record:
            self.intend(room.name) { $0.startRecording() }
            self.book.request(room.name, true)
            self.updateWish(room.name)
        case .stop: self.intend(room.name) { $0.stopRecording() }
        // What was paused was the recording of another host, which has ended.
        case .pause, .hold: self.intend(room.name) { $0.hold() }
        }
    }

    /// Leaves and forgets a room of the cluster; `.gone` follows.
    func release(_ name: String) {
        if self.book.entries[name]?.origin == .cluster {
            self.remove(name)
            self.bus.publish(.roomRemoved, room: name)
        } else if self.book.entries[name] != nil || self.fleet.rooms[name] == nil {
            // It is the host's own, or not here. One that is being left reports that when it is.
            self.tellCluster(name, .gone)
        }
    }

    /// Reports to the cluster what a person requested of a room that it shares.
    func tellCluster(_ name: String, requested action: RoomAction) {
        let order: WishRecord.Order
        switch action {
        case .record, .resume: order = .record
        case .pause: order = .pause
        case .stop: order = .stop
        case .requestKeyframe, .camera, .changeCamera, .mark: return
        }
        guard self.book.entries[name]?.origin == .cluster, let host = self.configuration.cluster?.host else { return }
        self.cluster?(.wish(room: name, WishRecord(order: order, requested: UTCTime.now().iso8601, by: host)))
    }

    /// Throws `conflict` for a room that only `tapedeck rooms` changes.
    func refuseSharedRoom(_ name: String) throws(ControlError) {
        guard self.book.entries[name]?.origin == .cluster else { return }
        throw ControlError(.conflict, "the room \(name) is the cluster's: tapedeck rooms apply and delete change it")
    }
}
