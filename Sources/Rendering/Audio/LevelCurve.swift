// SPDX-License-Identifier: Apache-2.0

internal import Model

/// The loudest moment of each of a fixed number of steps; memory does not grow with the recording.
struct LevelCurve {
    /// No step is shorter: a shorter one would hold less than a packet of some senders.
    private static let shortestStep: Int64 = 100_000_000

    /// The length of a step of a recording of this length, in nanoseconds.
    static func step(ofLength nanoseconds: Int64) -> Int64 {
        max(Self.shortestStep, nanoseconds / Int64(RecordingLevels.maximumSteps) &+ 1)
    }

    private let step: Int64
    private var powers: [Double]

    /// A curve of silence.
    init(length nanoseconds: Int64) {
        self.step = Self.step(ofLength: nanoseconds)
        let count = max(0, nanoseconds) / self.step + 1
        self.powers = Array(repeating: 0, count: min(Int(count), RecordingLevels.maximumSteps))
    }

    /// Takes the mean square of a packet's samples; what is outside of the recording's length is left out.
    mutating func note(power: Double, at nanoseconds: Int64) {
        let index = Int(nanoseconds / self.step)
        guard nanoseconds >= 0, self.powers.indices.contains(index) else { return }
        self.powers[index] = max(self.powers[index], power)
    }

    /// In decibels below full scale.
    var levels: [Int] {
        self.powers.map { power in
            // A decoder that gives no number is no audio.
            let level = decibels(power: power.isFinite ? power : 0).rounded()
            return min(max(Int(level), RecordingLevels.silence), 0)
        }
    }
}

/// Which packets are decoded: all of a short recording, and short stretches at a regular distance of a long one.
struct PacketSampling {
    /// The most audio that is decoded of a recording, in nanoseconds: ten minutes.
    private static let mostNanoseconds: Int64 = 600_000_000_000
    /// A stretch: a decoder is right again after its first packets (RFC 7845 section 4.6: 80 ms).
    private static let stretch: Int64 = 200_000_000

    /// From the beginning of a stretch to that of the next.
    private let period: Int64

    /// - Parameter nanoseconds: the length of all tracks together.
    init(audio nanoseconds: Int64) {
        let share = max(0, nanoseconds) / Self.mostNanoseconds &+ 1
        self.period = Self.stretch * min(share, 1 << 32)
    }

    /// Whether a packet is decoded.
    ///
    /// - Parameter nanoseconds: its time in its track.
    func takes(_ nanoseconds: Int64) -> Bool {
        let place = nanoseconds % self.period
        return (place < 0 ? place + self.period : place) < Self.stretch
    }
}
