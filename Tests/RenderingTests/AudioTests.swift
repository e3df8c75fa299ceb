// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Rendering

@Suite struct AudioPlacementTests {
    @Test func putsPacketsEndToEnd() {
        var placement = AudioPlacement()
        #expect(placement.place(at: -312, count: 960).start == -312)
        for packet in 1..<50 {
            let place = placement.place(at: Int64(packet) * 960 - 312, count: 960)
            let expected = AudioPlacement.Place(
                start: Int64(packet) * 960 - 312,
                dropped: 0,
                length: 960,
                isContinuous: true
            )
            #expect(place == expected)
        }
    }

    @Test func aMissingPacketIsAGap() {
        var placement = AudioPlacement()
        _ = placement.place(at: 0, count: 960)
        let place = placement.place(at: 1920, count: 960)
        #expect(place == AudioPlacement.Place(start: 1920, dropped: 0, length: 960, isContinuous: false))
    }

    @Test func whatComesTwiceIsLeftOut() {
        var placement = AudioPlacement()
        _ = placement.place(at: 0, count: 960)
        #expect(placement.place(at: 480, count: 960).dropped == 480)
        #expect(placement.place(at: -9000, count: 960).length == 0)
        #expect(placement.place(at: .min, count: 960).length == 0)
    }

    /// 200 ppm over ten minutes are 120 ms: the place never differs from the time by more than 5 ms.
    @Test(arguments: [200, -200]) func followsAClockThatIsOff(_ partsPerMillion: Int64) {
        var placement = AudioPlacement()
        var gaps = 0
        for packet in 0..<Int64(30_000) {
            let time = packet * 960 + packet * 960 * partsPerMillion / 1_000_000
            let place = placement.place(at: time, count: 960)
            #expect(abs(place.start - time) <= AudioPlacement.tolerance)
            gaps += place.isContinuous ? 0 : 1
        }
        #expect(gaps == 1)
    }
}

@Suite struct SampleQueueTests {
    private func append(_ queue: inout SampleQueue, _ value: Float, at start: Int64, count: Int) {
        let packet = [Float](repeating: value, count: count * 2)
        let place = AudioPlacement.Place(start: start, dropped: 0, length: count, isContinuous: true)
        packet.withUnsafeBufferPointer { queue.append($0, place) }
    }

    @Test func mixesEachSampleAtItsPlace() {
        var queue = SampleQueue()
        self.append(&queue, 0.5, at: -10, count: 100)
        self.append(&queue, 0.25, at: 120, count: 100)
        var first = [Float](repeating: 0.125, count: 200)
        #expect(queue.mix(into: &first, from: 0) == 90 * 0.25)
        #expect(first[0..<180].allSatisfy { $0 == 0.625 } && first[180...].allSatisfy { $0 == 0.125 })
        var second = [Float](repeating: 0, count: 400)
        #expect(queue.mix(into: &second, from: 100) == 100 * 0.0625)
        #expect(second[0..<40].allSatisfy { $0 == 0 } && second[40..<240].allSatisfy { $0 == 0.25 })
    }

    @Test func takesNoNonsense() {
        var queue = SampleQueue()
        self.append(&queue, .nan, at: 0, count: 10)
        self.append(&queue, .infinity, at: 10, count: 10)
        var output = [Float](repeating: 0, count: 40)
        _ = queue.mix(into: &output, from: 0)
        #expect(output.allSatisfy { $0.isFinite })
    }
}

@Suite struct WaveHeaderTests {
    private func number(_ bytes: [UInt8], _ offset: Int, _ count: Int) -> UInt64 {
        bytes[offset..<offset + count].reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }

    @Test func isAPlainOneBelowFourGigabytes() {
        let head = WaveHeader.bytes(dataBytes: 4_000)
        #expect(head.count == WaveHeader.byteCount && head.starts(with: Array("RIFF".utf8)))
        #expect(self.number(head, 4, 4) == 4_072 && self.number(head, 76, 4) == 4_000)
        #expect(head[8..<12].elementsEqual("WAVE".utf8) && head[72..<76].elementsEqual("data".utf8))
    }

    @Test func isRF64Beyond() {
        let size: UInt64 = 5_000_000_000
        let head = WaveHeader.bytes(dataBytes: size)
        #expect(head.count == WaveHeader.byteCount && head.starts(with: Array("RF64".utf8)))
        #expect(self.number(head, 4, 4) == 0xFFFF_FFFF && self.number(head, 76, 4) == 0xFFFF_FFFF)
        #expect(head[12..<16].elementsEqual("ds64".utf8))
        #expect(self.number(head, 20, 8) == size + 72 && self.number(head, 28, 8) == size)
        #expect(self.number(head, 36, 8) == size / 4)
    }

    @Test func roundsSamplesAndKeepsThemInRange() {
        #expect(WaveHeader.pcm([0, 1, -1, 2, .nan, 0.5]) == [0, 0, 255, 127, 0, 128, 255, 127, 0, 0, 0, 64])
    }
}

@Suite struct SpeakerDetectorTests {
    private let frame: Int64 = 40_000_000

    /// Powers of each, frame by frame; returns the speaker after each.
    private func hear(_ frames: [[Double]]) -> [Int?] {
        var detector = SpeakerDetector(count: 2)
        return frames.enumerated().map { index, powers in
            detector.note(powers, at: Int64(index) * self.frame, frame: self.frame)
            return detector.speaker
        }
    }

    private let loud = 0.01
    private let quiet = 1e-9

    @Test func nobodySpeaksInSilence() {
        #expect(self.hear(Array(repeating: [self.quiet, 0], count: 50)).allSatisfy { $0 == nil })
    }

    @Test func highlightsWhoSpeaksAndStopsAfterASecond() {
        let frames = Array(repeating: [self.quiet, self.loud], count: 25) + Array(repeating: [0, 0], count: 60)
        let speakers = self.hear(frames)
        #expect(speakers[0] == 1 && speakers[40] == 1 && speakers[84] == nil)
    }

    @Test func aCoughDoesNotTakeOverButASentenceDoes() {
        let first = Array(repeating: [self.loud, self.quiet], count: 25)
        let cough = first + Array(repeating: [self.loud, self.loud * 10], count: 3) + first
        #expect(self.hear(cough).allSatisfy { $0 == 0 })
        let sentence = first + Array(repeating: [self.quiet, self.loud * 10], count: 25)
        #expect(self.hear(sentence).last == 1)
    }
}

@Suite struct NameLabelTests {
    @Test func namesLoseWhatBreaksLinesAndTurnsText() {
        #expect(NameLabels.printable("Ann\nBob\u{7}") == "Ann Bob ")
        #expect(NameLabels.printable("\u{202E}evil\u{2066}") == "evil")
        #expect(NameLabels.printable("שלום 👩‍👩‍👧") == "שלום 👩‍👩‍👧")
        #expect(NameLabels.printable("<b>&amp;</b>") == "<b>&amp;</b>")
        #expect(NameLabels.printable(String(repeating: "x", count: 500)).count == 48)
        let marks = NameLabels.printable("a" + String(repeating: "\u{301}", count: 400))
        #expect(marks.unicodeScalars.count == 5)
        #expect(NameLabels.printable("\u{0}\u{1}") == "")
    }
}
