// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Diagnosis

@Suite struct ProbeReportTests {
    /// A call of 20 s at 30 frames a second, captured from 1 s on, 40 ms on its way, with a beep for each flash.
    ///
    /// - Parameter change: changes a frame; nil for one that does not come.
    private func call(
        seconds: Int = 20,
        offset: Int64 = 0,
        sound: (received: UInt64, lost: UInt64) = (1000, 0),
        trips: Int = 1,
        change: (ProbeObservation.Picture) -> ProbeObservation.Picture? = { $0 }
    ) -> ProbeObservation {
        let pictures = (0..<30 * seconds).compactMap { counter in
            let captured = Int64(counter) * 1_000_000_000 / 30
            return change(
                ProbeObservation.Picture(
                    nanoseconds: captured,
                    writtenNanoseconds: 1_000_000_000 + captured + 40_000_000,
                    counter: counter,
                    hasFlash: counter % 30 == 0
                )
            )
        }
        return ProbeObservation(
            framesPerSecond: 30,
            trips: trips,
            joinNanoseconds: 500_000_000,
            firstFrameNanoseconds: 1_000_000_000,
            endNanoseconds: 1_000_000_000 + Int64(seconds) * 1_000_000_000,
            pictures: pictures,
            beeps: (1..<seconds).map { Int64($0) * 1_000_000_000 + offset },
            audioPackets: sound.received,
            lostAudioPackets: sound.lost
        )
    }

    private func report(_ observation: ProbeObservation) throws -> ProbeReport {
        try #require(ProbeReport(observation))
    }

    @Test func aPerfectCallHasAHundredInEveryPart() throws {
        let report = try self.report(self.call())
        #expect(report.score == 100 && report.weakest == nil)
        #expect(report.parts.map(\.name) == ProbePart.allCases && report.parts.allSatisfy { $0.score == 100 })
        #expect(report.frames == .init(expected: 600, received: 600))
        #expect(report.freezes == .init() && report.avOffsetMilliseconds == 0 && report.avOffsets == 19)
        #expect(report.firstFrameMilliseconds == 540)
        #expect(report.delay == .init(medianMilliseconds: 40, p95Milliseconds: 40, maximumMilliseconds: 40))
        #expect(report.rows.first == ["part", "score", "measured"] && report.rows.last?[1] == "100")
    }

    @Test func lostFramesAreThoseBetweenCounters() throws {
        let report = try self.report(self.call { ($0.counter ?? 0) % 20 == 7 ? nil : $0 })
        #expect(report.frames.lost == 30 && report.frames.expected == 600 && report.frames.received == 570)
        #expect(report.freezes.count == 0)
        #expect(report.weakest == .loss && report.score == 18)
    }

    @Test(arguments: [(50, 950, 18), (0, 0, 0), (4, 996, 100), (200, 800, 0)] as [(UInt64, UInt64, Int)])
    func lostSoundCountsLikeLostFrames(_ lost: UInt64, _ received: UInt64, _ score: Int) throws {
        let report = try self.report(self.call(sound: (received, lost)))
        #expect(report.score == score && report.frames.lost == 0)
        #expect(report.weakest == (score == 100 ? nil : .loss))
    }

    @Test func aFrozenPictureIsNoLoss() throws {
        // For 5 s the frame of second 8 again and again.
        let report = try self.report(
            self.call { picture in
                var picture = picture
                if let counter = picture.counter, (240..<390).contains(counter) { picture.counter = 240 }
                picture.hasFlash = (picture.counter ?? 1) % 30 == 0
                return picture
            }
        )
        #expect(report.frames.repeated == 149 && report.frames.lost == 0)
        #expect(report.freezes.count == 1 && report.freezes.longestMilliseconds == 5000)
        #expect(report.weakest == .freezes && report.score < 30)
    }

    @Test func aPictureThatStandsStillToTheEndIsFrozen() throws {
        let report = try self.report(self.call { ($0.counter ?? 0) < 300 ? $0 : nil })
        #expect(report.freezes.count == 1 && report.frames.lost == 0 && report.frames.expected == 300)
        #expect(report.freezes.longestMilliseconds > 9900)
        #expect(report.weakest == .freezes && report.score == 0)
    }

    @Test func anOutageIsLossAndAFreeze() throws {
        let report = try self.report(self.call { (300..<330).contains($0.counter ?? 0) ? nil : $0 })
        #expect(report.frames.lost == 30 && report.freezes.count == 1)
        #expect(report.freezes.longestMilliseconds > 1030 && report.freezes.longestMilliseconds < 1040)
    }

    @Test(arguments: [(300, 0), (-300, 0), (122, 50), (45, 100), (-45, 100)])
    func soundBesidePicturesIsSync(_ milliseconds: Int, _ score: Int) throws {
        let report = try self.report(self.call(offset: Int64(milliseconds) * 1_000_000))
        #expect(report.avOffsetMilliseconds == Double(milliseconds))
        #expect(report.score == score && report.weakest == (score == 100 ? nil : .sync))
    }

    @Test func withoutABeepNothingIsInSync() throws {
        var call = self.call()
        call.beeps = []
        let report = try self.report(call)
        #expect(report.avOffsetMilliseconds == nil && report.avOffsets == 0)
        #expect(report.weakest == .sync && report.score == 0)
    }

    @Test func soundThatStopsIsLoss() throws {
        var call = self.call()
        call.beeps.removeLast(10)
        let report = try self.report(call)
        #expect(report.flashes == 20 && report.avOffsets == 9 && report.avOffsetMilliseconds == 0)
        #expect(report.weakest == .loss && report.score == 0)
        #expect(report.rows[2][2].hasSuffix("no beep for 11 of 20 flashes"))
        // Audio begins after the video, and ends before it: no more than that is missing here.
        var cut = self.call(seconds: 5)
        cut.beeps.removeLast()
        #expect(try self.report(cut).score == 100)
    }

    @Test func lateIsWhatComesBehindMost() throws {
        // Every two seconds a queue that fills slowly, so that nothing stands still, and then empties at once.
        var last: Int64 = 0
        let report = try self.report(
            self.call { picture in
                var picture = picture
                switch (picture.counter ?? 0) % 60 {
                case 20: picture.writtenNanoseconds += 100_000_000
                case 21: picture.writtenNanoseconds += 200_000_000
                case 22..<30: picture.writtenNanoseconds += 250_000_000
                default: break
                }
                picture.writtenNanoseconds = max(picture.writtenNanoseconds, last)
                last = picture.writtenNanoseconds
                return picture
            }
        )
        // The eight, and the first of those that waited behind them.
        #expect(report.frames.late == 90 && report.delay.medianMilliseconds == 40 && report.freezes.count == 0)
        #expect(report.weakest == .lateness && report.score == 54)
    }

    @Test(arguments: [(1, 29), (2, 74)])
    func delayIsThatOfOneWay(_ trips: Int, _ score: Int) throws {
        let report = try self.report(
            self.call(trips: trips) { picture in
                var picture = picture
                picture.writtenNanoseconds += 710_000_000
                return picture
            }
        )
        #expect(report.delay.medianMilliseconds == 750)
        #expect(report.weakest == .delay && report.score == score)
    }

    @Test func unreadableAndMisreadCountersAreNoLoss() throws {
        let report = try self.report(
            self.call { picture in
                var picture = picture
                if picture.counter == 100 { picture.counter = nil }
                // Captured in the future, and long ago.
                if picture.counter == 200 { picture.counter = 9_000_000 }
                if picture.counter == 500 { picture.counter = 450 }
                return picture
            }
        )
        #expect(report.frames.unreadable == 2 && report.frames.repeated == 1 && report.frames.lost == 0)
        #expect(report.score == 100)
    }

    @Test func ofSeveralCamerasOnlyOursIsJudged() throws {
        let ours = self.call()
        // One that began a minute later: what it shows would have been captured in the future, or long ago.
        var other = self.call(seconds: 60)
        for index in other.pictures.indices { other.pictures[index].writtenNanoseconds += 60_000_000_000 }
        // One that began with ours, but takes longer.
        let echo = self.call { picture in
            var picture = picture
            picture.writtenNanoseconds += 100_000_000
            return picture
        }
        #expect(ProbeObservation.ours([other, echo, ours]) == ours)
        #expect(ProbeObservation.ours([other]) == nil && ProbeObservation.ours([]) == nil)
        #expect(ProbeReport(other) == nil)
    }

    @Test(arguments: ProbePart.allCases)
    func scoresFallFromTheBestToTheWorst(_ part: ProbePart) {
        let (best, worst) = (part.scale.lowerBound, part.scale.upperBound)
        #expect(part.score(0) == 100 && part.score(best) == 100 && part.score(worst) == 0)
        #expect(part.score((best + worst) / 2) == 50 && part.score(.infinity) == 0)
    }
}
