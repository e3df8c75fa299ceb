// SPDX-License-Identifier: Apache-2.0

/// When one of several sources of a sender sends, so that sources that take turns are noticed: a camera in front and one behind,
/// or the sources that a server puts onto one media section.
struct SourceTurns: Sendable, Hashable {
    /// How many turns began another file.
    var count = 0
    private var began: Int64?
    private var newest: Int64?

    /// A turn is over when nothing came for this long, in nanoseconds.
    private static let pause: Int64 = 1_000_000_000
    /// Each turn is a file: more of them stay in the file that there is.
    private static let most = 64

    /// A unit of the source is in its file.
    mutating func unitTaken(at now: Int64) {
        if self.newest == nil || self.isOver(at: now) { self.began = now }
        self.newest = now
    }

    /// Whether another unit may begin another file.
    func mayBegin(at now: Int64) -> Bool { self.count < Self.most && self.isOver(at: now) }

    private func isOver(at now: Int64) -> Bool { self.newest.map { now - $0 > Self.pause } ?? false }

    /// Whether the newest turn began when the newest one of another source was over.
    func began(after other: SourceTurns) -> Bool {
        guard let began = self.began, let newest = other.newest else { return false }
        return began > newest
    }
}
