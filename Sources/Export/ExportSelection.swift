// SPDX-License-Identifier: Apache-2.0

/// Which part of a recording is exported.
public struct ExportSelection: Sendable, Hashable {
    /// Only this participant's tracks; `nil` for everybody's.
    public var participant: String?
    /// From here on, counted from the recording's first unit; pictures from the last keyframe before.
    public var from: Duration?
    /// Up to here, counted from the recording's first unit.
    public var to: Duration?

    /// Everything, unless said otherwise.
    public init(participant: String? = nil, from: Duration? = nil, to: Duration? = nil) {
        self.participant = participant
        self.from = from
        self.to = to
    }

    /// Whether nothing is left out.
    public var isWhole: Bool { self == ExportSelection() }
}

extension Duration {
    /// Whole nanoseconds from a recording's beginning, within what a file can state.
    var fileNanoseconds: Int64 {
        let (seconds, attoseconds) = self.components
        let bounded = min(max(seconds, 0), 1 << 30)
        return bounded * 1_000_000_000 + max(attoseconds, 0) / 1_000_000_000
    }
}
