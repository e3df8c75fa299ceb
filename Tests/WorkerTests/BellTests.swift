// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing
import Worker

@Suite struct BellTests {
    @Test func findsWhatIsThereWithoutARing() async {
        #expect(await Bell().wait { 7 } == 7)
    }

    @Test func looksAgainAfterARingFromElsewhere() async {
        let (bell, isThere) = (Bell(), Atomic(false))
        await withDiscardingTaskGroup { group in
            group.addTask {
                isThere.store(true, ordering: .releasing)
                bell.ring()
            }
            #expect(await bell.wait { isThere.load(ordering: .acquiring) ? true : nil } == true)
        }
    }

    @Test func ringsBeforeTheWaitCountAsOne() async {
        let bell = Bell()
        for _ in 0..<1000 { bell.ring() }
        var looks = 0
        let found = await bell.wait(until: .now + .milliseconds(20)) { () -> Int? in
            looks += 1
            return nil
        }
        // At once, after the rings, and at the deadline.
        #expect(found == nil && looks == 3)
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
