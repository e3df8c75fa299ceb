// SPDX-License-Identifier: Apache-2.0

/// Says which units of one video track cannot be decoded because packets before or in them never came.
///
/// After a loss, frames refer to missing ones, until the next whole keyframe. Audio has no such state: a loss there is
/// a gap.
public struct TrackDamage: Sendable, Hashable {
    private enum State: Sendable, Hashable {
        /// Every unit can be decoded.
        case whole
        /// This many units refer to some that are in the file before, and to nothing else that is missing.
        case cutOff(units: UInt64)
        /// This many units, all of which are recorded, refer to some that never came.
        case damaged(units: UInt64)
    }

    private var state = State.whole

    /// A track whose next unit is whole, or starts again.
    public init() {}

    /// Whether units refer to some that are not in the same file.
    public var isDamaged: Bool { self.state != .whole }

    /// The effect of a unit on its track.
    public enum OnUnit: Sendable, Hashable {
        /// It can be decoded, or not, like the one before.
        case unchanged
        /// It is the first that cannot be decoded; of a file that begins so, the first after a loss once more.
        case damaged(lostPackets: UInt64)
        /// It is a keyframe, and the first that can be decoded again after this many that cannot.
        case mended(units: UInt64)
    }

    /// A unit is about to be written.
    ///
    /// - Parameters:
    ///   - lostPackets: packets that are missing since the unit before.
    ///   - isWholeKeyframe: whether a decoder can begin with it.
    public mutating func unitCame(lostPackets: Int, isWholeKeyframe: Bool) -> OnUnit {
        if isWholeKeyframe {
            defer { self.state = .whole }
            switch self.state {
            case .whole: return .unchanged
            case .cutOff(let units), .damaged(let units): return .mended(units: units)
            }
        }
        switch self.state {
        case .whole:
            guard lostPackets > 0 else { return .unchanged }
            self.state = .damaged(units: 1)
        case .cutOff(let units):
            guard lostPackets > 0 else {
                self.state = .cutOff(units: units &+ 1)
                return .unchanged
            }
            self.state = .damaged(units: units &+ 1)
        case .damaged(let units):
            self.state = .damaged(units: units &+ 1)
            return .unchanged
        }
        return .damaged(lostPackets: UInt64(clamping: lostPackets))
    }

    /// A unit is about to be written that refers to others which are not in the same file.
    public mutating func beginsDamaged(lostPackets: Int) -> OnUnit {
        self.state = lostPackets > 0 ? .damaged(units: 1) : .cutOff(units: 1)
        return .damaged(lostPackets: UInt64(clamping: lostPackets))
    }
}
