// SPDX-License-Identifier: Apache-2.0

import Storage
import Timeline

/// The journals of a series as one: tracks and parts are numbered through, times are on the first segment's clock.
struct SeriesJournal {
    /// Records whose times were damaged.
    private(set) var damagedCount = 0
    /// Which of the series' segments, from 0, a track is in, by its number here.
    private(set) var segments: [Int: Int] = [:]
    /// The epoch of the owner that recorded a track, by its number here.
    private(set) var epochs: [Int: Int] = [:]
    /// Tracks that continue another one that stopped at a cut: their numbers, and that of the one before.
    private(set) var predecessors: [Int: Int] = [:]
    /// The number of the first of the tracks that a track continues, or the track's own: all of them follow one RTP
    /// clock.
    private(set) var clocks: [Int: Int] = [:]
    /// Lines that could not be read.
    private(set) var skippedLines = 0
    /// How the clocks of the hosts behind the first were joined to it.
    private(set) var joins: [ClockJoin] = []
    /// The newest track of each stream.
    private var newest: [Stream: (record: TrackOpened, nanoseconds: Int64, number: Int)] = [:]
    private var part = 1

    /// Reads the journals.
    ///
    /// - Parameter body: is given all records, segment after segment; they are not kept.
    init(_ series: RecordingSeries, _ body: (JournalEntry) -> Void) throws(ExportError) {
        var numbers = Renumbering()
        let (leads, joins) = try Self.clocks(series)
        var placed = JournalParts(leads: leads)
        var result = self
        result.joins = joins
        func take(_ entry: JournalEntry) {
            result.note(entry, series)
            body(entry)
        }
        for (index, segment) in series.segments.enumerated() {
            numbers.beginSegment()
            let isOfAnotherOwner = index > 0 && series.segments[index - 1].epoch != segment.epoch
            do throws(StorageError) {
                let journal = try Journal.read(segment.folder) { entry in
                    let entry = numbers.renumbered(entry)
                    if case .trackOpened(let record) = entry.record {
                        result.segments[record.track] = index
                        result.epochs[record.track] = segment.epoch
                    }
                    placed.take(entry, take)
                    guard isOfAnotherOwner, case .recordingStarted(let record) = entry.record else { return }
                    // Its connections are not those of the owner before, whose numbers they have.
                    placed.take(numbers.part(record, at: entry.monotonicNanoseconds), take)
                }
                result.skippedLines += journal.skippedLines
            } catch {
                throw ExportError(error)
            }
        }
        placed.finish(take)
        result.damagedCount = placed.damagedCount
        self = result
    }

    /// What brings the clocks of the hosts that recorded a series onto the first, and how they were compared; nothing
    /// for a series of one owner.
    private static func clocks(
        _ series: RecordingSeries
    ) throws(ExportError) -> (leads: [String: Int64], joins: [ClockJoin]) {
        guard series.isOfSeveralOwners else { return ([:], []) }
        var clocks = HostClocks()
        do throws(StorageError) {
            for segment in series.segments { _ = try Journal.read(segment.folder) { clocks.take($0) } }
        } catch {
            throw ExportError(error)
        }
        return clocks.joined()
    }

    /// Identity of one RTP stream, across track files.
    private struct Stream: Hashable {
        var participant: String
        var part: Int
        var connection: UInt64?
        var ssrc: UInt32
        var payloadType: Int?
        var codec: String
        var clockRateHz: Int
    }

    /// Checks whether a track continues another one.
    private mutating func note(_ entry: JournalEntry, _ series: RecordingSeries) {
        if case .partStarted(let record) = entry.record { self.part = record.part }
        guard case .trackOpened(let record) = entry.record, let ssrc = record.ssrc,
            let number = self.segments[record.track].map({ series.segments[$0].number })
        else { return }
        let stream = Stream(
            participant: record.participant,
            part: self.part,
            connection: record.connection,
            ssrc: ssrc,
            payloadType: record.payloadType,
            codec: record.codec,
            clockRateHz: record.clockRateHz
        )
        if let before = self.newest[stream], before.number + 1 == number,
            Self.follows(record, entry.monotonicNanoseconds, before.record, before.nanoseconds)
        {
            self.predecessors[record.track] = before.record.track
            self.clocks[record.track] = self.clocks[before.record.track] ?? before.record.track
        }
        self.newest[stream] = (record, entry.monotonicNanoseconds, number)
    }

    /// Unwrapped RTP times of one stream pass about as fast as our clock; a sender may stop its own for a while.
    private static let greatestDifference: UInt64 = 3_600_000_000_000

    private static func follows(_ record: TrackOpened, _ now: Int64, _ before: TrackOpened, _ then: Int64) -> Bool {
        let ticks = record.firstRTPTime.subtractingReportingOverflow(before.firstRTPTime)
        let passed = now.subtractingReportingOverflow(then)
        guard !ticks.overflow, !passed.overflow, ticks.partialValue > 0, passed.partialValue > 0 else { return false }
        let media = record.clock.nanoseconds(ticks: ticks.partialValue)
        return media.distanceMagnitude(to: passed.partialValue) < Self.greatestDifference
    }
}

/// Numbers that no two segments share.
private struct Renumbering {
    /// New numbers of the present segment's tracks, by the old ones.
    private(set) var tracks: [Int: Int] = [:]
    private var count = 0
    private var part = 1

    mutating func beginSegment() {
        self.tracks = [:]
    }

    private mutating func number(_ old: Int) -> Int {
        if let number = self.tracks[old] { return number }
        self.count += 1
        self.tracks[old] = self.count
        return self.count
    }

    /// The part that a segment of another owner begins.
    mutating func part(_ record: RecordingStarted, at nanoseconds: Int64) -> JournalEntry {
        self.part += 1
        return JournalEntry(
            .partStarted(PartStarted(part: self.part, host: record.host, utc: record.utc, boot: record.boot)),
            monotonicNanoseconds: nanoseconds
        )
    }

    mutating func renumbered(_ entry: JournalEntry) -> JournalEntry {
        var entry = entry
        switch entry.record {
        case .partStarted(var record):
            self.part += 1
            record.part = self.part
            entry.record = .partStarted(record)
        case .trackOpened(var record):
            record.track = self.number(record.track)
            entry.record = .trackOpened(record)
        case .senderReport(var record):
            record.track = self.number(record.track)
            entry.record = .senderReport(record)
        case .clockAnchor(var record):
            record.track = self.number(record.track)
            entry.record = .clockAnchor(record)
        case .formatChanged(var record):
            record.track = self.number(record.track)
            entry.record = .formatChanged(record)
        case .packetsCounted(var record):
            record.track = self.number(record.track)
            entry.record = .packetsCounted(record)
        case .sourceCounted(var record):
            record.tracks = record.tracks.map { self.number($0) }
            entry.record = .sourceCounted(record)
        case .trackClosed(var record):
            record.track = self.number(record.track)
            entry.record = .trackClosed(record)
        case .trackDamaged(var record):
            record.track = self.number(record.track)
            entry.record = .trackDamaged(record)
        case .trackMended(var record):
            record.track = self.number(record.track)
            entry.record = .trackMended(record)
        case .marker(var record):
            record.track = record.track.map { self.number($0) }
            entry.record = .marker(record)
        case .recordingStarted, .participantJoined, .participantLeft, .mediaRefused, .chatMessage, .detailsChanged,
            .recordingFinished:
            break
        }
        return entry
    }
}

extension RecordingSeries {
    /// The path from the first segment's folder to a file of that segment.
    func prefix(of segment: Segment) -> String {
        "../" + (segment.folder.path.split(separator: "/").last.map(String.init) ?? "") + "/"
    }
}
