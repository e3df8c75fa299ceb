// SPDX-License-Identifier: Apache-2.0

internal import CTapedeck

/// Wakes the reader of many queues, once for all that has come into them.
///
/// The reader takes one turn for each queue. A turn that takes longer than 100 ms is reported by the thread that gives one of
/// the queues something next.
public final class UnitBell: @unchecked Sendable {
    /// A longer turn is reported.
    public static let longestTurn = Duration.milliseconds(Int(CTAPEDECK_LONGEST_TURN_MILLISECONDS))

    // The C bell locks for itself.
    let pointer: OpaquePointer

    /// Reports a turn that hangs; gets the instant at which it began.
    public typealias Report = @Sendable (Int64) -> Void

    /// A bell of no queue yet.
    ///
    /// - Parameter report: lives as long as the process; called on any thread, must not block.
    public init(report: @escaping Report) {
        self.pointer = CTapedeck_bell_new(
            { began, user in CallbackBox<Int64>.from(user)?.call(began) },
            CallbackBox<Int64>(report).retained()
        )
    }

    deinit {
        CTapedeck_bell_unref(self.pointer)
    }

    /// Waits until a queue has something, or until an instant of `CLOCK_MONOTONIC`, in nanoseconds.
    ///
    /// The reader's thread.
    public func wait(until deadline: Int64) {
        _ = CTapedeck_bell_wait(self.pointer, deadline / 1000)
    }

    /// A turn begins; the instant is for its end, and in its report.
    ///
    /// The reader's thread.
    public func turnBegins() -> Int64 {
        CTapedeck_bell_turn_begins(self.pointer)
    }

    /// A turn ends.
    ///
    /// The reader's thread.
    /// - Returns: false if it took too long, whether or not it was reported.
    public func turnEnds(_ began: Int64) -> Bool {
        CTapedeck_bell_turn_ends(self.pointer, began)
    }
}
