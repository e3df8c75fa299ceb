// SPDX-License-Identifier: Apache-2.0

/// Which layer of a camera is recorded, of those that come: the best, and for want of it the next.
///
/// A peer that keeps to our answer sends the best one alone. If a peer sends other layers, those wait until the best
/// had time to come.
public struct LayerChoice: Sendable, Hashable {
    /// The action for a source.
    public enum Decision: Sendable, Hashable {
        /// Record it.
        case take
        /// Keep its packets, and ask again later.
        case wait
        /// Another layer is recorded instead of it.
        case refuse
    }

    /// The layers, best first.
    public let layers: [String]
    /// The best layer that is recorded so far; nil if none is.
    public private(set) var recorded: String?
    private var isOver = false

    /// Nothing came yet.
    public init(layers: [String]) {
        self.layers = layers
    }

    /// A source came.
    ///
    /// - Parameter layer: which one it is; nil if neither packets nor description say, or it is none of those offered.
    public mutating func came(_ layer: String?) -> Decision {
        guard let layer, let place = self.layers.firstIndex(of: layer) else { return .take }
        if let recorded = self.recorded.flatMap(self.layers.firstIndex) {
            guard place <= recorded else { return .refuse }
        } else if place > 0, !self.isOver {
            return .wait
        }
        self.recorded = layer
        return .take
    }

    /// The best layer had time to come.
    ///
    /// - Parameter waiting: the layers of the sources that wait.
    /// - Returns: what to do with each of them.
    public mutating func timeIsOver(waiting: [String]) -> [Decision] {
        self.isOver = true
        let places = waiting.map { self.layers.firstIndex(of: $0) ?? self.layers.endIndex }
        // The best of them first, so that the others are refused.
        var decisions = [Decision](repeating: .refuse, count: waiting.count)
        for index in places.indices.sorted(by: { places[$0] < places[$1] }) {
            decisions[index] = self.came(waiting[index])
        }
        return decisions
    }
}
