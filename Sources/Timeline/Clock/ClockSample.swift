// SPDX-License-Identifier: Apache-2.0

/// One unit of a track on both clocks.
public struct ClockSample: Sendable, Hashable {
    /// The unit's unwrapped RTP time, in ticks.
    public var rtpTime: Int64
    /// The unit's arrival, in nanoseconds of our monotonic clock.
    public var monotonicNanoseconds: Int64

    /// A sample with both parts given.
    public init(rtpTime: Int64, monotonicNanoseconds: Int64) {
        self.rtpTime = rtpTime
        self.monotonicNanoseconds = monotonicNanoseconds
    }
}

/// Picks the clock anchors of a track: the first unit at once, then for each second the unit that was least late.
///
/// The first unit after a pause is one as well, and one that is much earlier or later than the unit before it: there a
/// sender's timeline may have stood still or jumped.
///
/// The least late unit carries the most information about the sender's clock: queues only ever add delay.
public struct ClockAnchorSampler: Sendable {
    private let clock: RTPClock
    private let intervalNanoseconds: Int64
    private var origin: ClockSample?
    private var last: ClockSample?
    private var lastJump: Int64?
    private var windowStart: Int64 = 0
    private var best: (sample: ClockSample, lateness: Int64)?

    /// Units that wait for each other are mostly late by less.
    private static let jumpNanoseconds: UInt64 = 200_000_000

    /// A sampler for one track that gives at most one anchor in each interval.
    public init(clock: RTPClock, intervalNanoseconds: Int64 = 1_000_000_000) {
        self.clock = clock
        self.intervalNanoseconds = intervalNanoseconds
    }

    /// Takes the next unit; returns an anchor when one is due.
    public mutating func observe(_ sample: ClockSample) -> ClockSample? {
        defer { self.last = sample }
        guard let origin = self.origin, let last = self.last else {
            self.origin = sample
            self.windowStart = sample.monotonicNanoseconds
            return sample
        }
        let pause = sample.monotonicNanoseconds &- last.monotonicNanoseconds
        let step = pause &- self.clock.nanoseconds(ticks: sample.rtpTime &- last.rtpTime)
        // A sender that jumps with every unit must not fill the journal.
        let jumps =
            step.magnitude >= Self.jumpNanoseconds
            && self.lastJump.map { (sample.monotonicNanoseconds &- $0).magnitude >= Self.jumpNanoseconds } ?? true
        if jumps { self.lastJump = sample.monotonicNanoseconds }
        if pause >= self.intervalNanoseconds || jumps {
            self.windowStart = sample.monotonicNanoseconds
            self.best = nil
            return sample
        }
        let elapsed = sample.monotonicNanoseconds &- origin.monotonicNanoseconds
        let lateness = elapsed &- self.clock.nanoseconds(ticks: sample.rtpTime &- origin.rtpTime)
        if self.best.map({ lateness < $0.lateness }) ?? true {
            self.best = (sample, lateness)
        }
        guard sample.monotonicNanoseconds &- self.windowStart >= self.intervalNanoseconds else { return nil }
        self.windowStart = sample.monotonicNanoseconds
        defer { self.best = nil }
        return self.best?.sample
    }
}
