// SPDX-License-Identifier: Apache-2.0

public import Basics
public import Matroska
public import Storage
internal import Timeline

/// Writes one received track to its own Matroska file, and what concerns it to the journal.
///
/// Units are gathered, and go to the kernel together with one write, which the owner requests when it has taken all that came:
/// `kill -9` loses those that are gathered. The first unit of a file goes there at once, and a large one with those before it.
/// Block times are the sender's RTP clock from the file's first unit, to 100 µs. They rise, except for H.264
/// frames that are sent in another order than they are shown. A change of size or of parameter sets does not end the
/// file. For one thread at a time; calls block for the time of a system call.
public final class TrackFileWriter {
    /// The outcome of a unit.
    public enum WriteResult: Sendable, Hashable {
        /// It is in the file, or goes into it with the next write.
        case taken(isKeyframe: Bool)
        /// It has parameter sets and nothing of a frame: they go into the file with the next frame.
        case kept
        /// Nothing can be shown before a keyframe: ask the sender for one. Not written.
        case needsKeyframe
        /// It is a keyframe of H.264 whose parameter sets are not known. Not written.
        case needsParameterSets
        /// The bytes are no unit of the track's codec. Not written.
        case malformed
        /// The RTP time steps back, or ahead of the time that passed: a new timeline; or the file spans 100 days. Not
        /// written; close this file and open the track under another number.
        case discontinuity
    }

    private static let maximumUnitSize = 32 << 20
    /// More bytes than these are not gathered; a second of sound and most frames of video have less.
    private static let mostGathered = 1 << 16
    /// Limit of the bytes that `converted` keeps, which is less than the largest possible frame.
    private static let longestReused = 1 << 20
    /// Free bytes that must remain in addition to a file's first unit when a file begins.
    private static let leastFree: Int64 = 1 << 16
    /// A frame that is sent out of display order is less than this before the latest one.
    private static let longestStepBackNanoseconds: Int64 = 750_000_000
    /// Parts of one frame are less than this apart, and frames more.
    private static let leastStepBackTicks: Int64 = 10
    /// A unit that waited in a queue is late by less when the next one, that did not, comes.
    private static let longestStepAheadNanoseconds: Int64 = 30_000_000_000
    private static let longestPauseNanoseconds: Int64 = 86_400_000_000_000
    private static let longestFileNanoseconds = 100 * longestPauseNanoseconds

    /// The track.
    public let track: TrackDescription
    /// The file, relative to the recording's folder.
    public let relativePath: String
    /// Figures of the file so far, with the units that are gathered.
    public private(set) var statistics = TrackStatistics()
    /// Units that the kernel has.
    public var unitsInFile: UInt64 { self.statistics.units - self.gatheredUnits }

    private enum State {
        case waiting
        case writing(OpenFile)
        case closed
    }

    private struct OpenFile {
        var file: File
        var writer: Writer
        var firstRTPTime: Int64
        var lastTicks: Int64 = -1
        /// When the newest unit came.
        var lastArrivalNanoseconds: Int64
        /// Where the file ends.
        var end: UInt64
        /// Blocks that go there with the next write.
        var gathered: [UInt8] = []
    }

    private let folder: RecordingFolder
    private let journal: JournalWriter
    private let clock: RTPClock
    private var state = State.waiting
    /// How many units are gathered, and the figures without them.
    private var gatheredUnits: UInt64 = 0
    private var statisticsInFile = TrackStatistics()
    private var sampler: ClockAnchorSampler
    private var formats = FormatLines()
    /// Those of the newest keyframe.
    private var parameterSets: H264ParameterSets?
    /// All that the sender has sent of H.264, and what a decoder of the file knows.
    private var sets = H264KnownSets()
    private var fileSets = H264KnownSets()
    /// `sets.changes` when the two were last compared.
    private var comparedChanges: UInt64 = 0
    /// Whether the parameter sets allow frames to be shown in another order than they are sent.
    private var mayReorder = false
    /// Properties of the frames at the end of the track's previous file; nil if this file begins with a keyframe.
    private var inherited: UnitInspection?
    /// How frames are turned from here on, and what file and journal say; nil before the sender says it.
    private var rotation: VideoRotation?
    private var notedRotation: VideoRotation?
    /// How many units were in the file at the last `takeUnsynchronised`.
    private var synchronisedUnits: UInt64 = 0
    /// H.264 with length prefixes, reused from unit to unit.
    private(set) var converted: [UInt8] = []

    /// Prepares a track; its file is created by the first unit that can be written.
    public init(folder: RecordingFolder, journal: JournalWriter, track: TrackDescription) {
        self.folder = folder
        self.journal = journal
        self.track = track
        self.relativePath = "tracks/" + track.fileName
        self.clock = RTPClock(rateHz: track.clockRateHz)
        self.sampler = ClockAnchorSampler(clock: self.clock)
    }

    /// Whether the file can take units: it was not closed, and no write to it failed.
    public var takesUnits: Bool {
        switch self.state {
        case .waiting, .writing: true
        case .closed: false
        }
    }

    /// Begins the file with any unit, with frames like those of the same track's previous file.
    ///
    /// Before the first `gather`. Units before the first keyframe cannot be decoded.
    public func go(on other: TrackFileWriter) {
        guard other.statistics.units > 0 else { return }
        self.inherited = UnitInspection(
            isKeyframe: true,
            // A file that continued another without a keyframe may have had none.
            width: other.statistics.width ?? other.inherited?.width,
            height: other.statistics.height ?? other.inherited?.height,
            parameterSets: other.parameterSets ?? other.inherited?.parameterSets
        )
        self.mayReorder = other.mayReorder
        self.rotation = other.rotation
    }

    /// Takes the parameter sets of H.264 that the track's sender has sent so far, in this file or before it.
    ///
    /// Those that the file lacks go into it with the next unit.
    public func know(_ sets: H264KnownSets) {
        if self.sets.changes != sets.changes { self.sets = sets }
    }

    /// Takes one unit for the file: a VP8 or VP9 frame, an H.264 access unit in Annex B, an Opus or G.711 packet.
    ///
    /// After an error the file holds `unitsInFile` whole units, has no index, and takes no more; the track may continue under
    /// another number. If the file could not be begun, it is not there, and the next unit tries again.
    ///
    /// - Parameters:
    ///   - unit: the bytes; only read during the call.
    ///   - inspection: what `Bitstream.inspect` said of them for the track's codec; nil if they are no unit of it.
    ///   - rtpTime: the sender's unwrapped RTP time.
    ///   - arrivalNanoseconds: when it came, on this host's monotonic clock.
    ///   - packets: how many RTP packets it came in.
    ///   - rotation: how its frame is turned; nil if its sender never said.
    public func gather(
        _ unit: UnsafeRawBufferPointer,
        _ inspection: UnitInspection?,
        rtpTime: Int64,
        arrivalNanoseconds: Int64,
        packets: Int = 1,
        rotation: VideoRotation? = nil
    ) throws(RecordingError) -> WriteResult {
        self.rotation = rotation ?? self.rotation
        let result = try self.gather(unit, inspection, rtpTime: rtpTime, arrivalNanoseconds: arrivalNanoseconds)
        switch result {
        case .taken, .kept: self.statistics.packets += UInt64(clamping: packets)
        case .needsKeyframe, .needsParameterSets, .malformed, .discontinuity: break
        }
        return result
    }

    /// Hands to the kernel what is gathered, with one write; does nothing where nothing is.
    ///
    /// After an error as after one of `gather`.
    public func writeGathered() throws(RecordingError) {
        guard case .writing(var open) = self.state, !open.gathered.isEmpty else { return }
        self.state = .closed
        try self.write(&open)
        self.state = .writing(open)
    }

    private func gather(
        _ unit: UnsafeRawBufferPointer,
        _ inspection: UnitInspection?,
        rtpTime: Int64,
        arrivalNanoseconds: Int64
    ) throws(RecordingError) -> WriteResult {
        guard unit.count > 0, unit.count <= Self.maximumUnitSize, let inspection else { return .malformed }
        guard self.track.codec == .h264 else {
            return try self.gather(payload: unit, inspection, rtpTime: rtpTime, arrivalNanoseconds: arrivalNanoseconds)
        }
        if let sets = inspection.parameterSets { self.sets.note(sets) }
        guard inspection.hasFrame else {
            if case .waiting = self.state { return .needsKeyframe }
            return .kept
        }
        let whole = self.withKnownSets(inspection)
        // Taken out of self for the call, so that it is not accessed twice; it comes back for the next unit.
        var payload = self.converted
        self.converted = []
        defer { if payload.capacity <= Self.longestReused { self.converted = payload } }
        payload.removeAll(keepingCapacity: true)
        let fileSets = self.appendSets(of: inspection, whole, to: &payload)
        guard H264.appendLengthPrefixed(unit, to: &payload) else { return .malformed }
        let result = try payload.withUnsafeBufferPointer { payload throws(RecordingError) in
            try self.gather(
                payload: UnsafeRawBufferPointer(payload),
                whole,
                rtpTime: rtpTime,
                arrivalNanoseconds: arrivalNanoseconds
            )
        }
        if case .taken = result, let fileSets {
            self.fileSets = fileSets
            self.comparedChanges = self.sets.changes
        }
        return result
    }

    /// Appends the parameters that a decoder of the file needs before the unit, because its sender sent them elsewhere:
    /// in the description, in a separate access unit, or while nothing was recorded.
    ///
    /// - Returns: what a decoder knows behind the unit; nil if that is what it knew before.
    private func appendSets(
        of unit: UnitInspection,
        _ whole: UnitInspection,
        to payload: inout [UInt8]
    ) -> H264KnownSets? {
        if case .writing = self.state, self.sets.changes == self.comparedChanges { return nil }
        var behind = self.fileSets
        if case .waiting = self.state, let first = self.first(whole).flatMap({ self.configurationSets($0) }) {
            behind.note(first)
        }
        // Sets in the unit itself come after these.
        if let sets = unit.parameterSets { behind.note(sets) }
        let lacking = self.sets.lacking(in: behind)
        for set in lacking.sequence + lacking.picture {
            H264.appendLengthPrefixed(unit: set, to: &payload)
        }
        behind.note(lacking)
        return behind
    }

    /// A keyframe with the parameter sets that it uses and the size that they say, whenever they came.
    private func withKnownSets(_ inspection: UnitInspection) -> UnitInspection {
        guard inspection.isKeyframe, let needed = self.sets.needed(pictureSetID: inspection.pictureSetID) else {
            return inspection
        }
        var whole = inspection
        whole.parameterSets = needed
        if let size = needed.size { (whole.width, whole.height) = size }
        return whole
    }

    /// The unit that describes the file's first frames: a keyframe, or the properties of earlier frames.
    private func first(_ inspection: UnitInspection) -> UnitInspection? {
        inspection.isKeyframe ? inspection : self.inherited
    }

    /// The parameter sets in the head of a file that begins with this unit.
    private func configurationSets(_ first: UnitInspection) -> H264ParameterSets? {
        self.sets.all(pictureSetID: first.pictureSetID) ?? first.parameterSets
    }

    /// Takes the payload as it goes into the file.
    private func gather(
        payload: UnsafeRawBufferPointer,
        _ inspection: UnitInspection,
        rtpTime: Int64,
        arrivalNanoseconds: Int64
    ) throws(RecordingError) -> WriteResult {
        switch self.state {
        case .closed:
            throw self.error(StorageError(.closed, "\(self.relativePath) is closed", path: self.absolutePath))
        case .waiting:
            guard let header = self.matroskaTrack(inspection) else {
                return inspection.isKeyframe && self.track.codec == .h264 ? .needsParameterSets : .needsKeyframe
            }
            try self.open(header, room: payload.count, rtpTime: rtpTime, arrivalNanoseconds: arrivalNanoseconds)
        case .writing:
            let isElsewhere = self.isDiscontinuity(rtpTime: rtpTime, arrivalNanoseconds: arrivalNanoseconds)
            guard !isElsewhere else { return .discontinuity }
        }
        try self.append(payload, rtpTime: rtpTime, isKeyframe: inspection.isKeyframe, at: arrivalNanoseconds)
        self.note(inspection, rtpTime: rtpTime, arrivalNanoseconds: arrivalNanoseconds)
        return .taken(isKeyframe: inspection.isKeyframe)
    }

    /// Whether a unit of this time cannot be in the file, but begins another one: see `WriteResult.discontinuity`.
    func isDiscontinuity(rtpTime: Int64, arrivalNanoseconds: Int64) -> Bool {
        guard case .writing(let open) = self.state else { return false }
        let step = self.clock.nanoseconds(ticks: rtpTime &- (self.statistics.lastRTPTime ?? rtpTime))
        let fileTime = self.clock.nanoseconds(ticks: rtpTime &- (self.statistics.firstRTPTime ?? rtpTime))
        let passed = max(0, arrivalNanoseconds &- open.lastArrivalNanoseconds)
        return !(-Self.longestStepBackNanoseconds...Self.longestPauseNanoseconds).contains(step)
            || step &- passed > Self.longestStepAheadNanoseconds
            || fileTime > Self.longestFileNanoseconds
    }

    /// The file, if units went into it since the last call; the caller may force them to the disk, on any thread.
    ///
    /// - Returns: the file, and whether it is the first time, so that its name is to be forced to the disk, too.
    public func takeUnsynchronised() -> (file: File, isNew: Bool)? {
        guard case .writing(let open) = self.state, self.unitsInFile != self.synchronisedUnits else { return nil }
        defer { self.synchronisedUnits = self.unitsInFile }
        return (open.file, self.synchronisedUnits == 0)
    }

    /// Takes no more units, because the disk may have lost some: the file stays as it is, and the journal says why.
    public func fail(_ error: StorageError, monotonicNanoseconds: Int64) {
        guard case .writing = self.state else { return }
        self.state = .closed
        self.journalEnd(reason: error.code.rawValue, monotonicNanoseconds: monotonicNanoseconds)
    }

    /// Takes no more units; what is left to do waits for the disk, and may be done on another thread.
    ///
    /// What is gathered is to be written first. Nil if nothing is left to do. Without its `complete()` the file stays as it is: readable, but without an index.
    public func end(reason: String, monotonicNanoseconds: Int64) -> TrackFileEnd? {
        guard case .writing(let open) = self.state else {
            self.state = .closed
            return nil
        }
        self.state = .closed
        self.note(self.formats.takeAll())
        return TrackFileEnd(
            file: open.file,
            folder: self.folder,
            size: open.end,
            finish: open.writer.finish(),
            journal: self.journal,
            record: self.record(ofEnd: reason),
            monotonicNanoseconds: monotonicNanoseconds
        )
    }

    /// Completes the file with cues, duration and sizes, syncs it, and journals its end; later calls do nothing.
    public func close(reason: String, monotonicNanoseconds: Int64) throws(RecordingError) {
        try self.writeGathered()
        try self.end(reason: reason, monotonicNanoseconds: monotonicNanoseconds)?.complete()
    }

    private var absolutePath: String { self.folder.path + "/" + self.relativePath }

    /// An error of the track's file.
    private func error(_ cause: StorageError) -> RecordingError { RecordingError(.track(self.track.number), cause) }

    private func error(_ cause: MatroskaError) -> RecordingError {
        self.error(StorageError(.invalid, "\(self.relativePath): \(cause.message)", path: self.absolutePath))
    }

    /// The track entry for a file that begins with this unit; `nil` if it cannot begin with it.
    private func matroskaTrack(_ first: UnitInspection) -> Track? {
        let name = self.track.participantName ?? self.track.participant
        let uid = TrackDescription.uid(number: self.track.number, in: self.folder)
        switch self.track.codec {
        case .opus: return .opus(uid: uid, channels: self.track.channels, name: name)
        case .pcmu, .pcma:
            return .g711(uid: uid, codec: self.track.codec, channels: self.track.channels, name: name)
        case .vp8, .vp9, .h264:
            guard let first = self.first(first), let width = first.width, let height = first.height else { return nil }
            var codecPrivate: [UInt8] = []
            if self.track.codec == .h264 {
                guard let configuration = self.configurationSets(first).flatMap(H264.decoderConfiguration) else {
                    return nil
                }
                codecPrivate = configuration
            }
            return .video(
                uid: uid,
                codec: self.track.codec,
                width: width,
                height: height,
                codecPrivate: codecPrivate,
                rotation: self.rotation ?? .upright,
                name: name
            )
        }
    }

    /// Creates the file.
    ///
    /// - Parameter room: bytes of the first unit: where there is none for it, nothing is left behind.
    private func open(
        _ header: Track,
        room: Int,
        rtpTime: Int64,
        arrivalNanoseconds: Int64
    ) throws(RecordingError) {
        let info = SegmentInfo(
            title: header.name,
            dateUTCNanosecondsSince2001: UTCTime.at(monotonicNanoseconds: arrivalNanoseconds).nanosecondsSince2001,
            timestampScaleNanoseconds: TrackDescription.timestampScaleNanoseconds
        )
        let writer: Writer
        do throws(MatroskaError) {
            writer = try Writer(info: info, tracks: [header])
        } catch {
            throw self.error(error)
        }
        let opened = TrackOpened(
            track: self.track.number,
            participant: self.track.participant,
            media: self.track.media,
            codec: self.track.codec.rawValue,
            clockRateHz: self.clock.rateHz,
            channels: self.track.media == .audio ? self.track.channels : nil,
            ssrc: self.track.ssrc,
            payloadType: self.track.payloadType,
            mid: self.track.mid,
            layer: self.track.layer,
            connection: self.track.connection,
            file: self.relativePath,
            firstRTPTime: rtpTime
        )
        // A disk that is full often takes a file's head, but none of its units: each new attempt would leave one behind.
        let file = try RecordingError.blaming(.track(self.track.number)) { () throws(StorageError) in
            guard try DiskSpace.measure(self.folder.tracksPath).freeBytes >= Int64(room) + Self.leastFree else {
                throw StorageError(.noSpace, "no space left for \(self.relativePath)", path: self.absolutePath)
            }
            return try File(self.absolutePath, .create)
        }
        do throws(RecordingError) {
            try RecordingError.blaming(.track(self.track.number)) { () throws(StorageError) in
                try file.write(writer.header(), at: 0)
            }
            // Before the first unit: units without a record are worse than a record of a file that has none.
            try RecordingError.blaming(.journal) { () throws(StorageError) in
                try self.journal.append(.trackOpened(opened), monotonicNanoseconds: arrivalNanoseconds)
            }
        } catch {
            file.remove()
            throw error
        }
        self.state = .writing(
            OpenFile(
                file: file,
                writer: writer,
                firstRTPTime: rtpTime,
                lastArrivalNanoseconds: arrivalNanoseconds,
                end: writer.offset
            )
        )
        self.statistics.firstRTPTime = rtpTime
    }

    /// Adds a block; after an error the file is closed, without the blocks that were gathered and without this one.
    private func append(
        _ payload: UnsafeRawBufferPointer,
        rtpTime: Int64,
        isKeyframe: Bool,
        at arrivalNanoseconds: Int64
    ) throws(RecordingError) {
        guard case .writing(var open) = self.state else { return }
        // Closed until the block is taken; this also leaves the writer's index with one owner, so nothing is copied.
        self.state = .closed
        let scale = Int64(TrackDescription.timestampScaleNanoseconds)
        let fileTime = self.clock.nanoseconds(ticks: rtpTime &- open.firstRTPTime)
        open.lastArrivalNanoseconds = max(open.lastArrivalNanoseconds, arrivalNanoseconds)
        let ticks = self.ticks((max(0, fileTime) + scale / 2) / scale, after: open.lastTicks)
        let head: [UInt8]
        do throws(MatroskaError) {
            head = try open.writer.blockHead(
                track: 1,
                timeNanoseconds: ticks * scale,
                isKeyframe: isKeyframe,
                payloadSize: payload.count
            )
        } catch {
            throw self.error(error)
        }
        if self.gatheredUnits == 0 { self.statisticsInFile = self.statistics }
        self.gatheredUnits += 1
        self.statistics.units += 1
        self.statistics.bytes += UInt64(payload.count)
        self.statistics.keyframes += isKeyframe ? 1 : 0
        self.statistics.lastRTPTime = max(self.statistics.lastRTPTime ?? rtpTime, rtpTime)
        self.statistics.durationNanoseconds = max(self.statistics.durationNanoseconds, ticks * scale)
        open.lastTicks = ticks
        open.gathered += head
        let patch = open.writer.takeClusterPatch()
        let isLarge = open.gathered.count + payload.count > Self.mostGathered
        if isLarge {
            try self.write(&open, and: payload)
        } else {
            open.gathered += payload
            // A file that has its head has a unit; and a cluster that has its size is in the file.
            if self.statistics.units == 1 || patch != nil { try self.write(&open) }
        }
        // As good without its size, should this fail.
        if let patch { try? open.file.write(patch.bytes, at: patch.offset) }
        self.state = .writing(open)
    }

    /// Hands to the kernel what is gathered and what follows it; after an error the file is to be closed.
    private func write(
        _ open: inout OpenFile,
        and rest: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0)
    ) throws(RecordingError) {
        let (file, end) = (open.file, open.end)
        do throws(StorageError) {
            try open.gathered.withUnsafeBufferPointer { gathered throws(StorageError) in
                try file.write(UnsafeRawBufferPointer(gathered), rest, at: end)
            }
        } catch {
            // Best effort: a reader stops at a torn unit.
            try? file.truncate(to: end)
            self.statistics = self.statisticsInFile
            self.gatheredUnits = 0
            self.journalEnd(reason: error.code.rawValue, monotonicNanoseconds: open.lastArrivalNanoseconds)
            throw self.error(error)
        }
        open.end = end + UInt64(open.gathered.count + rest.count)
        open.gathered.removeAll(keepingCapacity: true)
        self.gatheredUnits = 0
    }

    /// The time of a block, in ticks of the file.
    private func ticks(_ ticks: Int64, after last: Int64) -> Int64 {
        self.mayReorder && ticks <= last - Self.leastStepBackTicks ? ticks : max(last + 1, ticks)
    }

    /// Journals the properties of a unit that is in the file, or goes into it with the next write.
    private func note(_ inspection: UnitInspection, rtpTime: Int64, arrivalNanoseconds: Int64) {
        let sample = ClockSample(rtpTime: rtpTime, monotonicNanoseconds: arrivalNanoseconds)
        if let anchor = self.sampler.observe(sample) {
            self.journal.note(
                .clockAnchor(ClockAnchor(track: self.track.number, rtpTime: anchor.rtpTime)),
                monotonicNanoseconds: anchor.monotonicNanoseconds
            )
        }
        guard self.track.media == .video else { return }
        self.note(self.formats.takeDue(at: arrivalNanoseconds))
        let isTurned = (self.rotation ?? .upright) != (self.notedRotation ?? .upright)
        guard inspection.isKeyframe || isTurned else { return }
        self.notedRotation = self.rotation
        let hasNewSets = inspection.parameterSets != nil && inspection.parameterSets != self.parameterSets
        let hasNewSize =
            inspection.width != nil
            && (inspection.width, inspection.height) != (self.statistics.width, self.statistics.height)
        guard hasNewSets || hasNewSize || isTurned else { return }
        let isFirst = self.statistics.width == nil && self.inherited == nil
        self.parameterSets = inspection.parameterSets ?? self.parameterSets
        if hasNewSets { self.mayReorder = self.parameterSets?.mayReorder ?? false }
        self.statistics.width = inspection.width ?? self.statistics.width
        self.statistics.height = inspection.height ?? self.statistics.height
        let change = FormatChanged(
            track: self.track.number,
            rtpTime: rtpTime,
            width: self.statistics.width,
            height: self.statistics.height,
            parameterSets: hasNewSets && !isFirst,
            rotation: self.rotation
        )
        self.note(self.formats.changed(change, at: arrivalNanoseconds))
    }

    private func note(_ line: FormatLines.Line?) {
        guard let line else { return }
        self.journal.note(.formatChanged(line.change), monotonicNanoseconds: line.arrivalNanoseconds)
    }

    private func journalEnd(reason: String, monotonicNanoseconds: Int64) {
        self.note(self.formats.takeAll())
        self.journal.note(.trackClosed(self.record(ofEnd: reason)), monotonicNanoseconds: monotonicNanoseconds)
    }

    private func record(ofEnd reason: String) -> TrackClosed {
        TrackClosed(
            track: self.track.number,
            units: self.statistics.units,
            bytes: self.statistics.bytes,
            keyframes: self.statistics.keyframes,
            lastRTPTime: self.statistics.lastRTPTime ?? 0,
            reason: reason,
            packets: self.statistics.packets
        )
    }
}
