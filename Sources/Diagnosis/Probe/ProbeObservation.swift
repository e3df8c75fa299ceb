// SPDX-License-Identifier: Apache-2.0

/// The media that came of a test camera's call, before the call is judged.
public struct ProbeObservation: Sendable, Hashable {
    /// A decoded frame of the test pattern.
    public struct Picture: Sendable, Hashable {
        /// When it is shown, on the clock of `beeps`, in nanoseconds.
        public var nanoseconds: Int64
        /// When it was in its file, on the clock of `firstFrameNanoseconds`.
        public var writtenNanoseconds: Int64
        /// The frame counter; nil if it cannot be read.
        public var counter: Int?
        /// Whether it flashes.
        public var hasFlash: Bool

        /// A frame with each part given.
        public init(nanoseconds: Int64, writtenNanoseconds: Int64, counter: Int?, hasFlash: Bool) {
            self.nanoseconds = nanoseconds
            self.writtenNanoseconds = writtenNanoseconds
            self.counter = counter
            self.hasFlash = hasFlash
        }
    }

    /// The camera's frames a second, 1 to 60.
    public var framesPerSecond: Int
    /// How often media go through the network: 1, or 2 if they are sent back.
    public var trips: Int
    /// When the camera began to join, on the clock of frames in their file.
    public var joinNanoseconds: Int64
    /// When frame 0 was captured, on the same clock.
    public var firstFrameNanoseconds: Int64
    /// When the call was ended, on the same clock.
    public var endNanoseconds: Int64
    /// In the order in which they came.
    public var pictures: [Picture]
    /// When beeps start, in rising order.
    public var beeps: [Int64]
    /// Audio packets that came.
    public var audioPackets: UInt64
    /// Audio packets that did not.
    public var lostAudioPackets: UInt64

    /// An observation with each part given.
    public init(
        framesPerSecond: Int,
        trips: Int = 1,
        joinNanoseconds: Int64,
        firstFrameNanoseconds: Int64,
        endNanoseconds: Int64,
        pictures: [Picture],
        beeps: [Int64],
        audioPackets: UInt64,
        lostAudioPackets: UInt64
    ) {
        self.framesPerSecond = framesPerSecond
        self.trips = trips
        self.joinNanoseconds = joinNanoseconds
        self.firstFrameNanoseconds = firstFrameNanoseconds
        self.endNanoseconds = endNanoseconds
        self.pictures = pictures
        self.beeps = beeps
        self.audioPackets = audioPackets
        self.lostAudioPackets = lostAudioPackets
    }

    /// Longest time from capture to file that is believed.
    ///
    /// Beyond, the counter was misread or is of another camera.
    private static let longestDelay: Int64 = 30_000_000_000

    /// How long a frame took from its capture to its file; nil if its counter cannot be ours.
    func delay(of picture: Picture) -> Int64? {
        guard let counter = picture.counter else { return nil }
        let captured = self.firstFrameNanoseconds + Int64(counter) * 1_000_000_000 / Int64(self.framesPerSecond)
        let delay = picture.writtenNanoseconds - captured
        return (0...Self.longestDelay).contains(delay) ? delay : nil
    }

    /// Frames whose counters can be those of our camera.
    public var readableFrames: Int { self.pictures.count { self.delay(of: $0) != nil } }

    /// Among the observations of several participants, that of our camera: the most frames that can be ours, and among
    /// equals the shortest delay; nil if no participant sent any.
    public static func ours(_ observations: [ProbeObservation]) -> ProbeObservation? {
        func shortestDelay(_ observation: ProbeObservation) -> Int64 {
            observation.pictures.compactMap(observation.delay).min() ?? .max
        }
        return observations.filter { $0.readableFrames > 0 }.max { left, right in
            (left.readableFrames, shortestDelay(right)) < (right.readableFrames, shortestDelay(left))
        }
    }
}
