// SPDX-License-Identifier: Apache-2.0

internal import Basics

/// Where the units of one track belong on the session clock, stretch by stretch.
struct TrackPlacement: Sendable {
    private struct Stretch {
        /// The RTP time from which it holds.
        let start: Int64
        let rtpOrigin: Int64
        /// Session time of the origin, in nanoseconds.
        let originNanoseconds: Int64
        /// Correction of media time, from the origin.
        let correction: SampledCurve
        /// The slopes of the correction before and beyond the curve.
        let slopes: (before: Double, beyond: Double)
        /// The earliest session time: where the stretch before it ends.
        let floor: Int64
        let lastRTPTime: Int64
        let basis: RTPClockMap.Basis
        let sampleCount: Int
    }

    private let clock: RTPClock
    private var stretches: [Stretch] = []

    init(clock: RTPClock) {
        self.clock = clock
    }

    /// Adds a stretch that begins at a later RTP time than those before it.
    ///
    /// `sessionTime` gives the session time, in nanoseconds, at an RTP time near the samples.
    mutating func append(
        _ start: Int64,
        _ samples: [ClockSample],
        basis: RTPClockMap.Basis,
        sessionTime: (Int64) -> Double
    ) {
        guard let first = samples.map(\.rtpTime).min(), let last = samples.map(\.rtpTime).max(),
            let origin = Int64(exactly: sessionTime(first).rounded())
        else { return }
        let span = Double(self.clock.nanoseconds(ticks: last &- first))
        let places = SampledCurve.places(from: 0, to: span, spacing: Self.spacing)
        // One more place on each side gives the slopes there.
        let corrections = (-1...places.count).map { place -> Double in
            let media = Double(place) * places.spacing
            let ticks = self.clock.ticks(nanoseconds: clamped(media))
            return sessionTime(first &+ ticks) - Double(origin) - Double(self.clock.nanoseconds(ticks: ticks))
        }
        let inner = Array(corrections.dropFirst().dropLast())
        self.stretches.append(
            Stretch(
                start: start,
                rtpOrigin: first,
                originNanoseconds: origin,
                correction: SampledCurve(start: 0, spacing: places.spacing, values: inner),
                slopes: (
                    ((inner.first ?? 0) - (corrections.first ?? 0)) / places.spacing,
                    ((corrections.last ?? 0) - (inner.last ?? 0)) / places.spacing
                ),
                floor: self.stretches.last.flatMap { self.sessionTimeNanoseconds($0.lastRTPTime) } ?? .min,
                lastRTPTime: last,
                basis: basis,
                sampleCount: samples.count
            )
        )
    }

    /// Basis of most of the track; `nil` if nothing is known of it.
    var basis: RTPClockMap.Basis? {
        self.stretches.max { $0.sampleCount < $1.sampleCount }?.basis
    }

    /// When a unit belongs; `nil` if nothing is known of the track.
    func sessionTimeNanoseconds(_ rtpTime: Int64) -> Int64? {
        guard !self.stretches.isEmpty else { return nil }
        let stretch = self.stretches[max(0, self.stretches.partitioningIndex { $0.start > rtpTime } - 1)]
        let elapsed = self.clock.nanoseconds(ticks: rtpTime &- stretch.rtpOrigin)
        let media = Double(elapsed)
        let end = stretch.correction.start + stretch.correction.spacing * Double(stretch.correction.values.count - 1)
        let correction =
            stretch.correction(media) + stretch.slopes.before * min(0, media)
            + stretch.slopes.beyond * max(0, media - end)
        return max(stretch.floor, stretch.originNanoseconds &+ elapsed &+ clamped(correction.rounded()))
    }

    /// Within this time, in nanoseconds, any change of the clocks is taken as a straight line.
    private static let spacing = 5e9
}
