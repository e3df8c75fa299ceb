// SPDX-License-Identifier: Apache-2.0

import Basics
import Model
import Testing

@Suite struct UploadMachineTests {
    typealias Phase = UploadMachine.Phase
    typealias Input = UploadMachine.Input
    typealias Action = UploadMachine.Action

    private static let now = UTCTime(nanosecondsSince1970: 1_795_230_746_000_000_000)

    private static func file(_ name: String, _ rank: Int = 0, modified: Int64 = 1) -> UploadObject.File {
        UploadObject.File(name: name, bytes: 10, modified: modified, rank: rank)
    }

    private static func machine(_ files: UploadObject.File..., attempts: Int = 0) -> UploadMachine {
        UploadMachine(
            files.map { file in
                var object = UploadObject(file, due: Self.now)
                object.attempts = attempts
                return object
            }
        )
    }

    /// A machine with one file, in a phase.
    private static func machine(in phase: Phase) -> UploadMachine {
        var machine = Self.machine(Self.file("tracks/1.mkv"))
        if phase == .resting { return machine }
        _ = machine.begin(at: Self.now)
        if phase == .sending || phase == .checking { _ = machine.handle(.absent, random: 0, at: Self.now) }
        if phase == .checking { _ = machine.handle(.sent, random: 0, at: Self.now) }
        return machine
    }

    private static let inputs: [Input] = [
        .same(checksum: "md5:1"), .absent, .different("another md5"), .sent, .failed("the remote does not answer"),
    ]

    /// What each input comes to in each phase: the phase behind it, the action, whether the file is verified, and its attempts.
    private static let table: [Phase: [(Phase, Action, Bool, Int)]] = [
        .resting: [
            (.resting, .none, false, 0), (.resting, .none, false, 0), (.resting, .none, false, 0),
            (.resting, .none, false, 0), (.resting, .none, false, 0),
        ],
        .looking: [
            (.resting, .verified, true, 0), (.sending, .send(isRepeated: false), false, 1),
            (.sending, .send(isRepeated: false), false, 1), (.looking, .none, false, 0), (.resting, .putOff, false, 1),
        ],
        .sending: [
            (.sending, .none, false, 1), (.sending, .none, false, 1), (.sending, .none, false, 1),
            (.checking, .look, false, 1), (.resting, .putOff, false, 1),
        ],
        .checking: [
            (.resting, .verified, true, 1), (.resting, .putOff, false, 1), (.resting, .putOff, false, 1),
            (.checking, .none, false, 1), (.resting, .putOff, false, 1),
        ],
    ]

    @Test(arguments: Phase.allCases)
    func eachInputInEachPhase(phase: Phase) throws {
        let row = try #require(Self.table[phase])
        for (input, (next, action, isVerified, attempts)) in zip(Self.inputs, row) {
            var machine = Self.machine(in: phase)
            #expect(machine.phase == phase)
            let found = machine.handle(input, random: 0.5, at: Self.now)
            let object = machine.objects[0]
            #expect(found == action && machine.phase == next, "\(phase), \(input)")
            #expect(object.isVerified == isVerified && object.attempts == attempts, "\(phase), \(input)")
            #expect((object.error != nil) == (action == .putOff), "\(phase), \(input)")
            #expect((object.due > Self.now) == (action == .putOff), "\(phase), \(input)")
        }
    }

    @Test func nothingBeginsBesideWhatIsBeingDone() {
        for phase in Phase.allCases where phase != .resting {
            var machine = Self.machine(in: phase)
            #expect(machine.begin(at: Self.now) == .none && machine.phase == phase)
        }
    }

    /// Uploads every file that is due, of which some fail; their names in the order in which they went out.
    private static func run(_ machine: inout UploadMachine, failing: Set<String> = [], at now: UTCTime) -> [String] {
        var sent: [String] = []
        while machine.begin(at: now) == .look, let name = machine.object?.file.name {
            _ = machine.handle(.absent, random: 0, at: now)
            sent.append(name)
            if failing.contains(name) {
                _ = machine.handle(.failed("refused"), random: 0, at: now)
            } else {
                _ = machine.handle(.sent, random: 0, at: now)
                _ = machine.handle(.same(checksum: "md5:1"), random: 0, at: now)
            }
        }
        return sent
    }

    @Test func theManifestIsLast() {
        let spec = UploadSpec(remote: "arc:x")
        let names = [
            "manifest.json", "certificate.txt.sig", "certificate.txt", "call.mkv", "journal.jsonl", "tracks/2.mkv",
            "tracks/1.mkv",
        ]
        var machine = UploadMachine(
            names.map { UploadObject(Self.file($0, spec.rank(of: $0) ?? -1), due: Self.now) }
        )
        let sent = Self.run(&machine, at: Self.now)
        #expect(
            sent == [
                "tracks/1.mkv", "tracks/2.mkv", "journal.jsonl", "call.mkv", "certificate.txt", "certificate.txt.sig",
                "manifest.json",
            ]
        )
        #expect(machine.turn(at: Self.now) == .complete)
    }

    /// One that fails keeps none of the same rank, and all of a later one.
    @Test func aFileThatFailsPutsOffItselfAndWhatComesAfterIt() {
        var machine = Self.machine(Self.file("a"), Self.file("b"), Self.file("c"), Self.file("manifest.json", 4))
        #expect(Self.run(&machine, failing: ["b"], at: Self.now) == ["a", "b", "c"])
        let due = Self.now.adding(.seconds(5))
        #expect(machine.turn(at: Self.now) == .waits(until: due))
        #expect(Self.run(&machine, at: due) == ["b", "manifest.json"])
        #expect(machine.turn(at: due) == .complete)
    }

    @Test func waitsGrowFromFiveSecondsToAnHourAndNeverEnd() {
        var machine = Self.machine(Self.file("a"))
        var now = Self.now
        var waits: [Double] = []
        for _ in 0..<200 {
            #expect(Self.run(&machine, failing: ["a"], at: now) == ["a"])
            guard case .waits(let next) = machine.turn(at: now) else { break }
            waits.append(Double(next.nanosecondsSince1970 - now.nanosecondsSince1970) / 1e9)
            now = next
        }
        #expect(waits.count == 200 && waits.prefix(6) == [5, 20, 80, 320, 1280, 3600] && waits.last == 3600)
    }

    @Test func aSecondAttemptCleansUp() {
        var machine = Self.machine(Self.file("a"), attempts: 1)
        _ = machine.begin(at: Self.now)
        #expect(machine.handle(.absent, random: 0, at: Self.now) == .send(isRepeated: true))
    }

    /// Whatever had been done when it died, a life that knows what was noted comes to the same end.
    @Test(arguments: Phase.allCases)
    func theNextLifeGoesOn(diedIn phase: Phase) {
        let left = Self.machine(in: phase).objects
        var machine = UploadMachine(left)
        #expect(machine.phase == .resting)
        #expect(Self.run(&machine, at: Self.now) == ["tracks/1.mkv"])
        #expect(machine.turn(at: Self.now) == .complete)
    }

    @Test func whatIsThereAlreadyIsNotSent() {
        var machine = Self.machine(Self.file("a"))
        #expect(machine.begin(at: Self.now) == .look)
        #expect(machine.handle(.same(checksum: "sha256:1"), random: 0, at: Self.now) == .verified)
        #expect(machine.objects[0].checksum == "sha256:1" && machine.objects[0].attempts == 0)
    }

    @Test func whatWasWrittenAgainIsNotVerified() {
        var machine = Self.machine(Self.file("a"), Self.file("b"), Self.file("manifest.json", 4))
        _ = Self.run(&machine, at: Self.now)
        machine.take(
            [Self.file("a"), Self.file("c"), Self.file("manifest.json", 4, modified: 2)],
            at: Self.now
        )
        #expect(machine.objects.map(\.isVerified) == [true, false, false])
        #expect(Self.run(&machine, at: Self.now) == ["c", "manifest.json"])
    }

    /// The remains of an attempt with the old one are cleaned up.
    @Test func whatWasWrittenAgainAfterAnAttemptIsARepetition() {
        var machine = Self.machine(Self.file("a"), attempts: 1)
        machine.take([Self.file("a", modified: 2)], at: Self.now)
        _ = machine.begin(at: Self.now)
        #expect(machine.handle(.absent, random: 0, at: Self.now) == .send(isRepeated: true))
    }

    @Test func aClockThatIsSetBackStopsNothing() {
        var machine = Self.machine(Self.file("a"))
        _ = Self.run(&machine, failing: ["a"], at: Self.now)
        let earlier = Self.now.adding(.seconds(-86_400))
        #expect(Self.run(&machine, at: earlier) == ["a"])
    }
}

@Suite struct UploadSpecTests {
    @Test(arguments: [
        ("arc:recordings", "{room}/{day}", "arc:recordings/standup/2026-07-04/20260704T120000Z-0123456789abcdef"),
        ("arc:", "{day}-{room}/x", "arc:2026-07-04-standup/x/20260704T120000Z-0123456789abcdef"),
        ("arc:a/b", "", "arc:a/b/20260704T120000Z-0123456789abcdef"),
    ])
    func eachRecordingHasAPlaceOfItsOwn(remote: String, prefix: String, place: String) {
        var spec = UploadSpec(remote: remote)
        spec.prefix = prefix
        #expect(spec.folder(room: "standup", name: "20260704T120000Z-0123456789abcdef") == place)
    }

    @Test func aPlaceIsInTheRemoteThatIsConfigured() {
        #expect(UploadSpec(remote: "arc:").contains("arc:a/b") && UploadSpec(remote: "arc:a").contains("arc:a/b"))
        #expect(!UploadSpec(remote: "arc:a").contains("arc:ab/c") && !UploadSpec(remote: "b:").contains("arc:a"))
    }

    @Test func partsThatAreNotWantedStay() {
        var spec = UploadSpec(remote: "arc:x")
        spec.parts = [.exports]
        let names = ["tracks/1.mkv", "journal.jsonl", "call.mkv", "certificate.txt", "manifest.json"]
        #expect(names.map { spec.rank(of: $0) != nil } == [false, false, true, false, true])
    }
}
