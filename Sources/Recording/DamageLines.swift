// SPDX-License-Identifier: Apache-2.0

/// Which lines about the damage of one track go into its journal: one each of damage and mending in 200 ms.
///
/// A sender that loses packets around every keyframe would have two lines written for each. Damage that follows a
/// keyframe so soon counts as one with the damage before it, and the time between them counts as damaged. An export may
/// leave out a few frames too many; it must not show frames that cannot be decoded. The keyframe's line is therefore
/// held until it is clear which case it is. Pure; instants are nanoseconds of one monotonic clock.
struct DamageLines: Sendable, Hashable {
    /// A line for the journal.
    struct Line: Sendable, Hashable {
        var damage: TrackDamage.OnUnit
        var rtpTime: Int64
        var arrivalNanoseconds: Int64
    }

    /// A keyframe that ends damage, unless more comes at once.
    private struct Mending: Sendable, Hashable {
        var rtpTime: Int64
        var arrivalNanoseconds: Int64
        /// Units that cannot be decoded.
        var units: UInt64
        /// Units since then, itself included.
        var later: UInt64 = 1
    }

    private static let interval: Int64 = 200_000_000

    /// When the newest damage that has a line came.
    private var damagedAt: Int64?
    private var held: Mending?
    /// Units of the present damage that came before those which `TrackDamage` counts.
    private var earlierUnits: UInt64 = 0

    /// A unit came that means this to its track.
    mutating func unitCame(_ damage: TrackDamage.OnUnit, rtpTime: Int64, at now: Int64) -> [Line] {
        let due = self.takeDue(at: now)
        switch damage {
        case .unchanged:
            self.held?.later &+= 1
            return due
        case .damaged:
            if let held = self.held {
                self.earlierUnits = held.units &+ held.later
                self.held = nil
                return due
            }
            self.damagedAt = now
            return due + [Line(damage: damage, rtpTime: rtpTime, arrivalNanoseconds: now)]
        case .mended(let units):
            self.held = Mending(rtpTime: rtpTime, arrivalNanoseconds: now, units: self.earlierUnits &+ units)
            self.earlierUnits = 0
            return due + self.takeDue(at: now)
        }
    }

    /// The line that is held, if it is clear by now that it is right.
    mutating func takeDue(at now: Int64) -> [Line] {
        if let damagedAt = self.damagedAt, now - damagedAt < Self.interval { return [] }
        return self.takeAll()
    }

    /// The line that is held: no more units come.
    mutating func takeAll() -> [Line] {
        guard let held = self.held else { return [] }
        self.held = nil
        let damage = TrackDamage.OnUnit.mended(units: held.units)
        return [Line(damage: damage, rtpTime: held.rtpTime, arrivalNanoseconds: held.arrivalNanoseconds)]
    }
}
