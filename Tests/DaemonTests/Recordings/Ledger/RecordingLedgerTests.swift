// SPDX-License-Identifier: Apache-2.0

import Model
import Storage
import Testing

@testable import Daemon

@Suite struct RecordingLedgerTests {
    private static let id = RecordingID.random()
    private static let orders = [ExportSpec(layout: "tracks")]

    enum Phase: CaseIterable, Sendable { case unknown, inProgress, closing, ending, incomplete }

    enum Event: CaseIterable, Sendable {
        case began, ended, noted, notNoted, takeIncomplete, closes, takeBack, closed
    }

    private static func perform(_ event: Event, on ledger: RecordingLedger) {
        switch event {
        case .began: ledger.began(self.id, in: "folder", exports: self.orders)
        case .ended: _ = ledger.ended(self.id, in: "folder", exports: nil)
        case .noted: ledger.noted(self.id, isDone: true)
        case .notNoted: ledger.noted(self.id, isDone: false)
        case .takeIncomplete: _ = ledger.takeIncomplete()
        case .closes: _ = ledger.closes(self.id)
        case .takeBack: _ = ledger.takeBack(self.id)
        case .closed: ledger.closed(self.id)
        }
    }

    private static func ledger(in phase: Phase) -> RecordingLedger {
        let ledger = RecordingLedger()
        let way: [Event] =
            switch phase {
            case .unknown: []
            case .inProgress: [.began]
            case .closing: [.began, .closes]
            case .ending: [.began, .ended]
            case .incomplete: [.began, .ended, .notNoted]
            }
        for event in way { self.perform(event, on: ledger) }
        return ledger
    }

    private static func phase(in ledger: RecordingLedger) -> Phase {
        guard ledger.exports(of: self.id) != nil else { return .unknown }
        guard ledger.isInHand(self.id) else { return .closing }
        if ledger.isActive(self.id) { return .inProgress }
        return ledger.takeIncomplete().isEmpty ? .ending : .incomplete
    }

    /// The phases that each event leads to; any other event leaves a recording where it is.
    private static let moves: [Event: [Phase: Phase]] = [
        .began: Dictionary(uniqueKeysWithValues: Phase.allCases.map { ($0, Phase.inProgress) }),
        .ended: Dictionary(uniqueKeysWithValues: Phase.allCases.map { ($0, Phase.ending) }),
        .noted: [.ending: .unknown], .notNoted: [.ending: .incomplete], .takeIncomplete: [.incomplete: .ending],
        .closes: [.inProgress: .closing], .takeBack: [.closing: .inProgress], .closed: [.closing: .unknown],
    ]

    @Test(arguments: Phase.allCases, Event.allCases)
    func eachEventLeadsToOnePhase(from phase: Phase, by event: Event) {
        let ledger = Self.ledger(in: phase)
        #expect(Self.phase(in: Self.ledger(in: phase)) == phase)
        Self.perform(event, on: ledger)
        #expect(Self.phase(in: ledger) == Self.moves[event]?[phase] ?? phase)
    }

    /// Given with the end, those that it began with, or none.
    @Test func anEndedRecordingGetsItsExports() {
        let ledger = RecordingLedger()
        #expect(ledger.ended(Self.id, in: "folder", exports: nil).isEmpty)
        ledger.began(Self.id, in: "folder", exports: Self.orders)
        #expect(ledger.closes(Self.id) && ledger.exports(of: Self.id) == Self.orders)
        #expect(ledger.ended(Self.id, in: "folder", exports: nil) == Self.orders)
        #expect(ledger.ended(Self.id, in: "folder", exports: []).isEmpty)
        ledger.noted(Self.id, isDone: false)
        let incomplete = ledger.takeIncomplete()
        #expect(incomplete.map(\.id) == [Self.id] && incomplete.map(\.folder) == ["folder"])
        #expect(incomplete.allSatisfy { $0.exports.isEmpty })
    }

    @Test func aDeletionBeginsAndEnds() {
        let ledger = RecordingLedger()
        #expect(!ledger.isDeleting(Self.id))
        ledger.deletes(Self.id, true)
        #expect(ledger.isDeleting(Self.id) && !ledger.isInHand(Self.id))
        ledger.deletes(Self.id, false)
        #expect(!ledger.isDeleting(Self.id))
    }

    @Test(
        arguments: [
            ("stopped", .finished(reason: "stopped")), ("repaired", .repaired), (nil, .repaired),
        ] as [(String?, RecordingEnd)]
    )
    func theLastRecordTellsHowARecordingEnded(reason: String?, end: RecordingEnd) {
        #expect(RecordingEnd(found: reason) == end)
        #expect(end.kind == (end == .repaired ? .recordingRepaired : .recordingFinished))
        #expect(end.details == (end == .repaired ? [:] : ["reason": reason ?? ""]))
    }
}
