// SPDX-License-Identifier: Apache-2.0

/// Finds where a tone starts after silence.
///
/// As Tests/Peers/test-pattern.md says: the first millisecond whose level passes 0.1 of full scale, after 200 ms of
/// silence.
struct BeepFinder {
    /// One millisecond at 48 kHz.
    private static let window = 48
    private static let level: Float = 0.1
    private static let silence: Int64 = 200_000_000
    /// More than any call that is probed has.
    private static let most = 100_000

    /// When beeps start, in nanoseconds.
    private(set) var beeps: [Int64] = []
    private var lastLoud: Int64?

    /// Takes stereo at 48 kHz that begins at a time; its length is a multiple of a millisecond.
    mutating func take(_ samples: [Float], from nanoseconds: Int64) {
        for first in stride(from: 0, to: samples.count - 2 * Self.window + 1, by: 2 * Self.window) {
            let power = samples[first..<first + 2 * Self.window].reduce(0) { $0 + $1 * $1 } / Float(2 * Self.window)
            guard power > Self.level * Self.level else { continue }
            let time = nanoseconds + Int64(first / 2) * 1_000_000 / 48
            if self.lastLoud.map({ time - $0 > Self.silence }) ?? true, self.beeps.count < Self.most {
                self.beeps.append(time)
            }
            self.lastLoud = time
        }
    }
}
