// SPDX-License-Identifier: Apache-2.0

import Basics
import Catalogue
import ConfigurationFile
import Control
import Fleet
import Foundation
import Logging
import Model
import Observability
import Storage

/// The part of the interface that is about rooms.
extension Supervisor {
    /// Every room, by name.
    func roomResources() -> [RoomResource] {
        self.book.entries.keys.sorted().compactMap { self.resource($0) }
    }

    /// One room; throws `notFound`.
    func roomResource(_ name: String) throws(ControlError) -> RoomResource {
        guard let resource = self.resource(name, inFull: true) else { throw Self.unknown(name) }
        return resource
    }

    /// What a room is, nil if there is none of that name, and the daemon's configuration: what a draft is made of.
    func definition(of name: String) -> (RoomConfiguration?, DaemonConfiguration) {
        (self.book.entries[name]?.definition, self.configuration)
    }

    /// Has a room be what a draft says whose pipeline files are there.
    ///
    /// - Returns: nil, with nothing done, if the room is not any more what the draft was made of.
    func take(_ draft: RoomDraft) throws(ControlError) -> RoomResource? {
        let (room, before) = (draft.room, draft.before)
        guard self.book.entries[room.name]?.definition == before else { return nil }
        try self.refuseOtherRecorder(of: room)
        self.define(room, origin: .api)
        // One of the file is changed until the next start only.
        if self.configuration.rooms[room.name] == nil { self.kept.note(room.name, room.definition) }
        self.bus.publish(before == nil ? .roomAdded : .roomChanged, room: room.name)
        return try self.roomResource(room.name)
    }

    /// Leaves and forgets a room.
    func removeRoom(_ name: String) throws(ControlError) {
        guard self.book.entries[name] != nil else { throw Self.unknown(name) }
        self.remove(name)
        self.kept.note(name, nil)
        self.bus.publish(.roomRemoved, room: name)
    }

    /// Takes up a room that a client added before this start; one that cannot be taken up stays in the catalogue.
    func takeUp(_ name: String, _ definition: JSONValue) {
        do {
            let room = try RoomConfiguration.parse(name: name, definition: definition)
            try self.refuseOtherRecorder(of: room)
            self.define(room, origin: .api)
        } catch {
            self.logger.warning(
                "a room that was added through the API is left out",
                metadata: .tagged([.roomName: "\(name)", .errorMessage: "\(error)"])
            )
        }
    }

    /// Forgets of these rooms that a client added them, where the file has a room of the name: the file wins.
    func giveWay(of names: [String]) {
        for name in names.sorted() where self.configuration.rooms[name] != nil {
            self.kept.note(name, nil)
            self.logger.warning(
                "the configuration file has a room that was added through the API: the file's definition is used",
                metadata: .tagged([.roomName: "\(name)"])
            )
        }
    }

    /// Tells a room something.
    func perform(_ action: RoomAction, on name: String) async throws(ControlError) -> RoomResource {
        guard let entry = self.book.entries[name] else { throw Self.unknown(name) }
        guard !self.fleet.isStopping else { throw ControlError(.unavailable, "the daemon ends") }
        // Before anything is ordered that its worker would not be told.
        try self.refuseIfBusy()
        switch action {
        case .record:
            try self.orderRecording(of: entry.definition)
            self.book.request(name, true)
            self.updateWish(name)
            self.apply(.retry(room: name))
            // A worker that is yet to join is told when it does.
            try await self.tell(name, .record(room: name), until: .status([.recording, .waiting]), mustBeThere: false)
        case .pause:
            let before = self.recordingState(of: name)
            try await self.tell(name, .pause(room: name), until: .status([.paused]))
            self.apply(.order(room: name, .pause))
            if before != .paused { self.publish(.recordingPaused, of: name) }
        case .resume where self.fleet.rooms[name]?.ordered == .hold:
            // What was paused has ended: another recording begins.
            try self.orderRecording(of: entry.definition)
            try await self.tell(name, .record(room: name), until: .status([.recording, .waiting]), mustBeThere: false)
        case .resume:
            let before = self.recordingState(of: name)
            try await self.tell(name, .resume(room: name), until: .status([.recording, .waiting]))
            if before == .paused { self.publish(.recordingResumed, of: name) }
            // The disk may have ended it meanwhile.
            if self.fleet.rooms[name]?.order.record != nil { self.apply(.order(room: name, .record)) }
        case .stop:
            self.apply(.order(room: name, .stop))
            try await self.tell(name, .stopRecording(room: name), until: .status([.off]), mustBeThere: false)
            if entry.definition.join != .always {
                self.book.request(name, false)
                self.updateWish(name, because: "stopped by request")
            }
        case .requestKeyframe(let participant):
            try await self.tell(name, .requestKeyframe(room: name, participant: participant))
        case .camera(let order): try await self.setCamera(order, of: name)
        case .changeCamera(let change): try await self.changeCamera(change, of: name)
        case .mark(let text):
            try await self.tell(name, .mark(room: name, text: text))
            self.publish(.recordingMarked, of: name, ["text": text])
        }
        return try self.roomResource(name)
    }

    /// A JPEG image of a participant's last keyframe.
    func thumbnailImage(room: String, participant: String) async throws(ControlError) -> [UInt8] {
        guard self.book.entries[room] != nil else { throw Self.unknown(room) }
        guard let worker = self.fleet.commandable(room) else { throw Self.nobodyThere(room) }
        guard self.fleet.rooms[room]?.status.participants.contains(where: { $0.id == participant }) == true else {
            throw ControlError(.notFound, "there is no such participant")
        }
        return try await self.stills.image { () async throws(ControlError) -> StillMaker.Keyframe in
            let command = WorkerCommand.thumbnail(room: room, participant: participant)
            switch await self.ask(worker, command, room: room, .keyframe(participant: participant)) {
            case .keyframe(let codec, let rotation, let bytes): return (codec, rotation, bytes)
            case .refused(let reason): throw ControlError(.notFound, reason)
            case .silence, .done, .graphs:
                throw ControlError(.unavailable, "no keyframe of \(participant) came in time")
            }
        }
    }

    /// The room's pipelines in the DOT language.
    func graphs(room: String) async throws(ControlError) -> [String: String] {
        guard self.book.entries[room] != nil else { throw Self.unknown(room) }
        guard let worker = self.fleet.commandable(room) else { throw Self.nobodyThere(room) }
        switch await self.ask(worker, .graph(room: room), room: room, .graphs) {
        case .graphs(let graphs): return graphs
        // Between two sessions there are no pipelines.
        case .refused(let reason): throw ControlError(.conflict, reason)
        case .silence, .done, .keyframe: throw ControlError(.unavailable, "the worker sent no graph")
        }
    }

    // MARK: Helpers

    private func recordingState(of name: String) -> RoomStatus.RecordingState? {
        self.fleet.rooms[name]?.status.recordingState
    }

    /// Publishes what was done with the recording of a room.
    private func publish(_ kind: DaemonEvent.Kind, of name: String, _ details: [String: String] = [:]) {
        self.bus.publish(kind, room: name, recording: self.fleet.rooms[name]?.status.recording?.id, details)
    }

    /// Notes that a room is to be recorded; throws `unavailable` if nothing of it may be at present.
    private func orderRecording(of room: RoomConfiguration) throws(ControlError) {
        guard self.recordingLimit.limited(room.spec.record ?? RecordSpec()) != nil else {
            throw ControlError(.unavailable, "nothing is recorded: the disk is almost full")
        }
        self.apply(.order(room: room.name, .record))
        self.order(room)
    }

    private func setCamera(_ order: SendSpec?, of name: String) async throws(ControlError) {
        try await self.beginCameraTurn(name)
        defer { self.endCameraTurn(name) }
        // It may be another room since.
        guard order == nil || self.book.entries[name]?.definition.takesMedia != false else {
            throw ControlError(.conflict, "the room \(name) only plays, and takes nothing that we could send")
        }
        var order = order
        order?.pipelines = self.configuration.pipelines.directory
        if let order { self.noteMutes(order.mutes, of: name) }
        try await self.tell(name, .camera(room: name, order))
        self.note(order, of: name)
    }

    private func changeCamera(_ change: CameraChange, of name: String) async throws(ControlError) {
        try await self.beginCameraTurn(name)
        defer { self.endCameraTurn(name) }
        guard let order = self.fleet.rooms[name]?.order.send else {
            throw ControlError(.conflict, "room \"\(name)\" has no camera (send:)")
        }
        // Who is muted between two calls is muted in the next one; captures are looked for where they are opened.
        let namesCaptures = change.video != nil || change.audio != nil || change.parameters != nil
        let changed = change.applied(to: order)
        self.noteMutes(changed.mutes, of: name)
        try await self.tell(name, .camera(room: name, changed), mustBeThere: namesCaptures)
        // A reload may have come in between.
        guard let order = self.fleet.rooms[name]?.order.send else { return }
        self.note(change.applied(to: order), of: name)
    }

    /// Notes what is to be muted before the worker is told of the rest: it holds also where that is refused, or not answered,
    /// and no later change takes it back by mistake.
    private func noteMutes(_ mutes: CameraMutes, of name: String) {
        guard let before = self.fleet.rooms[name]?.order.send else { return }
        var order = before
        order.mutes.formUnion(mutes)
        if order != before { self.note(order, of: name) }
    }

    /// Tells a room's worker something, and waits for what answers the question.
    private func tell(
        _ name: String,
        _ command: WorkerCommand,
        until question: PendingRequest.Question = .done,
        mustBeThere: Bool = true
    ) async throws(ControlError) {
        guard let worker = self.fleet.commandable(name) else {
            if mustBeThere { throw Self.nobodyThere(name) }
            return
        }
        try self.refuseIfBusy()
        switch await self.ask(worker, command, room: name, question) {
        case .refused(let reason): throw ControlError(.conflict, reason)
        case .silence where question == .done:
            throw ControlError(.unavailable, "the worker of \(name) did not say whether it did that")
        case .done, .silence, .keyframe, .graphs: break
        }
    }

    private func refuseIfBusy() throws(ControlError) {
        guard self.isBusy else { return }
        throw ControlError(.unavailable, "too many requests wait for workers")
    }

    private func refuseOtherRecorder(of room: RoomConfiguration) throws(ControlError) {
        guard let twin = self.book.twin(of: room) else { return }
        throw ControlError(
            .conflict,
            "the room \(twin) has the same URL and display name: we would meet ourselves there"
        )
    }

    static func unknown(_ name: String) -> ControlError {
        ControlError(.notFound, "there is no room named \(name)")
    }

    private static func nobodyThere(_ name: String) -> ControlError {
        ControlError(.conflict, "the daemon is not in the room \(name) at present")
    }

    private func resource(_ name: String, inFull: Bool = false) -> RoomResource? {
        guard let entry = self.book.entries[name], let room = self.fleet.rooms[name] else { return nil }
        let age = self.now - room.since
        let since = UTCTime(nanosecondsSince1970: UTCTime.now().nanosecondsSince1970 - age.nanoseconds)
        var resource = RoomResource(
            name: name,
            url: Redaction.url(entry.definition.address.description),
            join: entry.definition.join.description,
            origin: entry.origin.rawValue,
            phase: room.phase.resource,
            reason: room.phase == .idle ? self.book.absence(of: name, at: Date()) ?? room.reason : room.reason,
            since: since.iso8601,
            restarts: room.restarts,
            status: room.status
        )
        resource.next = self.book.nextWindow(of: name, after: Date()).map { start in
            UTCTime(nanosecondsSince1970: Int64(start.timeIntervalSince1970) * 1_000_000_000).iso8601
        }
        if inFull { resource.definition = entry.definition.shownDefinition }
        // Where the storage is on this host is nobody's business outside.
        if let recording = resource.status.recording {
            resource.status.recording?.folder = RecordingEntry.relative(
                recording.folder,
                to: self.recordings.storage
            )
        }
        if let id = room.worker, let worker = self.fleet.workers[id], let processID = worker.processID {
            resource.worker = RoomResource.Worker(
                processID: processID,
                cpuPercent: worker.cpuPercent,
                residentBytes: worker.vitals?.residentBytes ?? 0
            )
        }
        return resource
    }
}

extension ControlError {
    /// What is wrong with a room's definition.
    init(_ error: ConfigurationError) {
        self.init(.invalid, "the room's definition has errors", problems: error.problems.map(\.description))
    }
}

extension FleetRoom.Phase {
    /// The name that the interface gives it.
    var resource: RoomResource.Phase {
        switch self {
        case .idle: .idle
        case .queued: .queued
        case .starting: .starting
        case .joining: .joining
        case .joined: .joined
        case .leaving: .leaving
        case .backingOff: .backingOff
        case .failed: .failed
        }
    }
}
