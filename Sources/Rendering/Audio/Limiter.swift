// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// Multiplies stereo and keeps its true peaks below a ceiling, without clipping.
///
/// It looks ahead: gain falls before a peak in 5 ms and rises after it in about 100 ms. Peaks between samples count
/// (ITU-R BS.1770-4 annex 2: four times as many points). The output is as long as the input.
public struct Limiter: Sendable {
    private static let lookAhead = 240
    private static let taps = 12
    /// Frames by which the output lags: the look-ahead, and the middle of the interpolation.
    private static let delay = lookAhead + 5
    private static let window = lookAhead + 4
    private static let release: Float = 1.0 / 4800

    private let gain: Float
    private let ceiling: Float
    /// Interpolation at a quarter, half and three quarters of the way between two samples.
    private let phases: [[Float]]
    private let overshoot: Float
    /// The newest frames, in a ring.
    private var left: [Float]
    private var right: [Float]
    private var frame = 0
    private var envelope: Float = 1
    /// Falling minima of the window: place and value.
    private var minima: [(frame: Int, value: Float)] = []
    private var minimaStart = 0
    private var averaged: [Float]
    private var sum: Double
    private var peakFrames = 0

    /// - Parameters:
    ///   - gainDecibels: what everything is amplified by.
    ///   - ceilingDecibels: the highest true peak, in decibels below full scale.
    public init(gainDecibels: Double, ceilingDecibels: Double) {
        self.gain = Float(amplitude(decibels: gainDecibels))
        self.ceiling = Float(amplitude(decibels: ceilingDecibels))
        self.phases = [0.25, 0.5, 0.75].map { fraction in
            (0..<Self.taps).map { index in
                let x = Double(index - Self.taps / 2 + 1) - fraction
                let window = 0.5 + 0.5 * cos(Double.pi * x / Double(Self.taps / 2 + 1))
                return Float(sin(Double.pi * x) / (Double.pi * x) * window)
            }
        }
        self.overshoot = self.phases.map { $0.reduce(0) { $0 + abs($1) } }.max() ?? 1
        let size = Self.delay + Self.taps + 1
        self.left = Array(repeating: 0, count: size)
        self.right = Array(repeating: 0, count: size)
        self.averaged = Array(repeating: 1, count: Self.lookAhead)
        self.sum = Double(Self.lookAhead)
    }

    /// Takes interleaved frames; returns those that are finished.
    public mutating func push(_ samples: [Float]) -> [Float] {
        var output: [Float] = []
        output.reserveCapacity(samples.count)
        var index = 0
        while index + 1 < samples.count {
            self.take(samples[index] * self.gain, samples[index + 1] * self.gain, &output)
            index += 2
        }
        return output
    }

    /// The frames that are left.
    public mutating func finish() -> [Float] {
        var output: [Float] = []
        for _ in 0..<Self.delay { self.take(0, 0, &output) }
        return output
    }

    private mutating func take(_ l: Float, _ r: Float, _ output: inout [Float]) {
        let size = self.left.count
        let place = self.frame % size
        self.left[place] = l
        self.right[place] = r
        let level = self.peak(l, r, at: self.frame)
        let wanted = level > self.ceiling ? self.ceiling / level : 1
        self.envelope = min(wanted, self.envelope + (1 - self.envelope) * Self.release)
        let minimum = self.minimum(self.envelope)
        let slot = self.frame % Self.lookAhead
        self.sum += Double(minimum) - Double(self.averaged[slot])
        self.averaged[slot] = minimum
        if self.frame >= Self.delay {
            let factor = Float(self.sum / Double(Self.lookAhead))
            let due = (self.frame - Self.delay) % size
            // Where interpolation and rounding leave a hair above it.
            output.append(max(-self.ceiling, min(self.ceiling, self.left[due] * factor)))
            output.append(max(-self.ceiling, min(self.ceiling, self.right[due] * factor)))
        }
        self.frame += 1
    }

    /// The highest point near the frame six before, or a bound that is below the ceiling.
    private mutating func peak(_ l: Float, _ r: Float, at frame: Int) -> Float {
        let highest = max(abs(l), abs(r))
        // Only where one of the samples at hand could reach the ceiling is there anything to work out.
        if highest * self.overshoot > self.ceiling { self.peakFrames = Self.taps }
        guard self.peakFrames > 0 else { return highest }
        self.peakFrames -= 1
        let size = self.left.count
        let middle = (frame + size - Self.taps / 2) % size
        var peak = max(abs(self.left[middle]), abs(self.right[middle]))
        for phase in self.phases {
            var sumLeft: Float = 0
            var sumRight: Float = 0
            for tap in 0..<Self.taps {
                let place = (frame + size - Self.taps + 1 + tap) % size
                sumLeft += self.left[place] * phase[tap]
                sumRight += self.right[place] * phase[tap]
            }
            peak = max(peak, abs(sumLeft), abs(sumRight))
        }
        return peak
    }

    /// The least of the newest values.
    private mutating func minimum(_ value: Float) -> Float {
        while self.minima.count > self.minimaStart, let last = self.minima.last, last.value >= value {
            self.minima.removeLast()
        }
        self.minima.append((self.frame, value))
        while self.minima[self.minimaStart].frame <= self.frame - Self.window { self.minimaStart += 1 }
        if self.minimaStart > 4096 {
            self.minima.removeFirst(self.minimaStart)
            self.minimaStart = 0
        }
        return self.minima[self.minimaStart].value
    }
}
