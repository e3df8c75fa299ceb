// SPDX-License-Identifier: Apache-2.0

/// The score of a test camera's call, 0 to 100, and the measurements behind it.
///
/// A call is as good as the worst part of it, so the score is that of the weakest part.
public struct ProbeReport: Sendable, Hashable, Encodable {
    /// One side of a call's quality.
    public struct Part: Sendable, Hashable, Encodable {
        /// Which side.
        public var name: ProbePart
        /// 0 to 100.
        public var score: Int
    }

    /// Frames from the first to the last whose counter could be read.
    public struct Frames: Sendable, Hashable, Encodable {
        /// Frames that the camera captured.
        public var expected = 0
        /// Frames that came, repeated and unreadable ones included.
        public var received = 0
        /// Frames that never came.
        public var lost = 0
        /// Frames that came much later than most.
        public var late = 0
        /// Frames that repeat an earlier one.
        public var repeated = 0
        /// Frames whose counter cannot be read.
        public var unreadable = 0
    }

    /// Audio packets.
    public struct Sound: Sendable, Hashable, Encodable {
        /// Packets that came.
        public var packets: UInt64
        /// Packets that never came.
        public var lost: UInt64
    }

    /// Times in which the video was frozen.
    public struct Freezes: Sendable, Hashable, Encodable {
        /// How often.
        public var count = 0
        /// How long in all.
        public var milliseconds = 0.0
        /// The longest.
        public var longestMilliseconds = 0.0
    }

    /// From capture to file.
    public struct Delay: Sendable, Hashable, Encodable {
        /// Half of the frames took no longer.
        public var medianMilliseconds: Double
        /// 95 of 100 took no longer.
        public var p95Milliseconds: Double
        /// The slowest.
        public var maximumMilliseconds: Double
    }

    /// The score of the weakest part, 0 to 100.
    public var score: Int
    /// The part with the lowest score; nil if all have 100.
    public var weakest: ProbePart?
    /// Each part, in the order of `ProbePart`.
    public var parts: [Part]
    /// From the first to the last frame in its file, or to the end of the call if nothing moves any more.
    public var seconds: Double
    /// From the camera's joining to the first frame in its file.
    public var firstFrameMilliseconds: Double
    /// Frames.
    public var frames: Frames
    /// Audio packets.
    public var sound: Sound
    /// Times in which the video was frozen.
    public var freezes: Freezes
    /// Beep minus flash, the median over all flashes: positive if audio is late; nil if none has a beep within 500 ms.
    public var avOffsetMilliseconds: Double?
    /// How many flashes have a beep.
    public var avOffsets: Int
    /// How many flashes could be seen.
    public var flashes: Int
    /// From capture to file; of both ways if media are sent back.
    public var delay: Delay

    /// A frame is late if it took this much longer than the median.
    static let lateness: Int64 = 200_000_000
    /// A flash and a beep belong together if they are no farther apart; they come once a second.
    static let widestOffset: Int64 = 500_000_000

    /// Judges a call; nil if no frame in it can be of our camera.
    public init?(_ observation: ProbeObservation) {
        var pictures = observation.pictures
        for index in pictures.indices where observation.delay(of: pictures[index]) == nil {
            pictures[index].counter = nil
        }
        let delays = pictures.compactMap(observation.delay).sorted()
        guard let first = pictures.first(where: { $0.counter != nil }), !delays.isEmpty else { return nil }
        let median = delays[delays.count / 2]
        self.firstFrameMilliseconds = Self.milliseconds(first.writtenNanoseconds - observation.joinNanoseconds)
        self.delay = Delay(
            medianMilliseconds: Self.milliseconds(median),
            p95Milliseconds: Self.milliseconds(delays[min(delays.count - 1, delays.count * 95 / 100)]),
            maximumMilliseconds: Self.milliseconds(delays[delays.count - 1])
        )
        var motion = Motion(framesPerSecond: observation.framesPerSecond)
        for picture in pictures {
            motion.take(picture, isLate: observation.delay(of: picture).map { $0 > median + Self.lateness })
        }
        // The last captured frames are under way for as long as most were.
        motion.end(at: observation.endNanoseconds - median)
        self.frames = motion.frames
        self.freezes = motion.freezes
        self.seconds = motion.seconds
        self.sound = Sound(packets: observation.audioPackets, lost: observation.lostAudioPackets)
        let (offsets, flashes) = Self.offsets(pictures, observation.beeps, observation.framesPerSecond)
        self.avOffsets = offsets.count
        self.flashes = flashes
        self.avOffsetMilliseconds = offsets.isEmpty ? nil : Self.milliseconds(offsets[offsets.count / 2])
        self.score = 0
        self.parts = []
        self.parts = ProbePart.allCases.map { part in
            Part(name: part, score: part.score(self.figure(of: part, trips: observation.trips)))
        }
        let weakest = self.parts.min { $0.score < $1.score }
        self.score = weakest?.score ?? 0
        self.weakest = self.score < 100 ? weakest?.name : nil
    }

    /// The share of frames, of audio packets, or of beeps that never came: whichever is largest.
    public var lossShare: Double { max(self.lostFrameShare, self.lostAudioShare, self.silentShare) }
    /// The share of frames that never came.
    public var lostFrameShare: Double { Self.share(self.frames.lost, of: self.frames.expected) }
    /// The share of audio packets that never came; 1 if there is no audio at all.
    public var lostAudioShare: Double {
        let all = self.sound.packets + self.sound.lost
        return all == 0 ? 1 : Double(self.sound.lost) / Double(all)
    }
    /// The share of flashes without a beep, for example if audio stops while video continues, which shows in no packet
    /// count.
    ///
    /// Nothing up to a tenth, and not one flash at either end of the call, whose beep may be outside of the recording.
    /// If none has a beep, nothing is in sync, and loss is not counted.
    public var silentShare: Double {
        let share = Self.share(self.flashes - self.avOffsets - 2, of: self.flashes)
        return self.avOffsets > 0 && share > 0.1 ? share : 0
    }
    /// The share of frames that came late.
    public var lateShare: Double { Self.share(self.frames.late, of: self.frames.received) }
    /// The share of the time in which the video was frozen.
    public var frozenShare: Double { self.seconds > 0 ? min(1, self.freezes.milliseconds / 1000 / self.seconds) : 0 }

    /// The figure that a part is judged by, in the unit of its scale.
    private func figure(of part: ProbePart, trips: Int) -> Double {
        switch part {
        case .start: self.firstFrameMilliseconds / 1000
        case .loss: 100 * self.lossShare
        case .lateness: 100 * self.lateShare
        case .freezes: 100 * self.frozenShare
        case .sync: abs(self.avOffsetMilliseconds ?? .infinity)
        case .delay: self.delay.medianMilliseconds / Double(max(1, trips))
        }
    }

    /// Beep minus flash for each flash that has a beep, in rising order, and how many flashes there are.
    private static func offsets(
        _ pictures: [ProbeObservation.Picture],
        _ beeps: [Int64],
        _ rate: Int
    ) -> (offsets: [Int64], flashes: Int) {
        var offsets: [Int64] = []
        var flashes = 0
        var lastFlash: Int?
        for picture in pictures {
            guard let counter = picture.counter, counter % rate == 0, picture.hasFlash, counter != lastFlash
            else { continue }
            lastFlash = counter
            flashes += 1
            let nearest = beeps.min { abs($0 - picture.nanoseconds) < abs($1 - picture.nanoseconds) }
            if let nearest, abs(nearest - picture.nanoseconds) < Self.widestOffset {
                offsets.append(nearest - picture.nanoseconds)
            }
        }
        return (offsets.sorted(), flashes)
    }

    private static func share(_ count: Int, of all: Int) -> Double { all > 0 ? Double(count) / Double(all) : 0 }

    static func milliseconds(_ nanoseconds: Int64) -> Double { (Double(nanoseconds) / 1e5).rounded() / 10 }
}

/// Follows the counters of a call: what is missing between them, and how long none follows.
private struct Motion {
    var frames = ProbeReport.Frames()
    var freezes = ProbeReport.Freezes()
    private var firstWritten: Int64?
    /// The newest frame that showed something new.
    private var newest: (counter: Int, written: Int64, position: Int)?
    private var firstCounter = 0
    private var lastWritten: Int64 = 0
    private let longestStep: Int64
    private var freezeNanoseconds: Int64 = 0
    private var longestFreeze: Int64 = 0

    /// As W3C webrtc-stats counts freezes: longer than three frames, and than one frame and 150 ms.
    init(framesPerSecond: Int) {
        let frame = 1_000_000_000 / Int64(framesPerSecond)
        self.longestStep = max(3 * frame, frame + 150_000_000)
    }

    var seconds: Double { Double(self.lastWritten - (self.firstWritten ?? self.lastWritten)) / 1e9 }

    /// - Parameter isLate: nil if the counter cannot be read.
    mutating func take(_ picture: ProbeObservation.Picture, isLate: Bool?) {
        guard let counter = picture.counter else {
            // Frames before the first counter are not of the call that is measured.
            guard self.newest != nil else { return }
            self.frames.received += 1
            self.frames.unreadable += 1
            return
        }
        self.frames.received += 1
        if self.firstWritten == nil {
            self.firstWritten = picture.writtenNanoseconds
            self.firstCounter = counter
        }
        self.lastWritten = max(self.lastWritten, picture.writtenNanoseconds)
        if let newest = self.newest {
            guard counter > newest.counter else {
                self.frames.repeated += 1
                return
            }
            // A repeated frame replaces one that is not shown.
            let missing = (counter - newest.counter) - (self.frames.received - newest.position)
            self.frames.lost += max(0, missing)
            self.note(step: picture.writtenNanoseconds - newest.written)
        }
        if isLate == true { self.frames.late += 1 }
        self.newest = (counter, picture.writtenNanoseconds, self.frames.received)
        self.frames.expected = counter - self.firstCounter + 1
    }

    mutating func end(at nanoseconds: Int64) {
        guard let newest = self.newest, nanoseconds - newest.written > self.longestStep else { return self.finish() }
        self.note(step: nanoseconds - newest.written)
        self.lastWritten = max(self.lastWritten, nanoseconds)
        self.finish()
    }

    private mutating func note(step: Int64) {
        guard step > self.longestStep else { return }
        self.freezes.count += 1
        self.freezeNanoseconds += step
        self.longestFreeze = max(self.longestFreeze, step)
    }

    private mutating func finish() {
        self.freezes.milliseconds = ProbeReport.milliseconds(self.freezeNanoseconds)
        self.freezes.longestMilliseconds = ProbeReport.milliseconds(self.longestFreeze)
    }
}
