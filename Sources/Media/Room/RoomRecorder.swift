// SPDX-License-Identifier: Apache-2.0

public import Basics
public import GStreamer
public import Logging
public import Observability
public import Recording
internal import Synchronization

/// Writes every track of a room to its own file, and the journal next to them: in one recording, or in several in
/// sequence during a session.
///
/// The recorder's thread, which it shares with the other rooms of the process, takes the units from the queue, in which the
/// streaming threads of all tracks put them, and passes them to the `RecordingSession`, which it alone has. Methods are
/// callable from any thread. Those that only say something return at once; those with an answer wait until the thread has
/// taken the order, for as long as a unit's write lasts: not on a thread for which others wait. The status is at most 100 ms
/// old, and is read without waiting for the disk. Files are forced to the disk, and completed, on separate threads; only
/// `finish` waits for them.
public final class RoomRecorder: Sendable {
    private let exchange = RecorderExchange()

    /// Begins to record, or continues `settings.continues`.
    ///
    /// Its journal, which may be of days, is read on a separate thread while media wait in the queue. A recording that cannot
    /// be continued is sent as `notContinued` and reported as `failure`, and the recorder waits for media as if there
    /// were none. `onEvent` and `onPicture` are called on the recorder's thread and must not block nor call the
    /// recorder; `onPicture` is called for each frame that was written as it came.
    public convenience init(
        settings: RecorderSettings,
        logger: Logger,
        onEvent: @escaping @Sendable (RecorderEvent) -> Void = { _ in },
        onPicture: (@Sendable (WrittenPicture) -> Void)? = nil
    ) {
        self.init(on: .shared, settings: settings, logger: logger, onEvent: onEvent, onPicture: onPicture)
    }

    init(
        on thread: RecorderThread,
        settings: RecorderSettings,
        logger: Logger,
        onEvent: @escaping @Sendable (RecorderEvent) -> Void,
        onPicture: (@Sendable (WrittenPicture) -> Void)? = nil
    ) {
        let room = RecordedRoom(self.exchange.queue, readsJournal: settings.continues != nil) {
            [exchange = self.exchange] in
            RecorderLoop(settings, exchange, logger: logger, onEvent: onEvent, onPicture: onPicture)
        }
        thread.add(room)
    }

    deinit {
        self.exchange.abandon()
    }

    // MARK: Status

    /// Where the taps put what they receive.
    public var queue: UnitQueue { self.exchange.queue }

    /// The present status.
    public var status: RecordingStatus {
        // Statuses are asked for now and then: no room waits for longer behind one that hangs.
        self.queue.lookAfterReader()
        return self.exchange.published.withLock { $0.status }
    }

    /// Units dropped because the disk was too slow, or because a participant sends too many, over all recordings.
    public var droppedUnits: UInt64 { self.queue.droppedItems }

    /// Units of a participant that were dropped because the disk was too slow, or because the participant sends too
    /// many.
    public func droppedUnits(of participant: String) -> UInt64 {
        self.exchange.tracks.withLock { $0.droppedUnits(of: participant) }
    }

    /// The audio level of a track; nil for video, for closed tracks, and where the sender does not send it.
    public func audioLevel(of track: TrackStatus) -> AudioLevel? {
        guard track.isOpen else { return nil }
        return self.exchange.tracks.withLock { $0.open[track.id]?.tap.audioLevel }
    }

    /// How long units have taken from their arrival into the file since the last call; nil if none were written.
    public func takeLag() -> RecordingLag.Figures? {
        self.exchange.published.withLock { published in
            defer { published.lag = RecordingLag() }
            return published.lag.figures
        }
    }

    // MARK: Tracks

    /// A peer connection came, whose packets are counted where they are decrypted; before its tracks.
    ///
    /// - Parameter sources: what was counted of each source; called on the recorder's thread, also when the connection is
    ///   closed, and must not block.
    public func opened(
        connection: UInt64,
        participant: String,
        sources: @escaping @Sendable () -> [SourceCounts]
    ) {
        self.exchange.tell { $0.connectionOpened(connection, participant: participant, sources: sources) }
    }

    /// Our answer refuses audio or video that the peer of a connection would send: the recording says so.
    public func refused(connection: UInt64, _ kind: MediaKind, reason: String) {
        self.exchange.tell { $0.mediaRefused(kind, reason: reason, of: connection) }
    }

    /// The peer of a connection may send these from now on, and no others: a recording says so if the connection does not come
    /// about, or if the peer stops or resumes one of them.
    public func awaited(connection: UInt64, _ kinds: Set<MediaKind>) {
        self.exchange.tell { $0.mediaAwaited(kinds, of: connection) }
    }

    /// Media can come on a connection.
    public func cameUp(connection: UInt64) {
        self.exchange.tell { $0.connectionCameUp(connection) }
    }

    /// Opens a track; its file comes into being with its first decodable unit.
    ///
    /// - Parameters:
    ///   - setup: when the steps to its first packet were done.
    ///   - audioLevelID: the header extension in which the sender sends the audio level; nil if it does not.
    ///   - orientationID: the header extension in which the sender says how its video is turned; nil if it does not.
    ///   - requestKeyframe: sends a PLI; called on the recorder's thread and must not block.
    /// - Returns: the tap to attach to the received stream.
    public func open(
        _ track: ReceivedTrack,
        setup: SetupTimes = SetupTimes(),
        audioLevelID: UInt8? = nil,
        orientationID: UInt8? = nil,
        requestKeyframe: @escaping @Sendable () -> Void
    ) -> TrackTap {
        var track = track
        track.offerNanoseconds = setup.offer
        let (id, tap) = self.exchange.tracks.withLock { tracks in
            tracks.open(track, setup, self.queue, requestKeyframe)
        }
        if let audioLevelID { tap.readLevels(extensionID: audioLevelID) }
        if let orientationID { tap.readOrientation(extensionID: orientationID) }
        self.exchange.tell { [track] in $0.trackAppeared(id, track, source: TapPackets(tap: tap)) }
        return tap
    }

    /// Closes every track of a peer connection that went away, when what came of it is written.
    public func close(connection: UInt64, reason: String) {
        self.exchange.tracks.withLock { $0.close { $0.received.connection == connection } }
        self.exchange.tellBehindUnits { $0.connectionClosed(connection, reason: reason) }
    }

    /// Sends a PLI for every video track, or for those of one participant; returns for how many.
    @discardableResult
    public func requestKeyframes(participant: String? = nil) -> Int {
        self.exchange.ask(or: 0) { $0.keyframesOrdered(of: participant) }
    }

    /// The newest keyframe of a participant's video, for a still.
    ///
    /// Keyframes are kept for 30 s from the last call. If there is none yet, one is asked for: call again soon.
    public func lastKeyframe(participant: String) -> CodedStill? {
        self.exchange.ask(or: nil) { $0.stillOrdered(of: participant) }
    }

    // MARK: People

    /// Notes that a participant left the room, when what had come until then is written; one that was never recorded is not
    /// noted.
    public func left(participant: String, reason: String) {
        self.exchange.tellBehindUnits { $0.participantLeft(participant, reason: reason) }
    }

    /// Notes the name that a participant goes by, one line of at most 256 bytes.
    public func named(participant: String, _ name: String) {
        self.exchange.tell { $0.participantNamed(participant, name) }
    }

    /// Notes what a participant wrote to the others, while anything is recorded, or shortly before it is.
    ///
    /// - Parameters:
    ///   - label: what the data channel is called.
    ///   - nanoseconds: when it came, on `CLOCK_MONOTONIC`.
    public func wrote(participant: String, _ text: String, label: String, _ nanoseconds: Int64) {
        self.exchange.tell(isSpare: true) { $0.messageCame(from: participant, text, label: label, at: nanoseconds) }
    }

    /// The room became empty or is no longer empty: after `emptyLimit` of an empty room the recording ends.
    ///
    /// The change is queued after the units, because a recording must not end before the last participant's units are
    /// written.
    public func presenceChanged(isEmpty: Bool) {
        self.exchange.tellBehindUnits { $0.presenceChanged(isEmpty: isEmpty) }
    }

    // MARK: Orders

    /// Records from now on, and where the settings have a pre-roll, from before.
    ///
    /// - Parameter endsPause: whether a paused recording resumes; else it stays paused.
    @discardableResult
    public func record(endsPause: Bool = true) -> RecordingStateMachine.OnOrder {
        self.exchange.ask(or: .nothingRecorded) { $0.recordOrdered(endsPause: endsPause) }
    }

    /// Finishes the recording; nothing is recorded until `record()`.
    @discardableResult
    public func stopRecording(reason: String = "stopped") -> RecordingStateMachine.OnOrder {
        self.exchange.ask(or: .nothingRecorded) { $0.stopOrdered(reason: reason) }
    }

    /// Leaves out all media until `resume()`; the files stay open, and the time passes in them.
    @discardableResult
    public func pause() -> RecordingStateMachine.OnOrder {
        self.exchange.ask(or: .nothingRecorded) { $0.pauseOrdered() }
    }

    /// Ends a pause.
    @discardableResult
    public func resume() -> RecordingStateMachine.OnOrder {
        self.exchange.ask(or: .nothingRecorded) { $0.resumeOrdered() }
    }

    /// Changes how is recorded: kinds, segments, pre-roll, the schedule of the disk, tags and notes.
    ///
    /// Files of a kind that is not recorded any more are closed. Tags and notes are also those of the present recording.
    public func take(_ settings: RecorderSettings) {
        self.exchange.tell { $0.settingsChanged(to: settings) }
    }

    /// Notes an instant in the recording; false if there is none.
    public func mark(text: String) -> Bool {
        self.exchange.ask(or: false) { $0.markOrdered(text: text) }
    }

    /// Writes what is queued and closes every file; nothing is recorded any more.
    ///
    /// Blocks; off the cooperative pool.
    public func finish(reason: String) {
        // Units that come from now on are not written: a queue that media flow into would never be empty.
        guard self.exchange.tracks.withLock({ $0.end() }) else { return }
        self.exchange.end(reason: reason)
        // They hold their peer connections.
        self.exchange.tracks.withLock { $0.close { _ in true } }
    }
}

/// Counts the packets of a track at its tap.
private struct TapPackets: PacketSource {
    let tap: TrackTap

    var counters: PacketCounters {
        let counters = self.tap.counters
        return PacketCounters(
            received: counters.packets,
            lost: counters.lostPackets,
            repaired: counters.repairedPackets,
            lastPacketNanoseconds: counters.lastPacketNanoseconds,
            units: counters.units,
            droppedUnits: counters.droppedUnits,
            outcomes: PacketOutcomes(counters)
        )
    }
}

extension PacketOutcomes {
    fileprivate init(_ counters: TapCounters) {
        self.init()
        self.doubtful = counters.doubtful
        self.skipped = counters.skipped
        self.empty = counters.empty
        self.late = counters.late
        self.beforeKeyframe = counters.beforeKeyframe
        self.incomplete = counters.incomplete
        self.undecodable = counters.undecodable
        self.queueFull = counters.queueFull
        self.inUnits = counters.inUnits
        self.waiting = counters.waiting
    }
}
