// SPDX-License-Identifier: Apache-2.0

internal import Basics

/// How long nothing is begun on a disk that failed.
///
/// 2 s, and twice as long each time that it fails again soon, of a minute at most: a disk that is broken for hours costs
/// few files. Pure; instants are nanoseconds of one monotonic clock.
struct FailurePause: Sendable, Hashable {
    static let shortest = RecordingSession.pauseAfterFailure
    private static let longest = Duration.seconds(60)
    /// After a pause, this long without a failure means that the disk works again.
    private static let soundness = Duration.seconds(120)

    private var next = Self.shortest
    private var end: Int64?

    /// The disk failed; returns how long to wait.
    mutating func failed(at now: Int64) -> Duration {
        if let end = self.end, now - end >= Self.soundness.nanoseconds { self.next = Self.shortest }
        let pause = self.next
        self.next = min(pause * 2, Self.longest)
        self.end = now + pause.nanoseconds
        return pause
    }
}
