// SPDX-License-Identifier: Apache-2.0

internal import Basics
import Matroska
import Timeline

/// Leaves each instant of a sender to one of the owners that recorded it at the same time.
///
/// The newest owner counts, from its first keyframe on, for audio from its first packet. An older one counts before that,
/// and where the newer ones have a hole; a video returns to the newer one at a keyframe.
struct OverlapCut {
    /// A sender's media of one kind.
    private struct Media: Hashable {
        var participant: String
        var kind: MediaKind
    }

    /// A source that rests, and its owner.
    private struct Owned {
        var source: TrackSource
        var opened: TrackOpened
        var epoch: Int
        /// When its last unit is due.
        var end: Int64
        /// Where it has units, as far as older owners recorded as well.
        var stretches: [ClosedRange<Int64>] = []
        /// Where it gives way to an older owner: from its last unit before to its first unit behind.
        var holes: Set<Range<Int64>> = []

        /// Finds its stretches, as long as an older owner recorded as well, and begins with the first of them.
        mutating func look(until end: Int64, distance: Int64) throws(ExportError) {
            guard let first = self.source.firstNanoseconds, first <= end else { return }
            self.stretches = try self.source.stretches(until: end, distance: distance)
            guard let begin = self.stretches.first?.lowerBound, begin > first,
                let part = try self.source.part(begin..<self.source.window.upperBound)
            else { return }
            self.source = part
        }

        /// Leaves one of its holes to units of an older owner.
        mutating func giveWay(to window: Range<Int64>) {
            guard let before = self.stretches.last(where: { $0.upperBound < window.lowerBound }),
                let behind = self.stretches.first(where: { $0.lowerBound >= window.upperBound })
            else { return }
            self.holes.insert(before.upperBound..<behind.lowerBound)
        }

        /// The source, parted at those holes.
        func parts() throws(ExportError) -> [TrackSource] {
            var parts: [TrackSource] = []
            var lower = self.source.window.lowerBound
            for hole in self.holes.sorted(by: { $0.lowerBound < $1.lowerBound }) {
                if let part = try self.source.part(lower..<(hole.lowerBound + 1)) { parts.append(part) }
                lower = hole.upperBound
            }
            if let part = try self.source.part(lower..<self.source.window.upperBound) { parts.append(part) }
            return parts
        }
    }

    /// Whether two tracks of a participant are of one camera, screen or microphone.
    let isOneSender: (TrackOpened, TrackOpened) -> Bool
    /// Whether a hole of a track, from a session time on and so long, was wanted: an older owner did not know of the pause.
    let isPause: (_ from: Int64, _ length: Int64, TrackOpened) -> Bool

    /// A shorter hole is not worth a change of owners: senders that detect silence make holes of 400 ms.
    private static let shortestHole: Int64 = 1_000_000_000
    /// Units of two owners that are nearer than half of a usual unit are the same one.
    private static func halfUnit(_ kind: MediaKind) -> Int64 { kind == .audio ? 10_000_000 : 15_000_000 }

    /// Cuts sources that rest; each becomes as many parts as are left of it.
    ///
    /// - Parameters:
    ///   - epochs: the epoch of the owner that recorded a track, by its number.
    ///   - end: when the last unit of a source is due.
    func cut(
        _ sources: [TrackSource],
        epochs: [Int: Int],
        end: (TrackSource) -> Int64?
    ) throws(ExportError) -> [TrackSource] {
        var result: [TrackSource] = []
        var ofMedia: [Media: [Owned]] = [:]
        for source in sources {
            guard let opened = source.opened, let epoch = epochs[opened.track], let first = source.firstNanoseconds
            else {
                result.append(source)
                continue
            }
            let media = Media(participant: source.participant, kind: source.track.codec.kind)
            ofMedia[media, default: []].append(
                Owned(source: source, opened: opened, epoch: epoch, end: max(first, end(source) ?? first))
            )
        }
        for (media, owned) in ofMedia { result += try self.cut(owned, media.kind) }
        return result
    }

    private func cut(_ owned: [Owned], _ kind: MediaKind) throws(ExportError) -> [TrackSource] {
        /// The rest of newer owners, and of older ones where those have nothing.
        var kept: [Owned] = []
        for epoch in Set(owned.map(\.epoch)).sorted(by: >) {
            let older = owned.filter { $0.epoch < epoch }.map(\.end).max()
            var rest: [Owned] = []
            for one in owned where one.epoch == epoch {
                for window in self.windows(of: one, nextTo: kept, kind) {
                    guard let part = try one.source.part(window) else { continue }
                    for index in kept.indices where self.isOneSender(one.opened, kept[index].opened) {
                        kept[index].giveWay(to: window)
                    }
                    var left = one
                    left.source = part
                    left.end = min(one.end, window.upperBound &- 1)
                    if let older { try left.look(until: older, distance: Self.shortestHole) }
                    rest.append(left)
                }
            }
            kept += rest
        }
        var result: [TrackSource] = []
        for one in kept { result += try one.parts() }
        return result
    }

    /// The session times at which newer owners have nothing of a source.
    private func windows(of one: Owned, nextTo newer: [Owned], _ kind: MediaKind) -> [Range<Int64>] {
        guard let first = one.source.firstNanoseconds else { return [] }
        var taken: [ClosedRange<Int64>] = []
        let stretches = newer.filter { self.isOneSender(one.opened, $0.opened) }.flatMap(\.stretches)
        for stretch in stretches.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            let hole = stretch.lowerBound &- (taken.last?.upperBound ?? .min)
            if let last = taken.last, hole <= Self.shortestHole || self.isPause(last.upperBound, hole, one.opened) {
                taken[taken.count - 1] = last.lowerBound...max(last.upperBound, stretch.upperBound)
            } else {
                taken.append(stretch)
            }
        }
        let half = Self.halfUnit(kind)
        var windows: [Range<Int64>] = []
        var lower = Int64.min
        for stretch in taken where stretch.upperBound &+ half > first && stretch.lowerBound &- half <= one.end {
            let upper = stretch.lowerBound &- half
            if upper > max(lower, first) { windows.append(lower..<upper) }
            lower = stretch.upperBound &+ half
        }
        if lower <= one.end { windows.append(lower..<Int64.max) }
        return windows
    }
}
