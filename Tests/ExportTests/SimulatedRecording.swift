// SPDX-License-Identifier: Apache-2.0

import Basics
import Foundation
import Matroska
import Recording
import Storage
import Testing
import Timeline

/// Records simulated senders into a separate folder, as the live recorder does.
final class SimulatedRecording {
    /// One track of a sender.
    struct TrackPlan {
        var participant: String
        var codec: MediaCodec
        var units: [[UInt8]]
        var clockRateHz: Int
        /// RTP ticks from unit to unit.
        var step: Int64
        /// RTP ticks that the sender counts from unit to unit in their place, because its clock has another rate.
        var countedStep: Int64?
        /// The first unit's RTP time.
        var firstRTPTime: Int64
        /// The first unit's capture, in nanoseconds from the recording's start.
        var captureNanoseconds: Int64
        /// From capture to arrival.
        var delayNanoseconds: Int64 = 40_000_000
        /// The first sender report, from the recording's start; none if absent.
        var firstReportNanoseconds: Int64? = 500_000_000
        var reportIntervalNanoseconds: Int64 = 1_000_000_000
        /// Units that do not come.
        var missing: Range<Int> = 0..<0
        /// When each unit is shown, in steps from the first; in the order in which they come if absent.
        var places: [Int]?
        /// How frames are turned from which unit on.
        var turns: [Int: VideoRotation] = [:]
        /// How much faster the sender's media clock runs than its wall clock, as a share of one.
        var skew = 0.0
        /// Which layer of the camera it is.
        var layer: TrackLayer?
        /// The media section's identification tag.
        var mid: String?
        var connection: UInt64?
        /// Its source; the number of its track if absent.
        var ssrc: UInt32?

        /// When a unit is captured, in nanoseconds from the recording's start.
        func captured(_ index: Int) -> Int64 {
            let elapsed = RTPClock(rateHz: self.clockRateHz).nanoseconds(ticks: Int64(index) * self.step)
            return self.captureNanoseconds + Int64((Double(elapsed) / (1 + self.skew)).rounded())
        }

        static func video(
            _ participant: String,
            _ codec: MediaCodec,
            _ units: [[UInt8]],
            capture: Int64 = 200_000_000
        ) -> TrackPlan {
            TrackPlan(
                participant: participant,
                codec: codec,
                units: units,
                clockRateHz: 90_000,
                step: 3000,
                firstRTPTime: 0xFFFF_8000,
                captureNanoseconds: capture
            )
        }

        static func audio(_ participant: String, _ units: [[UInt8]], capture: Int64 = 100_000_000) -> TrackPlan {
            TrackPlan(
                participant: participant,
                codec: .opus,
                units: units,
                clockRateHz: 48_000,
                step: 960,
                firstRTPTime: 777_000,
                captureNanoseconds: capture
            )
        }
    }

    /// The data that make a recording one of a series, whose tracks continue the clocks of the one before.
    struct Segment {
        var storage: String
        var series: String
        var number: Int
        /// After the series' start.
        var startNanoseconds: Int64
        /// The segment whose video continues here, with whatever unit comes.
        var before: SimulatedRecording?
        /// The number of the room's owner in a cluster, if it is in one.
        var epoch: Int?
        /// How much the owner's monotonic clock, and its wall clock, show more than those of the simulation.
        var monotonicNanoseconds: Int64 = 0
        var wallNanoseconds: Int64 = 0
    }

    static let startNanoseconds: Int64 = 9_000_000_000_000
    static let startUTC = UTCTime(nanosecondsSince1970: 1_795_230_746_000_000_000)
    /// The same as senders have it, in seconds since 1900.
    private static let wallStart: UInt64 = 1_795_230_746 + 2_208_988_800

    let storagePath: String
    let folder: RecordingFolder
    private(set) var files: [String] = []
    /// The writer of each track.
    private var writers: [TrackFileWriter] = []

    init(
        _ plans: [TrackPlan],
        closed: Bool = true,
        boot: String? = nil,
        id: String = "0123456789abcdef",
        segment: Segment? = nil
    ) throws {
        let fresh = FileManager.default.temporaryDirectory.path + "/tapedeck-export-\(RecordingID.random())"
        self.storagePath = segment?.storage ?? fresh
        let delay = segment?.startNanoseconds ?? 0
        let utc = UTCTime(
            nanosecondsSince1970: Self.startUTC.nanosecondsSince1970 + delay + (segment?.wallNanoseconds ?? 0)
        )
        self.folder = try RecordingFolder.create(
            storage: self.storagePath,
            room: "Stand up!",
            start: utc,
            id: try #require(RecordingID(rawValue: id))
        )
        let journal = try JournalWriter(folder: self.folder)
        let start = Self.startNanoseconds + (segment?.monotonicNanoseconds ?? 0)
        let started = RecordingStarted(
            room: "Stand up!",
            id: self.folder.id.rawValue,
            host: segment?.epoch.map { "host\($0)" } ?? "host",
            utc: utc,
            boot: boot,
            series: segment?.series,
            segment: segment?.number,
            claim: segment?.epoch.map { RecordingClaim(cluster: "calls", epoch: $0) }
        )
        try journal.append(.recordingStarted(started), monotonicNanoseconds: start + delay)
        for participant in Set(plans.map(\.participant)).sorted() {
            try journal.append(
                .participantJoined(ParticipantJoined(participant: participant, name: participant.capitalized)),
                monotonicNanoseconds: start + delay
            )
        }
        for (index, plan) in plans.enumerated() {
            self.files.append(
                try self.record(
                    plan,
                    number: index + 1,
                    journal: journal,
                    closed: closed,
                    start: start,
                    before: segment?.before?.writers[index]
                )
            )
        }
        if closed {
            try journal.append(
                .recordingFinished(RecordingFinished(reason: "test")),
                monotonicNanoseconds: start + delay + Self.length(plans)
            )
        }
    }

    /// When tracks are over, in nanoseconds from the recording's start: 10 s at least.
    private static func length(_ plans: [TrackPlan]) -> Int64 {
        plans.map { $0.captured($0.units.count) + 1_000_000_000 }.reduce(10_000_000_000, max)
    }

    /// Another process continues, this long after the recording's start; `start` is its host's clock then.
    func goOn(_ plans: [TrackPlan], part: Int, boot: String?, at start: Int64, after nanoseconds: Int64) throws {
        let journal = try JournalWriter(folder: self.folder)
        let utc = UTCTime(nanosecondsSince1970: Self.startUTC.nanosecondsSince1970 + nanoseconds)
        try journal.append(
            .partStarted(PartStarted(part: part, host: "host\(part)", utc: utc, boot: boot)),
            monotonicNanoseconds: start
        )
        for plan in plans {
            // The sender continues with its clocks: its wall clock shows the time of the whole recording.
            self.files.append(
                try self.record(
                    plan,
                    number: self.files.count + 1,
                    journal: journal,
                    closed: true,
                    start: start,
                    wall: nanoseconds
                )
            )
        }
        try journal.append(
            .recordingFinished(RecordingFinished(reason: "test")),
            monotonicNanoseconds: start + 10_000_000_000
        )
    }

    /// Adds a record to the journal, so long after the recording's start.
    func note(_ record: JournalRecord, after nanoseconds: Int64) throws {
        let journal = try JournalWriter(folder: self.folder)
        try journal.append(record, monotonicNanoseconds: Self.startNanoseconds + nanoseconds)
    }

    /// Returns when a later change of a track file would show in its state.
    func settle() throws {
        for file in self.files where FileManager.default.fileExists(atPath: file) {
            while try File(file, .read).state == nil { usleep(1_000) }
        }
    }

    deinit {
        // The first of a series takes the others with it.
        try? FileManager.default.removeItem(atPath: self.storagePath)
    }

    private func record(
        _ plan: TrackPlan,
        number: Int,
        journal: JournalWriter,
        closed: Bool,
        start: Int64,
        wall elapsed: Int64 = 0,
        before: TrackFileWriter? = nil
    ) throws -> String {
        let writer = TrackFileWriter(
            folder: self.folder,
            journal: journal,
            track: TrackDescription(
                number: number,
                participant: plan.participant,
                participantName: plan.participant.capitalized,
                codec: plan.codec,
                clockRateHz: plan.clockRateHz,
                ssrc: plan.ssrc ?? UInt32(number),
                mid: plan.mid,
                layer: plan.layer,
                connection: plan.connection
            )
        )
        self.writers.append(writer)
        if let before, plan.codec.kind == .video { writer.go(on: before) }
        let clock = RTPClock(rateHz: plan.clockRateHz)
        var report = plan.firstReportNanoseconds
        for (index, unit) in plan.units.enumerated() where !plan.missing.contains(index) {
            let step = plan.countedStep ?? plan.step
            let ticks = Int64(index) * step
            let captured = plan.captured(index)
            if let due = report, captured >= due {
                let sent = Double(due - plan.captureNanoseconds) * (1 + plan.skew)
                let rtpTime = plan.firstRTPTime + clock.ticks(nanoseconds: Int64(sent.rounded())) * step / plan.step
                let wall = (Self.wallStart << 32) + UInt64(Double(elapsed + due) * 4.294967296)
                try journal.append(
                    .senderReport(
                        SenderReport(
                            track: number,
                            ssrc: plan.ssrc ?? UInt32(number),
                            rtpTimestamp: UInt32(truncatingIfNeeded: rtpTime),
                            ntpTime: wall
                        )
                    ),
                    monotonicNanoseconds: start + due + plan.delayNanoseconds
                )
                report = due + plan.reportIntervalNanoseconds
            }
            let shown = plan.places.map { Int64($0[index]) * step } ?? ticks
            let result = try unit.withUnsafeBytes {
                try writer.gather(
                    $0,
                    Bitstream.inspect(plan.codec, $0),
                    rtpTime: plan.firstRTPTime + shown,
                    arrivalNanoseconds: start + captured + plan.delayNanoseconds,
                    rotation: plan.turns[index]
                )
            }
            guard case .taken = result else {
                Issue.record("unit \(index) of \(plan.codec) became \(result)")
                break
            }
        }
        try writer.writeGathered()
        if closed {
            try writer.close(reason: "test", monotonicNanoseconds: start + Self.length([plan]))
        }
        return self.folder.path + "/" + writer.relativePath
    }
}
