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

/// The part of the HTTP API that is about rooms.
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
        try self.refuseSharedRoom(room.name)
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
        try self.refuseSharedRoom(name)
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

    /// Sends a room a command.
    func perform(_ action: RoomAction, on name: String) async throws(ControlError) -> RoomResource {
        guard let entry = self.book.entries[name] else { throw Self.unknown(name) }
        guard !self.fleet.isStopping else { throw ControlError(.unavailable, "the daemon ends") }
        // Before anything is ordered that its worker would not get.
        try self.refuseIfBusy()
        switch action {
        case .record:
            try self.refuseFullDisk(name)
            self.intend(name) { $0.startRecording() }
            self.book.request(name, true)
            self.updateWish(name)
            self.apply(.retry(room: name))
            // A worker that is yet to join gets it when it does.
            try await self.waitForRecording(of: name)
        case .pause: try await self.pause(name)
        case .resume: try await self.resume(name)
        case .stop:
            self.intend(name) { $0.stopRecording() }
            try await self.waitForRecording(of: name)
            if entry.definition.join != .always {
                self.book.request(name, false)
                self.updateWish(name, because: "stopped by request")
            }
        case .requestKeyframe(let participant):
            try await self.tell(name, .requestKeyframe(room: name, participant: participant))
        case .camera(let camera): try await self.setCamera(camera, of: name)
        case .changeCamera(let change): try await self.changeCamera(change, of: name)
        case .mark(let text):
            try await self.tell(name, .mark(room: name, text: text))
            self.publish(.recordingMarked, of: name, ["text": text])
        }
        self.tellCluster(name, requested: action)
        return try self.roomResource(name)
    }

    /// A JPEG image of a participant's last keyframe.
    func thumbnailImage(room: String, participant: String) async throws(ControlError) -> [UInt8] {
        guard self.book.entries[room] != nil else { throw Self.unknown(room) }
        guard let worker = self.fleet.commandable(room) else { throw Self.nobodyThere(room) }
        guard self.fleet.rooms[room]?.status.participants.contains(where: { $0.id == participant }) == true else {
            throw ControlError(.notFound, "there is no such participant")
        }
        return try await self.previews.image { () async throws(ControlError) -> PreviewMaker.Keyframe in
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

    /// Publishes what was done with the recording of a room.
    private func publish(_ kind: DaemonEvent.Kind, of name: String, _ details: [String: String] = [:]) {
        self.bus.publish(kind, room: name, recording: self.fleet.rooms[name]?.status.recording?.id, details)
    }

    private func refuseFullDisk(_ name: String) throws(ControlError) {
        guard self.intents[name]?.mayRecord != true else { return }
        throw ControlError(.unavailable, "nothing is recorded: the disk is almost full")
    }

    private func pause(_ name: String) async throws(ControlError) {
        guard self.fleet.commandable(name) != nil else { throw Self.nobodyThere(name) }
        guard self.intend(name, { $0.pause() }) == true else { throw Self.nothingRecorded }
        do throws(ControlError) {
            try await self.waitForRecording(of: name)
        } catch {
            self.intend(name) { $0.withdrawPause() }
            throw error
        }
        let recording = self.fleet.rooms[name]?.unfinished?.id
        if self.intend(name, { $0.acceptPause(of: recording) }) == true { self.publish(.recordingPaused, of: name) }
    }

    private func resume(_ name: String) async throws(ControlError) {
        switch self.intents[name]?.hand {
        case .held:
            // What was paused has ended: another recording begins.
            try self.refuseFullDisk(name)
        case .asDefined, .on, .paused, .off, nil:
            guard self.fleet.commandable(name) != nil else { throw Self.nobodyThere(name) }
            guard let room = self.fleet.rooms[name], room.unfinished != nil, room.spec.recording != .off else {
                throw Self.nothingRecorded
            }
        }
        let wasPaused = self.intend(name) { $0.startRecording() } == true
        try await self.waitForRecording(of: name)
        if wasPaused { self.publish(.recordingResumed, of: name) }
    }

    /// Waits until the worker does what is wanted of the recording; without a worker, the next one will.
    private func waitForRecording(of name: String) async throws(ControlError) {
        guard let worker = self.fleet.commandable(name) else { return }
        _ = try await self.waitForIntent(of: name, in: worker, .recording)
    }

    /// Waits until a worker has what is wanted of a room in force.
    ///
    /// - Returns: false if it did not say so in time.
    private func waitForIntent(
        of name: String,
        in worker: WorkerID,
        _ part: RoomPart
    ) async throws(ControlError) -> Bool {
        guard let room = self.fleet.rooms[name] else { return false }
        var answer = PendingRequest.answer(of: room.status, room.revision, part)
        if answer == nil { answer = await self.ask(worker, room: name, .inForce(room.revision, part)) }
        switch answer {
        case .refused(let reason): throw ControlError(.conflict, reason)
        case .done: return true
        case .silence, .keyframe, .graphs, nil: return false
        }
    }

    private func setCamera(_ camera: SendSpec?, of name: String) async throws(ControlError) {
        var camera = camera
        camera?.pipelines = self.configuration.pipelines.directory
        let request = RoomIntent.CameraRequest.camera(camera)
        self.intend(name) { $0.mute(for: request) }
        try await self.beginCameraTurn(name)
        defer { self.endCameraTurn(name) }
        // It may be another room since.
        guard camera == nil || self.book.entries[name]?.definition.takesMedia != false else {
            throw ControlError(.conflict, "the room \(name) only plays, and takes nothing that we could send")
        }
        try await self.request(request, of: name)
    }

    private func changeCamera(_ change: CameraChange, of name: String) async throws(ControlError) {
        self.intend(name) { $0.mute(for: .change(change)) }
        try await self.beginCameraTurn(name)
        defer { self.endCameraTurn(name) }
        guard self.intents[name]?.hasCamera == true else {
            throw ControlError(.conflict, "room \"\(name)\" has no camera (send:)")
        }
        // Who is muted between two calls is muted in the next one; captures are looked for where they are opened.
        let namesCaptures = change.video != nil || change.audio != nil || change.parameters != nil
        try await self.request(.change(change), of: name, mustBeThere: namesCaptures)
    }

    /// Has a room's camera be as requested; a worker that refuses, or does not answer in time, never does it.
    private func request(
        _ request: RoomIntent.CameraRequest,
        of name: String,
        mustBeThere: Bool = true
    ) async throws(ControlError) {
        let worker = self.fleet.commandable(name)
        if worker == nil, mustBeThere { throw Self.nobodyThere(name) }
        try self.refuseIfBusy()
        self.intend(name) { $0.request(request) }
        do throws(ControlError) {
            if let worker, try await !self.waitForIntent(of: name, in: worker, .send) {
                throw ControlError(.unavailable, "the worker of \(name) did not say whether it did that")
            }
        } catch {
            self.intend(name) { $0.withdrawCamera() }
            throw error
        }
        self.intend(name) { $0.acceptCamera() }
    }

    /// Has a room's worker perform a command, and waits until it did.
    private func tell(_ name: String, _ command: WorkerCommand) async throws(ControlError) {
        guard let worker = self.fleet.commandable(name) else { throw Self.nobodyThere(name) }
        switch await self.ask(worker, command, room: name, .done) {
        case .refused(let reason): throw ControlError(.conflict, reason)
        case .silence: throw ControlError(.unavailable, "the worker of \(name) did not say whether it did that")
        case .done, .keyframe, .graphs: break
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

    private static let nothingRecorded = ControlError(.conflict, "nothing is recorded")

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
        resource.host = self.configuration.cluster?.host
        resource.next = self.book.nextWindow(of: name, after: Date()).map { start in
            UTCTime(nanosecondsSince1970: Int64(start.timeIntervalSince1970) * 1_000_000_000).iso8601
        }
        // Between the daemon and its worker.
        (resource.status.revision, resource.status.refused) = (nil, nil)
        if inFull { resource.definition = entry.definition.shownDefinition }
        // The place of the storage does not leave this host.
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
    /// Its name in the HTTP API.
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
