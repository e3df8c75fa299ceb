// SPDX-License-Identifier: Apache-2.0

/// Decides when a room's recording begins, rests and ends, over as many recordings as a long session makes.
///
/// Pure: times are nanoseconds of one monotonic clock, given by the caller.
///
/// ```
///   off ──record──► waiting ──media──► recording ◄──pause, resume──► paused
///    ▲                │ ▲                  │                           │
///    └───── stop ─────┘ └── empty room ────┴───────────────────────────┤
///    └───── stop ───────────────────────────────────────────────────────┘
/// ```
///
/// There is no terminal state. An order that does not fit the state changes nothing and says so.
public struct RecordingStateMachine: ~Copyable {
    /// The states, for status and tests.
    public enum Phase: String, Sendable, Hashable, CaseIterable {
        /// Nothing is recorded, whatever comes.
        case off
        /// A recording begins with the next media.
        case waiting
        /// Media are written.
        case recording
        /// The recording stays open, and its media are left out.
        case paused
    }

    /// The state.
    public private(set) var phase: Phase
    private let emptyLimit: UInt64?
    private var emptySince: UInt64?

    /// A session's recording before any media.
    ///
    /// - Parameters:
    ///   - startsByItself: whether the first media start it.
    ///   - goesOn: whether there is a recording already, which another process began.
    ///   - isPaused: whether that one is paused.
    ///   - emptyLimit: nanoseconds of an empty room after which a recording ends; nil for never.
    ///   - now: the room counts as empty from here until it is said to be otherwise.
    public init(startsByItself: Bool, goesOn: Bool, isPaused: Bool = false, emptyLimit: UInt64?, now: UInt64) {
        self.phase = goesOn ? isPaused ? .paused : .recording : startsByItself ? .waiting : .off
        self.emptyLimit = emptyLimit
        self.emptySince = now
    }

    /// The action for a unit that came.
    public enum OnMedia: Sendable, Hashable {
        /// Begin a recording with it.
        case begin
        /// Write it.
        case write
        /// Leave it out.
        case leaveOut
    }

    /// A unit came that is to be recorded if anything is.
    ///
    /// A participant that sends is present, even if the room does not report it yet or no longer does.
    public mutating func mediaCame(now: UInt64) -> OnMedia {
        if let since = self.emptySince { self.emptySince = max(since, now) }
        switch self.phase {
        case .off:
            return .leaveOut
        case .waiting:
            self.phase = .recording
            return .begin
        case .recording:
            return .write
        case .paused:
            return .leaveOut
        }
    }

    /// The recording that `begin` asked for could not be made: the next media try again.
    public mutating func beginningFailed() {
        switch self.phase {
        case .recording: self.phase = .waiting
        case .off, .waiting, .paused: break
        }
    }

    /// The recording is lost, and ends: the next media begin another.
    public mutating func recordingLost() {
        switch self.phase {
        case .recording: self.phase = .waiting
        case .off, .waiting, .paused: break
        }
    }

    /// The result of an order.
    public enum OnOrder: Sendable, Hashable {
        /// The state changed.
        case done
        /// The state changed, and the recording must be finished.
        case finish
        /// It is so already: nothing to do.
        case alreadySo
        /// There is no recording to which the order could apply.
        case nothingRecorded
    }

    /// Orders a recording from now on.
    public mutating func recordOrdered() -> OnOrder {
        switch self.phase {
        case .off:
            self.phase = .waiting
            return .done
        case .waiting:
            return .alreadySo
        case .recording:
            return .alreadySo
        case .paused:
            self.phase = .recording
            return .done
        }
    }

    /// Orders that nothing is recorded until a recording is ordered again.
    public mutating func stopOrdered() -> OnOrder {
        switch self.phase {
        case .off:
            return .alreadySo
        case .waiting:
            self.phase = .off
            return .done
        case .recording, .paused:
            self.phase = .off
            return .finish
        }
    }

    /// Orders that media are left out.
    public mutating func pauseOrdered() -> OnOrder {
        switch self.phase {
        case .off:
            return .nothingRecorded
        case .waiting:
            return .nothingRecorded
        case .recording:
            self.phase = .paused
            return .done
        case .paused:
            return .alreadySo
        }
    }

    /// Orders that the pause ends.
    public mutating func resumeOrdered() -> OnOrder {
        switch self.phase {
        case .off:
            return .nothingRecorded
        case .waiting:
            return .nothingRecorded
        case .recording:
            return .alreadySo
        case .paused:
            self.phase = .recording
            return .done
        }
    }

    /// The room became empty, or is no longer empty.
    ///
    /// Only a change sets the time.
    public mutating func presenceChanged(isEmpty: Bool, now: UInt64) {
        self.emptySince = isEmpty ? self.emptySince ?? now : nil
    }

    /// Whether the recording ends now because the room has been empty for the limit; if so, the next media start
    /// another.
    public mutating func endsForEmptiness(now: UInt64) -> Bool {
        guard let emptyLimit = self.emptyLimit, let since = self.emptySince, now >= since, now - since >= emptyLimit
        else { return false }
        switch self.phase {
        case .off:
            return false
        case .waiting:
            return false
        case .recording, .paused:
            self.phase = .waiting
            return true
        }
    }
}
