// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Media

struct EncoderLifeTests {
    /// The states, each reached by a few events.
    enum Situation: CaseIterable {
        case resting, waiting, starting, outdated, running, stopped

        /// A life in that state, whose latest encoder has number 1.
        var life: EncoderLife {
            var life = EncoderLife()
            guard self != .resting else { return life }
            _ = life.wanted(at: 0)
            switch self {
            case .resting, .starting: break
            case .waiting: _ = life.noneIsLeft(1, at: 0)
            case .outdated: _ = life.changed(at: 0)
            case .running: _ = life.started(1, at: 0)
            case .stopped: _ = life.stop()
            }
            return life
        }
    }

    /// Everything that may happen.
    enum Event: CaseIterable {
        case wanted, started, didNotStart, noneIsLeft, failed, otherFailed, changed, look, stop

        func happen(to life: inout EncoderLife) -> [EncoderLife.Action] {
            switch self {
            case .wanted: return life.wanted(at: 1)
            case .started: return life.started(1, at: 1)
            case .didNotStart: return life.didNotStart(1)
            case .noneIsLeft:
                _ = life.noneIsLeft(1, at: 1)
                return []
            case .failed: return life.failed(1, because: "broken", at: 1)
            case .otherFailed: return life.failed(7, because: "broken", at: 1)
            case .changed: return life.changed(at: 1)
            case .look: return life.look(EncoderLife.Look(consumers: 1), at: 1)
            case .stop: return life.stop()
            }
        }
    }

    /// Each event in each state: all that is not here does nothing.
    private static let table: [Situation: [Event: [EncoderLife.Action]]] = [
        .resting: [.wanted: [.start(1)], .look: [.start(1)], .started: [.end(1, .notNeeded)]],
        .waiting: [.started: [.end(1, .notNeeded)]],
        .starting: [.didNotStart: [.start(2)]],
        .outdated: [.didNotStart: [.start(2)], .started: [.end(1, .notNeeded), .start(2)]],
        .running: [
            .failed: [.end(1, .failed("broken")), .start(2)], .changed: [.end(1, .notNeeded), .start(2)],
            .stop: [.end(1, .notNeeded)],
        ],
        .stopped: [.started: [.end(1, .notNeeded)]],
    ]

    @Test(arguments: Situation.allCases, Event.allCases)
    func everyEventInEveryState(situation: Situation, event: Event) {
        var life = situation.life
        #expect(event.happen(to: &life) == Self.table[situation]?[event] ?? [])
    }

    @Test func withoutConsumersItEndsAtTheThirdLook() {
        var life = Situation.running.life
        let unused = EncoderLife.Look(consumers: 0)
        #expect(life.look(unused, at: 1).isEmpty && life.look(unused, at: 2).isEmpty)
        // A consumer that asks starts the count again.
        #expect(life.wanted(at: 3).isEmpty)
        #expect(life.look(unused, at: 4).isEmpty && life.look(unused, at: 5).isEmpty)
        #expect(life.look(unused, at: 6) == [.end(1, .notNeeded)])
        #expect(!life.isActive && life.look(unused, at: 7).isEmpty)
        #expect(life.look(EncoderLife.Look(consumers: 1), at: 8) == [.start(2)])
    }

    @Test func oneThatTakesFramesAndGivesNothingIsExchanged() {
        var life = Situation.running.life
        let full = EncoderLife.Look(consumers: 1, hasDropped: true, count: 9)
        // The first look finds new output.
        for now in 1...5 as ClosedRange<UInt64> { #expect(life.look(full, at: now).isEmpty) }
        #expect(life.look(full, at: 6) == [.end(1, .stuck), .start(2)])
    }

    @Test func anErrorThatComesBeforeItIsReportedAsStartedCounts() {
        var life = Situation.starting.life
        #expect(life.failed(1, because: "broken", at: 1).isEmpty)
        #expect(life.started(1, at: 2) == [.end(1, .failed("broken")), .start(2)])
    }

    @Test func whereNoneIsLeftItIsTriedAgainAfterTenSeconds() {
        var life = Situation.starting.life
        let isNews = life.noneIsLeft(1, at: 0)
        #expect(isNews && life.isFailing && !life.mayStart(at: 9_999_999_999))
        #expect(life.look(EncoderLife.Look(consumers: 1), at: 9_999_999_999).isEmpty)
        #expect(life.look(EncoderLife.Look(consumers: 1), at: 10_000_000_000) == [.start(2)])
        let isNewsAgain = life.noneIsLeft(2, at: 10_000_000_000)
        #expect(!isNewsAgain && !life.mayStart(at: 29_999_999_999) && life.mayStart(at: 30_000_000_000))
    }
}
