// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Media

@Suite struct StreamSilenceTests {
    /// Video and audio, looked at once a second.
    private struct Looks {
        var video = StreamSilence()
        var audio = StreamSilence()
        var now: Int64 = 1_000_000_000_000

        /// Whether video, and audio, are silent after each of this many looks.
        mutating func look(_ count: Int, video hasVideo: Bool, audio hasAudio: Bool) -> [[Bool]] {
            (0..<count).map { _ in
                self.now += 1_000_000_000
                let heard = self.now - 20_000_000
                self.video.note(hasVideo ? heard : nil, now: self.now)
                self.audio.note(hasAudio ? heard : nil, now: self.now)
                let (video, audio) = (self.video, self.audio)
                self.video.decide(beside: audio, now: self.now)
                self.audio.decide(beside: video, now: self.now)
                return [self.video.isSilent, self.audio.isSilent]
            }
        }
    }

    @Test func whatIsSilentBesideTheOtherIsTakenBack() {
        var looks = Looks()
        #expect(looks.look(3, video: true, audio: true) == Array(repeating: [false, false], count: 3))
        let gone = looks.look(60, video: false, audio: true)
        // The last packet came 20 ms before the last look with video.
        #expect(gone == Array(repeating: [false, false], count: 5) + Array(repeating: [true, false], count: 55))
        // A packet now and then is no stream that is back.
        for _ in 0..<5 {
            #expect(looks.look(2, video: true, audio: true) == [[true, false], [true, false]])
            #expect(looks.look(1, video: false, audio: true) == [[true, false]])
        }
        let back = looks.look(4, video: true, audio: true)
        #expect(back == [[true, false], [true, false], [false, false], [false, false]])
    }

    @Test func soundThatIsGoneIsSilentAsWell() {
        var looks = Looks()
        _ = looks.look(3, video: true, audio: true)
        #expect(looks.look(10, video: true, audio: false).last == [false, true])
    }

    @Test func aShortPauseIsNone() {
        var looks = Looks()
        for _ in 0..<10 {
            let all = looks.look(2, video: true, audio: true) + looks.look(5, video: false, audio: true)
            #expect(all == Array(repeating: [false, false], count: 7))
        }
    }

    @Test func aCallThatIsMadeAnewChangesNothing() {
        var looks = Looks()
        _ = looks.look(3, video: true, audio: true)
        #expect(looks.look(60, video: false, audio: false) == Array(repeating: [false, false], count: 60))
        _ = looks.look(3, video: true, audio: true)
        _ = looks.look(10, video: false, audio: true)
        #expect(looks.look(60, video: false, audio: false) == Array(repeating: [true, false], count: 60))
    }

    @Test func bothAreNeverSilent() {
        var looks = Looks()
        _ = looks.look(10, video: true, audio: false)
        _ = looks.look(10, video: true, audio: false)
        let turned = looks.look(20, video: false, audio: true)
        #expect(!turned.contains([true, true]) && turned.last == [true, false])
    }

    @Test func aStreamByItselfIsNeverSilent() {
        var alone = StreamSilence()
        alone.note(nil, now: 0)
        alone.decide(beside: nil, now: 60_000_000_000)
        #expect(!alone.isSilent)
    }
}
