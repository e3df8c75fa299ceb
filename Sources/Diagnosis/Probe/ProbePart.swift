// SPDX-License-Identifier: Apache-2.0

/// The sides of a call's quality that are judged, each by one figure.
public enum ProbePart: String, Sendable, Hashable, CaseIterable, Encodable {
    /// Seconds from joining to the first frame.
    case start
    /// Frames, audio packets or beeps that never came, in percent.
    case loss
    /// Frames that came 200 ms or more after most, in percent.
    case lateness
    /// Time in which the video was frozen, in percent.
    case freezes
    /// Milliseconds between video and audio.
    case sync
    /// Milliseconds from capture to file, one way.
    case delay

    /// The score is 100 up to the lower bound, 0 from the upper one, and linear between them.
    ///
    /// Sync: up to 45 ms is not noticed, beyond 185 ms is not accepted (ITU-R BT.1359). Delay: up to 150 ms is good for
    /// most, 400 ms the most to plan with (ITU-T G.114). Loss: lost audio packets are heard from about 1 % on, as they
    /// are not asked for again. The others are what a person who waits or looks puts up with.
    var scale: ClosedRange<Double> {
        switch self {
        case .start: 4...15
        case .loss: 0.5...6
        case .lateness: 2...30
        case .freezes: 2...30
        case .sync: 45...200
        case .delay: 150...1000
        }
    }

    /// 0 to 100.
    func score(_ figure: Double) -> Int {
        let (best, worst) = (self.scale.lowerBound, self.scale.upperBound)
        return Int((100 * min(1, max(0, (worst - figure) / (worst - best)))).rounded())
    }
}
