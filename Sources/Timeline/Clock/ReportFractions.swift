// SPDX-License-Identifier: Apache-2.0

/// The unit of the fractions of seconds in a sender's reports.
///
/// RFC 3550 section 4 counts 2^32 in a second. Some senders put nanoseconds, microseconds or milliseconds there, so that their
/// wall clock runs too slowly within each second, and tracks whose reports come at different places in it are apart.
enum ReportFractions {
    private static let right = 4_294_967_296.0
    private static let others = [1e9, 1e6, 1e3]
    /// Fewer steps from one report to the next say nothing.
    private static let fewestSteps = 4
    /// Wall clocks that differ from the RTP clock by less, in nanoseconds, are right.
    private static let noise = 50e3
    /// A unit must explain the reports so much better than the right one.
    private static let advantage = 4.0

    /// The tracks of one sender, with reports that count as they should.
    static func corrected(_ tracks: [TrackClockData]) -> [TrackClockData] {
        guard let largest = tracks.flatMap(\.reports).map(\.ntpTime.fraction).max(),
            let error = self.error(of: tracks, unit: self.right), error > self.noise
        else { return tracks }
        let units = self.others.filter { Double(largest) < $0 }.compactMap { unit in
            self.error(of: tracks, unit: unit).map { (unit: unit, error: $0) }
        }
        let best = units.min { $0.error < $1.error }
        guard let best, best.error * self.advantage < error else { return tracks }
        return tracks.map { data in
            var data = data
            for index in data.reports.indices {
                data.reports[index].ntpTime.scaleFraction(by: self.right / best.unit)
            }
            return data
        }
    }

    /// How unevenly the wall clock runs against the RTP clocks from one report to the next, in nanoseconds; nil if too few reports
    /// tell.
    private static func error(of tracks: [TrackClockData], unit: Double) -> Double? {
        let errors = tracks.flatMap { data -> [Double] in
            let reports = data.reports.filter { !$0.ntpTime.isUnset }
                .sorted { $0.monotonicNanoseconds < $1.monotonicNanoseconds }
            return zip(reports, reports.dropFirst()).map { one, next in
                let ticks = Int32(bitPattern: next.rtpTimestamp &- one.rtpTimestamp)
                let media = Double(data.clock.nanoseconds(ticks: Int64(ticks)))
                let seconds = Double(next.ntpTime.seconds) - Double(one.ntpTime.seconds)
                let fraction = Double(next.ntpTime.fraction) - Double(one.ntpTime.fraction)
                return (seconds + fraction / unit) * 1e9 - media
            }
        }
        let middle = median(errors)
        // A fraction cannot be wrong by more than a second: other steps are of a clock that was set. Fractions that rise slowly are
        // wrong once in many steps, which a median would not see.
        let deviations = errors.map { abs($0 - middle) }.filter { $0 < 1e9 }
        guard deviations.count >= self.fewestSteps else { return nil }
        return deviations.reduce(0, +) / Double(deviations.count)
    }
}

extension NTPTime {
    fileprivate var seconds: UInt64 { self.rawValue >> 32 }
    fileprivate var fraction: UInt64 { self.rawValue & 0xFFFF_FFFF }

    fileprivate mutating func scaleFraction(by factor: Double) {
        let scaled = UInt64((Double(self.fraction) * factor).rounded())
        self.rawValue = self.rawValue & ~0xFFFF_FFFF | min(scaled, 0xFFFF_FFFF)
    }
}
