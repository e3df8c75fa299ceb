// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import Storage
internal import Timeline

/// Which part of a recording is exported.
public struct ExportSelection: Sendable, Hashable {
    /// Only this participant's tracks: an id or a name, or the beginning of one that no other has; `nil` for
    /// everybody's.
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
    public var isWhole: Bool { self.participant == nil && self.to == nil && (self.from ?? .zero) == .zero }

    /// What the name of the export's file has behind its layout, so that no part takes the place of another.
    ///
    /// Nothing for everything, else such as `-alice-from-90s-to-100.5s`, fit for a path.
    public var nameSuffix: String {
        guard !self.isWhole else { return "" }
        var parts: [String] = []
        if let participant = self.participant {
            parts.append(Sanitiser.pathComponent(participant, fallback: "participant"))
        }
        if let from = self.from { parts += ["from", Self.seconds(from)] }
        if let to = self.to { parts += ["to", Self.seconds(to)] }
        return parts.map { "-" + $0 }.joined()
    }

    /// Seconds with as many decimals as are needed, to the millisecond.
    private static func seconds(_ duration: Duration) -> String {
        let milliseconds = duration.fileNanoseconds / 1_000_000
        var decimals = String(String(milliseconds % 1000 + 1000).dropFirst())
        while decimals.last == "0" { decimals.removeLast() }
        return "\(milliseconds / 1000)\(decimals.isEmpty ? "" : "." + decimals)s"
    }
}

extension Duration {
    /// Whole nanoseconds from a recording's beginning, within what a file can state.
    var fileNanoseconds: Int64 {
        min(max(self, .zero), .seconds(1 << 30)).nanoseconds
    }
}
