// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Testing

@testable import Media

@Suite(.timeLimit(.minutes(5))) struct BlockingThreadsTests {
    private struct Counts {
        var running = 0
        var most = 0
        var done = 0
    }

    private final class Log: Sendable {
        let counts = Mutex(Counts())
    }

    @Test func onlySoManyWaitAtATime() async {
        let threads = BlockingThreads(name: "test", most: 3)
        let (log, gate) = (Log(), DispatchSemaphore(value: 0))
        for _ in 0..<10 {
            threads.run {
                log.counts.withLock {
                    $0.running += 1
                    $0.most = max($0.most, $0.running)
                }
                gate.wait()
                log.counts.withLock {
                    $0.running -= 1
                    $0.done += 1
                }
            }
        }
        for done in 0...7 {
            // As one ends another begins.
            while log.counts.withLock({ $0.done < done || $0.running < 3 }) {
                try? await Task.sleep(for: .milliseconds(1))
            }
            gate.signal()
        }
        for _ in 0..<2 { gate.signal() }
        while log.counts.withLock({ $0.done < 10 }) { try? await Task.sleep(for: .milliseconds(1)) }
        #expect(log.counts.withLock { $0.most } == 3)
    }
}
