// SPDX-License-Identifier: Apache-2.0

import Cluster
import Testing

@testable import Coordination

@Suite struct EtcdWatchMachineTests {
    private typealias Machine = EtcdWatchMachine

    private static func change(_ revision: Int64) -> EtcdWatchReader.Item {
        .changed([.delete(key: "a", Revision(revision))], Revision(revision))
    }

    private static func told(_ revision: Int64) -> EtcdWatchMachine.Step {
        .report([.delete(key: "a", Revision(revision))], Revision(revision))
    }

    @Test func whatWasToldIsNotAskedForAgain() {
        var machine = Machine(from: Revision(5), hasUser: false)
        #expect(machine.take(.created(Revision(9))) == .nothing)
        #expect(machine.next == Revision(5))
        #expect(machine.take(Self.change(7)) == Self.told(7))
        #expect(machine.next == Revision(8))
        #expect(machine.take(Self.change(7)) == .nothing)
        #expect(machine.ended(.interrupted) == .again(after: .zero))
        #expect(machine.next == Revision(8))
    }

    @Test(
        arguments: [
            (.compacted, .compacted), (.tooLarge, .compacted), (.cancelled("w"), .cancelled("w")),
            (.failed(.lost("w")), .failed(.lost("w"))), (.created(Revision(3)), .behind),
        ] as [(EtcdWatchReader.Item, EtcdWatchMachine.End)]
    )
    func itemsThatEndAnAttempt(_ item: EtcdWatchReader.Item, _ end: EtcdWatchMachine.End) {
        var machine = Machine(from: Revision(5), hasUser: false)
        #expect(machine.take(item) == .end(end))
        #expect(machine.next == Revision(5))
    }

    /// The one before is all that a list behind which the watch begins had.
    @Test func theRevisionBeforeIsEnough() {
        var machine = Machine(from: Revision(5), hasUser: false)
        #expect(machine.take(.created(Revision(4))) == .nothing)
    }

    @Test func waitsGrowWithFailuresAndEndWithABeginning() {
        var machine = Machine(from: Revision(5), hasUser: false)
        let waits = (0..<40).map { _ in machine.ended(.failed(.lost("w"))) }
        let expected = [100, 200, 400, 800, 1600] + Array(repeating: 2000, count: 35)
        #expect(waits == expected.map { .again(after: .milliseconds($0), leavesMember: true) })
        _ = machine.take(.created(Revision(5)))
        #expect(machine.ended(.failed(.notSent("w"))) == .again(after: .milliseconds(100), leavesMember: true))
        #expect(
            machine.ended(.failed(.answered(code: 14, "w"))) == .again(after: .milliseconds(200), leavesMember: true)
        )
    }

    @Test func aStoreThatNeverGetsThereIsAnother() {
        var machine = Machine(from: Revision(5), hasUser: false)
        for _ in 1..<Machine.catchUps { #expect(machine.ended(.behind) == .again(after: Machine.catchUpWait)) }
        #expect(machine.ended(.behind) == .list)
        var other = Machine(from: Revision(5), hasUser: false)
        for _ in 1..<Machine.catchUps { _ = other.ended(.behind) }
        _ = other.take(.created(Revision(9)))
        #expect(other.ended(.behind) == .again(after: Machine.catchUpWait))
        #expect(other.ended(.compacted) == .list)
    }

    @Test(arguments: [
        Machine.End.cancelled("w"), .failed(.answered(code: 16, "w")), .failed(.answered(code: 3, "w")),
    ])
    func anotherTokenIsTriedOnce(_ end: EtcdWatchMachine.End) {
        var machine = Machine(from: Revision(5), hasUser: true)
        #expect(machine.ended(end) == .again(after: .zero, renewsToken: true))
        guard case .refuse = machine.ended(end) else {
            Issue.record("a third token")
            return
        }
        var later = Machine(from: Revision(5), hasUser: true)
        _ = later.ended(end)
        _ = later.take(.created(Revision(5)))
        #expect(later.ended(end) == .again(after: .zero, renewsToken: true))
        var stranger = Machine(from: Revision(5), hasUser: false)
        guard case .refuse = stranger.ended(end) else {
            Issue.record("a token without a user")
            return
        }
    }

    @Test func whatIsRefusedIsRefused() {
        var machine = Machine(from: Revision(5), hasUser: true)
        let failure = EtcdFailure.answered(code: 7, "w")
        #expect(machine.ended(.failed(failure)) == .refuse(failure))
    }
}
