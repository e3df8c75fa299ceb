// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Rendering

@Suite struct FrameHoldTests {
    /// In seconds: the last sign of life, a pause, when the frame was shown, now.
    @Test(arguments: [
        // One slide each five seconds, and the last one.
        (20.0, nil as ClosedRange<Double>?, 5.0, 9.9, true), (20, nil, 20, 21.9, true), (20, nil, 20, 22.1, false),
        // Reports continue behind the last frame, and stop.
        (60, nil, 5, 59, true), (60, nil, 5, 61.9, true), (60, nil, 5, 62.1, false),
        // The camera is off: two seconds as ever.
        (60, 6...30, 5.9, 7.8, true), (60, 6...30, 5.9, 8, false), (60, 6...30, 5.9, 30.1, true),
    ])
    func aFrameStaysWhileItsSourceLives(
        alive: Double,
        pause: ClosedRange<Double>?,
        shown: Double,
        now: Double,
        isHeld: Bool
    ) {
        let nanoseconds = { (seconds: Double) in Int64(seconds * 1e9) }
        let hold = FrameHold(
            aliveUntilNanoseconds: nanoseconds(alive),
            pauses: pause.map { [nanoseconds($0.lowerBound)..<nanoseconds($0.upperBound)] } ?? []
        )
        #expect(hold.holds(nanoseconds(shown), at: nanoseconds(now)) == isHeld)
    }
}
