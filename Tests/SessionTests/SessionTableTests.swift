// SPDX-License-Identifier: Apache-2.0

import Session
import Signalling
import Testing

/// Every state of the session and of a call against every event.
@Suite struct SessionTableTests {
    private typealias Harness = SessionHarness

    private static let ownOffer = Harness.sdp(session: "900", version: 0)
    private static let connection = ConnectionID(1)

    private static let states: [(name: String, inputs: [SessionInput])] = {
        let joined: [SessionInput] = [.room(.joined(ownID: PeerID("me")))]
        let offering = joined + [.room(.peerArrived(Harness.peer))]
        let awaitingAnswer = offering + [.connection(Self.connection, .offerCreated(sdp: Self.ownOffer))]
        let standing =
            joined + [
                .room(.peerAwaited(Harness.peer)), .connection(Self.connection, .offerCreated(sdp: Self.ownOffer)),
            ]
        let answering = joined + [.room(.offerReceived(from: Harness.peer, sdp: Harness.sdp()))]
        let answered = answering + [.connection(Self.connection, .answerCreated(sdp: Harness.sdp(session: "901")))]
        let connected = answered + [.connection(Self.connection, .connected)]
        let endedAway = connected + [.room(.signallingLost(reason: "test")), .connection(Self.connection, .iceFailed)]
        return [
            ("joining", []),
            ("joined", joined),
            ("offering", offering),
            ("awaitingAnswer", awaitingAnswer),
            (
                "answerApplied",
                awaitingAnswer + [.room(.answerReceived(from: Harness.peer, sdp: Harness.sdp(session: "7")))]
            ),
            ("standing", standing),
            ("answering", answering),
            (
                "answeringWithNext",
                answering + [.room(.offerReceived(from: Harness.peer, sdp: Harness.sdp(version: 3)))]
            ),
            ("connected", connected),
            ("renegotiating", connected + [.room(.offerReceived(from: Harness.peer, sdp: Harness.sdp(version: 3)))]),
            ("disconnected", connected + [.connection(Self.connection, .iceDisconnected)]),
            ("stale", connected + [.connection(Self.connection, .mediaSilent)]),
            ("waiting", answering + [.connection(Self.connection, .negotiationFailed(reason: "test"))]),
            ("idle", answering + [.connection(Self.connection, .iceFailed)]),
            ("givenUp", Self.failures(3)),
            ("detached", connected + [.room(.signallingLost(reason: "test"))]),
            ("endedAway", endedAway),
            ("endedAwayJoined", endedAway + [.room(.joined(ownID: PeerID("me")))]),
            ("orphaned", connected + [.signallerEnded(nil)]),
            (
                "orphanedTrying",
                connected + [.room(.signallingLost(reason: "test")), .room(.attemptsSpent(Harness.down))]
            ),
            ("stopping", connected + [.stop]),
            ("finished", [.stop, .room(.left)]),
        ]
    }()

    /// Failures that use up all resets: connection 1 is the last one opened, so that ids are those of the other states.
    private static func failures(_ count: Int) -> [SessionInput] {
        let peer = Harness.peer
        var inputs: [SessionInput] = [.room(.joined(ownID: PeerID("me")))]
        for number in 0...UInt64(count) {
            inputs.append(.room(.offerReceived(from: peer, sdp: Harness.sdp(session: "5\(number)"))))
            inputs.append(.connection(ConnectionID(number + 1), .iceFailed))
        }
        return inputs
    }

    private static let events: [(name: String, input: SessionInput)] = [
        ("joined", .room(.joined(ownID: PeerID("me")))),
        ("peerArrived", .room(.peerArrived(Harness.peer))),
        ("peerAwaited", .room(.peerAwaited(Harness.peer))),
        ("offerSame", .room(.offerReceived(from: Harness.peer, sdp: Harness.sdp()))),
        ("offerNewer", .room(.offerReceived(from: Harness.peer, sdp: Harness.sdp(version: 4)))),
        ("offerNewSession", .room(.offerReceived(from: Harness.peer, sdp: Harness.sdp(session: "12")))),
        ("offerGarbage", .room(.offerReceived(from: Harness.peer, sdp: "hello"))),
        ("offerEcho", .room(.offerReceived(from: Harness.peer, sdp: Self.ownOffer))),
        ("answer", .room(.answerReceived(from: Harness.peer, sdp: Harness.sdp(session: "8")))),
        ("candidate", .room(.candidateReceived(from: Harness.peer, Harness.candidate))),
        ("endOfCandidates", .room(.endOfCandidatesReceived(from: Harness.peer))),
        ("peerLeft", .room(.peerLeft(Harness.peer))),
        ("full", .room(.full)),
        ("joinFailed", .room(.joinFailed(reason: "test"))),
        ("signallingLost", .room(.signallingLost(reason: "test"))),
        ("attemptsSpent", .room(.attemptsSpent(Harness.down))),
        ("left", .room(.left)),
        ("ignored", .room(.ignored(what: "test", detail: ""))),
        ("signallerEnded", .signallerEnded(nil)),
        ("offerCreated", .connection(Self.connection, .offerCreated(sdp: Self.ownOffer))),
        ("answerCreated", .connection(Self.connection, .answerCreated(sdp: Harness.sdp(session: "902")))),
        ("rebuildNeeded", .connection(Self.connection, .rebuildNeeded(reason: "test"))),
        ("offerDeclined", .connection(Self.connection, .offerDeclined(sdp: Self.ownOffer, reason: "test"))),
        ("descriptionRefused", .connection(Self.connection, .descriptionRefused(reason: "test"))),
        ("negotiationFailed", .connection(Self.connection, .negotiationFailed(reason: "test"))),
        ("localCandidate", .connection(Self.connection, .localCandidate(Harness.ownCandidate))),
        ("connected", .connection(Self.connection, .connected)),
        ("iceDisconnected", .connection(Self.connection, .iceDisconnected)),
        ("iceFailed", .connection(Self.connection, .iceFailed)),
        ("mediaSilent", .connection(Self.connection, .mediaSilent)),
        ("mediaHeard", .connection(Self.connection, .mediaHeard)),
        ("authenticityFailed", .connection(Self.connection, .authenticityFailed(reason: "test"))),
        ("closed", .connection(Self.connection, .closed)),
        ("stop", .stop),
    ]

    @Test func everyStateAgainstEveryEvent() {
        var expected: [String: String] = [:]
        var state = ""
        for line in sessionTable.split(separator: "\n") {
            let halves = line.split(separator: ":", maxSplits: 1)
            guard line.hasPrefix(" "), let event = halves.first?.drop(while: { $0 == " " }) else {
                state = String(halves.first ?? "")
                continue
            }
            expected["\(state) \(event)"] = halves.count > 1 ? String(halves[1].dropFirst()) : ""
        }
        var rows = 0
        for state in Self.states {
            for event in Self.events {
                var harness = SessionHarness(SessionConfiguration(), state.inputs)
                let words = SessionHarness.words(harness.feed(event.input))
                rows += words.isEmpty ? 0 : 1
                #expect(words == expected["\(state.name) \(event.name)"] ?? "", "\(state.name) \(event.name)")
            }
            for purpose in TimerID.Purpose.allCases {
                var harness = SessionHarness(SessionConfiguration(), state.inputs)
                let words = harness.fire(purpose)
                rows += words.isEmpty ? 0 : 1
                #expect(words == expected["\(state.name) timer-\(purpose)"] ?? "", "\(state.name) timer-\(purpose)")
            }
        }
        #expect(rows == expected.count)
    }

    @Test func aTimerOfAnotherRunDoesNothingInAnyState() {
        for state in Self.states {
            for purpose in TimerID.Purpose.allCases {
                var harness = SessionHarness(SessionConfiguration(), state.inputs)
                let actions = harness.feed(.timerFired(TimerID(purpose: purpose, serial: 1 << 40)))
                #expect(actions.isEmpty, "\(state.name) \(purpose)")
            }
        }
    }

    @Test func anEventOfAnUnknownConnectionDoesNothingInAnyState() {
        for state in Self.states {
            for case (let name, .connection(_, let event)) in Self.events {
                var harness = SessionHarness(SessionConfiguration(), state.inputs)
                #expect(harness.feed(.connection(ConnectionID(77), event)).isEmpty, "\(state.name) \(name)")
            }
        }
    }
}
