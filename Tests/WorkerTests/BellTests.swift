// SPDX-License-Identifier: Apache-2.0

import Testing
import Worker

@Suite struct BellTests {
    @Test func findsWhatIsThereWithoutARing() async {
        #expect(await Bell().wait { 7 } == 7)
    }

    @Test func looksAgainAfterARingFromElsewhere() async {
        let bell = Bell()
        var looks = 0
        let found = await bell.wait { () -> Int? in
            looks += 1
            guard looks == 1 else { return looks }
            Task { bell.ring() }
            return nil
        }
        #expect(found == 2)
    }

    @Test func ringsBeforeTheWaitCountAsOne() async {
        let bell = Bell()
        for _ in 0..<1000 { bell.ring() }
        var looks = 0
        let found = await bell.wait(until: .now + .milliseconds(20)) { () -> Int? in
            looks += 1
            return nil
        }
        // At once and after the rings; and at the deadline, if it was not over then.
        #expect(found == nil && (2...3).contains(looks))
    }

    @Test func aDeadlineThatIsPastEndsTheWait() async {
        #expect(await Bell().wait(until: .now - .seconds(1)) { nil as Int? } == nil)
    }

    @Test func ringsByItself() async {
        var looks = 0
        let found = await Bell().wait(every: .milliseconds(1)) { () -> Int? in
            looks += 1
            return looks > 3 ? looks : nil
        }
        #expect(found == 4)
    }

    @Test func aCancelledWaiterFindsNothing() async {
        let task = Task { await Bell().wait { nil as Int? } }
        task.cancel()
        #expect(await task.value == nil)
    }
}
