// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import Matroska
internal import Storage
internal import Timeline

/// The recording of a room: every received track in its own file, and a journal next to them, in one recording or in
/// several in sequence, for as long as Tapedeck stays in the room.
///
/// One owner, on one thread, reports each event and each request with one call, and performs the actions that the call
/// left (`takeActions`) before the next call. A recording's folder is made when the first unit comes: a room in which
/// nothing is received leaves nothing behind. Calls block for the time of a system call that writes; what waits for the
/// disk itself is an action, whose end comes back as a call. Instants are nanoseconds of `CLOCK_MONOTONIC`, as the
/// clock gives them.
public struct RecordingSession: ~Copyable {
    let clock: @Sendable () -> Int64
    let onPicture: (@Sendable (WrittenPicture) -> Void)?
    var settings: RecorderSettings
    var machine: RecordingStateMachine
    var recording: ActiveRecording?
    /// The segment before it, in which some tracks have yet to come to a keyframe.
    var older: ActiveRecording?
    var segments: SegmentPolicy
    /// The recording of another host that one of these continued.
    var followed: SeriesPlace?
    /// Media that came while nothing was recorded, if a recording may begin with them.
    var preroll: PrerollBuffer?
    /// The folder of the present recording, or of the last one.
    var folder: RecordingFolder?
    var tracks: [UInt64: OpenTrack] = [:]
    /// Units of the present round, in the order in which they came.
    var gathered: [GatheredUnit] = []
    /// Peer connections whose packets are counted.
    var connections: [UInt64: OpenConnection] = [:]
    /// Kinds that participants said they send no more.
    var stopped: [String: Set<MediaKind>] = [:]
    /// Media that never came, and were reported.
    var missed: Set<AwaitedKey> = []
    /// Packets that are in no file, over all recordings of the session, by participant.
    var unrecorded = UnrecordedPackets()
    /// Schedules of the journalled accounts of the present recording.
    var accountSchedules: [SourceKey: AccountSchedule] = [:]
    /// How many files each participant may begin.
    var files = ParticipantFiles()
    var names = ParticipantNames()
    /// Messages written before anything is recorded.
    var early = EarlyMessages()
    /// Tracks of the present recording, or of the last one, that receive no more.
    var closed: [TrackStatus] = []
    /// The session ends when everything that waits has been passed to it.
    var isEnding = false
    var failure: RecordingError?
    /// After a recording could not be begun, or was lost: when to try again.
    var retryAt: Int64 = 0
    /// Recordings that the disk lost.
    var losses = FailurePause()
    var synchronisation = SynchronisationSchedule()
    var lastCounted: Int64 = 0
    var droppedUnits: UInt64 = 0
    /// Participants of the present recording that were reported because they send more than can be written.
    var flooders: Set<String> = []
    var stillsWantedUntil: Int64 = 0
    var lag = RecordingLag()
    var completions = CompletionSchedule()
    /// Ends of recordings that the disk did not take, and when to try again.
    var unfinished: [(completion: RecordingCompletion, at: Int64)] = []
    var actions: [RecordingAction] = []

    /// A session that waits for media, or continues the recording `settings.continues`.
    ///
    /// If that recording cannot be continued, the error is the `failure` of the status, and the session waits for media
    /// as if none were named.
    ///
    /// - Parameters:
    ///   - onPicture: called for each frame that is in its file, while a call to the session lasts; must not block.
    ///   - clock: gives `CLOCK_MONOTONIC`, in nanoseconds.
    public init(
        settings: RecorderSettings,
        onPicture: (@Sendable (WrittenPicture) -> Void)? = nil,
        clock: @escaping @Sendable () -> Int64
    ) {
        let now = clock()
        var past: ActiveRecording?
        var failure: RecordingError?
        do throws(RecordingError) {
            past = try settings.continues.map { path throws(RecordingError) in
                try ActiveRecording.continuing(path, settings, at: now)
            }
        } catch {
            failure = error
        }
        self.clock = clock
        self.onPicture = onPicture
        self.settings = settings
        self.machine = settings.machine(goesOn: past != nil, now: now)
        self.segments = SegmentPolicy(limit: settings.segment)
        self.preroll = settings.prerollBuffer
        self.failure = failure
        if let past { self.took(past) }
        if let failure { self.actions.append(.tellNotContinued(failure)) }
    }

    var now: Int64 { self.clock() }

    // MARK: Status

    /// The present status.
    public var status: RecordingStatus {
        let shown = self.shown
        return RecordingStatus(
            phase: self.machine.phase,
            folder: self.folder,
            current: self.recording.map { RecordingStatus.Current(folder: $0.folder, part: $0.part) },
            failure: self.failure,
            unrecorded: self.unrecorded.totals,
            open: self.tracks.values.map { TrackStatus($0, isOpen: true, shown) },
            closed: self.closed
        )
    }

    /// How people see those who are recorded, and those who may be.
    var shown: ShownNames {
        var people = self.recording?.people ?? ParticipantRoster()
        for track in self.tracks.values.sorted(by: { $0.id < $1.id }) {
            people.note(track.received.participant, name: self.names[track.received.participant])
        }
        return people.shown
    }

    /// Whether nothing becomes due before something comes: there is no track, no recording, and nothing to be completed.
    public var isIdle: Bool {
        self.tracks.isEmpty && self.recording == nil && self.older == nil && !self.isCompleting
            && self.unfinished.isEmpty
    }

    /// Takes out what is to be done into an array that is empty; its memory serves the next actions.
    public mutating func takeActions(into actions: inout [RecordingAction]) {
        swap(&actions, &self.actions)
    }

    /// Takes out how long the units since the last call took from their arrival into their files.
    public mutating func takeLag() -> RecordingLag {
        defer { self.lag = RecordingLag() }
        return self.lag
    }

    // MARK: Tracks

    /// A track came; its file comes into being with its first decodable unit.
    ///
    /// - Parameters:
    ///   - id: identifies the track in units and statuses, a new number for each.
    ///   - source: where its packets are counted.
    public mutating func trackAppeared(_ id: UInt64, _ track: ReceivedTrack, source: any PacketSource) {
        let before = self.tracks.values.filter { $0.received.isContinued(by: track) }.max { $0.id < $1.id }
        if let before { self.actions.append(.logCodecChanged(track, before: before.received.codec)) }
        self.tracks[id] = OpenTrack(id, track, source: source, now: self.now)
    }

    /// A peer connection went away, with every track of it.
    public mutating func connectionClosed(_ connection: UInt64, reason: String) {
        self.writeGathered()
        let now = self.now
        self.closeAccounts(of: connection, reason: reason, now)
        for (id, track) in self.tracks where track.received.connection == connection {
            self.closeFile(id, reason: reason, now)
            self.preroll?.remove(track: id)
            self.tracks[id] = nil
        }
    }

    /// A sender report came.
    public func reportCame(_ report: ReceivedReport) {
        let found = self.tracks.values.filter {
            $0.received.connection == report.connection && $0.received.ssrc == report.ssrc
        }
        // A sender who changed the codec has a track for each: the report is about what it sends now.
        let newest = found.max {
            ($0.counters.lastPacketNanoseconds ?? 0) < ($1.counters.lastPacketNanoseconds ?? 0)
        }
        guard let track = newest else { return }
        track.lastReport = report
        guard let number = track.writer?.track.number, self.machine.phase == .recording else { return }
        self.recording(of: track)?.note(report, track: number)
    }

    /// Requests a PLI for every video track, or for those of one participant; returns for how many.
    public mutating func keyframesOrdered(of participant: String? = nil) -> Int {
        let wanted = self.tracks.values.filter {
            $0.isVideo && (participant == nil || participant == $0.received.participant)
        }
        for track in wanted { self.requestKeyframe(track) }
        return wanted.count
    }

    /// Returns the newest keyframe of a participant's video, for a still.
    ///
    /// Keyframes are kept for 30 s from the last call. If there is none yet, one is asked for: call again soon.
    public mutating func stillOrdered(of participant: String) -> CodedStill? {
        self.stillsWantedUntil = self.now + Self.stillsKept.nanoseconds
        let tracks = self.tracks.values.filter { $0.isVideo && $0.received.participant == participant }
        // The newest track that has one: a screen that is shared comes after the camera.
        for track in tracks.sorted(by: { $0.id > $1.id }) {
            if let still = track.lastKeyframe { return still }
        }
        for track in tracks { self.requestKeyframe(track) }
        return nil
    }

    private static let stillsKept = Duration.seconds(30)

    mutating func requestKeyframe(_ track: OpenTrack) {
        track.noteKeyframeRequest()
        self.actions.append(.requestKeyframe(track: track.id))
    }

    // MARK: People

    /// A participant left the room; one that was never recorded is not noted.
    public mutating func participantLeft(_ participant: String, reason: String) {
        let now = self.now
        self.stopped[participant] = nil
        self.older?.left(participant, reason: reason, now)
        self.recording?.left(participant, reason: reason, now)
    }

    /// A participant goes by a name, one line of at most 256 bytes; it is in the journal from its first file on.
    public mutating func participantNamed(_ participant: String, _ name: String) {
        guard self.names[participant] != name else { return }
        self.names.note(name, of: participant)
        let now = self.now
        self.older?.named(participant, name, now)
        self.recording?.named(participant, name, now)
    }

    /// A participant wrote something to the others; noted while anything is recorded, or shortly before it is.
    ///
    /// - Parameters:
    ///   - label: what the data channel is called.
    ///   - nanoseconds: when it came.
    public mutating func messageCame(from participant: String, _ text: String, label: String, at nanoseconds: Int64) {
        guard self.settings.recordsChat else { return }
        let message = EarlyMessages.Message(
            participant: participant,
            text: text,
            label: label,
            nanoseconds: nanoseconds
        )
        switch self.machine.phase {
        case .recording: self.write(message)
        case .waiting: self.early.keep(message)
        case .off: if self.preroll != nil { self.early.keep(message) }
        case .paused: break
        }
    }

    mutating func write(_ message: EarlyMessages.Message) {
        let name = self.names[message.participant]
        self.recording?.wrote(
            message.participant,
            name: name,
            message.text,
            label: message.label,
            message.nanoseconds
        )
    }

    /// The room became empty or is no longer empty: after `emptyLimit` of an empty room the recording ends.
    public mutating func presenceChanged(isEmpty: Bool) {
        self.machine.presenceChanged(isEmpty: isEmpty, now: UInt64(clamping: self.now))
    }

    // MARK: Orders

    /// Starts a recording now or, where the settings have a pre-roll, in the past.
    ///
    /// - Parameter endsPause: whether a paused recording resumes; else it stays paused.
    public mutating func recordOrdered(endsPause: Bool = true) -> RecordingStateMachine.OnOrder {
        guard endsPause || self.machine.phase != .paused else { return .alreadySo }
        let wasPaused = self.machine.phase == .paused
        let result = self.machine.recordOrdered()
        if result == .done {
            self.startAtKeyframes(marker: wasPaused ? "resumed" : nil)
            self.beginInThePast()
        }
        return result
    }

    /// Finishes the recording; no other begins until one is ordered.
    public mutating func stopOrdered(reason: String) -> RecordingStateMachine.OnOrder {
        let result = self.machine.stopOrdered()
        if result == .finish { self.finishRecording(reason: reason) }
        return result
    }

    /// Leaves out all media until `resumeOrdered`; the files stay open, and the time passes in them.
    public mutating func pauseOrdered() -> RecordingStateMachine.OnOrder {
        let result = self.machine.pauseOrdered()
        if result == .done {
            self.endCut()
            self.mark("paused")
        }
        return result
    }

    /// Ends a pause.
    public mutating func resumeOrdered() -> RecordingStateMachine.OnOrder {
        let result = self.machine.resumeOrdered()
        if result == .done { self.startAtKeyframes(marker: "resumed") }
        return result
    }

    /// Notes an instant of the recording; false if there is no recording.
    public func markOrdered(text: String) -> Bool {
        guard self.recording != nil else { return false }
        self.mark("mark", text: text)
        return true
    }

    /// Changes what is recorded and how: kinds, segments, pre-roll, the schedule of the disk, tags and notes.
    ///
    /// Files of a kind that is not recorded any more are closed. Tags and notes are also those of the present recording.
    public mutating func settingsChanged(to settings: RecorderSettings) {
        let old = self.settings
        self.settings = settings
        // The owner of the session may not have heard yet that it was continued.
        if settings.follows == self.followed { self.settings.follows = nil }
        if settings.preroll != old.preroll { self.preroll = settings.prerollBuffer }
        if settings.segment != old.segment {
            self.endCut()
            self.segments = SegmentPolicy(limit: settings.segment)
            if let recording = self.recording {
                self.segments.segmentBegan(at: UInt64(clamping: recording.beganAt))
            }
        }
        if (settings.tags, settings.notes) != (old.tags, old.notes) { self.recording?.describe(settings, self.now) }
        guard (settings.recordsVideo, settings.recordsAudio) != (old.recordsVideo, old.recordsAudio) else { return }
        let now = self.now
        for (id, track) in self.tracks where !self.isWanted(track) {
            self.closeFile(id, reason: "not to be recorded any more", now)
        }
        // Video that was recorded all the time continues unchanged.
        if settings.recordsVideo, !old.recordsVideo { self.startAtKeyframes(marker: nil) }
    }

    func isWanted(_ track: OpenTrack) -> Bool {
        track.isVideo ? self.settings.recordsVideo : self.settings.recordsAudio
    }

    /// Begins or resumes video with a keyframe, which is requested at once.
    private mutating func startAtKeyframes(marker: String?) {
        let now = UInt64(clamping: self.now)
        for track in self.tracks.values where track.isVideo {
            track.keyframes = KeyframePolicy(trackAppearedAt: now)
            track.awaitsKeyframe = true
        }
        if let marker { self.mark(marker) }
    }

    private func mark(_ name: String, text: String? = nil) {
        self.recording?.mark(name, text: text, self.now)
    }

    // MARK: The end

    /// Announces that only media already queued will come: from now on errors are kept for a later query.
    public mutating func endAnnounced() {
        self.isEnding = true
    }

    /// Everything that waited was passed on: ends every file and the recording.
    ///
    /// After the actions, what they completed comes yet, for as long as `isCompleting`.
    public mutating func end(reason: String) {
        self.isEnding = true
        self.writeGathered()
        self.finishRecording(reason: reason)
        self.completeUnfinished(until: .max)
        self.tracks = [:]
        _ = self.machine.stopOrdered()
    }

    /// Whether files or recordings that are over wait for their completion.
    public var isCompleting: Bool { !self.completions.isIdle }
}
