// SPDX-License-Identifier: Apache-2.0

internal import Foundation
public import GStreamer
public import Logging
public import Matroska
internal import Observability
internal import Session
public import Storage
internal import Timeline

/// How a recording is written.
public struct RecorderSettings: Sendable, Hashable {
    /// The storage directory: recordings go to `<storage>/recordings/<room>/…`.
    public var storage: String
    /// The room's name as the peers know it; untrusted.
    public var room: String
    /// This host's name, for recordings whose parts come from several machines.
    public var host: String
    /// How often written data are forced to the disk, against a power cut.
    public var synchroniseEvery: Duration = .seconds(1)

    /// Settings for one room.
    public init(storage: String, room: String, host: String) {
        self.storage = storage
        self.room = room
        self.host = host
    }
}

/// One received track as the recorder sees it.
public struct TrackStatus: Sendable, Hashable {
    /// Track number within the recording, from 1.
    public var number: Int
    /// The participant's id in the room.
    public var participant: String
    /// Codec of the track.
    public var codec: Codec
    /// Picture size in pixels; nil for audio and before the first keyframe.
    public var size: (width: Int, height: Int)? { self.width.flatMap { w in self.height.map { (w, $0) } } }
    private var width: Int?
    private var height: Int?
    /// Units written.
    public var units: UInt64
    /// Bytes written, without container.
    public var bytes: UInt64
    /// Packets that never came.
    public var lostPackets: UInt64
    /// Media time from the first to the last unit.
    public var duration: Duration
    /// Whether the track still receives.
    public var isOpen: Bool
    /// From the offer to the first unit in the file; nil before it and if it is not known.
    public var firstUnitDelay: Duration?

    fileprivate init(_ track: RoomRecorder.Track) {
        let statistics = track.writer.statistics
        self.number = track.description.number
        self.participant = track.description.participant
        self.codec = track.description.codec
        self.width = statistics.width
        self.height = statistics.height
        self.units = UInt64(clamping: statistics.units)
        self.bytes = UInt64(clamping: statistics.bytes)
        self.lostPackets = track.tap.counters.lostPackets
        self.duration = .nanoseconds(statistics.durationNanoseconds)
        self.isOpen = track.isOpen
        self.firstUnitDelay = track.firstUnitDelay
    }
}

/// Writes every track of a room session to its own file, and the journal beside them.
///
/// One thread takes the units from the queue, in which the streaming threads of all tracks put them, and writes each
/// to the kernel before it takes the next. The recording's folder is made when the first track comes: a room in which
/// nothing is received leaves nothing behind. Methods are callable from any thread.
public final class RoomRecorder: Sendable {
    /// Where the taps put what they capture.
    public let queue = UnitQueue()
    private let settings: RecorderSettings
    private let logger: Logger
    /// Guards `state`.
    ///
    /// Held while a unit is written, so that a track is never closed in the middle of one.
    private let lock = NSLock()
    nonisolated(unsafe) private var state = State()
    private let ended = DispatchSemaphore(value: 0)
    private static let pauseAfterFailure = Duration.seconds(5)

    private struct State {
        var recording: Recording?
        var tracks: [UInt64: Track] = [:]
        var nextTap: UInt64 = 1
        var nextNumber = 1
        var joined: Set<String> = []
        var isFinishing = false
        var failure: StorageError?
        var lastSynchronised: Int64 = 0
        var lastCounted: Int64 = 0
    }

    private struct Recording {
        let folder: RecordingFolder
        let journal: JournalWriter
    }

    fileprivate struct Track {
        let tap: TrackTap
        let connection: UInt64
        let ssrc: UInt32
        var description: TrackDescription
        var writer: TrackFileWriter
        var keyframes: KeyframePolicy
        /// Holds the pad to ask, and with it the whole peer connection: dropped when the track closes.
        var requestKeyframe: (@Sendable () -> Void)?
        var isOpen = true
        /// After a failed write: when to go on in a new file, on the clock of arrivals.
        var resumesAt: Int64?
        /// When the offer was made or came.
        let offerNanoseconds: Int64?
        var firstUnitDelay: Duration?
    }

    /// Starts the recorder's thread.
    public init(settings: RecorderSettings, logger: Logger) {
        self.settings = settings
        self.logger = logger
        let thread = Thread { [queue = self.queue, weak self] in
            while let recorder = self, recorder.turn(queue) {}
            self?.ended.signal()
        }
        thread.name = "recorder"
        thread.start()
    }

    /// The folder of the recording; nil until the first track came.
    public var folder: RecordingFolder? {
        self.lock.withLock { self.state.recording?.folder }
    }

    /// The first write error, if there was one: the recording is incomplete.
    public var failure: StorageError? {
        self.lock.withLock { self.state.failure }
    }

    /// Every track there ever was, by number.
    public var tracks: [TrackStatus] {
        self.lock.withLock {
            self.state.tracks.values.map { TrackStatus($0) }.sorted { $0.number < $1.number }
        }
    }

    /// Units dropped because the disk was too slow.
    public var droppedUnits: UInt64 { self.queue.droppedItems }

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
    ) throws(StorageError) -> TrackTap {
        self.lock.lock()
        defer { self.lock.unlock() }
        do throws(StorageError) {
            return try self.openTrack(track, connection, requestKeyframe)
        } catch {
            self.state.failure = self.state.failure ?? error
            throw error
        }
    }

    private func openTrack(
        _ track: ReceivedTrack,
        _ connection: UInt64,
        _ requestKeyframe: @escaping @Sendable () -> Void
    ) throws(StorageError) -> TrackTap {
        let now = Runtime.monotonicNanoseconds
        let recording = try self.startedRecording(now)
        if self.state.joined.insert(track.participant).inserted {
            try recording.journal.append(
                .participantJoined(ParticipantJoined(participant: track.participant, name: nil)),
                monotonicNanoseconds: now
            )
        }
        let description = TrackDescription(
            number: self.state.nextNumber,
            participant: track.participant,
            codec: track.codec,
            clockRateHz: track.clockRateHz,
            channels: track.channels,
            ssrc: track.ssrc,
            payloadType: track.payloadType,
            mid: track.mid
        )
        let writer = TrackFileWriter(folder: recording.folder, journal: recording.journal, track: description)
        let id = self.state.nextTap
        self.state.nextTap += 1
        self.state.nextNumber += 1
        let tap = TrackTap(id: id, ssrc: track.ssrc, queue: self.queue)
        self.state.tracks[id] = Track(
            tap: tap,
            connection: connection,
            ssrc: track.ssrc,
            description: description,
            writer: writer,
            keyframes: KeyframePolicy(trackAppearedAt: UInt64(clamping: now)),
            requestKeyframe: requestKeyframe,
            offerNanoseconds: track.offerNanoseconds
        )
        self.queue.wake()
        return tap
    }

    private func startedRecording(_ now: Int64) throws(StorageError) -> Recording {
        if let recording = self.state.recording { return recording }
        let start = UTCTime.now()
        let folder = try RecordingFolder.create(storage: self.settings.storage, room: self.settings.room, start: start)
        let journal = try JournalWriter(folder: folder)
        let started = RecordingStarted(
            room: self.settings.room,
            id: folder.id.rawValue,
            host: self.settings.host,
            utc: start
        )
        try journal.append(.recordingStarted(started), monotonicNanoseconds: now)
        let recording = Recording(folder: folder, journal: journal)
        self.state.recording = recording
        self.logger.notice("recording started", metadata: .tagged([.recordingPath: "\(folder.path)"]))
        return recording
    }

    /// Closes every track of a peer connection that went away.
    public func close(connection: UInt64, reason: String) {
        self.lock.withLock {
            let now = Runtime.monotonicNanoseconds
            for id in self.state.tracks.keys where self.state.tracks[id]?.connection == connection {
                self.closeTrack(id, reason: reason, now)
            }
        }
    }

    /// Notes that a participant left the room.
    ///
    /// One that was never recorded is not noted.
    public func left(participant: String, reason: String) {
        self.lock.withLock {
            guard self.state.joined.remove(participant) != nil else { return }
            self.attempt { () throws(StorageError) in
                try self.state.recording?.journal.append(
                    .participantLeft(ParticipantLeft(participant: participant, reason: reason)),
                    monotonicNanoseconds: Runtime.monotonicNanoseconds
                )
            }
        }
    }

    /// Writes what is queued, closes every file and ends the thread.
    ///
    /// Blocks; off the cooperative pool.
    public func finish(reason: String) {
        self.lock.withLock { self.state.isFinishing = true }
        self.queue.wake()
        self.ended.wait()
        self.lock.withLock {
            let now = Runtime.monotonicNanoseconds
            for id in self.state.tracks.keys.sorted() {
                self.closeTrack(id, reason: reason, now)
            }
            guard let recording = self.state.recording else { return }
            self.attempt { () throws(StorageError) in
                try recording.journal.append(
                    .recordingFinished(RecordingFinished(reason: reason)),
                    monotonicNanoseconds: now
                )
                try recording.journal.synchronise()
            }
            self.logger.notice("recording finished", metadata: .tagged([.recordingPath: "\(recording.folder.path)"]))
        }
    }

    // The recorder's thread. What follows runs with the lock held, but for `turn`.

    /// Handles one item, or a tick when none comes.
    ///
    /// False ends the thread.
    private func turn(_ queue: UnitQueue) -> Bool {
        let came = queue.next(timeout: .milliseconds(100)) { item, bytes in
            self.lock.withLock {
                switch item {
                case .unit(let unit): self.write(unit, bytes)
                case .senderReport(let report): self.note(report)
                }
            }
        }
        return self.lock.withLock {
            self.tick()
            return came || !self.state.isFinishing
        }
    }

    private func write(_ unit: CapturedItem.Unit, _ bytes: UnsafeRawBufferPointer) {
        guard var track = self.state.tracks[unit.tap], track.isOpen else { return }
        defer { self.state.tracks[unit.tap] = track }
        let now = UInt64(clamping: unit.arrivalNanoseconds)
        let isVideo = track.description.codec.kind == .video
        if let resumesAt = track.resumesAt {
            guard unit.arrivalNanoseconds >= resumesAt else { return }
            track.resumesAt = nil
            self.attempt { () throws(StorageError) in
                try self.startNextFile(&track, unit.arrivalNanoseconds, reason: "write failed")
            }
        }
        if isVideo, unit.lostPackets > 0, track.keyframes.lossDetected(at: now) { track.requestKeyframe?() }
        self.attempt { () throws(StorageError) in
            let result: TrackFileWriter.WriteResult
            do throws(StorageError) {
                result = try track.writer.write(
                    bytes,
                    rtpTime: unit.rtpTime,
                    arrivalNanoseconds: unit.arrivalNanoseconds
                )
            } catch {
                // A failed file takes no more: the track goes on in the next one when the disk may have recovered. If
                // only the journal failed, the file goes on.
                if error.path.hasSuffix(track.writer.relativePath) {
                    track.resumesAt = unit.arrivalNanoseconds + Self.pauseAfterFailure.nanoseconds
                }
                throw error
            }
            switch result {
            case .written(let isKeyframe):
                if isVideo, isKeyframe { track.keyframes.keyframeArrived() }
                if track.firstUnitDelay == nil, let offer = track.offerNanoseconds {
                    track.firstUnitDelay = .nanoseconds(Runtime.monotonicNanoseconds - offer)
                }
            case .needsKeyframe, .malformed:
                break
            case .discontinuity:
                try self.startNextFile(&track, unit.arrivalNanoseconds, reason: "RTP time jumped")
            }
        }
    }

    /// The file cannot go on, because the sender's RTP clock started anew or a write failed: the track does, in the next.
    private func startNextFile(_ track: inout Track, _ now: Int64, reason: String) throws(StorageError) {
        guard let recording = self.state.recording else { return }
        try track.writer.close(reason: reason, monotonicNanoseconds: now)
        track.description.number = self.state.nextNumber
        self.state.nextNumber += 1
        track.writer = TrackFileWriter(
            folder: recording.folder,
            journal: recording.journal,
            track: track.description
        )
        track.keyframes = KeyframePolicy(trackAppearedAt: UInt64(clamping: now))
    }

    private func note(_ report: CapturedItem.Report) {
        guard let recording = self.state.recording else { return }
        let track = self.state.tracks.values.first {
            $0.connection == report.receiver && $0.ssrc == report.ssrc && $0.isOpen
        }
        guard let track else { return }
        let record = SenderReport(
            track: track.description.number,
            ssrc: report.ssrc,
            rtpTimestamp: report.rtpTimestamp,
            ntpTime: report.ntpTime
        )
        self.attempt { () throws(StorageError) in
            try recording.journal.append(
                .senderReport(record),
                monotonicNanoseconds: report.arrivalNanoseconds
            )
        }
    }

    /// Keyframe requests that are due, packet counts, and the disk.
    private func tick() {
        let now = Runtime.monotonicNanoseconds
        for id in self.state.tracks.keys {
            guard let track = self.state.tracks[id], track.isOpen, track.description.codec.kind == .video else {
                continue
            }
            if self.state.tracks[id]?.keyframes.requestIsDue(at: UInt64(clamping: now)) == true {
                track.requestKeyframe?()
            }
        }
        guard let recording = self.state.recording else { return }
        if now - self.state.lastSynchronised >= self.settings.synchroniseEvery.nanoseconds {
            self.state.lastSynchronised = now
            for track in self.state.tracks.values where track.isOpen {
                self.attempt { () throws(StorageError) in try track.writer.synchronise() }
            }
            self.attempt { () throws(StorageError) in try recording.journal.synchronise() }
        }
        if now - self.state.lastCounted >= Duration.seconds(5).nanoseconds {
            self.state.lastCounted = now
            for track in self.state.tracks.values where track.isOpen { self.count(track, recording, now) }
        }
    }

    private func count(_ track: Track, _ recording: Recording, _ now: Int64) {
        let counters = track.tap.counters
        let record = PacketsCounted(
            track: track.description.number,
            received: counters.packets,
            lost: Int64(clamping: counters.lostPackets)
        )
        self.attempt { () throws(StorageError) in
            try recording.journal.append(.packetsCounted(record), monotonicNanoseconds: now)
        }
    }

    private func closeTrack(_ id: UInt64, reason: String, _ now: Int64) {
        guard let track = self.state.tracks[id], track.isOpen else { return }
        track.tap.close()
        if let recording = self.state.recording { self.count(track, recording, now) }
        self.attempt { () throws(StorageError) in
            try track.writer.close(reason: reason, monotonicNanoseconds: now)
        }
        self.state.tracks[id]?.isOpen = false
        self.state.tracks[id]?.requestKeyframe = nil
    }

    /// Runs a write; its failure is logged once and kept, and the other tracks go on.
    private func attempt(_ body: () throws(StorageError) -> Void) {
        do {
            try body()
        } catch {
            guard self.state.failure == nil else { return }
            self.state.failure = error
            self.logger.error("recording is incomplete", metadata: .tagged([.errorMessage: "\(error)"]))
        }
    }
}

/// What identifies a received track to the recorder.
public struct ReceivedTrack: Sendable, Hashable {
    /// The participant's id in the room; untrusted.
    public var participant: String
    /// Codec of the track.
    public var codec: Codec
    /// RTP clock in Hz.
    public var clockRateHz: Int
    /// Audio channels; 0 for video.
    public var channels: Int
    /// Synchronisation source.
    public var ssrc: UInt32
    /// RTP payload type.
    public var payloadType: Int
    /// Identification tag of the m-line, if the description has one.
    public var mid: String?
    /// `CLOCK_MONOTONIC` when the offer was made or came; nil if it is not known.
    public var offerNanoseconds: Int64?
}

extension Duration {
    /// Whole nanoseconds, clamped to 64 bits.
    var nanoseconds: Int64 {
        let (seconds, attoseconds) = self.components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        return overflow ? (seconds < 0 ? .min : .max) : product &+ attoseconds / 1_000_000_000
    }
}
