// SPDX-License-Identifier: Apache-2.0

import Basics
import Matroska
import Testing
import Timeline

@testable import Recording

@Suite struct DamageLinesTests {
    private static let millisecond: Int64 = 1_000_000

    /// Lines of units, one every ten milliseconds: `d` after a loss, `k` a keyframe, `-` any other.
    private func lines(of units: String, every milliseconds: Int64 = 10) -> [String] {
        var damage = TrackDamage()
        var lines = DamageLines()
        var written: [DamageLines.Line] = []
        for (index, unit) in units.enumerated() {
            let at = Int64(index) * milliseconds
            let meaning = damage.unitCame(lostPackets: unit == "d" ? 1 : 0, isWholeKeyframe: unit == "k")
            written += lines.unitCame(meaning, rtpTime: at, at: at * Self.millisecond)
        }
        return (written + lines.takeAll()).map { line in
            switch line.damage {
            case .unchanged: "unchanged"
            case .damaged(let lost): "\(line.rtpTime) damaged \(lost)"
            case .mended(let units): "\(line.rtpTime) mended \(units)"
            }
        }
    }

    @Test(
        arguments: [
            // Slow damage has its lines as it comes.
            ("k-d--k--d-k-", 100, ["200 damaged 1", "500 mended 3", "800 damaged 1", "1000 mended 2"]),
            // The end of short damage is written when nothing follows it.
            ("-d-k---------------------", 10, ["10 damaged 1", "30 mended 2"]),
            ("-d-k", 10, ["10 damaged 1", "30 mended 2"]),
            // Damage that follows at once is one with it, and everything between is damaged.
            ("-d-k-d-k", 10, ["10 damaged 1", "70 mended 6"]),
            ("-d-k-d-k--d-", 10, ["10 damaged 1"]),
            // A keyframe that stood for long enough is one.
            ("-d-k--------------------d-k", 10, ["10 damaged 1", "30 mended 2", "240 damaged 1", "260 mended 2"]),
        ] as [(String, Int64, [String])]
    )
    func linesOfDamage(units: String, milliseconds: Int64, expected: [String]) {
        #expect(self.lines(of: units, every: milliseconds) == expected)
    }

    /// A minute of damage around every keyframe, a hundred times a second.
    @Test func damageWithEveryUnitCostsFewLines() {
        let lines = self.lines(of: String(repeating: "dk", count: 3000))
        #expect(lines.count <= 2 * (60_000 / 200 + 1))
        #expect(lines.first == "0 damaged 1")
        #expect(lines.last?.contains("mended") == true)
    }

    /// No unit that cannot be decoded lies outside of the journalled damage.
    @Test(arguments: [3, 7, 19, 23, 61])
    func nothingDamagedIsToldToBeWhole(step: Int) throws {
        let feed = RecordingFeed()
        let video = feed.open(.vp8)
        var damaged: Set<Int64> = []
        var isDamaged = false
        feed.push(video, FedUnit.keyframe(), at: 0)
        for number in 1..<600 {
            let at = Int64(number) * 10
            let isKeyframe = number % step == step - 1
            let isLost = number % step == 0
            isDamaged = (isDamaged || isLost) && !isKeyframe
            if isDamaged { damaged.insert(at * 90) }
            feed.push(video, isKeyframe ? FedUnit.keyframe() : FedUnit.frame(), at: at, lost: isLost ? 1 : 0)
        }
        feed.end()
        let recording = try ReadRecording(try #require(feed.folders.first))
        var spans: [Range<Int64>] = []
        var lines = 0
        for entry in recording.entries {
            switch entry.record {
            case .trackDamaged(let record): (spans, lines) = (spans + [record.rtpTime..<Int64.max], lines + 1)
            case .trackMended(let record):
                let start = try #require(spans.last).lowerBound
                spans[spans.count - 1] = start..<record.rtpTime
                lines += 1
            default: break
            }
        }
        #expect(lines <= 2 * (6000 / 200 + 1))
        let told = recording.times("video").filter { time in spans.contains { $0.contains(time) } }
        #expect(damaged.isSubset(of: told))
        // Where damage is far apart, nothing else is written either.
        if step * 10 > 400 { #expect(damaged == Set(told)) }
    }
}
