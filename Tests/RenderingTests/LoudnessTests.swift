// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import Rendering

/// Interleaved stereo with the same sine on both channels.
private func tone(_ decibels: Double, seconds: Double, hertz: Double = 1000) -> [Float] {
    let peak = pow(10, decibels / 20)
    return (0..<Int(seconds * 48_000)).flatMap { index -> [Float] in
        let value = Float(peak * sin(2 * Double.pi * hertz * Double(index) / 48_000))
        return [value, value]
    }
}

extension LoudnessMeter {
    fileprivate mutating func hear(_ samples: [Float]) {
        samples.withUnsafeBufferPointer { self.add($0) }
    }
}

@Suite struct LoudnessTests {
    /// EBU Tech 3341, signals 1 and 2: a stereo sine of 1 kHz measures as many LUFS as its peak is below full scale.
    @Test(arguments: [-23.0, -33.0]) func measuresTheTonesOfTheEBU(_ level: Double) throws {
        var meter = LoudnessMeter()
        meter.hear(tone(level, seconds: 5))
        #expect(abs(try #require(meter.integrated) - level) < 0.1)
    }

    /// EBU Tech 3341, signal 3, shortened: what is 13 LU quieter does not count.
    @Test func leavesOutWhatIsMuchQuieter() throws {
        var meter = LoudnessMeter()
        meter.hear(tone(-36, seconds: 2))
        meter.hear(tone(-23, seconds: 12))
        meter.hear(tone(-36, seconds: 2))
        #expect(abs(try #require(meter.integrated) + 23) < 0.15)
    }

    @Test func silenceHasNoLoudness() {
        var meter = LoudnessMeter()
        #expect(meter.integrated == nil)
        meter.hear([Float](repeating: 0, count: 96_000))
        meter.hear(tone(-90, seconds: 1))
        #expect(meter.integrated == nil)
    }

    @Test func lowTonesCountLess() throws {
        var meter = LoudnessMeter()
        meter.hear(tone(-23, seconds: 3, hertz: 40))
        #expect(try #require(meter.integrated) < -27)
    }
}

@Suite struct LimiterTests {
    @Test func keepsWhatIsQuietToTheSample() {
        let input = tone(-20, seconds: 0.2)
        var limiter = Limiter(gainDecibels: 0, ceilingDecibels: -1)
        var output: [Float] = []
        for start in stride(from: 0, to: input.count, by: 1000) {
            output += limiter.push(Array(input[start..<min(input.count, start + 1000)]))
        }
        output += limiter.finish()
        #expect(output == input)
    }

    @Test func keepsPeaksBelowTheCeilingWithoutClipping() {
        // Loud, and at a quarter of the sampling rate with its peaks between the samples.
        let input = (0..<48_000).flatMap { index -> [Float] in
            let value = Float(1.9 * sin(Double.pi / 2 * Double(index) + Double.pi / 4))
            return [value, -value]
        }
        var limiter = Limiter(gainDecibels: 6, ceilingDecibels: -1)
        let output = limiter.push(input) + limiter.finish()
        #expect(output.count == input.count)
        let ceiling = Float(pow(10, -1.0 / 20))
        // Samples of such a tone are 3 dB below its true peak.
        let highest = output.dropFirst(9600).map(abs).max() ?? 0
        #expect(highest < ceiling * 0.75 && highest > ceiling * 0.6)
        #expect(output.map(abs).max() ?? 2 <= ceiling)
    }

    @Test func comesBackAfterAPeak() {
        var input = tone(-20, seconds: 2)
        for index in 48_000..<48_200 { input[index] = 4 }
        var limiter = Limiter(gainDecibels: 0, ceilingDecibels: -1)
        let output = limiter.push(input) + limiter.finish()
        #expect(zip(output.suffix(9600), input.suffix(9600)).allSatisfy { abs($0 - $1) < 1e-3 })
        #expect(output.allSatisfy { abs($0) <= Float(pow(10, -1.0 / 20)) })
    }
}
