// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import Rendering

@Suite struct BeepFinderTests {
    /// Stereo at 48 kHz with a tone at each start; times in milliseconds.
    private func audio(milliseconds: Int, tones: [Range<Int>], peak: Float = 0.5) -> [Float] {
        (0..<milliseconds * 48).flatMap { frame -> [Float] in
            let isLoud = tones.contains { $0.contains(frame / 48) }
            let sample = isLoud ? peak * Float(sin(2 * Double.pi * 1000 * Double(frame) / 48_000)) : 0
            return [sample, sample]
        }
    }

    @Test func aToneBeginsABeepAfterSilence() {
        var finder = BeepFinder()
        // The second comes too soon; the third is there twice, with a hole in it.
        finder.take(
            self.audio(milliseconds: 2000, tones: [100..<133, 250..<300, 1000..<1010, 1020..<1033]),
            from: 5_000_000_000
        )
        #expect(finder.beeps == [5_100_000_000, 6_000_000_000])
    }

    @Test func aBeepGoesOverFromOneStretchToTheNext() {
        var finder = BeepFinder()
        finder.take(self.audio(milliseconds: 100, tones: [90..<100]), from: 0)
        finder.take(self.audio(milliseconds: 100, tones: [0..<23]), from: 100_000_000)
        #expect(finder.beeps == [90_000_000])
    }

    @Test func whatIsHardlyHeardIsNoBeep() {
        var finder = BeepFinder()
        finder.take(self.audio(milliseconds: 500, tones: [200..<233], peak: 0.1), from: 0)
        #expect(finder.beeps.isEmpty)
    }
}
