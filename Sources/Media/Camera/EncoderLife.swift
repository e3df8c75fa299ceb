// SPDX-License-Identifier: Apache-2.0

/// When the encoders of one codec are started, exchanged and ended.
///
///     resting ── wanted ──▶ starting ── started ──▶ running
///        ▲ ▲                 │ │  ▲                 │ │
///        │ └── none is left ─┘ │  ├── failed, stuck ─┤ │
///        │                     └──┘ outdated, failed │ │
///        └──────────── no consumer for three looks ──┘             any ── stop ──▶ stopped
///
/// Pure. `stopped` is terminal. Each try of an encoder has a number: a report on an encoder that is gone is a harmless race and
/// ignored. Instants are nanoseconds of the monotonic clock.
struct EncoderLife: Sendable, Hashable {
    /// Steps of its driver, in this order.
    enum Action: Sendable, Hashable {
        /// Starts the best encoder that is left, under that number; `started`, `didNotStart` or `noneIsLeft` follows.
        case start(Int)
        /// Ends the encoder of that number; consumers stay.
        case end(Int, Reason)
    }

    /// Why an encoder ends.
    enum Reason: Sendable, Hashable {
        /// It has no consumer, or another one takes its place, or the camera stops.
        case notNeeded
        /// It reported this error, and is not tried again.
        case failed(String)
        /// It takes frames and gives nothing; it is not tried again, and may not end either.
        case stuck
    }

    /// An encoder at a look.
    struct Look: Sendable, Hashable {
        /// How many consumers its output has.
        var consumers: Int
        /// Whether it left out frames since they were last counted.
        var hasDropped = false
        /// How many units its output ever had.
        var count: UInt64 = 0
    }

    private enum State: Sendable, Hashable {
        case resting
        /// `isOutdated`: the settings changed since; `failure`: it failed before it was reported as started.
        case starting(Int, isOutdated: Bool, failure: String?)
        case running(Int, idleLooks: Int, stuckLooks: Int, count: UInt64)
        case stopped
    }

    /// An encoder that this many looks in a row find without consumers ends: peers that join again within it wait for nothing.
    private static let idleLooks = 3
    /// An encoder that this many looks in a row find full, without new output, is exchanged.
    private static let stuckLooks = 5

    private var state = State.resting
    private var number = 0
    private var retry = EncoderRetry()

    /// Whether an encoder runs or is being started.
    var isActive: Bool {
        switch self.state {
        case .starting, .running: true
        case .resting, .stopped: false
        }
    }

    /// Whether none was left before, and no encoder has run for long since.
    var isFailing: Bool { self.retry.isFailing }

    /// Whether a consumer that comes now gets an encoder.
    func mayStart(at now: UInt64) -> Bool { self.state == .resting && self.retry.mayStart(at: now) }

    /// A consumer is about to take its output.
    mutating func wanted(at now: UInt64) -> [Action] {
        switch self.state {
        case .resting: return self.mayStart(at: now) ? [self.start()] : []
        case .running(let number, _, let stuckLooks, let count):
            self.state = .running(number, idleLooks: 0, stuckLooks: stuckLooks, count: count)
            return []
        case .starting, .stopped: return []
        }
    }

    /// The encoder of that number runs.
    mutating func started(_ number: Int, at now: UInt64) -> [Action] {
        switch self.state {
        case .starting(number, let isOutdated, let failure):
            self.retry.started(at: now)
            self.state = .running(number, idleLooks: 0, stuckLooks: 0, count: 0)
            if let failure { return self.exchange(number, .failed(failure), at: now) }
            return isOutdated ? self.exchange(number, .notNeeded, at: now) : []
        case .running(number, _, _, _): return []
        case .starting, .running, .resting, .stopped: return [.end(number, .notNeeded)]
        }
    }

    /// The encoder of that number did not start; there may be others.
    mutating func didNotStart(_ number: Int) -> [Action] {
        switch self.state {
        case .starting(number, _, _): [self.start()]
        case .starting, .running, .resting, .stopped: []
        }
    }

    /// No encoder is left for that number.
    ///
    /// - Returns: whether that is news.
    mutating func noneIsLeft(_ number: Int, at now: UInt64) -> Bool {
        switch self.state {
        case .starting(number, _, _):
            self.state = .resting
            return self.retry.failed(at: now)
        case .starting, .running, .resting, .stopped: return false
        }
    }

    /// The encoder of that number reported an error.
    mutating func failed(_ number: Int, because message: String, at now: UInt64) -> [Action] {
        switch self.state {
        case .running(number, _, _, _): return self.exchange(number, .failed(message), at: now)
        case .starting(number, let isOutdated, nil):
            self.state = .starting(number, isOutdated: isOutdated, failure: message)
            return []
        case .starting, .running, .resting, .stopped: return []
        }
    }

    /// Its settings changed, or what comes in has a hole.
    mutating func changed(at now: UInt64) -> [Action] {
        switch self.state {
        case .running(let number, _, _, _): return self.exchange(number, .notNeeded, at: now)
        case .starting(let number, _, let failure):
            self.state = .starting(number, isOutdated: true, failure: failure)
            return []
        case .resting, .stopped: return []
        }
    }

    /// Once a second.
    mutating func look(_ look: Look, at now: UInt64) -> [Action] {
        switch self.state {
        case .running(let number, var idleLooks, var stuckLooks, let count):
            stuckLooks = look.hasDropped && look.count == count ? stuckLooks + 1 : 0
            if stuckLooks >= Self.stuckLooks { return self.exchange(number, .stuck, at: now) }
            idleLooks = look.consumers > 0 ? 0 : idleLooks + 1
            if idleLooks >= Self.idleLooks {
                self.state = .resting
                self.retry.ended(at: now)
                return [.end(number, .notNeeded)]
            }
            self.state = .running(number, idleLooks: idleLooks, stuckLooks: stuckLooks, count: look.count)
            return []
        // A consumer came just when it ended, or while none works.
        case .resting: return look.consumers > 0 ? self.wanted(at: now) : []
        case .starting, .stopped: return []
        }
    }

    /// The camera ends.
    mutating func stop() -> [Action] {
        defer { self.state = .stopped }
        switch self.state {
        case .running(let number, _, _, _): return [.end(number, .notNeeded)]
        case .starting, .resting, .stopped: return []
        }
    }

    private mutating func start() -> Action {
        self.number += 1
        self.state = .starting(self.number, isOutdated: false, failure: nil)
        return .start(self.number)
    }

    private mutating func exchange(_ number: Int, _ reason: Reason, at now: UInt64) -> [Action] {
        self.retry.ended(at: now)
        return [.end(number, reason), self.start()]
    }
}
