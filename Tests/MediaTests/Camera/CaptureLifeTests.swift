// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Media

struct CaptureLifeTests {
    /// A life with its clock, and with the counts of what comes.
    private struct Told {
        var life: CaptureLife
        var now: UInt64 = 1_000_000_000_000
        var seen: UInt64 = 100
        /// The sum of video and audio, where they were looked at separately.
        private var audio: UInt64 = 1000

        init(_ kind: CaptureLife.Kind, hasSlate: Bool = true) {
            self.life = CaptureLife(kind, hasSlate: hasSlate)
        }

        mutating func start() -> [CaptureLife.Action] { self.life.start(now: self.now) }

        mutating func opened(
            _ number: Int,
            count: UInt64 = 100,
            patience: UInt64 = 600_000_000
        ) -> [CaptureLife.Action] {
            self.life.opened(number, count: count, patience: patience, now: self.now)
        }

        mutating func ended(_ number: Int, _ message: String? = "broken", count: UInt64 = 0) -> [CaptureLife.Action] {
            self.life.ended(number, because: message, count: count, now: self.now)
        }

        /// A look after so many milliseconds.
        mutating func look(after milliseconds: UInt64, count: UInt64) -> [CaptureLife.Action] {
            self.now += milliseconds * 1_000_000
            return self.life.look(count: count, seen: self.seen, now: self.now)
        }

        /// A look after this many milliseconds, also at the number of frames; there was audio in that time, or none.
        mutating func look(after milliseconds: UInt64, video: UInt64, hears: Bool = true) -> [CaptureLife.Action] {
            if hears { self.audio += 1 }
            let actions = self.look(after: milliseconds, count: self.audio)
            guard actions.isEmpty else { return actions }
            return self.life.lookAtVideo(count: video, seen: self.seen, now: self.now)
        }

        /// A look at the audio alone, after this many milliseconds.
        mutating func listen(after milliseconds: UInt64, audio: UInt64) -> [CaptureLife.Action] {
            self.now += milliseconds * 1_000_000
            return self.life.lookAtAudio(count: audio, now: self.now)
        }

        /// Waits for the first look that finds something, for this many seconds, while there is audio and no other
        /// frame.
        mutating func wait(_ seconds: UInt64, video: UInt64) -> [CaptureLife.Action] {
            for _ in 0..<seconds * 10 {
                let actions = self.look(after: 100, video: video)
                guard actions.isEmpty else { return actions }
            }
            return []
        }

        /// The result of as many looks in a row with frames as are remembered, a tenth of a second apart.
        mutating func showPictures() -> [CaptureLife.Action] {
            var actions: [CaptureLife.Action] = []
            for _ in 1...8 {
                self.seen += 1
                actions += self.look(after: 100, video: self.seen)
            }
            return actions
        }
    }

    /// One that plays and has given something.
    private static func playing(_ kind: CaptureLife.Kind, hasSlate: Bool = true) -> Told {
        var told = Told(kind, hasSlate: hasSlate)
        _ = told.start()
        _ = told.opened(1)
        #expect(told.look(after: 100, count: 101).isEmpty)
        return told
    }

    /// A stream whose video stopped, while its audio continues.
    private static func withoutVideo(hasSlate: Bool = true) -> Told {
        var told = Self.playing(.stream, hasSlate: hasSlate)
        #expect(told.look(after: 100, video: told.seen - 1).isEmpty)
        #expect(told.look(after: 100, video: told.seen).isEmpty)
        #expect(told.showPictures().isEmpty)
        #expect(told.look(after: 599, video: told.seen).isEmpty)
        var expected: [CaptureLife.Action] = [.hide(1, .video), .tell(.withoutVideo)]
        if hasSlate { expected.append(.showSlate(.video)) }
        #expect(told.look(after: 1, video: told.seen) == expected)
        return told
    }

    /// One that failed and waits.
    private static func waiting(_ kind: CaptureLife.Kind) -> Told {
        var told = Told(kind)
        _ = told.start()
        _ = told.ended(1)
        return told
    }

    private static let kinds: [CaptureLife.Kind] = [.file, .device, .stream]

    @Test(arguments: kinds)
    func aSourceIsOpenedOnceAndSeenAtOnce(kind: CaptureLife.Kind) {
        var told = Told(kind)
        #expect(!told.life.wants(1) && !told.life.isOpen)
        #expect(told.look(after: 60_000, count: 0).isEmpty)
        #expect(told.start() == [.open(1, hides: nil)])
        #expect(told.start().isEmpty)
        #expect(told.life.wants(1) && !told.life.wants(2) && !told.life.isOpen && !told.life.prepares(2))
        let actions = told.opened(1)
        switch kind {
        case .file: #expect(actions == [.prepare(2)])
        case .device: #expect(actions == [.prepareSlate])
        case .stream: #expect(actions.isEmpty)
        }
        #expect(told.life.wants(1) && told.life.isOpen && told.life.prepares(2) && !told.life.prepares(1))
        #expect(told.look(after: 100, count: 101).isEmpty)
        #expect(!told.life.showsSlate && told.life.reports == 0)
    }

    @Test(arguments: [(CaptureLife.Kind.device, 3000 as UInt64), (.stream, 5000), (.file, 10_000)])
    func openingThatTakesLongIsToldOnceAndHiddenBehindTheSlate(kind: CaptureLife.Kind, limit: UInt64) {
        var told = Told(kind)
        _ = told.start()
        #expect(told.look(after: limit - 1, count: 0).isEmpty)
        #expect(told.look(after: 1, count: 0) == [.tell(.slow), .showSlate(.everything)])
        #expect(told.life.showsSlate && told.life.reports == 1)
        #expect(told.look(after: 60_000, count: 500).isEmpty)
        // When it opens after all, it is not seen before it gives something.
        #expect(told.opened(1).first == .hide(1, .everything))
        #expect(told.look(after: 100, count: 0).isEmpty)
        let back = told.look(after: 100, count: 1)
        #expect(back.prefix(3) == [.show(1), .endSlate, .tell(.back)])
        #expect(!told.life.showsSlate)
        // From here on it is counted where it is seen.
        #expect(told.look(after: 100, count: told.seen).isEmpty)
        #expect(told.life.reports == 1)
    }

    @Test
    func whyItDidNotOpenIsToldBehindTheWordThatItTakesLong() {
        var told = Told(.device)
        _ = told.start()
        #expect(told.look(after: 3000, count: 0) == [.tell(.slow), .showSlate(.everything)])
        #expect(told.ended(1) == [.forgetPrepared, .close(1), .tell(.failed("broken"))])
        #expect(told.look(after: 1000, count: 0) == [.open(2, hides: .everything)])
        #expect(told.ended(2) == [.forgetPrepared, .close(2)])
        #expect(told.life.reports == 1)
    }

    @Test
    func withoutASlateItIsToldAllTheSame() {
        var told = Told(.device, hasSlate: false)
        _ = told.start()
        #expect(told.look(after: 3000, count: 0) == [.tell(.slow)])
        #expect(told.look(after: 3000, count: 0).isEmpty)
        #expect(told.opened(1) == [.prepareSlate])
        #expect(told.ended(1, count: 101) == [.forgetPrepared, .close(1), .tell(.failed("broken"))])
        #expect(told.look(after: 1000, count: 0) == [.open(2, hides: nil)])
        #expect(told.opened(2) == [.tell(.back), .prepareSlate])
    }

    @Test
    func aDeviceThatGoesAwayIsReplacedBeforeItIsClosedAndTakenBack() {
        var told = Self.playing(.device)
        let gone = told.ended(1, count: 102)
        #expect(gone == [.showSlate(.everything), .forgetPrepared, .close(1), .tell(.failed("broken"))])
        #expect(!told.life.wants(1) && !told.life.wants(2) && !told.life.isOpen)
        #expect(told.look(after: 999, count: 0).isEmpty)
        #expect(told.look(after: 1, count: 0) == [.open(2, hides: .everything)])
        // It is reported once that it is away, however often it is tried.
        #expect(told.ended(2) == [.forgetPrepared, .close(2)])
        #expect(told.look(after: 1000, count: 0) == [.open(3, hides: .everything)])
        // Nor when opening it takes long.
        #expect(told.look(after: 60_000, count: 0).isEmpty)
        #expect(told.opened(3, count: 0) == [.prepareSlate])
        #expect(told.look(after: 100, count: 1) == [.show(3), .endSlate, .tell(.back), .prepareSlate])
        #expect(told.life.reports == 1)
        #expect(told.ended(3, count: 101).contains(.tell(.failed("broken"))))
        #expect(told.life.reports == 2)
    }

    @Test
    func aDeviceThatGivesNothingIsHiddenThenOpenedAgain() {
        var told = Self.playing(.device)
        #expect(told.look(after: 599, count: 101).isEmpty)
        #expect(told.look(after: 1, count: 101) == [.hide(1, .everything), .tell(.silent), .showSlate(.everything)])
        #expect(told.look(after: 9999, count: 0).isEmpty)
        #expect(told.look(after: 1, count: 0) == [.forgetPrepared, .close(1), .tell(.failed("it gives nothing"))])
        #expect(told.look(after: 1000, count: 0) == [.open(2, hides: .everything)])
    }

    @Test
    func aStreamThatPausesIsHiddenMeanwhileAndOpenedAgainInTheEnd() {
        var told = Self.playing(.stream)
        #expect(told.look(after: 600, count: 101) == [.hide(1, .everything), .tell(.silent), .showSlate(.everything)])
        #expect(told.look(after: 29_999, count: 0).isEmpty)
        #expect(told.look(after: 100, count: 1) == [.show(1), .endSlate, .tell(.back)])
        let paused = told.look(after: 600, count: told.seen)
        #expect(paused == [.hide(1, .everything), .tell(.silent), .showSlate(.everything)])
        #expect(told.look(after: 30_000, count: 0) == [.forgetPrepared, .close(1), .tell(.failed("it gives nothing"))])
        #expect(told.look(after: 2999, count: 0).isEmpty)
        #expect(told.look(after: 1, count: 0) == [.open(2, hides: .everything)])
    }

    @Test
    func soundAloneOfAStreamDoesNotTakeThePlaceOfTheSlate() {
        var told = Self.waiting(.stream)
        #expect(told.look(after: 3000, count: 0) == [.open(2, hides: .everything)])
        _ = told.opened(2, count: 0)
        let audio = told.life.givenUnseen(video: 0, audio: 50)
        #expect(told.look(after: 29_999, count: audio).isEmpty)
        // It is asked again what it has.
        #expect(told.look(after: 1, count: audio) == [.forgetPrepared, .close(2)])
        #expect(told.look(after: 3000, count: 0) == [.open(3, hides: .everything)])
        _ = told.opened(3, count: 0)
        let both = told.life.givenUnseen(video: 1, audio: 50)
        #expect(told.look(after: 100, count: both) == [.show(3), .endSlate, .tell(.back)])
    }

    @Test(arguments: [true, false])
    func picturesThatStopWhileSoundGoesOnAreHiddenAlone(hasSlate: Bool) {
        var told = Self.withoutVideo(hasSlate: hasSlate)
        #expect(told.life.showsSlate == hasSlate && told.life.covered != .everything && told.life.reports == 1)
        #expect(told.look(after: 29_999, video: 0).isEmpty)
        let back: [CaptureLife.Action] = hasSlate ? [.show(1), .endSlate, .tell(.back)] : [.show(1), .tell(.back)]
        #expect(told.look(after: 0, video: 1) == back)
        #expect(!told.life.showsSlate)
        // From here on they are counted where they are seen.
        #expect(told.showPictures().isEmpty)
        #expect(told.look(after: 599, video: told.seen).isEmpty)
        #expect(told.look(after: 1, video: told.seen).contains(.tell(.withoutVideo)))
        #expect(told.life.reports == 2)
    }

    @Test
    func picturesThatStayAwayAreAskedForEverLessOften() {
        var told = Self.playing(.stream)
        // The first one may take longer than the next.
        #expect(told.look(after: 100, video: 50).isEmpty)
        #expect(told.look(after: 9999, video: 50).isEmpty)
        let missed = told.look(after: 1, video: 50)
        #expect(missed == [.hide(1, .video), .tell(.withoutVideo), .showSlate(.video)])
        var number = 1
        for seconds in [30, 60, 120, 240, 480, 600, 600] as [UInt64] {
            #expect(told.look(after: seconds * 1000 - 1, video: 0).isEmpty)
            #expect(told.look(after: 1, video: 0) == [.close(number), .open(number + 1, hides: .video)])
            number += 1
            #expect(told.opened(number).isEmpty)
        }
        // Its audio is heard all the time, and people were notified once.
        #expect(told.life.covered == .video && told.life.reports == 1)
        #expect(told.look(after: 100, video: 1) == [.show(number), .endSlate, .tell(.back)])
        // They came: waits start again.
        #expect(told.showPictures().isEmpty)
        #expect(told.look(after: 600, video: told.seen).first == .hide(number, .video))
        #expect(told.look(after: 30_000, video: 0) == [.close(number), .open(number + 1, hides: .video)])
    }

    /// An RTSP server may have described the video alone.
    @Test
    func audioThatNeverCameIsAskedForEverLessOften() {
        var told = Self.playing(.stream)
        #expect(told.listen(after: 0, audio: 7).isEmpty)
        #expect(told.listen(after: 9999, audio: 7).isEmpty)
        #expect(told.listen(after: 1, audio: 7) == [.tell(.withoutAudio)])
        #expect(told.life.reports == 1 && !told.life.showsSlate)
        #expect(told.listen(after: 19_999, audio: 7).isEmpty)
        #expect(told.listen(after: 1, audio: 7) == [.close(1), .open(2, hides: nil)])
        var number = 2
        for seconds in [60, 120, 240, 480, 600, 600] as [UInt64] {
            #expect(told.opened(number).isEmpty)
            #expect(told.listen(after: 0, audio: 7).isEmpty)
            #expect(told.listen(after: seconds * 1000 - 1, audio: 7).isEmpty)
            #expect(told.listen(after: 1, audio: 7) == [.close(number), .open(number + 1, hides: nil)])
            number += 1
        }
        // The operator was notified once.
        #expect(told.life.reports == 1)
        #expect(told.opened(number).isEmpty)
        #expect(told.listen(after: 0, audio: 7).isEmpty)
        #expect(told.listen(after: 100, audio: 8) == [.tell(.back)])
        // It may pause from now on.
        #expect(told.listen(after: 3_600_000, audio: 8).isEmpty)
        // The next pass is waited for as the first one was.
        #expect(told.ended(number).contains(.close(number)))
        #expect(told.look(after: 3000, count: 0) == [.open(number + 1, hides: .everything)])
    }

    @Test(arguments: [CaptureLife.Kind.file, .device])
    func onlyStreamsAreAskedForAudioAgain(kind: CaptureLife.Kind) {
        var told = Self.playing(kind)
        #expect(told.listen(after: 0, audio: 7).isEmpty)
        #expect(told.listen(after: 3_600_000, audio: 7).isEmpty)
    }

    /// A stream that gives a frame each time this many seconds pass, like a time-lapse camera, with a known interval.
    private static func timeLapse(_ seconds: UInt64) -> Told {
        var told = Told(.stream)
        _ = told.start()
        _ = told.opened(1, patience: CaptureLife.patience(of: .stream, framesPerSecond: nil))
        #expect(told.look(after: 100, video: told.seen - 1).isEmpty)
        #expect(told.look(after: 100, video: told.seen).isEmpty)
        // How far apart they are shows with the second one.
        let missed = told.wait(5, video: told.seen)
        #expect(missed == [.hide(1, .video), .tell(.withoutVideo), .showSlate(.video)])
        #expect(told.wait(seconds - 5, video: 0).isEmpty)
        #expect(told.look(after: 100, video: 1) == [.show(1), .endSlate, .tell(.back)])
        return told
    }

    @Test(arguments: [6, 20, 30] as [UInt64])
    func picturesThatAreRareAreWaitedForOnceThatIsKnown(seconds: UInt64) {
        var told = Self.timeLapse(seconds)
        for _ in 1...20 {
            #expect(told.wait(seconds, video: told.seen).isEmpty)
            told.seen += 1
            #expect(told.look(after: 100, video: told.seen).isEmpty)
        }
        #expect(!told.life.showsSlate && told.life.reports == 1)
        // Those that stay away are missed: two of them, or a minute.
        #expect(told.wait(min(2 * seconds, 59), video: told.seen).isEmpty)
        #expect(told.wait(1, video: told.seen).contains(.showSlate(.video)))
        // In the end it is opened again all the same.
        #expect(told.wait(20 * min(seconds, 29), video: 0).isEmpty)
        #expect(told.wait(30, video: 0).contains(.open(2, hides: .video)))
    }

    @Test(arguments: [40, 100, 500] as [UInt64])
    func aStreamThatGivesPicturesIsNotOpenedAgainBecauseTheyAreRare(seconds: UInt64) {
        var told = Self.timeLapse(seconds)
        var actions: [CaptureLife.Action] = []
        for _ in 1...3 {
            for _ in 0..<seconds * 10 {
                actions += told.look(after: 100, video: told.life.showsSlate ? 0 : told.seen)
            }
            told.seen += 1
            actions += told.look(after: 100, video: told.life.showsSlate ? 1 : told.seen)
        }
        #expect(!actions.contains(.close(1)))
        #expect(!told.life.showsSlate)
    }

    @Test
    func onePauseMakesNobodyPatientForLong() {
        var told = Self.withoutVideo()
        #expect(told.look(after: 20_000, video: 0).isEmpty)
        #expect(told.look(after: 100, video: 1) == [.show(1), .endSlate, .tell(.back)])
        var again = told
        #expect(again.look(after: 40_000, video: again.seen).isEmpty)
        // After a second of frames it is forgotten.
        #expect(told.showPictures().isEmpty)
        #expect(told.look(after: 599, video: told.seen).isEmpty)
        #expect(told.look(after: 1, video: told.seen).first == .hide(1, .video))
        #expect(told.look(after: 30_000, video: 0) == [.close(1), .open(2, hides: .video)])
    }

    @Test
    func soundOfAStreamWithRarePicturesIsHeardBeforeTheFirstOne() {
        var told = Self.timeLapse(20)
        _ = told.ended(1)
        #expect(told.look(after: 3000, count: 0) == [.open(2, hides: .everything)])
        _ = told.opened(2, count: 0, patience: CaptureLife.patience(of: .stream, framesPerSecond: nil))
        #expect(told.life.givenUnseen(video: 0, audio: 50) == 50)
        #expect(told.look(after: 100, count: 50) == [.show(2), .endSlate, .tell(.back)])
        #expect(told.wait(39, video: told.seen).isEmpty)
        #expect(told.wait(2, video: told.seen).first == .hide(2, .video))
    }

    @Test
    func picturesThatStopWithTheSoundAreNotMissedAlone() {
        var told = Told(.stream)
        _ = told.start()
        _ = told.opened(1, patience: 5_000_000_000)
        #expect(told.look(after: 100, video: 50).isEmpty)
        #expect(told.look(after: 100, video: 51).isEmpty)
        // The last audio comes a bit later.
        #expect(told.look(after: 100, video: 51).isEmpty)
        #expect(told.look(after: 4999, video: 51, hears: false).isEmpty)
        let silent = told.look(after: 1, video: 51, hears: false)
        #expect(silent == [.hide(1, .everything), .tell(.silent), .showSlate(.everything)])
    }

    @Test
    func soundThatStopsBehindTheSlateOfItsPicturesIsHiddenTooAndHeardAgainAlone() {
        var told = Self.withoutVideo()
        #expect(told.look(after: 100, video: 0).isEmpty)
        #expect(told.life.givenUnseen(video: 0, audio: 5) == 5)
        #expect(told.look(after: 600, video: 0, hears: false) == [.hide(1, .everything), .showSlate(.everything)])
        #expect(told.life.covered == .everything)
        #expect(told.look(after: 100, count: 1) == [.show(1), .endSlate, .tell(.back)])
        // With frames the rule for hidden passes is unchanged.
        #expect(told.look(after: 100, video: 50).isEmpty)
        #expect(told.look(after: 100, video: 51).isEmpty)
        #expect(told.life.givenUnseen(video: 0, audio: 5) == 0)
    }

    @Test
    func whatFailsBehindTheSlateOfItsPicturesIsReplacedAsAWhole() {
        var failed = Self.withoutVideo()
        let actions = failed.ended(1)
        #expect(actions == [.showSlate(.everything), .forgetPrepared, .close(1), .tell(.failed("broken"))])
        #expect(failed.look(after: 3000, video: 0) == [.open(2, hides: .everything)])
        // One that takes long to open because of its video.
        var slow = Self.withoutVideo()
        #expect(slow.look(after: 30_000, video: 0) == [.close(1), .open(2, hides: .video)])
        #expect(slow.look(after: 4999, video: 0).isEmpty)
        #expect(slow.look(after: 1, video: 0) == [.showSlate(.everything)])
        #expect(slow.opened(2) == [.hide(2, .everything)])
        // A slate that cannot be shown is tried again; the video stays hidden until it comes.
        var bare = Self.withoutVideo()
        bare.life.slateFailed()
        #expect(
            bare.look(after: 30_000, video: 0) == [.showSlate(.video), .close(1), .open(2, hides: .video)]
        )
        bare.life.slateFailed()
        #expect(bare.opened(2).isEmpty)
        #expect(bare.look(after: 100, video: 1) == [.show(2), .tell(.back)])
    }

    @Test(arguments: [CaptureLife.Kind.file, .device])
    func picturesAloneAreMissedOfStreamsOnly(kind: CaptureLife.Kind) {
        var told = Self.playing(kind)
        for _ in 1...3 { #expect(told.look(after: 30_000, video: 50).isEmpty) }
        #expect(!told.life.showsSlate)
    }

    @Test(arguments: kinds)
    func whatAHiddenPassGives(kind: CaptureLife.Kind) {
        let life = CaptureLife(kind, hasSlate: true)
        #expect(life.givenUnseen(video: nil, audio: 3) == 3)
        #expect(life.givenUnseen(video: 2, audio: 3) == 5)
        #expect(life.givenUnseen(video: 0, audio: 3) == (kind == .stream ? 0 : 3))
    }

    @Test
    func aFileStartsOverAndWhatBrokeOffIsToldOnce() {
        var told = Self.playing(.file)
        #expect(told.ended(1, nil, count: 102) == [.close(1), .open(2, hides: nil)])
        _ = told.opened(2)
        #expect(told.ended(2, count: 101) == [.tell(.brokeOff("broken")), .close(2), .open(3, hides: nil)])
        _ = told.opened(3)
        #expect(told.ended(3, count: 101) == [.close(3), .open(4, hides: nil)])
        // A pass that comes to its end is well.
        _ = told.opened(4)
        #expect(told.ended(4, nil, count: 101) == [.close(4), .open(5, hides: nil)])
        _ = told.opened(5)
        #expect(told.ended(5, count: 101).first == .tell(.brokeOff("broken")))
        #expect(told.life.reports == 2 && !told.life.showsSlate)
    }

    @Test
    func aFileThatGivesNothingIsTriedForEverBehindTheSlate() {
        var told = Self.playing(.file)
        _ = told.ended(1, nil, count: 102)
        _ = told.opened(2)
        #expect(told.look(after: 9999, count: 100).isEmpty)
        #expect(
            told.look(after: 1, count: 100)
                == [.showSlate(.everything), .forgetPrepared, .close(2), .tell(.failed("it gives nothing"))]
        )
        var waits: [UInt64] = []
        for number in 3...10 {
            var wait: UInt64 = 0
            while true {
                wait += 100
                guard let action = told.look(after: 100, count: 0).first else { continue }
                #expect(action == .open(number, hides: .everything))
                break
            }
            waits.append(wait)
            #expect(told.ended(number) == [.forgetPrepared, .close(number)])
        }
        #expect(waits == [500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000])
        // One that gives nothing behind the slate has failed as well.
        #expect(told.look(after: 30_000, count: 0) == [.open(11, hides: .everything)])
        #expect(told.opened(11, count: 0) == [.prepare(12)])
        #expect(told.look(after: 10_000, count: 0) == [.forgetPrepared, .close(11)])
        #expect(told.look(after: 30_000, count: 0) == [.open(12, hides: .everything)])
        // One so short that no look fell into it is seen from its next pass on.
        _ = told.opened(12, count: 0)
        #expect(
            told.ended(12, nil, count: 1) == [.endSlate, .tell(.back), .close(12), .open(13, hides: nil)]
        )
        #expect(told.life.reports == 1)
    }

    @Test
    func picturesOfAFileMayBeFarApart() {
        #expect(CaptureLife.patience(of: .file, framesPerSecond: 30) == 60_000_000_000)
        #expect(CaptureLife.patience(of: .stream, framesPerSecond: 30) == 5_000_000_000)
        #expect(CaptureLife.patience(of: .device, framesPerSecond: nil) == 600_000_000)
        #expect(CaptureLife.patience(of: .device, framesPerSecond: 30) == 600_000_000)
        // Three frames, of which there is one in ten seconds at least.
        #expect(CaptureLife.patience(of: .device, framesPerSecond: 1) == 3_000_000_000)
        #expect(CaptureLife.patience(of: .device, framesPerSecond: 0) == 30_000_000_000)
    }

    @Test
    func aSlateThatCannotBeShownIsTriedWithTheNextFailure() {
        var told = Self.waiting(.device)
        #expect(told.life.showsSlate)
        told.life.slateFailed()
        #expect(!told.life.showsSlate)
        #expect(told.look(after: 1000, count: 0) == [.open(2, hides: nil)])
        #expect(told.ended(2) == [.showSlate(.everything), .forgetPrepared, .close(2)])
        // One that fails while a hidden pass is opened: the pass is seen with what it gives.
        #expect(told.look(after: 1000, count: 0) == [.open(3, hides: .everything)])
        told.life.slateFailed()
        _ = told.opened(3, count: 0)
        #expect(told.look(after: 100, count: 1) == [.show(3), .tell(.back), .prepareSlate])
    }

    @Test(arguments: kinds)
    func whatComesLateIsIgnored(kind: CaptureLife.Kind) {
        var idle = Told(kind)
        #expect(idle.opened(1) == [.close(1)] && idle.ended(1).isEmpty)
        var opening = Told(kind)
        _ = opening.start()
        #expect(opening.opened(0) == [.close(0)] && opening.ended(0).isEmpty && opening.life.wants(1))
        var playing = Self.playing(kind)
        #expect(playing.opened(1) == [.close(1)])
        #expect(playing.ended(2).isEmpty && playing.life.isOpen)
        var waiting = Self.waiting(kind)
        #expect(waiting.opened(1) == [.close(1)] && waiting.ended(1).isEmpty && waiting.start().isEmpty)
        #expect(waiting.life.reports == 1)
    }

    @Test(arguments: kinds)
    func stoppedIsTheEndOfEveryState(kind: CaptureLife.Kind) {
        var opening = Told(kind)
        _ = opening.start()
        for var told in [Told(kind), opening, Self.playing(kind), Self.waiting(kind)] {
            told.life.stop()
            told.life.stop()
            #expect(told.start().isEmpty && told.opened(1) == [.close(1)] && told.ended(1).isEmpty)
            #expect(told.look(after: 60_000, count: 500).isEmpty)
            #expect(!told.life.wants(1) && !told.life.isOpen && !told.life.showsSlate && !told.life.prepares(2))
        }
    }
}
