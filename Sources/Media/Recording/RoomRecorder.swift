// SPDX-License-Identifier: Apache-2.0

internal import Basics
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
/// nothing is received leaves nothing behind. Methods are callable from any thread. Files are forced to the disk, and
/// completed, on threads of their own; only `finish` waits for them.
public final class RoomRecorder: Sendable {
    /// Where the taps put what they capture.
    public let queue = UnitQueue()
    let logger: Logger
    let onEvent: @Sendable (RecorderEvent) -> Void
    let onPicture: (@Sendable (WrittenPicture) -> Void)?
    /// Guards `state`.
    ///
    /// Held while a unit is written, so that a track is never closed in the middle of one.
    let lock = NSLock()
    nonisolated(unsafe) var state: State
    private let ended = DispatchSemaphore(value: 0)
    /// Where the files of ended tracks and recordings are completed, one after the other.
    let completions = DispatchQueue(label: "recorder.completions")
    /// Where files are forced to the disk: one at a time in a process, however many rooms it records.
    static let synchroniser = DispatchQueue(label: "recorder.synchroniser")

    struct State: ~Copyable {
        var settings: RecorderSettings
        var machine: RecordingStateMachine
        var recording: ActiveRecording?
        /// The segment before it, in which some tracks have yet to come to a keyframe.
        var older: ActiveRecording?
        var segments: SegmentPolicy?
        /// What came while nothing was recorded, where a recording may begin with it.
        var preroll: PrerollBuffer?
        var lag = RecordingLag()
        /// The folder of the present recording, or of the last one.
        var folder: RecordingFolder?
        var tracks: [UInt64: OpenTrack] = [:]
        var names = ParticipantNames()
        /// What was written before anything is recorded.
        var early = EarlyMessages()
        /// Tracks of the present recording, or of the last one, that receive no more.
        var closed: [TrackStatus] = []
        var nextTap: UInt64 = 1
        var isFinishing = false
        var failure: StorageError?
        /// After a recording could not be begun: when to try again.
        var retryAt: Int64 = 0
        var lastTick: Int64 = 0
        var synchronisation = SynchronisationSchedule()
        var lastCounted: Int64 = 0
        var droppedUnits: UInt64 = 0
        var stillsWantedUntil: Int64 = 0
        var recordsVideo: Bool
        var recordsAudio: Bool

        init(machine: consuming RecordingStateMachine, _ settings: RecorderSettings) {
            self.machine = machine
            self.settings = settings
            self.recordsVideo = settings.recordsVideo
            self.recordsAudio = settings.recordsAudio
            self.segments = settings.segment.map { SegmentPolicy(limit: $0) }
            self.preroll = settings.prerollBuffer
        }
    }

    /// Starts the recorder's thread, and goes on with `settings.continues`.
    ///
    /// A recording with which it cannot go on is reported as `failure`, and the recorder waits for media as if there
    /// were none. `onEvent` and `onPicture` must not block nor call the recorder; `onPicture` is called on the recorder's
    /// thread for each picture that was written.
    public init(
        settings: RecorderSettings,
        logger: Logger,
        onEvent: @escaping @Sendable (RecorderEvent) -> Void = { _ in },
        onPicture: (@Sendable (WrittenPicture) -> Void)? = nil
    ) {
        self.logger = logger
        self.onEvent = onEvent
        self.onPicture = onPicture
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
            let other = self.state.tracks.values.first {
                $0.connection == connection && $0.received.ssrc == track.ssrc && $0.received.mid == track.mid
            }
            let tap = TrackTap(id: id, ssrc: track.ssrc, queue: self.queue, besides: other?.tap)
            if let id = track.audioLevelID { tap.readLevels(extensionID: id) }
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
                self.state.preroll?.remove(track: id)
                self.state.tracks[id] = nil
            }
        }
    }

    /// Notes that a participant left the room.
    ///
    /// One that was never recorded is not noted.
    public func left(participant: String, reason: String) {
        self.lock.withLock {
            let now = Runtime.monotonicNanoseconds
            self.state.older?.left(participant, reason: reason, now)
            self.state.recording?.left(participant, reason: reason, now)
        }
    }

    /// Notes the name that a participant goes by; it is in the journal from the participant's first file on.
    ///
    /// The name is one line of at most 256 bytes.
    public func named(participant: String, _ name: String) {
        self.lock.withLock {
            guard self.state.names[participant] != name else { return }
            self.state.names.note(name, of: participant)
            let now = Runtime.monotonicNanoseconds
            self.state.older?.named(participant, name, now)
            self.state.recording?.named(participant, name, now)
        }
    }

    /// Notes what a participant wrote to the others, while anything is recorded, or shortly before it is.
    ///
    /// - Parameters:
    ///   - label: what the data channel is called.
    ///   - nanoseconds: when it came, on `CLOCK_MONOTONIC`.
    public func wrote(participant: String, _ text: String, label: String, _ nanoseconds: Int64) {
        self.lock.withLock {
            guard self.state.settings.recordsChat else { return }
            let message = EarlyMessages.Message(
                participant: participant,
                text: text,
                label: label,
                nanoseconds: nanoseconds
            )
            switch self.state.machine.phase {
            case .recording: self.write(message)
            case .waiting: self.state.early.keep(message)
            case .off: if self.state.preroll != nil { self.state.early.keep(message) }
            case .paused: break
            }
        }
    }

    /// With the lock held.
    func write(_ message: EarlyMessages.Message) {
        let name = self.state.names[message.participant]
        self.state.recording?.wrote(
            message.participant,
            name: name,
            message.text,
            label: message.label,
            message.nanoseconds
        )
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
            for track in self.state.tracks.values where track.isVideo {
                guard participant == nil || participant == track.received.participant else { continue }
                track.requestKeyframe()
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
            for track in tracks.values { track.requestKeyframe() }
            return nil
        }
    }

    private static let stillsKept = Duration.seconds(30)

    // MARK: Orders

    /// Records from now on, and where the settings have a pre-roll, from before.
    @discardableResult
    public func record() -> RecordingStateMachine.OnOrder {
        self.lock.withLock {
            let wasPaused = self.state.machine.phase == .paused
            let result = self.state.machine.recordOrdered()
            if result == .done {
                self.startAtKeyframes(marker: wasPaused ? "resumed" : nil)
                self.beginInThePast()
            }
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

    /// Changes how is recorded: kinds, segments, pre-roll, the schedule of the disk, tags and notes.
    ///
    /// Files of a kind that is not recorded any more are closed. Tags and notes are also those of the present recording.
    public func take(_ settings: RecorderSettings) {
        self.lock.withLock {
            if settings.preroll != self.state.settings.preroll { self.state.preroll = settings.prerollBuffer }
            if settings.segment != self.state.settings.segment {
                self.endCut()
                self.state.segments = settings.segment.map { SegmentPolicy(limit: $0) }
                if let recording = self.state.recording {
                    self.state.segments?.segmentBegan(at: UInt64(clamping: recording.beganAt))
                }
            }
            if (settings.tags, settings.notes) != (self.state.settings.tags, self.state.settings.notes) {
                self.state.recording?.describe(settings, Runtime.monotonicNanoseconds)
            }
            let wasWanted = (self.state.recordsVideo, self.state.recordsAudio)
            self.state.settings = settings
            self.state.recordsVideo = settings.recordsVideo
            self.state.recordsAudio = settings.recordsAudio
            guard wasWanted != (settings.recordsVideo, settings.recordsAudio) else { return }
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
            if result == .done {
                self.endCut()
                self.mark("paused")
            }
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

    /// How long units have taken from their arrival into the file since the last call; nil if none were written.
    public func takeLag() -> RecordingLag.Figures? {
        self.lock.withLock { self.state.lag.take() }
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
        self.completions.sync {}
    }
}
