// SPDX-License-Identifier: Apache-2.0

import Session
import TestSupport
import Testing

@testable import Signalling

@Suite struct LANRoomStateMachineTests {
    private typealias Machine = LANRoomStateMachine

    private static let refused = SignallingError(.unreachable, "refused", blame: .network)
    private static let peer = LANBench.peer

    /// The inputs that matter, by name.
    private static let inputs: [String: SignallingInput] = [
        "attempt": .attempt(note: nil), "offer": .command(.offer(to: peer, sdp: "o")),
        "answer": .command(.answer(to: peer, sdp: "a")),
        "candidate": .command(.candidate(to: peer, ICECandidate(line: LANBench.line, mLineIndex: 0, mid: "0"))),
        "reset": .command(.resetCall(peer)), "yield": .command(.yield), "leave": .command(.leave),
        "answerTimer": .timerFired(Machine.answerTimer), "redialTimer": .timerFired(Machine.redialTimer),
        "listening": .stream(.listening), "connected": .stream(.connected(peer: "192.0.2.31:5556")),
        "their offer": LANBench.message("offer", "o"), "their answer": LANBench.message("answer", "a"),
        "closed": .stream(.disconnected(nil)), "failed": .stream(.failed(refused)),
    ]

    /// A machine in each state, by name; dialling states first.
    private static func machine(_ state: String) -> Machine {
        let listens = ["openingPort", "waiting", "called"].contains(state)
        var machine = Machine(RoomURL.LAN(host: "192.0.2.31", isListening: listens), isPatient: false)
        let path: [String] =
            switch state {
            case "dialling", "openingPort": ["attempt"]
            case "redialling": ["attempt", "failed"]
            case "connected": ["attempt", "connected"]
            case "offered": ["attempt", "connected", "offer"]
            case "answered": ["attempt", "connected", "offer", "their answer"]
            case "detached": ["attempt", "connected", "offer", "their answer", "closed"]
            case "waiting": ["attempt", "listening"]
            case "called": ["attempt", "listening", "connected", "their offer"]
            case "finished": ["leave"]
            default: []
            }
        for name in path { _ = Self.inputs[name].map { machine.handle($0) } }
        return machine
    }

    /// The name of an action.
    private static func name(_ action: SignallingAction) -> String {
        switch action {
        case .event(.joined): "joined"
        case .event(.peerArrived): "arrived"
        case .event(.offerReceived): "offer received"
        case .event(.answerReceived): "answer received"
        case .event(.joinFailed): "join failed"
        case .event(.ignored): "ignored"
        case .event(.left): "left"
        case .openStream(.dial): "dial"
        case .openStream(.listen): "listen"
        case .sendStream: "send"
        case .closeStream: "close"
        case .startTimer(let timer, _, _): "start \(timer.rawValue)"
        case .cancelTimer(let timer): "cancel \(timer.rawValue)"
        case .attemptFailed: "attempt failed"
        case .finished(nil): "finished"
        default: "\(action)"
        }
    }

    private static let states = [
        "idle", "dialling", "redialling", "connected", "offered", "answered", "detached", "openingPort", "waiting",
        "called", "finished",
    ]

    /// The reaction of each state to each input; inputs that are not named have no effect.
    private static let table: [String: [String: [String]]] = [
        "attempt": [
            "idle": ["dial"], "dialling": ["dial"], "redialling": ["dial"], "connected": ["dial"], "offered": ["dial"],
            "answered": ["dial"], "detached": ["dial"], "openingPort": ["listen"], "waiting": ["listen"],
            "called": ["listen"],
        ],
        "offer": [
            "connected": ["send", "start answer"], "offered": ["send", "start answer"],
            "answered": ["send", "start answer"], "called": ["send", "start answer"],
        ],
        "answer": [
            "connected": ["cancel answer", "send"], "offered": ["cancel answer", "send"],
            "answered": ["cancel answer", "send"], "called": ["cancel answer", "send"],
        ],
        "candidate": ["connected": ["send"], "offered": ["send"], "answered": ["send"], "called": ["send"]],
        "reset": [
            "connected": ["cancel answer", "dial"], "offered": ["cancel answer", "dial"],
            "answered": ["cancel answer", "dial"], "detached": ["dial"], "called": ["cancel answer", "close"],
        ],
        "yield": [:],
        "leave": Dictionary(uniqueKeysWithValues: states.dropLast().map { ($0, ["close", "left", "finished"]) }),
        "answerTimer": ["offered": ["attempt failed"]],
        "redialTimer": ["dialling": ["dial"], "redialling": ["dial"]],
        "listening": ["openingPort": ["joined"]],
        "connected": [
            "dialling": ["joined", "arrived"], "redialling": ["joined", "arrived"], "waiting": [],
            "called": ["cancel answer"],
        ],
        "their offer": [
            "connected": ["cancel answer", "offer received"], "offered": ["cancel answer", "offer received"],
            "answered": ["cancel answer", "offer received"], "called": ["cancel answer", "offer received"],
        ],
        "their answer": [
            "connected": ["cancel answer", "answer received"], "offered": ["cancel answer", "answer received"],
            "answered": ["cancel answer", "answer received"], "called": ["cancel answer", "answer received"],
        ],
        "closed": ["connected": ["attempt failed"], "offered": ["attempt failed"], "called": ["cancel answer"]],
        "failed": [
            "dialling": ["join failed", "start redial"], "redialling": ["start redial"],
            "connected": ["attempt failed"], "offered": ["attempt failed"], "answered": ["attempt failed"],
            "detached": ["attempt failed"], "openingPort": ["attempt failed"], "waiting": ["attempt failed"],
            "called": ["attempt failed"],
        ],
    ]

    @Test(arguments: states)
    func everyInputInEveryState(state: String) throws {
        for (name, input) in Self.inputs {
            var machine = Self.machine(state)
            let expected = try #require(Self.table[name])[state]
            let isDescription = name == "offer" || name == "answer"
            #expect(
                machine.handle(input).map(Self.name) == expected ?? (isDescription ? ["ignored"] : []),
                "\(name) in \(state)"
            )
        }
    }

    @Test func givesUpWhenNobodyAcceptsForAMinute() {
        for isPatient in [false, true] {
            var machine = Machine(RoomURL.LAN(host: "192.0.2.31"), isPatient: isPatient)
            _ = machine.handle(.attempt(note: nil))
            var waited = Duration.zero
            var last: [SignallingAction] = []
            for _ in 1...Machine.maximumDials {
                last = machine.handle(.stream(.failed(Self.refused)))
                for case .startTimer(_, let wait, true) in last { waited += wait }
                _ = machine.handle(.timerFired(Machine.redialTimer))
            }
            #expect(waited >= .seconds(50) && waited <= .seconds(70))
            switch last.first {
            case .finished(let error?) where !isPatient: #expect(error.message.hasPrefix("No peer accepted the call"))
            case .attemptFailed(let error) where isPatient: #expect(error.isRetriable)
            default: Issue.record("\(last)")
            }
        }
    }

    @Test func aNameThatIsNotFoundIsNotDialledAgain() {
        var machine = Self.machine("dialling")
        let error = SignallingError(.unreachable, "not found", blame: .configuration)
        #expect(machine.handle(.stream(.failed(error))) == [.attemptFailed(error)])
    }

    @Test func aNewerConnectionReplacesTheOlder() {
        var bench = LANBench.called()
        bench.feed(LANBench.raw(#"{"event":"offer","sdp":"cut in the mid"#))
        bench.feed(.stream(.connected(peer: "[2001:db8::5]:50001")))
        bench.feed(LANBench.message("offer", LANBench.sdp()))
        #expect(bench.connections.keys.map(\.rawValue) == ["2001:db8::5"])
        #expect(bench.applied == [LANBench.sdp()])
    }

    @Test func oneCallAfterTheOtherOnOnePort() {
        var bench = LANBench.called()
        bench.feed(LANBench.message("offer", LANBench.sdp()))
        bench.feed(.stream(.disconnected(nil)))
        #expect(bench.connections.count == 1, "media go on without TCP")
        bench.feed(.stream(.connected(peer: "192.0.2.32:50000")))
        #expect(bench.connections.keys.map(\.rawValue) == ["192.0.2.31"], "a connection alone ends nothing")
        bench.feed(LANBench.message("offer", LANBench.sdp(session: 8)))
        #expect(bench.connections.keys.map(\.rawValue) == ["192.0.2.32"])
        #expect(bench.facts.contains(.peerLeft(LANBench.peer)))
        #expect(LANBench.sent(bench.sent).map(\.event) == ["answer", "answer"])
    }

    @Test func sendsTheDescriptionFirstAndEveryCandidate() throws {
        var bench = LANBench.called()
        bench.feed(LANBench.message("offer", LANBench.sdp()))
        let connection = try #require(bench.connections[LANBench.peer])
        let candidate = ICECandidate(line: LANBench.line, mLineIndex: 0, mid: nil)
        bench.feed(session: .connection(connection, .localCandidate(candidate)))
        #expect(LANBench.sent(bench.sent).map(\.event) == ["answer", "candidate"])
        #expect(LANBench.sent(bench.sent).last?.sdp == LANBench.line)
    }

    @Test func survivesNoise() {
        var generator = SeededGenerator(seed: 36)
        let pieces = [
            "{", "}", "|", "\"", "event", ":", "offer", ",", "sdp", "\\", "\u{e9}", "1", "null", "[", "{}|", "\r\n",
            #"{"event":"offer","sdp":"v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\n"}|"#, #"{"event":"answer","sdp":"v=0"}|"#,
            #"{"event":"candidate","sdp":"candidate:1 1 udp 1 192.0.2.1 9 typ host","label":"99999999999999999999"}|"#,
        ]
        let inputs = Self.inputs.sorted { $0.key < $1.key }.map(\.value)
        for round in 0..<300 {
            var machine = Machine(RoomURL.LAN(host: "h", isListening: round % 2 == 0), isPatient: round % 3 == 0)
            for _ in 0..<60 {
                let text = (0..<6).compactMap { _ in pieces.randomElement(using: &generator) }.joined()
                var bytes = Array(text.utf8)
                if Bool.random(using: &generator) { bytes.append(UInt8.random(in: 0...255, using: &generator)) }
                let actions = machine.handle(.stream(.received(bytes)))
                #expect(actions.count <= 40)
                if let input = inputs.randomElement(using: &generator) { _ = machine.handle(input) }
            }
        }
    }
}
