// SPDX-License-Identifier: Apache-2.0

extension ProbeReport {
    /// A human-readable table: part, score, measurement; the score itself last.
    public var rows: [[String]] {
        let parts = self.parts.map { [$0.name.rawValue, String($0.score), self.text(of: $0.name)] }
        let total = self.weakest.map { "as good as the weakest part: \($0.rawValue)" } ?? "no problems found"
        return [["part", "score", "measured"]] + parts + [["score", String(self.score), total]]
    }

    private func text(of part: ProbePart) -> String {
        switch part {
        case .start:
            return "\(Self.rounded(self.firstFrameMilliseconds / 1000)) s from joining to the first frame"
        case .loss:
            let packets = self.sound.packets + self.sound.lost
            let frames = "\(self.frames.lost) of \(self.frames.expected) frames (\(Self.percent(self.lostFrameShare)))"
            guard packets > 0 else { return "\(frames), no audio" }
            let audio = "\(self.sound.lost) of \(packets) audio packets (\(Self.percent(self.lostAudioShare)))"
            guard self.silentShare > 0 else { return "\(frames), \(audio)" }
            return "\(frames), \(audio), no beep for \(self.flashes - self.avOffsets) of \(self.flashes) flashes"
        case .lateness:
            let share = Self.percent(self.lateShare)
            return "\(self.frames.late) of \(self.frames.received) frames late by 200 ms (\(share))"
        case .freezes:
            let longest = self.freezes.count > 0 ? ", the longest \(Int(self.freezes.longestMilliseconds)) ms" : ""
            return "\(self.freezes.count) freezes, \(Self.percent(self.frozenShare)) of the time\(longest)"
        case .sync:
            guard let offset = self.avOffsetMilliseconds else { return "no flash has a beep" }
            let side = offset < 0 ? "early" : "late"
            return "audio \(Self.rounded(abs(offset))) ms \(side), over \(self.avOffsets) flashes"
        case .delay:
            let (median, most) = (self.delay.medianMilliseconds, self.delay.p95Milliseconds)
            return "\(Self.rounded(median)) ms median, \(Self.rounded(most)) ms for 95 %"
        }
    }

    private static func percent(_ share: Double) -> String { "\(self.rounded(100 * share)) %" }

    /// With one decimal.
    private static func rounded(_ value: Double) -> String {
        let tenths = Int((value * 10).rounded())
        return "\(tenths < 0 ? "-" : "")\(tenths.magnitude / 10).\(tenths.magnitude % 10)"
    }
}
