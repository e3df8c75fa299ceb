// SPDX-License-Identifier: Apache-2.0

internal import Basics
import Matroska
import Storage
import Timeline

/// One track file that goes into an export, read unit by unit.
struct TrackSource {
    /// How a track's file time maps to the session clock.
    enum Placement {
        /// Through its RTP time: what the journal says of the track, and the map, which knows the track by `key`.
        case clock(TrackOpened, RTPClockMap, key: Int)
        /// Through the date in the file: the journal does not know the track.
        case date(firstUnitNanoseconds: Int64)
    }

    /// The recording's number of the track, if the journal knows it.
    let number: Int?
    /// The file, relative to the recording's folder.
    let file: String
    private let path: String
    let participant: String
    /// How people see the participant.
    var name: String
    /// How many packets of the track never came, or are in no file; `nil` if they were not counted to the end.
    var missingPackets: UInt64?
    /// The track entry of the file.
    let track: Track
    let size: UInt64
    /// The date that the file names, in nanoseconds since 2001.
    let date: Int64?
    /// The session time of its first unit; `nil` if it has none.
    private(set) var firstNanoseconds: Int64?
    /// How the samples of its first unit are coded, if that is a keyframe of VP9.
    private var vp9Format: VP9Format?
    /// `nil` while it rests.
    private var reader: Reader<TrackFile>?
    /// What the certificate needs of its units, while the file is read and once it was read to its end; `nil` if it is
    /// not wanted.
    private(set) var reading: TrackReading?
    private var newReading: ((File) -> TrackReading)?
    private let placement: Placement
    private var damage: DamagedSpans
    /// If they are none, all frames are turned as the file says; `nil` if the journal does not know the track.
    private let turns: VideoTurns?
    private let keepsDamaged: Bool
    private var holes = FileHoles()
    /// The session times that are read; units before and behind count as if they were not there.
    private(set) var window = Int64.min..<Int64.max
    /// Whether a unit in the window was reached with which decoding can begin.
    private var isInside = false
    /// Units that were left out because they cannot be decoded.
    private(set) var leftOut = LeftOutUnits()
    /// The unit that comes next, and its time on the session clock.
    private(set) var next: (block: Block, sessionNanoseconds: Int64)?

    /// Opens the file and reads its first unit; throws what makes the file unusable.
    ///
    /// - Parameter prefix: what leads from the folder of the first segment of a series to this one's.
    init(
        folder: RecordingFolder,
        file: String,
        participant: String?,
        damage: DamagedSpans = DamagedSpans(),
        turns: VideoTurns? = nil,
        keepsDamaged: Bool,
        prefix: String = "",
        place: (SegmentInfo) -> Placement?
    ) throws(ExportError) {
        let path = folder.path + "/" + file
        let (reader, size) = try Self.open(path, file) { .plain($0) }
        guard let track = reader.tracks.first, let placement = place(reader.info) else {
            throw ExportError(.storage, "\(file) has no track that can be placed")
        }
        self.file = prefix + file
        self.path = path
        self.date = reader.info.dateUTCNanosecondsSince2001
        self.track = track
        self.size = size
        self.placement = placement
        self.damage = damage
        self.turns = turns
        self.keepsDamaged = keepsDamaged
        self.participant = participant ?? track.name ?? "unknown"
        self.name = self.participant
        self.reader = reader
        if case .clock(let opened, _, _) = placement { self.number = opened.track } else { self.number = nil }
        try self.advance()
        self.firstNanoseconds = self.next?.sessionNanoseconds
        self.vp9Format = self.next?.block.payload.withUnsafeBytes { Bitstream.inspect(track.codec, $0)?.vp9Format }
    }

    private static func open(
        _ path: String,
        _ name: String,
        as source: (File) -> TrackFile
    ) throws(ExportError) -> (reader: Reader<TrackFile>, size: UInt64) {
        do throws(StorageError) {
            let file = try File(path, .read)
            do throws(MatroskaError) {
                return (try Reader(source(file)), file.count)
            } catch {
                throw StorageError(.invalid, "\(name): \(error.message)", path: file.path)
            }
        } catch {
            throw ExportError(error)
        }
    }

    /// The part of a source that rests whose units are in a range of session time; `nil` if there is none.
    ///
    /// Video begins with a keyframe, unless the range begins before the file.
    func part(_ window: Range<Int64>) throws(ExportError) -> TrackSource? {
        guard window != self.window else { return self }
        var part = self
        part.window = window
        try part.wake()
        part.firstNanoseconds = part.next?.sessionNanoseconds
        part.rest()
        return part.firstNanoseconds == nil ? nil : part
    }

    /// The stretches in which a source that rests has units no further apart than `distance`, up to a session time.
    ///
    /// - Returns: the first unit and the last of each stretch. In a video each begins with a keyframe: a hole behind which
    ///   it continues without one is none.
    func stretches(until end: Int64, distance: Int64) throws(ExportError) -> [ClosedRange<Int64>] {
        var source = self
        try source.wake()
        var stretches: [ClosedRange<Int64>] = []
        while let (block, time) = source.next {
            let isEntry = self.track.codec.kind == .audio || block.isKeyframe
            if let last = stretches.last, !isEntry || time &- last.upperBound <= distance {
                stretches[stretches.count - 1] = last.lowerBound...max(last.upperBound, time)
            } else if isEntry || !self.keepsDamaged {
                stretches.append(time...time)
            }
            if time > end { break }
            try source.advance()
        }
        return stretches
    }

    /// Closes the file and forgets its unit, until it is woken: there may be more files than a process may open.
    mutating func rest() {
        self.reader = nil
        self.next = nil
        if self.reading?.file != nil { self.reading = nil }
    }

    /// From when it is woken on, gathers what the certificate needs of its units.
    mutating func beginReading(for contents: RecordingContents) {
        self.newReading = { [self] in TrackReading($0, self, contents) }
    }

    /// Opens the file again, at its beginning, after a rest.
    ///
    /// Units added to it in between do not count.
    mutating func wake() throws(ExportError) {
        guard self.reader == nil else { return }
        var reading: TrackReading?
        self.reader = try Self.open(self.path, self.file) { file in
            reading = self.newReading?(file)
            return if let hashing = reading?.file { .hashed(hashing) } else { .plain(file) }
        }.reader
        self.reading = reading
        self.damage.rewind()
        self.isInside = false
        self.holes = FileHoles()
        self.leftOut = LeftOutUnits()
        try self.advance()
    }

    /// The session time of the latest unit of the file, found by reading it; `nil` if it cannot be read.
    func lastNanoseconds() -> Int64? {
        var whole = self
        guard (try? whole.wake()) != nil else { return nil }
        return self.sessionTime(UnitCount(whole).lastNanoseconds)
    }

    /// The file from its beginning, if it does not rest.
    var rewound: Reader<TrackFile>? {
        var reader = self.reader
        reader?.rewind()
        return reader
    }

    /// Whether one track of a file can hold both, whatever streams they are of.
    ///
    /// For H.264, the parameter sets may differ: `FrameSets` puts them in front of the keyframes that need them. But
    /// what the head of a track says of all its frames must be true of both, as of VP9 where the file says it.
    func fits(_ other: TrackSource) -> Bool {
        guard self.canGoOn(in: other) else { return false }
        guard self.track.codec == .h264 else {
            return self.track.codecPrivate == other.track.codecPrivate && self.vp9Format == other.vp9Format
        }
        guard let format = H264Format(self.track.codecPrivate) else { return false }
        return format == H264Format(other.track.codecPrivate)
    }

    /// Whether one decoder can go through both, if they are of one RTP stream.
    func canGoOn(in other: TrackSource) -> Bool {
        self.track.codec == other.track.codec && self.track.audio?.channels == other.track.audio?.channels
            && self.track.audio?.sampleRate == other.track.audio?.sampleRate
    }

    /// The journal's record of the track; nil if it has none.
    var opened: TrackOpened? {
        switch self.placement {
        case .clock(let opened, _, _): opened
        case .date: nil
        }
    }

    /// Basis of the track's position in time.
    var basis: RTPClockMap.Basis? {
        switch self.placement {
        case .clock(_, let map, let key): map.basis(track: key)
        case .date: nil
        }
    }

    /// How the frame at a file time is turned.
    func rotation(at fileNanoseconds: Int64) -> VideoRotation {
        guard let turns, !turns.isEmpty else { return self.track.video?.rotation ?? .upright }
        return turns.rotation(at: self.rtpTime(fileNanoseconds))
    }

    /// How long frames are turned in each way, in nanoseconds; empty if the journal does not know the track.
    var rotations: [VideoRotation: Int64] {
        guard let turns, let opened else { return [:] }
        let spans = turns.spans(from: opened.firstRTPTime).mapValues { opened.clock.nanoseconds(ticks: $0) }
        guard turns.isEmpty, let rotation = self.track.video?.rotation else { return spans }
        return [rotation: spans.values.reduce(0, &+)]
    }

    /// Reads the unit after `next`, damaged ones left out; where no cluster follows what is damaged, the file ends.
    mutating func advance() throws(ExportError) {
        self.next = nil
        do throws(MatroskaError) {
            while let head = try self.reader?.nextHead() {
                let time = self.sessionTime(head.timeNanoseconds)
                let payload = try self.read(head, at: time)
                guard head.track == self.track.number else { continue }
                // The recording is in progress, and the file may end within a block.
                guard head.payloadOffset &+ UInt64(head.payloadSize) <= self.size else { return }
                let isBehindHole = self.refersIntoHole(head)
                let isDamaged = self.damage.contains(self.rtpTime(head.timeNanoseconds)) || isBehindHole
                if time >= self.window.upperBound { return }
                if time < self.window.lowerBound { continue }
                if isDamaged {
                    self.leftOut.note(at: time)
                    continue
                }
                guard self.enters(with: head) else { continue }
                self.leftOut.end(at: time)
                let bytes = if let payload { payload } else { try self.reader?.payload(of: head) ?? [] }
                self.next = (Block(head, payload: bytes), time)
                return
            }
        } catch {
            throw ExportError(error, file: self.file)
        }
        if let reader { self.reading?.end(reader) }
        if self.reading?.close() == false { self.reading = nil }
    }

    /// Reads a unit for the certificate, if that is wanted.
    private mutating func read(_ head: BlockHead, at time: Int64) throws(MatroskaError) -> [UInt8]? {
        guard self.reading != nil, let payload = try self.reader?.payload(of: head) else { return nil }
        self.reading?.take(Block(head, payload: payload), at: time, holes: self.reader?.damage.count ?? 0)
        return payload
    }

    /// Whether decoding within the window can begin with a unit, or has begun before it.
    private mutating func enters(with head: BlockHead) -> Bool {
        self.isInside =
            self.isInside || self.window.lowerBound == .min || self.track.codec.kind == .audio || head.isKeyframe
        return self.isInside
    }

    /// Whether a frame refers to some that were in an unreadable part of the file.
    private mutating func refersIntoHole(_ head: BlockHead) -> Bool {
        guard !self.keepsDamaged, self.track.codec.kind == .video else { return false }
        return self.holes.areBefore(isKeyframe: head.isKeyframe, count: self.reader?.damage.count ?? 0)
    }

    /// Leaves out units up to that time; video continues with a keyframe, unless damaged units are kept.
    ///
    /// - Parameter isContinued: whether its first unit follows the last one before that time, so that nothing is missing.
    /// - Returns: how many units were left out.
    mutating func skip(beyond sessionNanoseconds: Int64, isContinued: Bool) throws(ExportError) -> UInt64 {
        var isEntry = isContinued
        var count: UInt64 = 0
        while let next = self.next {
            isEntry = isEntry || self.keepsDamaged || self.track.codec.kind == .audio || next.block.isKeyframe
            if isEntry, next.sessionNanoseconds > sessionNanoseconds { break }
            isEntry = false
            count += 1
            try self.advance()
        }
        return count
    }

    /// Leaves out units before that time, except video from the last keyframe before it.
    mutating func skip(to sessionNanoseconds: Int64) throws(ExportError) {
        var entry: TrackSource?
        while let next = self.next, next.sessionNanoseconds < sessionNanoseconds {
            if self.track.codec.kind == .video, next.block.isKeyframe { entry = self }
            try self.advance()
        }
        defer { self.leftOut = LeftOutUnits() }
        // A track that ended before has nothing in the selection, and one that continues needs its keyframe.
        if let entry, self.next?.block.isKeyframe == false { self = entry }
    }

    /// Goes to the last keyframe, awake; false if there is none.
    mutating func skipToLastKeyframe() throws(ExportError) -> Bool {
        var entry: TrackSource?
        while let next = self.next {
            if next.block.isKeyframe { entry = self }
            try self.advance()
        }
        guard var entry else { return false }
        entry.leftOut = LeftOutUnits()
        self = entry
        return true
    }

    /// The session time of a file time.
    func sessionTime(_ fileNanoseconds: Int64) -> Int64 {
        switch self.placement {
        case .clock(_, let map, let key):
            return map.sessionTimeNanoseconds(track: key, rtpTime: self.rtpTime(fileNanoseconds))
                ?? fileNanoseconds
        case .date(let firstUnitNanoseconds):
            return firstUnitNanoseconds &+ fileNanoseconds
        }
    }

    /// The session time of an unwrapped RTP time; nil if the journal does not know the track.
    func sessionTime(ofRTPTime rtpTime: Int64) -> Int64? {
        guard case .clock(_, let map, let key) = self.placement else { return nil }
        return map.sessionTimeNanoseconds(track: key, rtpTime: rtpTime)
    }

    /// The unwrapped RTP time of a file time; of a file that the journal does not know, the file time itself.
    private func rtpTime(_ fileNanoseconds: Int64) -> Int64 {
        guard case .clock(let opened, _, _) = self.placement else { return fileNanoseconds }
        return opened.firstRTPTime &+ opened.clock.ticks(nanoseconds: fileNanoseconds)
    }
}

/// Properties in the head of an H.264 track that hold for all its frames: parameter sets in the stream cannot change
/// them.
private struct H264Format: Equatable {
    var profile: UInt8
    var chromaFormat: UInt8
    var bitDepths: [UInt8]
    var mayReorder: Bool

    /// Reads a decoder configuration; `nil` if it has no parameter sets that can be read.
    init?(_ configuration: [UInt8]) {
        guard let sets = H264.parameterSets(decoderConfiguration: configuration),
            let first = sets.sequence.lazy.compactMap({ $0.withUnsafeBytes { H264SequenceParameters($0) } }).first
        else { return nil }
        self.profile = first.profile
        self.chromaFormat = first.chromaFormat
        self.bitDepths = [first.lumaBitDepth, first.chromaBitDepth]
        self.mayReorder = sets.mayReorder
    }
}
