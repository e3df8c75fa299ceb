// SPDX-License-Identifier: Apache-2.0

/// Whether a source gives media, by how its count of buffers grows.
///
/// A source is shown or hidden: a hidden one runs while a slate is in its place. Pure; the driver looks several times a
/// second and acts on what is found.
///
///     shown --silent--> hidden --gives--> shown
///                       hidden --stuck--> (the driver opens it again)
struct CaptureLiveness: Sendable, Hashable {
    /// What a look found.
    enum Finding: Sendable, Hashable {
        /// Nothing to do.
        case unchanged
        /// It is shown and has given nothing for too long: it is hidden now.
        case silent
        /// It is hidden and gives something: it is shown now.
        case gives
        /// It is hidden and has given nothing for so long that it should be opened again.
        case stuck
    }

    /// A shown source that gives nothing for this long is hidden, in nanoseconds.
    var patience: UInt64
    /// The same for its first buffer: devices take their time to begin.
    let firstPatience: UInt64
    /// A hidden source that gives nothing for this long is stuck, in nanoseconds.
    var limit: UInt64
    /// Whether something else is in its place.
    private(set) var isHidden: Bool
    /// Whether it has given anything.
    var hasGiven: Bool { self.gaveAt != nil }
    /// When it gave something last, on the monotonic clock.
    private(set) var gaveAt: UInt64?
    /// Where the count stood, and since when it is waited for more.
    private var count: UInt64
    private var grewAt: UInt64

    /// A source that begins now; `count` is where its count stands.
    init(isHidden: Bool, count: UInt64, now: UInt64, patience: UInt64, firstPatience: UInt64, limit: UInt64) {
        self.isHidden = isHidden
        self.count = count
        self.grewAt = now
        self.patience = patience
        self.firstPatience = firstPatience
        self.limit = limit
    }

    /// Takes the count of the place where its media go now, at an instant of the monotonic clock in nanoseconds.
    mutating func look(count: UInt64, now: UInt64) -> Finding {
        if count > self.count {
            self.count = count
            self.grewAt = now
            self.gaveAt = now
            guard self.isHidden else { return .unchanged }
            self.isHidden = false
            return .gives
        }
        let pause = self.pause(at: now)
        if !self.isHidden, pause >= (self.hasGiven ? self.patience : self.firstPatience) {
            self.isHidden = true
            self.grewAt = now
            return .silent
        }
        if self.isHidden, pause >= self.limit { return .stuck }
        return .unchanged
    }

    /// How long it has given nothing, in nanoseconds.
    func pause(at now: UInt64) -> UInt64 { now > self.grewAt ? now - self.grewAt : 0 }

    /// Its media go to another place from now on, where the count stands as given.
    mutating func moved(count: UInt64) {
        self.count = count
    }
}
