// SPDX-License-Identifier: Apache-2.0

import Model
import Testing

@testable import Worker

@Suite struct OrderDeadlineTests {
    private static let order = WorkerCommand.camera(room: "room", nil)
    private let now = ContinuousClock.now

    @Test func allStepsOfWhatSomebodyWaitsForHaveOneLimit() throws {
        let deadline = OrderDeadline(NumberedCommand(Self.order, number: 7), limit: .seconds(25), from: self.now)
        #expect(try deadline.rest(at: self.now) == .seconds(25))
        #expect(try deadline.rest(at: self.now + .seconds(20)) == .seconds(5))
        for seconds in [25, 60] {
            #expect(throws: OrderDeadline.Missed.self) { try deadline.rest(at: self.now + .seconds(seconds)) }
        }
    }

    @Test func aDefinitionIsPerformedWhenItsTurnComes() throws {
        let deadline = OrderDeadline(NumberedCommand(Self.order), limit: .seconds(25), from: self.now)
        #expect(try deadline.rest(at: self.now + .seconds(60)) == .seconds(25))
    }
}
