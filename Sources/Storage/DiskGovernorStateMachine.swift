// SPDX-License-Identifier: Apache-2.0

/// Keeps the disk from filling up: stops video first, then everything, and allows both again when there is room.
///
/// ```
///            free < minimum                   free < minimum / 2
///  ┌────────┐ ───────────► ┌─────┐ ───────────────────────────► ┌──────────┐
///  │ normal │              │ low │                              │ critical │
///  └────────┘ ◄─────────── └─────┘                              └──────────┘
///      ▲ │    free ≥ recovery = minimum + minimum / 4            ▲     │
///      │ └───────────────────────────────────────────────────────┘     │
///      └───────────────────────────────────────────────────────────────┘
/// ```
///
/// Recording stays stopped until `recovery`, because a disk at the limit would otherwise start and stop recordings
/// endlessly; from `critical` there is no way back to `low`. No state is terminal. A minimum of 0 never stops anything.
public struct DiskGovernorStateMachine: ~Copyable {
    /// Level of the disk, for status and metrics.
    public enum Level: String, Sendable, Hashable, CaseIterable {
        /// Enough room.
        case normal
        /// Less than the minimum: no video is written.
        case low
        /// Less than half of the minimum: nothing is written.
        case critical
    }

    /// Where the disk is.
    public private(set) var level: Level = .normal
    /// Bytes that should stay free.
    public private(set) var minimumFree: Int64

    /// A governor that has measured nothing yet.
    ///
    /// - Parameter minimumFree: Bytes that should stay free; less than 0 counts as 0.
    public init(minimumFree: Int64) {
        self.minimumFree = max(0, minimumFree)
    }

    /// The steps to take after a measurement.
    public enum OnMeasured: Sendable, Hashable {
        /// Nothing.
        case none
        /// Leave video out of every recording, and raise the alarm.
        case stopVideo
        /// Finish every recording and begin none, and raise the alarm.
        case stopEverything
        /// Record again what the rooms' definitions say, and end the alarm.
        case recover
    }

    /// The free bytes of the storage were measured.
    public mutating func measured(freeBytes: Int64) -> OnMeasured {
        let isLow = freeBytes < self.minimumFree
        let isCritical = freeBytes < self.minimumFree / 2
        let isRecovered = freeBytes > 0 && freeBytes - self.minimumFree >= self.minimumFree / 4
        switch self.level {
        case .normal:
            if isCritical {
                self.level = .critical
                return .stopEverything
            }
            self.level = isLow ? .low : .normal
            return isLow ? .stopVideo : .none
        case .low:
            if isCritical {
                self.level = .critical
                return .stopEverything
            }
            self.level = isRecovered ? .normal : .low
            return isRecovered ? .recover : .none
        case .critical:
            self.level = isRecovered ? .normal : .critical
            return isRecovered ? .recover : .none
        }
    }

    /// Whether a measurement is wanted at once and an alarm with it, after a write failed.
    ///
    /// The failure may come between two measurements of a disk that fills fast, and then what follows is the
    /// measurement's business. It may also have a reason that no measurement shows, such as a quota or a broken disk:
    /// recorders then try again automatically, and the operator must know.
    public func alarmsAboutFailedWrite() -> Bool {
        switch self.level {
        case .normal, .low: true
        // Nothing should be written: this one was under way.
        case .critical: false
        }
    }

    /// The configuration has another minimum; it counts from the next measurement on.
    public mutating func minimumChanged(_ minimumFree: Int64) {
        self.minimumFree = max(0, minimumFree)
    }
}
