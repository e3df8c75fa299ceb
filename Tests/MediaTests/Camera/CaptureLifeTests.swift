// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Media

struct CaptureLifeTests {
    /// A life with its clock, and with the counts of what comes.
    private struct Told {
        var life: CaptureLife
        var now: UInt64 = 1_000_000_000_000
        var seen: UInt64 = 100

        init(_ kind: CaptureLife.Kind, hasSlate: Bool = true) {
            self.life = CaptureLife(kind, hasSlate: hasSlate)
        }

        mutating func start() -> [CaptureLife.Action] { self.life.start(now: self.now) }

        mutating func opened(_ number: Int, count: UInt64 = 100) -> [CaptureLife.Action] {
            self.life.opened(number, count: count, patience: 600_000_000, now: self.now)
        }

        mutating func ended(_ number: Int, _ message: String? = "broken", count: UInt64 = 0) -> [CaptureLife.Action] {
            self.life.ended(number, because: message, count: count, now: self.now)
        }

        /// A look after so many milliseconds.
        mutating func look(after milliseconds: UInt64, count: UInt64) -> [CaptureLife.Action] {
            self.now += milliseconds * 1_000_000
            return self.life.look(count: count, seen: self.seen, now: self.now)
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
        #expect(told.start() == [.open(1, isHidden: false)])
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
        #expect(told.look(after: 1, count: 0) == [.tell(.slow), .showSlate])
        #expect(told.life.showsSlate && told.life.reports == 1)
        #expect(told.look(after: 60_000, count: 500).isEmpty)
        // When it opens after all, it is not seen before it gives something.
        #expect(told.opened(1).first == .hide(1))
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
        #expect(told.look(after: 3000, count: 0) == [.tell(.slow), .showSlate])
        #expect(told.ended(1) == [.forgetPrepared, .close(1), .tell(.failed("broken"))])
        #expect(told.look(after: 1000, count: 0) == [.open(2, isHidden: true)])
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
        #expect(told.look(after: 1000, count: 0) == [.open(2, isHidden: false)])
        #expect(told.opened(2) == [.tell(.back), .prepareSlate])
    }

    @Test
    func aDeviceThatGoesAwayIsReplacedBeforeItIsClosedAndTakenBack() {
        var told = Self.playing(.device)
        #expect(told.ended(1, count: 102) == [.showSlate, .forgetPrepared, .close(1), .tell(.failed("broken"))])
        #expect(!told.life.wants(1) && !told.life.wants(2) && !told.life.isOpen)
        #expect(told.look(after: 999, count: 0).isEmpty)
        #expect(told.look(after: 1, count: 0) == [.open(2, isHidden: true)])
        // It is told once that it is away, however often it is tried.
        #expect(told.ended(2) == [.forgetPrepared, .close(2)])
        #expect(told.look(after: 1000, count: 0) == [.open(3, isHidden: true)])
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
        #expect(told.look(after: 1, count: 101) == [.hide(1), .tell(.silent), .showSlate])
        #expect(told.look(after: 9999, count: 0).isEmpty)
        #expect(told.look(after: 1, count: 0) == [.forgetPrepared, .close(1), .tell(.failed("it gives nothing"))])
        #expect(told.look(after: 1000, count: 0) == [.open(2, isHidden: true)])
    }

    @Test
    func aStreamThatPausesIsHiddenMeanwhileAndOpenedAgainInTheEnd() {
        var told = Self.playing(.stream)
        #expect(told.look(after: 600, count: 101) == [.hide(1), .tell(.silent), .showSlate])
        #expect(told.look(after: 29_999, count: 0).isEmpty)
        #expect(told.look(after: 100, count: 1) == [.show(1), .endSlate, .tell(.back)])
        #expect(told.look(after: 600, count: told.seen) == [.hide(1), .tell(.silent), .showSlate])
        #expect(told.look(after: 30_000, count: 0) == [.forgetPrepared, .close(1), .tell(.failed("it gives nothing"))])
        #expect(told.look(after: 2999, count: 0).isEmpty)
        #expect(told.look(after: 1, count: 0) == [.open(2, isHidden: true)])
    }

    @Test
    func soundAloneOfAStreamDoesNotTakeThePlaceOfTheSlate() {
        var told = Self.waiting(.stream)
        #expect(told.look(after: 3000, count: 0) == [.open(2, isHidden: true)])
        _ = told.opened(2, count: 0)
        let sound = told.life.givenUnseen(pictures: 0, sounds: 50)
        #expect(told.look(after: 29_999, count: sound).isEmpty)
        // It is asked again what it has.
        #expect(told.look(after: 1, count: sound) == [.forgetPrepared, .close(2)])
        #expect(told.look(after: 3000, count: 0) == [.open(3, isHidden: true)])
        _ = told.opened(3, count: 0)
        let both = told.life.givenUnseen(pictures: 1, sounds: 50)
        #expect(told.look(after: 100, count: both) == [.show(3), .endSlate, .tell(.back)])
    }

    @Test(arguments: kinds)
    func whatAHiddenPassGives(kind: CaptureLife.Kind) {
        let life = CaptureLife(kind, hasSlate: true)
        #expect(life.givenUnseen(pictures: nil, sounds: 3) == 3)
        #expect(life.givenUnseen(pictures: 2, sounds: 3) == 5)
        #expect(life.givenUnseen(pictures: 0, sounds: 3) == (kind == .stream ? 0 : 3))
    }

    @Test
    func aFileStartsOverAndWhatBrokeOffIsToldOnce() {
        var told = Self.playing(.file)
        #expect(told.ended(1, nil, count: 102) == [.close(1), .open(2, isHidden: false)])
        _ = told.opened(2)
        #expect(told.ended(2, count: 101) == [.tell(.brokeOff("broken")), .close(2), .open(3, isHidden: false)])
        _ = told.opened(3)
        #expect(told.ended(3, count: 101) == [.close(3), .open(4, isHidden: false)])
        // A pass that comes to its end is well.
        _ = told.opened(4)
        #expect(told.ended(4, nil, count: 101) == [.close(4), .open(5, isHidden: false)])
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
                == [.showSlate, .forgetPrepared, .close(2), .tell(.failed("it gives nothing"))]
        )
        var waits: [UInt64] = []
        for number in 3...10 {
            var wait: UInt64 = 0
            while true {
                wait += 100
                guard let action = told.look(after: 100, count: 0).first else { continue }
                #expect(action == .open(number, isHidden: true))
                break
            }
            waits.append(wait)
            #expect(told.ended(number) == [.forgetPrepared, .close(number)])
        }
        #expect(waits == [500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000])
        // One that gives nothing behind the slate has failed as well.
        #expect(told.look(after: 30_000, count: 0) == [.open(11, isHidden: true)])
        #expect(told.opened(11, count: 0) == [.prepare(12)])
        #expect(told.look(after: 10_000, count: 0) == [.forgetPrepared, .close(11)])
        #expect(told.look(after: 30_000, count: 0) == [.open(12, isHidden: true)])
        // One so short that nobody looked meanwhile is seen from its next pass on.
        _ = told.opened(12, count: 0)
        #expect(
            told.ended(12, nil, count: 1) == [.endSlate, .tell(.back), .close(12), .open(13, isHidden: false)]
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
        #expect(told.look(after: 1000, count: 0) == [.open(2, isHidden: false)])
        #expect(told.ended(2) == [.showSlate, .forgetPrepared, .close(2)])
        // One that fails while a hidden pass is opened: the pass is seen with what it gives.
        #expect(told.look(after: 1000, count: 0) == [.open(3, isHidden: true)])
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
