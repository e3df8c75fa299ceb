// SPDX-License-Identifier: Apache-2.0

import Control
import Model
import Synchronization

/// A daemon that is only a table: one room, one recording, and a note of everything that was asked.
final class FakeBackend: ControlBackend {
    struct State: Sendable {
        var rooms: [String: RoomResource] = [:]
        var recordings: [RecordingResource] = []
        var exports: [ExportResource] = []
        var health = Health(isLive: true, isReady: true)
        var folder = "/nonexistent"
        var calls: [String] = []
        var failure: ControlError?
        /// The host that has the room `away` and the recording `r9`.
        var peer: (any ControlPeer)?
        /// Performing waits until this ends.
        var barrier: AsyncStream<Void>?
    }

    let state: Mutex<State>

    init() {
        var state = State()
        state.rooms["standup"] = RoomResource(
            name: "standup",
            url: "socketio+https://rtc.example.org/1",
            join: "always",
            origin: "configuration",
            phase: .joined,
            since: "2026-11-21T06:00:00.000Z"
        )
        state.recordings = [
            RecordingResource(
                id: "r1",
                room: "standup",
                start: "2026-11-21T06:00:00.000Z",
                bytes: 10,
                state: "finished",
                participants: ["alice"],
                files: [.init(name: "tracks/a.mkv", bytes: 10, type: "video/x-matroska")]
            )
        ]
        self.state = Mutex(state)
    }

    var calls: [String] { self.state.withLock { $0.calls } }

    func set(_ change: (inout State) -> Void) { self.state.withLock { change(&$0) } }

    private func note(_ call: String) throws(ControlError) {
        let failure = self.state.withLock { state in
            state.calls.append(call)
            return state.failure
        }
        if let failure { throw failure }
    }

    func rooms(isLocal: Bool) async -> RoomList {
        self.state.withLock { state in
            if isLocal { state.calls.append("rooms of this host") }
            return RoomList(state.rooms.values.sorted { $0.name < $1.name })
        }
    }

    func host(of subject: ControlSubject) async throws(ControlError) -> (any ControlPeer)? {
        switch subject {
        case .room("away"), .recording("r9"): self.state.withLock { $0.peer }
        default: nil
        }
    }

    func room(_ name: String) async throws(ControlError) -> RoomResource {
        try self.note("room \(name)")
        guard let room = self.state.withLock({ $0.rooms[name] }) else {
            throw ControlError(.notFound, "There is no room of this name.")
        }
        return room
    }

    func addRoom(_ name: String, definition: String) async throws(ControlError) -> RoomResource {
        try self.note("add \(name) \(definition)")
        let room = RoomResource(
            name: name,
            url: "socketio+http://127.0.0.1/1",
            join: "on-demand",
            origin: "api",
            phase: .idle,
            since: "2026-11-21T06:00:00.000Z"
        )
        let isNew = self.state.withLock { $0.rooms.updateValue(room, forKey: name) == nil }
        guard isNew else { throw ControlError(.conflict, "The name is taken.") }
        return room
    }

    func changeRoom(_ name: String, patch: String) async throws(ControlError) -> RoomResource {
        try self.note("change \(name) \(patch)")
        return try await self.room(name)
    }

    func removeRoom(_ name: String) async throws(ControlError) {
        try self.note("remove \(name)")
        let isKnown = self.state.withLock { $0.rooms.removeValue(forKey: name) != nil }
        guard isKnown else { throw ControlError(.notFound, "There is no room of this name.") }
    }

    func perform(_ action: RoomAction, on room: String) async throws(ControlError) -> RoomResource {
        try self.note("perform \(action) on \(room)")
        if let barrier = self.state.withLock({ $0.barrier }) {
            for await _ in barrier {}
        }
        return try await self.room(room)
    }

    func thumbnail(room: String, participant: String) async throws(ControlError) -> [UInt8] {
        try self.note("thumbnail \(room) \(participant)")
        guard participant == "alice" else { throw ControlError(.notFound, "There is no picture.") }
        return [0xff, 0xd8, 0xff, 0xd9]
    }

    func pipelineGraphs(room: String) async throws(ControlError) -> [String: String] {
        _ = try await self.room(room)
        return ["peer": "digraph {}"]
    }

    func recordings(_ query: RecordingQuery) async throws(ControlError) -> RecordingPage {
        let asked = "recordings \(query.limit) \(query.cursor ?? "-") \(query.room ?? "-") \(query.text ?? "-")"
        try self.note(asked + (query.isLocal ? " of this host" : ""))
        let all = self.state.withLock { $0.recordings }
        return RecordingPage(recordings: Array(all.prefix(query.limit)), next: all.count > query.limit ? "c&1" : nil)
    }

    func recording(_ id: String) async throws(ControlError) -> RecordingResource {
        try self.note("recording \(id)")
        guard let found = self.state.withLock({ $0.recordings.first { $0.id == id } }) else {
            throw ControlError(.notFound, "There is no such recording.")
        }
        return found
    }

    func timeline(recording id: String) async throws(ControlError) -> RecordingTimeline {
        _ = try await self.recording(id)
        return RecordingTimeline(durationSeconds: 60, participants: [], events: [])
    }

    func thumbnail(recording id: String, at second: Int?) async throws(ControlError) -> [UInt8] {
        _ = try await self.recording(id)
        guard second ?? 0 < 60 else { throw ControlError(.notFound, "There is no video.") }
        return [0xff, 0xd8, 0xff, 0xd9]
    }

    func levels(recording id: String) async throws(ControlError) -> RecordingLevels {
        _ = try await self.recording(id)
        return RecordingLevels(stepSeconds: 0.5, participants: [.init(id: "alice", levels: [-90, -20])])
    }

    func deleteRecording(_ id: String) async throws(ControlError) {
        _ = try await self.recording(id)
        self.state.withLock { $0.recordings.removeAll { $0.id == id } }
    }

    func export(_ recording: String, _ spec: ExportSpec) async throws(ControlError) -> ExportResource {
        _ = try await self.recording(recording)
        let export = self.state.withLock { state in
            let id = "e\(state.exports.count + 1)"
            let new = ExportResource(
                id: id,
                recording: recording,
                layout: spec.layout.name.rawValue,
                state: .queued,
                progress: 0
            )
            state.exports.append(new)
            return new
        }
        return export
    }

    func exports(_ recording: String) async throws(ControlError) -> [ExportResource] {
        _ = try await self.recording(recording)
        return self.state.withLock { $0.exports.filter { $0.recording == recording } }
    }

    func cancelExport(_ export: String, of recording: String) async throws(ControlError) {
        _ = try await self.recording(recording)
        let found = self.state.withLock { $0.exports.first { $0.id == export && $0.recording == recording } }
        guard let found else { throw ControlError(.notFound, "There is no such export.") }
        guard found.state == .queued else { throw ControlError(.conflict, "It does not wait.") }
        self.state.withLock { $0.exports.removeAll { $0.id == export } }
    }

    func filePath(_ recording: String, file: String) async throws(ControlError) -> String {
        let found = try await self.recording(recording)
        guard found.files.contains(where: { $0.name == file }) else {
            throw ControlError(.notFound, "There is no such file.")
        }
        return self.state.withLock { "\($0.folder)/\(file)" }
    }

    func webhooks() async throws(ControlError) -> WebhookOverview {
        try self.note("webhooks")
        return WebhookOverview(webhooks: [], deadLetters: [])
    }

    func retryDelivery(_ id: String) async throws(ControlError) { try self.note("retry \(id)") }

    func cluster() async throws(ControlError) -> ClusterResource {
        try self.note("cluster")
        return ClusterResource(name: "calls", host: "a", isConnected: true, since: "2026-11-30T01:00:00Z")
    }

    func drain(within time: Duration?, untilRestart: Bool) async throws(ControlError) -> ClusterResource {
        try self.note("drain \(time.map { "\($0)" } ?? "-")\(untilRestart ? " until restart" : "")")
        return try await self.cluster()
    }

    func reload() async throws(ControlError) -> ReloadReport {
        try self.note("reload")
        return ReloadReport(added: 1, changed: 2, removed: 3, unchanged: 4, afterRestart: ["cluster"])
    }

    func health() async -> Health { self.state.withLock { $0.health } }

    func overview() async -> Overview {
        Overview(
            version: "1",
            uptimeSeconds: 1,
            roomsByPhase: ["joined": 1],
            activeRecordings: 0,
            pendingExports: 0,
            freeBytes: 1,
            workers: 1
        )
    }
}

extension FakeBackend {
    var exports: [ExportResource] { self.state.withLock { $0.exports } }
}
