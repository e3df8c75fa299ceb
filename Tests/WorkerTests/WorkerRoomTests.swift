// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import GStreamer
import Glibc
import Logging
import Media
import Model
import Recording
import Synchronization
import Testing

@testable import Worker

/// What waits for a disk does not hold the thread by which a worker tells that it lives.
@Suite(.serialized, .timeLimit(.minutes(5))) struct WorkerRoomTests {
    /// A room, what it says, and a folder that is there for as long as the test is.
    private final class Stage: Sendable {
        let storage = FileManager.default.temporaryDirectory.appending(path: "tapedeck-\(UUID())").path
        /// For as long as this is not signalled, the thread that says the first thing stands still.
        let release = DispatchSemaphore(value: 0)
        private let events = Mutex<[WorkerEvent]>([])
        private let sessions = Mutex(0)
        private let wanted: Mutex<(spec: RoomSpec, revision: UInt64)>

        init() throws {
            let spec = RoomSpec(name: "room", url: "socketio+http://127.0.0.1:1/room", storage: self.storage)
            self.wanted = Mutex((spec, 1))
            try FileManager.default.createDirectory(atPath: self.storage, withIntermediateDirectories: true)
        }

        deinit { try? FileManager.default.removeItem(atPath: self.storage) }

        func note(_ event: WorkerEvent) { self.events.withLock { $0.append(event) } }

        func failures(of command: String) -> [String] {
            self.events.withLock { events in
                events.compactMap { event in
                    guard case .commandFailed(_, command, _, let reason, _) = event else { return nil }
                    return reason
                }
            }
        }

        /// Has the room be another; its revision.
        @discardableResult
        func be(_ room: WorkerRoom, _ change: (inout RoomSpec) -> Void) -> UInt64 {
            self.wanted.withLock { wanted in
                change(&wanted.spec)
                wanted.revision += 1
                room.be(wanted.spec, revision: wanted.revision)
                return wanted.revision
            }
        }

        /// Whether a revision is in force, or a newer one.
        func isInForce(_ revision: UInt64) -> Bool {
            self.events.withLock { events in
                events.contains {
                    guard case .status(_, let status) = $0 else { return false }
                    return status.revision.map { $0 >= revision } ?? false
                }
            }
        }

        /// How many sessions the room has begun.
        var sessionCount: Int { self.sessions.withLock { $0 } }

        /// A file that gives nothing for as long as somebody has it open for writing.
        func makePipe() throws -> String {
            let path = self.storage + "/pipe"
            try #require(mkfifo(path, 0o600) == 0)
            return path
        }

        /// Opens a pipe for writing once somebody reads it.
        func writer(of path: String) async -> Int32 {
            var writer: Int32 = -1
            let isRead = await self.eventually {
                writer = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
                return writer >= 0
            }
            #expect(isRead)
            return writer
        }

        func room(
            _ change: (inout RoomSpec) -> Void = { _ in },
            trialLimit: Duration = .seconds(60),
            onEvent: @escaping @Sendable (WorkerEvent) -> Void = { _ in }
        ) throws -> WorkerRoom {
            let spec = self.wanted.withLock { wanted in
                change(&wanted.spec)
                return wanted.spec
            }
            return WorkerRoom(
                try RoomPlan(spec),
                revision: 1,
                host: "here",
                makeSignaller: { [self] _, _, _ in
                    self.sessions.withLock { $0 += 1 }
                    return FakeSignaller()
                },
                trialLimit: trialLimit,
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
                send: { [self] event in
                    self.note(event)
                    onEvent(event)
                }
            )
        }

        func eventually(_ condition: () -> Bool) async -> Bool {
            let deadline = ContinuousClock.now + .seconds(60)
            while !condition() {
                guard ContinuousClock.now < deadline else { return false }
                try? await Task.sleep(for: .milliseconds(10))
            }
            return true
        }
    }

    /// Whether the control thread, by which the worker's heartbeat goes, does something within the usual time.
    private func answers(_ room: WorkerRoom) async -> Bool {
        (try? await room.control.run("nothing") { true }) == true
    }

    @Test func aRecorderThatWaitsForItsDiskHoldsNothingElse() async throws {
        let stage = try Stage()
        // What cannot go on is said on the recorder's thread, which stands still in saying so.
        let room = try stage.room({ $0.continues = stage.storage + "/recordings/room/nothing" }) { event in
            if case .commandFailed(_, "join", _, _, _) = event { stage.release.wait() }
        }
        async let ended = room.run()
        #expect(await stage.eventually { !stage.failures(of: "join").isEmpty })
        for _ in 0..<2 { #expect(room.perform(NumberedCommand(.thumbnail(room: "room", participant: "alice")))) }
        #expect(room.perform(NumberedCommand(.requestKeyframe(room: "room", participant: nil))))
        #expect(await stage.eventually { stage.failures(of: "thumbnail").count == 2 })
        #expect(await stage.eventually { !stage.failures(of: "requestKeyframe").isEmpty })
        for command in ["thumbnail", "requestKeyframe"] {
            #expect(stage.failures(of: command).allSatisfy { $0.contains("did not return") }, "\(command)")
        }
        #expect(room.perform(NumberedCommand(.mark(room: "room", text: "x"))))
        #expect(await self.answers(room))
        stage.release.signal()
        #expect(await stage.eventually { stage.failures(of: "mark") == ["nothing is recorded"] })
        room.leave()
        #expect(await ended == .ordered)
    }

    enum Look: CaseIterable {
        case whenJoining, whenChanging
    }

    @Test(arguments: Look.allCases)
    func aLookIntoWhatIsSentHoldsNothingElse(when look: Look) async throws {
        let stage = try Stage()
        let path = try stage.makePipe()
        let slow = SendSpec(video: .file(path), audio: nil)
        let room = try stage.room { if look == .whenJoining { $0.send = slow } }
        async let ended = room.run()
        if look == .whenChanging { stage.be(room) { $0.send = slow } }
        let writer = await stage.writer(of: path)
        #expect(await self.answers(room))
        // A second look finds nothing.
        unlink(path)
        close(writer)
        room.leave()
        #expect(await ended == .ordered)
    }

    @Test func aLookThatHangsCostsTheRoomNothingElse() async throws {
        let stage = try Stage()
        let path = try stage.makePipe()
        let room = try stage.room(
            { $0.send = SendSpec(video: .file(path), audio: nil) },
            trialLimit: .milliseconds(100)
        )
        async let ended = room.run()
        #expect(await stage.eventually { stage.sessionCount == 1 })
        #expect(stage.failures(of: "camera").contains { $0.contains("did not return") })
        close(await stage.writer(of: path))
        room.leave()
        #expect(await ended == .ordered)
    }

    @Test func whatChangesWhileASessionIsMadeIsInTheNext() async throws {
        let stage = try Stage()
        let path = try stage.makePipe()
        let room = try stage.room { $0.send = SendSpec(video: .file(path), audio: nil) }
        async let ended = room.run()
        let writer = await stage.writer(of: path)
        var other = RecordSpec()
        other.preferredCodec = .h264
        let revision = stage.be(room) { $0.record = other }
        #expect(await stage.eventually { stage.isInForce(revision) })
        #expect(stage.sessionCount == 0)
        unlink(path)
        close(writer)
        #expect(await stage.eventually { stage.sessionCount == 2 })
        room.leave()
        #expect(await ended == .ordered)
    }

    /// Nobody is to be seen because something else takes long, or fails.
    @Test func aMuteWaitsForNoOtherCommand() async throws {
        let stage = try Stage()
        let path = try stage.makePipe()
        let room = try stage.room { $0.send = SendSpec() }
        async let ended = room.run()
        #expect(await stage.eventually { room.camera != nil })
        let camera = try #require(room.camera)
        stage.be(room) { $0.send = SendSpec(video: .file(path)) }
        let writer = await stage.writer(of: path)
        var muted = SendSpec()
        (muted.isVideoMuted, muted.framesPerSecond) = (true, 1000)
        stage.be(room) { $0.send = muted }
        #expect(camera.mutes.isVideoMuted && !camera.mutes.isAudioMuted)
        #expect(await stage.eventually { !stage.failures(of: "camera").isEmpty })
        #expect(await stage.eventually { room.camera?.settings.isVideoMuted == true })
        unlink(path)
        close(writer)
        #expect(room.camera?.mutes.isVideoMuted == true, "what else was wanted with it cannot be")
        stage.be(room) { $0.send = SendSpec() }
        #expect(await stage.eventually { room.camera?.mutes.isVideoMuted == false })
        room.leave()
        #expect(await ended == .ordered)
    }

    /// A client was told that it may not be done.
    @Test func whatIsWithdrawnWhileItHangsIsNeverDone() async throws {
        let stage = try Stage()
        let path = try stage.makePipe()
        var muted = SendSpec()
        muted.isVideoMuted = true
        let room = try stage.room { $0.send = muted }
        async let ended = room.run()
        #expect(await stage.eventually { room.camera != nil })
        stage.be(room) { $0.send = SendSpec(video: .file(path)) }
        let writer = await stage.writer(of: path)
        let withdrawn = stage.be(room) { $0.send = muted }
        #expect(await stage.eventually { stage.isInForce(withdrawn) }, "it waits for nothing that hangs")
        #expect(room.camera?.settings == muted && room.camera?.mutes.isVideoMuted == true)
        // A request comes while an older look hangs: its turn comes when that has an end.
        let next = stage.be(room) { $0.send = SendSpec(video: .test, audio: nil) }
        unlink(path)
        close(writer)
        #expect(await stage.eventually { stage.isInForce(next) && room.camera?.settings.audio == nil })
        #expect(stage.failures(of: "camera").isEmpty)
        room.leave()
        #expect(await ended == .ordered)
    }

    @Test func aMuteLooksIntoNoFiles() async throws {
        let stage = try Stage()
        let path = stage.storage + "/pipe"
        let send = SendSpec(video: .file(path), audio: nil)
        let room = try stage.room({ $0.send = send }, trialLimit: .seconds(5))
        async let ended = room.run()
        #expect(await stage.eventually { room.camera != nil })
        // Whoever looks into it now waits.
        _ = try stage.makePipe()
        var muted = send
        muted.isVideoMuted = true
        let revision = stage.be(room) { $0.send = muted }
        #expect(await stage.eventually { stage.isInForce(revision) })
        #expect(stage.failures(of: "camera").isEmpty)
        #expect(room.camera?.settings.isVideoMuted == true)
        room.leave()
        #expect(await ended == .ordered)
    }

    /// Others learn from our next descriptions that we record.
    @Test func aRoomThatBeginsToRecordIsJoinedAgain() async throws {
        let stage = try Stage()
        let room = try stage.room()
        async let ended = room.run()
        #expect(await stage.eventually { stage.sessionCount == 1 })
        stage.be(room) { $0.record = RecordSpec() }
        #expect(await stage.eventually { stage.sessionCount == 2 })
        room.leave()
        #expect(await ended == .ordered)
    }

    @Test(arguments: [RoomSpec.Recording.automatic, .off]) func otherSettingsDoNotEndAStop(
        first: RoomSpec.Recording
    ) async throws {
        let stage = try Stage()
        let room = try stage.room { ($0.record, $0.recording) = (RecordSpec(), first) }
        async let ended = room.run()
        stage.be(room) { $0.recording = .off }
        let revision = stage.be(room) { $0.record?.notes = "others" }
        #expect(await stage.eventually { stage.isInForce(revision) })
        #expect(room.recorder.record() == .done, "it was off")
        room.leave()
        #expect(await ended == .ordered)
    }
}
