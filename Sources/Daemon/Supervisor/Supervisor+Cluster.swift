// SPDX-License-Identifier: Apache-2.0

import Basics
import Cluster
import ConfigurationFile
import Control
import Fleet
import Model
import Storage
import Timeline

/// The recording of a room of the cluster.
struct SharedRecording: Sendable {
    /// The last one, as the cluster knows it.
    var pointer: RecordingPointer?
    /// Since when the room is empty, while its next recording would continue one of another host.
    var emptySince: Duration?
    /// The series that another host began, or this one in an earlier run.
    var continued: String?
    /// Whether a client paused the recording that the next one continues.
    var isPaused = false
}

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
    /// - Parameters:
    ///   - wish: what was last requested of its recording, on whatever host; counts for a room that is new here.
    ///   - continues: the recording that its last owner did not end; so does this.
    func take(
        _ room: RoomConfiguration,
        _ claim: RecordingClaim,
        mayAct: Bool,
        wish: WishRecord.Order?,
        continues: RecordingPointer?
    ) {
        let entry = self.book.entries[room.name]
        guard entry == nil || entry?.origin == .cluster else { return }
        self.define(room, origin: .cluster, claim: (claim, mayAct: mayAct))
        self.bus.publish(entry == nil ? .roomAdded : .roomChanged, room: room.name)
        guard entry == nil else { return }
        if let continues { self.follow(continues, in: room.name) }
        guard let wish else { return }
        switch wish {
        case .record:
            self.intend(room.name) { $0.startRecording() }
            self.book.request(room.name, true)
            self.updateWish(room.name)
        case .stop: self.intend(room.name) { $0.stopRecording() }
        case .pause:
            // A pause is one of its recording. That of another host has ended; the request that ends the pause continues it.
            guard self.intents[room.name]?.follows != nil else { return }
            self.shared[room.name]?.isPaused = true
            self.intend(room.name) { $0.hold() }
            // The room is not left by a pause: its call may end.
            self.book.request(room.name, true)
            self.updateWish(room.name)
        case .hold: self.intend(room.name) { $0.hold() }
        }
    }

    /// Has the next recording of a room continue one of another host, until the room has been empty for long enough to end
    /// it.
    private func follow(_ pointer: RecordingPointer, in room: String) {
        guard let series = RecordingID(rawValue: pointer.series), Self.continuable.contains(pointer.segment) else {
            return
        }
        self.shared[room, default: SharedRecording()].pointer = pointer
        self.shared[room]?.continued = pointer.series
        self.intend(room) { $0.follow(SeriesPlace(series: series.rawValue, segment: pointer.segment)) }
    }

    /// Numbers of segments that another may follow.
    private static let continuable = 1...1_000_000_000

    /// Ends the recording that a room's next one continues once the room is empty.
    func noteFollowed(in room: String, isEmpty: Bool) {
        guard isEmpty, let intent = self.intents[room], intent.follows != nil else {
            self.shared[room]?.emptySince = nil
            return
        }
        let since = self.shared[room]?.emptySince ?? self.now
        self.shared[room, default: SharedRecording()].emptySince = since
        let limit = intent.spec.record?.emptyAfterSeconds ?? RecordSpec().emptyAfterSeconds
        guard self.now - since >= .seconds(limit) else { return }
        self.shared[room]?.emptySince = nil
        let isPaused = self.shared[room]?.isPaused == true
        self.shared[room]?.isPaused = false
        self.intend(room) { intent in
            intent.follow(nil)
            // The next call is recorded, as on one host.
            if isPaused, intent.hand == .held { intent.startRecording() }
        }
        self.point(room, to: self.shared[room]?.pointer?.ended)
    }

    /// Reports a recording of a room of the cluster that began.
    func pointStarted(_ room: String, _ reference: RecordingReference) {
        guard self.book.entries[room]?.origin == .cluster, let place = reference.place, place.segment >= 1 else {
            return
        }
        let before = self.shared[room]?.pointer
        self.point(
            room,
            to: RecordingPointer(
                series: place.series,
                segment: place.segment,
                recording: reference.id,
                isRecording: true,
                isShared: self.shared[room]?.continued == place.series,
                began: before?.series == place.series ? before?.began : UTCTime.now().iso8601
            )
        )
    }

    /// Reports a recording of a room of the cluster that ended, unless it continues on the host that has the room next.
    func pointFinished(_ room: String, _ reference: RecordingReference, reason: String) {
        guard let pointer = self.shared[room]?.pointer, pointer.recording == reference.id else { return }
        let isReleased = self.book.entries[room] == nil || self.fleet.isStopping
        guard !isReleased || reason != RecordingFinished.left else { return }
        self.point(room, to: pointer.ended)
    }

    private func point(_ room: String, to pointer: RecordingPointer?) {
        guard let pointer, self.shared[room]?.pointer != pointer else { return }
        self.shared[room, default: SharedRecording()].pointer = pointer
        self.tellCluster(room, .recording(pointer))
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
