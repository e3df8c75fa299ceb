// SPDX-License-Identifier: Apache-2.0

internal import Basics
import Matroska
import Timeline

/// Puts the track files of a recording, or of a series, into one track for each camera, screen and microphone.
///
/// A file continues the track of the file from which its RTP stream came. Else, as when a sender's source or
/// connection changed, after a restart, or when a participant comes back, it continues a track of the same participant,
/// codec and media section that is over by then. Files that need another set-up of decoders begin another track.
struct JoinedLanes {
    /// A peer connection as the media of one kind on it see it.
    private struct Connection: Hashable {
        var participant: String
        var media: MediaKind
        var part: Int
        /// `nil` if the journal does not tell it.
        var number: UInt64?
    }

    private let contents: RecordingContents
    /// Numbers of tracks, and those of the tracks whose streams they continue.
    private let predecessors: [Int: Int]
    private var followed: Set<Int>
    /// The parts of the recording that tracks were opened in.
    private let parts: [Int: Int]
    /// The media sections of each connection, by their identification tags.
    private let sections: [Connection: Set<String?>]
    private var lanes: [TrackLane] = []
    private var lanesOfParticipant: [String: [Int]] = [:]
    /// By number of the source: the index of its lane, for the last source of each.
    private var laneOfLast: [Int: Int] = [:]
    /// The session times of files' last units, once they were asked for.
    private var ends: [String: Int64] = [:]

    /// The tracks of an export, in the order of `sources`, by whose file they begin with; strays come last.
    ///
    /// - Parameter byStream: whether only files of one RTP stream share a track.
    static func join(
        _ sources: [TrackSource],
        _ contents: RecordingContents,
        byStream: Bool
    ) throws(ExportError) -> [TrackLane] {
        var joined = JoinedLanes(contents)
        let parts = try joined.cut(sources)
        for source in parts.sorted(by: Self.isEarlier) { joined.add(source, byStream: byStream) }
        let order = Dictionary(
            sources.enumerated().map { ($1.file, $0) },
            uniquingKeysWith: { first, _ in first }
        )
        let inOrder = joined.lanes.sorted { (order[$0.first.file] ?? .max) < (order[$1.first.file] ?? .max) }
        return inOrder.filter { !joined.isStray($0) } + inOrder.filter(joined.isStray)
    }

    /// Whether a track is one unit that the rest of its RTP stream does not follow, as a first packet with a wrong time
    /// makes it: players that show one track of a sender show the first.
    private func isStray(_ lane: TrackLane) -> Bool {
        guard lane.sources.count == 1, let stray = lane.first.opened, let ssrc = stray.ssrc, self.units(stray) == 1
        else {
            return false
        }
        return self.contents.history.tracks.contains { other in
            other.record.ssrc == ssrc && other.record.participant == stray.participant
                && other.record.connection == stray.connection && self.units(other.record) > 1
        }
    }

    private func units(_ record: TrackOpened) -> UInt64 { self.contents.history.closed[record.track]?.units ?? 0 }

    private init(_ contents: RecordingContents) {
        self.contents = contents
        self.predecessors = contents.seriesJournal?.predecessors ?? [:]
        self.followed = Set(self.predecessors.values)
        var parts: [Int: Int] = [:]
        var sections: [Connection: Set<String?>] = [:]
        for opened in contents.history.tracks {
            parts[opened.record.track] = opened.part
            sections[Self.connection(opened.record, opened.part), default: []].insert(opened.record.mid)
        }
        self.parts = parts
        self.sections = sections
    }

    /// Cuts what several owners of a room recorded at the same time.
    private mutating func cut(_ sources: [TrackSource]) throws(ExportError) -> [TrackSource] {
        guard let epochs = self.contents.seriesJournal?.epochs, Set(epochs.values).count > 1 else { return sources }
        var ends = self
        let history = self.contents.history
        let overlaps = OverlapCut(
            isOneSender: { [self] in self.isOneSender($0, $1) },
            isPause: { history.isPause(from: $0, lasting: $1, track: nil, of: $2.participant, $2.media) }
        )
        let parts = try overlaps.cut(sources, epochs: epochs) { ends.end(of: $0) }
        self.ends = ends.ends
        // A file whose beginning was cut away follows none.
        let whole = Set(parts.filter { $0.window.lowerBound == .min }.compactMap(\.number))
        let cut = Set(sources.compactMap(\.number)).subtracting(whole)
        self.followed = Set(self.predecessors.filter { !cut.contains($0.key) }.values)
        return parts
    }

    private static func isEarlier(_ left: TrackSource, _ right: TrackSource) -> Bool {
        let times = (left.firstNanoseconds ?? .max, right.firstNanoseconds ?? .max)
        return times.0 == times.1 ? left.file < right.file : times.0 < times.1
    }

    private static func connection(_ record: TrackOpened, _ part: Int) -> Connection {
        Connection(participant: record.participant, media: record.media, part: part, number: record.connection)
    }

    private mutating func add(_ source: TrackSource, byStream: Bool) {
        // Behind the part that was cut out of it, a file continues itself.
        let isCut = source.window.lowerBound > .min
        let before = isCut ? source.number : source.number.flatMap { self.predecessors[$0] }
        let ofStream = before.flatMap { self.laneOfLast[$0] }
        var index = ofStream.flatMap { self.lanes[$0].first.canGoOn(in: source) ? $0 : nil }
        if index == nil, !byStream { index = self.over(before: source) }
        if let index {
            let last = self.lanes[index].sources.last
            if let number = last?.number { self.laneOfLast[number] = nil }
            let isContinued = before != nil && before == last?.number && last?.window.upperBound == .max
            self.lanes[index].append(source, isContinued: isContinued)
        } else {
            self.lanesOfParticipant[source.participant, default: []].append(self.lanes.count)
            self.lanes.append(TrackLane(source))
        }
        if let number = source.number { self.laneOfLast[number] = index ?? self.lanes.count - 1 }
    }

    /// The track that is over when the source begins, and of which it is the rest.
    ///
    /// If there are several, a track of the same media section is preferred, and then the one that ended last.
    private mutating func over(before source: TrackSource) -> Int? {
        guard let start = source.firstNanoseconds, let opened = source.opened else { return nil }
        var found: (index: Int, isOfSection: Bool, end: Int64)?
        for index in self.lanesOfParticipant[source.participant] ?? [] {
            guard let last = self.lanes[index].sources.last, let before = last.opened,
                last.window.upperBound < .max || !self.followed.contains(before.track),
                self.lanes[index].first.fits(source),
                self.isOneSender(before, opened), let end = self.end(of: last), end < start
            else { continue }
            let isOfSection = before.mid == opened.mid
            let isBetter = found.map { $0.isOfSection == isOfSection ? end > $0.end : isOfSection } ?? true
            if isBetter { found = (index, isOfSection, end) }
        }
        return found?.index
    }

    /// Whether two tracks of a participant are of one camera, screen or microphone, as far as descriptions tell.
    ///
    /// They are of one media section, or each is the only one of its kind on its connection.
    private func isOneSender(_ left: TrackOpened, _ right: TrackOpened) -> Bool {
        guard left.mid != right.mid else { return true }
        let connections = [left, right].map { Self.connection($0, self.parts[$0.track] ?? 0) }
        return connections[0] != connections[1] && connections.allSatisfy { self.sections[$0]?.count == 1 }
    }

    /// The session time of a source's last unit, no earlier: as the journal says, or the file itself where it was not
    /// closed.
    private mutating func end(of source: TrackSource) -> Int64? {
        self.endOfFile(source).map { min($0, source.window.upperBound &- 1) }
    }

    private mutating func endOfFile(_ source: TrackSource) -> Int64? {
        if let known = self.ends[source.file] { return known }
        guard let number = source.number else { return nil }
        let key = self.contents.seriesJournal?.clocks[number] ?? number
        let closed = self.contents.history.closed[number].flatMap {
            self.contents.map.sessionTimeNanoseconds(track: key, rtpTime: $0.lastRTPTime)
        }
        let end = closed ?? source.lastNanoseconds()
        self.ends[source.file] = end
        return end
    }
}
