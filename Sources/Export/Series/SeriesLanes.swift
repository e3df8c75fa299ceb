// SPDX-License-Identifier: Apache-2.0

import Matroska
import Timeline

/// Puts the track files of a series into as few tracks as there were senders.
enum SeriesLanes {
    /// The tracks of an export, in the order of `sources`, by whose file they begin with.
    ///
    /// A file goes on in the track of the file from which its RTP stream went on; else, as after a restart or when somebody
    /// comes back, in one of the same participant and codec that is over by then, rather one with the same media section.
    /// Decoders are set up once for a track, so files that need another set-up begin another track, unless the stream itself
    /// went on: then its pictures bring the set-up with them.
    static func join(_ sources: [TrackSource], _ contents: RecordingContents, _ journal: SeriesJournal) -> [TrackLane] {
        var lanes: [TrackLane] = []
        /// By number of the source: the index of its lane, for the last source of each.
        var ends: [Int: Int] = [:]
        let followed = Set(journal.predecessors.values)
        for source in sources.sorted(by: Self.isEarlier) {
            let before = source.number.flatMap { journal.predecessors[$0] }
            let index =
                before.flatMap { ends[$0] }.flatMap { lanes[$0].first.canGoOn(in: source) ? $0 : nil }
                ?? Self.free(source, lanes, contents, journal, followed)
            if let index {
                if let last = lanes[index].sources.last?.number { ends[last] = nil }
                lanes[index].append(source, isContinued: before != nil && before == lanes[index].sources.last?.number)
            } else {
                lanes.append(TrackLane(source))
            }
            if let number = source.number { ends[number] = index ?? lanes.count - 1 }
        }
        let order = Dictionary(
            sources.enumerated().map { ($1.file, $0) },
            uniquingKeysWith: { first, _ in first }
        )
        return lanes.sorted { (order[$0.first.file] ?? .max) < (order[$1.first.file] ?? .max) }
    }

    private static func isEarlier(_ left: TrackSource, _ right: TrackSource) -> Bool {
        let times = (left.firstNanoseconds ?? .max, right.firstNanoseconds ?? .max)
        return times.0 == times.1 ? left.file < right.file : times.0 < times.1
    }

    /// The track that is over when the source begins.
    private static func free(
        _ source: TrackSource,
        _ lanes: [TrackLane],
        _ contents: RecordingContents,
        _ journal: SeriesJournal,
        _ followed: Set<Int>
    ) -> Int? {
        let candidates = lanes.indices.filter { index in
            guard let last = lanes[index].sources.last, let number = last.number, lanes[index].first.fits(source),
                last.participant == source.participant, !followed.contains(number),
                let end = contents.endNanoseconds(of: last, key: journal.clocks[number] ?? number),
                let start = source.firstNanoseconds
            else { return false }
            return end < start
        }
        return candidates.first { lanes[$0].sources.last?.opened?.mid == source.opened?.mid } ?? candidates.first
    }
}

extension RecordingContents {
    /// The session time of a track's last unit, or of one near it, as the journal tells.
    fileprivate func endNanoseconds(of source: TrackSource, key: Int) -> Int64? {
        guard let number = source.number else { return nil }
        let last = self.closed[number]?.lastRTPTime ?? self.facts.anchors[number]?.last?.rtpTime
        return last.flatMap { self.map.sessionTimeNanoseconds(track: key, rtpTime: $0) }
    }
}
