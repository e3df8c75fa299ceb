// SPDX-License-Identifier: Apache-2.0

internal import Foundation
public import GStreamer
public import Logging
public import Matroska
internal import Observability
public import Session
public import Storage

/// Writes every track of a room to its own file, and the journal beside them: one recording, or one after the other in
/// a session that goes on.
///
/// One thread takes the units from the queue, in which the streaming threads of all tracks put them, and writes each
/// to the kernel before it takes the next. A recording's folder is made when the first unit comes: a room in which
/// nothing is received leaves nothing behind. Methods are callable from any thread; those that open or close files
/// wait for the disk and belong on the control thread.
public final class RoomRecorder: Sendable {
    /// Where the taps put what they capture.
    public let queue = UnitQueue()
    let settings: RecorderSettings
    let logger: Logger
    let onEvent: @Sendable (RecorderEvent) -> Void
    /// Guards `state`.
    ///
    /// Held while a unit is written, so that a track is never closed in the middle of one.
    let lock = NSLock()
    nonisolated(unsafe) var state: State
    private let ended = DispatchSemaphore(value: 0)

    struct State: ~Copyable {
        var machine: RecordingStateMachine
        var recording: ActiveRecording?
        /// The folder of the present recording, or of the last one.
        var folder: RecordingFolder?
        var tracks: [UInt64: OpenTrack] = [:]
        /// Tracks of the present recording, or of the last one, that receive no more.
        var closed: [TrackStatus] = []
        var nextTap: UInt64 = 1
        var isFinishing = false
        var failure: StorageError?
        /// After a recording could not be begun: when to try again.
        var retryAt: Int64 = 0
        var lastSynchronised: Int64 = 0
        var lastCounted: Int64 = 0
        var droppedUnits: UInt64 = 0
        var stillsWantedUntil: Int64 = 0
        var recordsVideo: Bool
        var recordsAudio: Bool

        init(machine: consuming RecordingStateMachine, _ settings: RecorderSettings) {
            self.machine = machine
            self.recordsVideo = settings.recordsVideo
            self.recordsAudio = settings.recordsAudio
        }
    }

    /// Starts the recorder's thread, and goes on with `settings.continues`.
    ///
    /// A recording with which it cannot go on is reported as `failure`, and the recorder waits for media as if there
    /// were none. `onEvent` must not block nor call the recorder.
    public init(
        settings: RecorderSettings,
        logger: Logger,
        onEvent: @escaping @Sendable (RecorderEvent) -> Void = { _ in }
    ) {
        self.settings = settings
        self.logger = logger
        self.onEvent = onEvent
        var failure: StorageError?
        var recording: ActiveRecording?
        do throws(StorageError) {
            recording = try settings.continues.map { path throws(StorageError) in
                try ActiveRecording.continuing(path, settings)
            }
        } catch {
            failure = error
        }
        self.state = State(machine: settings.machine(goesOn: recording != nil), settings)
        self.state.failure = failure
        self.lock.withLock {
            if let recording { self.took(recording) }
        }
        let thread = Thread { [queue = self.queue, weak self] in
            while let recorder = self, recorder.turn(queue) {}
            self?.ended.signal()
        }
        thread.name = "recorder"
        thread.start()
    }

    // MARK: What is going on

    /// The folder of the recording, or of the last one; nil until the first unit came.
    public var folder: RecordingFolder? {
        self.lock.withLock { self.state.folder }
    }

    /// The recording that goes on, and its part.
    public var current: (folder: RecordingFolder, part: Int)? {
        self.lock.withLock { self.state.recording.map { ($0.folder, $0.part) } }
    }

    /// Whether anything is recorded at present.
    public var phase: RecordingStateMachine.Phase {
        self.lock.withLock { self.state.machine.phase }
    }

    /// The first write error of the recording, if there was one: it is incomplete.
    public var failure: StorageError? {
        self.lock.withLock { self.state.failure }
    }

    /// Tracks that are open, and those of the recording that are not any more, by number.
    public var tracks: [TrackStatus] {
        self.lock.withLock {
            let open = self.state.tracks.values.map { TrackStatus($0, isOpen: true) }
            return (self.state.closed + open).sorted { $0.number < $1.number }
        }
    }

    /// Units dropped because the disk was too slow, over all recordings.
    public var droppedUnits: UInt64 { self.queue.droppedItems }

    // MARK: Tracks

    /// Opens a track; its file comes into being with its first decodable unit.
    ///
    /// - Parameters:
    ///   - connection: the peer connection, as its sender reports name it.
    ///   - requestKeyframe: sends a PLI; called on the recorder's thread and must not block.
    /// - Returns: the tap to attach to the received stream.
    public func open(
        _ track: ReceivedTrack,
        connection: UInt64,
        requestKeyframe: @escaping @Sendable () -> Void
    ) -> TrackTap {
        let tap = self.lock.withLock {
            let id = self.state.nextTap
            self.state.nextTap += 1
            let tap = TrackTap(id: id, ssrc: track.ssrc, queue: self.queue)
            if self.state.isFinishing { tap.close() }
            self.state.tracks[id] = OpenTrack(
                tap: tap,
                received: track,
                connection: connection,
                now: Runtime.monotonicNanoseconds,
                requestKeyframe: requestKeyframe
            )
            return tap
        }
        self.queue.wake()
        return tap
    }

    /// Closes every track of a peer connection that went away.
    public func close(connection: UInt64, reason: String) {
        self.lock.withLock {
            let now = Runtime.monotonicNanoseconds
            for (id, track) in self.state.tracks where track.connection == connection {
                track.tap.close()
                self.closeFile(id, reason: reason, now)
                self.state.tracks[id] = nil
            }
        }
    }

    /// Notes that a participant left the room.
    ///
    /// One that was never recorded is not noted.
    public func left(participant: String, reason: String) {
        self.lock.withLock {
            self.attempt { () throws(StorageError) in
                try self.state.recording?.left(participant, reason: reason, Runtime.monotonicNanoseconds)
            }
        }
    }

    /// Somebody is in the room, or nobody: after `emptyLimit` without anybody the recording ends.
    public func presenceChanged(isEmpty: Bool) {
        self.lock.withLock {
            self.state.machine.presenceChanged(
                isEmpty: isEmpty,
                now: UInt64(clamping: Runtime.monotonicNanoseconds)
            )
        }
    }

    /// Sends a PLI for every video track, or for those of one participant; returns for how many.
    @discardableResult
    public func requestKeyframes(participant: String? = nil) -> Int {
        self.lock.withLock {
            var count = 0
            for (id, track) in self.state.tracks where track.isVideo {
                guard participant == nil || participant == track.received.participant else { continue }
                self.state.tracks[id]?.requestKeyframe()
                count += 1
            }
            return count
        }
    }

    /// The newest keyframe of a participant's picture, for a still.
    ///
    /// Keyframes are kept for 30 s from the last call. If there is none yet, one is asked for: call again soon.
    public func lastKeyframe(participant: String) -> (codec: Codec, bytes: [UInt8])? {
        self.lock.withLock {
            let now = Runtime.monotonicNanoseconds
            self.state.stillsWantedUntil = now + Self.stillsKept.nanoseconds
            let tracks = self.state.tracks.filter { $0.value.isVideo && $0.value.received.participant == participant }
            // The newest track that has one: a screen that is shared comes after the camera.
            for (_, track) in tracks.sorted(by: { $0.key > $1.key }) {
                if let bytes = track.lastKeyframe { return (track.received.codec, bytes) }
            }
            for id in tracks.keys { self.state.tracks[id]?.requestKeyframe() }
            return nil
        }
    }

    private static let stillsKept = Duration.seconds(30)

    // MARK: Orders

    /// Records from now on.
    @discardableResult
    public func record() -> RecordingStateMachine.OnOrder {
        self.lock.withLock {
            let wasPaused = self.state.machine.phase == .paused
            let result = self.state.machine.recordOrdered()
            if result == .done { self.startAtKeyframes(marker: wasPaused ? "resumed" : nil) }
            return result
        }
    }

    /// Finishes the recording; nothing is recorded until `record()`.
    @discardableResult
    public func stopRecording(reason: String = "stopped") -> RecordingStateMachine.OnOrder {
        self.lock.withLock {
            let result = self.state.machine.stopOrdered()
            if result == .finish { self.finishRecording(reason: reason) }
            return result
        }
    }

    /// Changes which kinds are recorded; files of a kind that is not any more are closed.
    public func select(video: Bool, audio: Bool) {
        self.lock.withLock {
            self.state.recordsVideo = video
            self.state.recordsAudio = audio
            let now = Runtime.monotonicNanoseconds
            for (id, track) in self.state.tracks where !self.isWanted(track) {
                self.closeFile(id, reason: "not to be recorded any more", now)
            }
            self.startAtKeyframes(marker: nil)
        }
    }

    /// Leaves out what comes until `resume()`; the files go on, and the time passes in them.
    @discardableResult
    public func pause() -> RecordingStateMachine.OnOrder {
        self.lock.withLock {
            let result = self.state.machine.pauseOrdered()
            if result == .done { self.mark("paused") }
            return result
        }
    }

    /// Ends a pause.
    @discardableResult
    public func resume() -> RecordingStateMachine.OnOrder {
        self.lock.withLock {
            let result = self.state.machine.resumeOrdered()
            if result == .done { self.startAtKeyframes(marker: "resumed") }
            return result
        }
    }

    /// Notes an instant in the recording; false if there is none.
    public func mark(text: String) -> Bool {
        self.lock.withLock {
            guard self.state.recording != nil else { return false }
            self.mark("mark", text: text)
            return true
        }
    }

    /// Writes what is queued, closes every file and ends the thread.
    ///
    /// Blocks; off the cooperative pool.
    public func finish(reason: String) {
        let isFirst = self.lock.withLock {
            defer { self.state.isFinishing = true }
            // What comes from now on is not written: a queue that media flow into would never be empty.
            for track in self.state.tracks.values { track.tap.close() }
            return !self.state.isFinishing
        }
        guard isFirst else { return }
        self.queue.wake()
        self.ended.wait()
        self.lock.withLock {
            self.finishRecording(reason: reason)
            self.state.tracks = [:]
            _ = self.state.machine.stopOrdered()
        }
    }
}
