// SPDX-License-Identifier: Apache-2.0

internal import Timeline

extension ExportReport {
    private static let shortestGap: Int64 = 1_000_000_000

    /// Stretches of a second or more in which no track has anything.
    var emptyStretches: [Gap] {
        var covered: [(start: Int64, end: Int64)] = []
        for track in self.tracks where track.units > 0 {
            var start = track.startNanoseconds
            for gap in track.gaps {
                covered.append((start, gap.startNanoseconds))
                start = gap.startNanoseconds &+ gap.durationNanoseconds
            }
            covered.append((start, track.startNanoseconds &+ track.durationNanoseconds))
        }
        var found: [Gap] = []
        var end: Int64?
        for stretch in covered.sorted(by: { $0.start < $1.start }) {
            if let end, stretch.start &- end >= Self.shortestGap {
                found.append(Gap(startNanoseconds: end, durationNanoseconds: stretch.start &- end))
            }
            end = max(end ?? stretch.end, stretch.end)
        }
        return Array(found.prefix(Certificate.Spans.maximumListed))
    }
}

extension Certificate.Finding {
    /// A stretch of a series that is in no recording of it.
    static func ofSeries(_ gap: Certificate.Span, in file: String?) -> Self {
        let (start, length) = (gap.startNanoseconds / 1_000_000, gap.durationNanoseconds / 1_000_000)
        return Self(.gap, .gap, file: file, "no host recorded anything for \(length) ms at \(start) ms")
    }
}
