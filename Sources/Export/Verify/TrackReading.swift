// SPDX-License-Identifier: Apache-2.0

internal import Basics
import Matroska
import Storage
import Timeline

/// What the units of a track file show to a certificate, and the file's hash, gathered while the file is read.
///
/// An export reads the tracks anyway: its certificate takes what that reading showed, and reads again only what was not
/// read to its end, or may have changed since.
struct TrackReading {
    private(set) var tally: TrackTally
    /// Stretches in which nothing came although something was to come.
    private(set) var gaps = Certificate.Spans()
    /// Units that refer to frames that are not in the file.
    private(set) var leftOut: UInt64 = 0
    /// The latest time of a unit in the file; negative without one.
    private(set) var lastNanoseconds: Int64
    /// Units whose times step back.
    private(set) var stepsBack = 0
    /// Units that are none of the codec.
    private(set) var strangers = 0
    /// Units whose payload cannot be decoded.
    private(set) var undecodable = 0
    private(set) var sealed = SealedUnits()
    /// Parts of the file that make no sense, a sentence each.
    private(set) var damage: [String] = []
    /// The first byte of an end that makes no sense.
    private(set) var tornTailOffset: UInt64?
    /// The size of the file.
    let bytes: UInt64

    /// `nil` once all of it was read.
    private(set) var file: HashingFile?
    private let state: File.State?
    private var hash: String?

    private let track: Track
    /// Where the recording begins in session time.
    private let zero: Int64
    /// The first RTP time of the track, and its clock; `nil` if the journal does not know it.
    private let clock: (firstRTPTime: Int64, clock: RTPClock)?
    private let isPause: (Certificate.Span) -> Bool
    /// Frames may be shown in another order than they are sent.
    private let stepBack: Int64
    /// The RTP times that refer to missing frames, from the next unit on.
    private var damagedTimes: ArraySlice<Range<Int64>>
    private var holes = FileHoles()

    /// Times further off than this are damage; sums of them must not overflow.
    private static let greatestNanoseconds: Int64 = 1 << 60
    /// Rounding of file times, in ticks of 90 kHz.
    private static let roundingTicks: Int64 = 8
    /// Bytes behind the last that makes sense: more of them are not hashed.
    private static let longestHashedTail: UInt64 = 1 << 30

    /// Reads nothing yet.
    init(_ file: File, _ source: TrackSource, _ contents: RecordingContents) {
        self.state = file.state
        let hashing = HashingFile(file)
        self.file = hashing
        self.bytes = hashing.count
        self.track = source.track
        let zero = contents.startNanoseconds
        self.zero = zero
        self.clock = source.opened.map { ($0.firstRTPTime, RTPClock(rateHz: $0.clockRateHz)) }
        self.damagedTimes = (source.number.flatMap { contents.facts.damage[$0] } ?? [])[...]
        self.tally = TrackTally(codec: source.track.codec, missingPackets: source.missingPackets)
        self.stepBack = source.track.codec.mayReorder ? TrackMerge.longestStepBackNanoseconds : 0
        self.lastNanoseconds = .min + self.stepBack
        let (history, number, participant) = (contents.history, source.number, source.participant)
        let media = source.track.codec.kind
        self.isPause = { span in
            history.isPause(
                from: zero &+ span.startNanoseconds,
                lasting: span.durationNanoseconds,
                track: number,
                of: participant,
                media
            )
        }
    }

    /// Reads a file to its end, but for what is behind its last unit.
    init(_ path: String, _ source: TrackSource, _ contents: RecordingContents) throws {
        let file = try File(path, .read)
        self.init(file, source, contents)
        var reader = try Reader(self.file ?? HashingFile(file))
        while let block = try reader.next() {
            self.take(block, at: source.sessionTime(block.timeNanoseconds), holes: reader.damage.count)
        }
        self.end(reader)
    }

    /// Takes the next block of the file, and its session time.
    ///
    /// - Parameter holes: how many parts of the file before it make no sense.
    mutating func take(_ block: Block, at sessionNanoseconds: Int64, holes: Int) {
        guard block.track == self.track.number else {
            self.strangers += 1
            return
        }
        let codec = self.track.codec
        self.stepsBack += block.timeNanoseconds <= self.lastNanoseconds - self.stepBack ? 1 : 0
        self.strangers += Self.isUnit(block.payload, codec) ? 0 : 1
        block.payload.withUnsafeBytes { self.sealed.note($0, codec) }
        self.lastNanoseconds = max(self.lastNanoseconds, block.timeNanoseconds)
        let time = Self.bounded(sessionNanoseconds &- self.zero)
        let (gaps, before) = (self.tally.gapCount, self.tally.gapNanoseconds)
        self.tally.note(block, at: time)
        if self.tally.gapCount > gaps {
            let length = self.tally.gapNanoseconds &- before
            let gap = Certificate.Span(startNanoseconds: time &- length, durationNanoseconds: length)
            if !self.isPause(gap) { self.gaps.note(gap) }
        }
        if codec.kind == .video, self.holes.areBefore(isKeyframe: block.isKeyframe, count: holes) {
            self.leftOut += 1
        } else if let (firstRTPTime, clock) = self.clock {
            let rtpTime = firstRTPTime &+ clock.ticks(nanoseconds: block.timeNanoseconds) &+ Self.roundingTicks
            while let span = self.damagedTimes.first, span.upperBound <= rtpTime { self.damagedTimes.removeFirst() }
            if self.damagedTimes.first?.contains(rtpTime) ?? false {
                self.leftOut += 1
            } else if !block.payload.withUnsafeBytes({ Bitstream.mayBeDecoded(codec, $0) }) {
                self.undecodable += 1
            }
        }
    }

    /// There are no more blocks.
    mutating func end<S>(_ reader: Reader<S>) {
        self.damage = reader.damage.texts
        self.tornTailOffset = reader.tornTailOffset
    }

    /// Reads the rest of the file, such as its index, and closes it; true if the certificate can take all from here.
    mutating func close() -> Bool {
        // A file of nothing but holes may take hours.
        if self.isHashed, let file, file.unread <= Self.longestHashedTail { self.hash = try? file.sha256() }
        self.file = nil
        return self.hash != nil
    }

    /// Whether the file is hashed: not if it is large, and most of it makes no sense.
    var isHashed: Bool {
        self.bytes - min(self.tornTailOffset ?? self.bytes, self.bytes) <= Self.longestHashedTail
    }

    /// The file's SHA-256; reads the rest of it, if it is still open.
    func sha256() throws -> String? { try self.hash ?? self.file?.sha256() }

    /// Whether the path certainly leads to the file as it was read.
    func isStill(at path: String) -> Bool { self.state != nil && (try? File(path, .read))?.state == self.state }

    /// Whether these bytes can be a unit of the codec.
    private static func isUnit(_ payload: [UInt8], _ codec: MediaCodec) -> Bool {
        guard codec == .h264 else { return payload.withUnsafeBytes { Bitstream.inspect(codec, $0) } != nil }
        // In Matroska files every NAL unit follows its length in four bytes (RFC 9559, codec mappings).
        var rest = payload[...]
        while rest.count >= 4 {
            let length = rest.prefix(4).reduce(0) { $0 << 8 | Int($1) }
            guard length > 0, length <= rest.count - 4 else { return false }
            rest = rest.dropFirst(4 + length)
        }
        return rest.isEmpty && !payload.isEmpty
    }

    /// A time that sums cannot overflow.
    static func bounded(_ nanoseconds: Int64) -> Int64 {
        min(max(nanoseconds, -Self.greatestNanoseconds), Self.greatestNanoseconds)
    }
}

/// A track file, hashed while it is read if that is wanted.
enum TrackFile: Source {
    case plain(File)
    case hashed(HashingFile)

    var count: UInt64 {
        switch self {
        case .plain(let file): file.count
        case .hashed(let file): file.count
        }
    }

    func read(offset: UInt64, count: Int) throws -> [UInt8] {
        switch self {
        case .plain(let file): try file.read(offset: offset, count: count)
        case .hashed(let file): try file.read(offset: offset, count: count)
        }
    }
}
