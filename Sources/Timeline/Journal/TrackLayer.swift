// SPDX-License-Identifier: Apache-2.0

/// Which of several layers of a camera a track holds, where a participant offers them at once (simulcast, RFC 8853).
public struct TrackLayer: Sendable, Hashable, Codable {
    /// The layer that is recorded, as the sender calls it; `nil` if its packets do not say.
    public var recorded: String?
    /// All layers that were offered, best first, of which our answer asked for the first.
    public var offered: [String]

    /// A layer with each part given.
    public init(recorded: String?, offered: [String]) {
        self.recorded = recorded
        self.offered = offered
    }

    /// Whether the best layer is recorded.
    public var isBest: Bool { self.recorded != nil && self.recorded == self.offered.first }

    /// One human-readable line, without a full stop.
    public var text: String {
        let best = self.offered.first ?? ""
        guard let recorded = self.recorded else { return "layer unknown, asked for \(best)" }
        return recorded == best ? "layer \(best)" : "layer \(recorded), asked for \(best)"
    }
}
