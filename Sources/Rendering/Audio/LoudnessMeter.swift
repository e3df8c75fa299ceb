// SPDX-License-Identifier: Apache-2.0

/// Integrated loudness by ITU-R BS.1770-4: K-weighting, blocks of 400 ms that overlap by three quarters, and two gates.
///
/// For stereo at 48 kHz. Blocks are kept in classes of 0.1 LU, so memory does not grow with time.
public struct LoudnessMeter: Sendable {
    /// Samples a second and channel.
    public static let sampleRate = 48_000
    private static let stepFrames = sampleRate / 10
    private static let stepsPerBlock = 4
    /// The first gate, in LUFS: the lower end of the first class.
    private static let absoluteGate = -70.0
    private static let classWidth = 0.1
    private static let classCount = 1000

    private var left = KWeighting()
    private var right = KWeighting()
    private var stepEnergy = 0.0
    private var stepFill = 0
    /// Energies of the newest steps, oldest first.
    private var steps: [Double] = []
    private var counts = [Int](repeating: 0, count: Self.classCount)
    private var energies = [Double](repeating: 0, count: Self.classCount)

    /// A meter that has heard nothing.
    public init() {}

    /// Takes interleaved stereo.
    public mutating func add(_ samples: UnsafeBufferPointer<Float>) {
        var index = 0
        while index + 1 < samples.count {
            let l = self.left.filter(Double(samples[index]))
            let r = self.right.filter(Double(samples[index + 1]))
            self.stepEnergy += l * l + r * r
            self.stepFill += 1
            if self.stepFill == Self.stepFrames { self.endStep() }
            index += 2
        }
    }

    /// Integrated loudness of what was heard, in LUFS; `nil` if nothing passed the gates.
    public var integrated: Double? {
        guard let overall = self.mean(from: 0) else { return nil }
        let relativeGate = Self.loudness(overall) - 10
        let first = Int(((relativeGate - Self.absoluteGate) / Self.classWidth).rounded())
        return self.mean(from: max(0, first)).map(Self.loudness)
    }

    private mutating func endStep() {
        self.steps.append(self.stepEnergy)
        self.stepEnergy = 0
        self.stepFill = 0
        guard self.steps.count >= Self.stepsPerBlock else { return }
        let energy = self.steps.reduce(0, +) / Double(Self.stepsPerBlock * Self.stepFrames)
        self.steps.removeFirst()
        let loudness = Self.loudness(energy)
        guard loudness > Self.absoluteGate else { return }
        let index = min(Self.classCount - 1, Int((loudness - Self.absoluteGate) / Self.classWidth))
        self.counts[index] += 1
        self.energies[index] += energy
    }

    private func mean(from first: Int) -> Double? {
        guard first < Self.classCount else { return nil }
        let count = self.counts[first...].reduce(0, +)
        return count == 0 ? nil : self.energies[first...].reduce(0, +) / Double(count)
    }

    private static func loudness(_ energy: Double) -> Double { -0.691 + decibels(power: energy) }
}

/// The filter of ITU-R BS.1770-4 annex 1 at 48 kHz: a shelf for the head, then a high pass.
struct KWeighting: Sendable {
    private var shelf = (0.0, 0.0)
    private var highPass = (0.0, 0.0)

    mutating func filter(_ sample: Double) -> Double {
        let a = sample + 1.690_659_293_182_41 * self.shelf.0 - 0.732_480_774_215_85 * self.shelf.1
        let shelved =
            1.535_124_859_586_97 * a - 2.691_696_189_406_38 * self.shelf.0 + 1.198_392_810_852_85 * self.shelf.1
        self.shelf = (a, self.shelf.0)
        let b = shelved + 1.990_047_454_833_98 * self.highPass.0 - 0.990_072_250_366_21 * self.highPass.1
        let passed = b - 2 * self.highPass.0 + self.highPass.1
        self.highPass = (b, self.highPass.0)
        return passed
    }
}
