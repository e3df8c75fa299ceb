// SPDX-License-Identifier: Apache-2.0

/// Finds the speaker by level: the loudest participant, without a change at every syllable.
public struct SpeakerDetector: Sendable {
    /// Quieter than this is not speech, in decibels below full scale.
    static let threshold = -45.0
    /// Another participant must be louder by this much.
    static let lead = 4.0
    /// Another participant must be louder for this long, and after this much silence no one is highlighted.
    static let patience: Int64 = 300_000_000
    static let silence: Int64 = 1_000_000_000

    /// Index of the speaker; `nil` while no one speaks.
    public private(set) var speaker: Int?
    private var levels: [Double]
    private var lastHeard = Int64.min
    private var rival: (index: Int, since: Int64)?

    /// A detector without a speaker.
    public init(count: Int) {
        self.levels = Array(repeating: -120, count: count)
    }

    /// Takes the levels of all participants for one frame.
    ///
    /// - Parameters:
    ///   - powers: mean square of each one's samples.
    ///   - nanoseconds: the time of the frame.
    ///   - frame: how long it is.
    public mutating func note(_ powers: [Double], at nanoseconds: Int64, frame: Int64) {
        // Rises at once, and falls with 20 dB in 200 ms: gaps between words do not count.
        let fall = 20 * Double(frame) / 200_000_000
        for (index, power) in powers.enumerated() where self.levels.indices.contains(index) {
            self.levels[index] = max(decibels(power: power), self.levels[index] - fall, -120)
        }
        guard let loudest = self.levels.indices.max(by: { self.levels[$0] < self.levels[$1] }),
            self.levels[loudest] > Self.threshold
        else {
            self.rival = nil
            if let _ = self.speaker, nanoseconds &- self.lastHeard > Self.silence { self.speaker = nil }
            return
        }
        guard let speaker = self.speaker else {
            self.speaker = loudest
            self.lastHeard = nanoseconds
            return
        }
        if self.levels[speaker] > Self.threshold { self.lastHeard = nanoseconds }
        guard loudest != speaker, self.levels[loudest] > self.levels[speaker] + Self.lead else {
            self.rival = nil
            return
        }
        let since = self.rival.flatMap { $0.index == loudest ? $0.since : nil } ?? nanoseconds
        self.rival = (loudest, since)
        if nanoseconds &- since >= Self.patience {
            self.speaker = loudest
            self.lastHeard = nanoseconds
            self.rival = nil
        }
    }
}
