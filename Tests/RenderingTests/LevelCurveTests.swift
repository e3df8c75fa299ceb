// SPDX-License-Identifier: Apache-2.0

import Model
import Testing

@testable import Rendering

@Suite struct LevelCurveTests {
    @Test func theLoudestPacketOfAStepCounts() {
        var curve = LevelCurve(length: 1_000_000_000)
        curve.note(power: 0.25, at: 0)
        curve.note(power: 1, at: 99_999_999)
        curve.note(power: 0.5, at: 50_000_000)
        curve.note(power: 0.01, at: 100_000_000)
        curve.note(power: 4, at: 1_000_000_000)
        let silence = RecordingLevels.silence
        #expect(curve.levels == [0, -20] + Array(repeating: silence, count: 8) + [0])
    }

    @Test(arguments: [0, 1, 100_000_000, 49_999_999_999, 50_000_000_000, 3_600_000_000_000, Int64.max])
    func nothingOfARecordingIsOutsideOfItsSteps(length: Int64) {
        var curve = LevelCurve(length: length)
        for time in [0, length / 2, length, -1, .min, .max] { curve.note(power: 1, at: time) }
        let levels = curve.levels
        #expect(levels.count <= RecordingLevels.maximumSteps)
        #expect(levels.first == 0 && levels.last == 0)
        // The steps cover all of it.
        #expect(Double(levels.count) * Double(LevelCurve.step(ofLength: length)) >= Double(length))
    }

    @Test(arguments: [-1.0, 0, 1e-30, .nan, .infinity]) func whatIsNoAudioIsSilent(power: Double) {
        var curve = LevelCurve(length: 0)
        curve.note(power: power, at: 0)
        #expect(curve.levels == [RecordingLevels.silence])
    }
}

@Suite struct PacketSamplingTests {
    private static let packet: Int64 = 20_000_000

    /// Packets of 20 ms that are decoded of a track.
    private func taken(of track: Int64, _ sampling: PacketSampling) -> Int64 {
        (0..<track / Self.packet).reduce(0) { $0 + (sampling.takes($1 * Self.packet) ? 1 : 0) }
    }

    @Test func aShortRecordingIsDecodedWhole() {
        let minute: Int64 = 60_000_000_000
        #expect(self.taken(of: minute, PacketSampling(audio: 9 * minute)) == minute / Self.packet)
    }

    @Test(arguments: [1, 4, 24, 240] as [Int64]) func tenMinutesAreDecodedOfALongOneAtMost(hours: Int64) {
        let length = hours * 3_600_000_000_000
        let taken = self.taken(of: length, PacketSampling(audio: length)) * Self.packet
        #expect(taken <= 600_000_000_000 && taken > 400_000_000_000)
    }

    @Test func anyTimeHasAnAnswer() {
        for audio in [Int64.min, -1, 0, .max] {
            let sampling = PacketSampling(audio: audio)
            #expect(sampling.takes(0))
            for time in [Int64.min, -1, .max] { _ = sampling.takes(time) }
        }
    }
}
