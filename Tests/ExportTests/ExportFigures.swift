// SPDX-License-Identifier: Apache-2.0

import Basics
import Foundation
import Matroska
import Recording
import Storage
import Testing
import Timeline

/// Records a long call, through the writers that a live call goes through: `make figures OF=export`.
///
/// The folder goes below `TAPEDECK_FIGURES_STORAGE`; the call lasts `TAPEDECK_FIGURES_HOURS`. It has two participants
/// with VP8 at about 300 kbit/s and 30 frames a second, and Opus at 32 kbit/s.
struct ExportFigures {
    private static let storage = ProcessInfo.processInfo.environment["TAPEDECK_FIGURES_STORAGE"]

    private struct Sender {
        var writer: TrackFileWriter
        var ssrc: UInt32
        var clock: RTPClock
        var codec: MediaCodec
        var next: Int64 = 0
        var index: Int64 = 0
        var reportDue: Int64 = 1_000_000_000

        var interval: Int64 { self.codec == .opus ? 20_000_000 : 33_333_333 }
    }

    @Test(.enabled(if: Self.storage != nil, "make figures OF=export runs it"))
    func recordALongCall() throws {
        let environment = ProcessInfo.processInfo.environment
        let storage = try #require(Self.storage)
        let hours = environment["TAPEDECK_FIGURES_HOURS"].flatMap(Double.init) ?? 4
        let end = Int64(hours * 3_600) * 1_000_000_000
        let utc = UTCTime(nanosecondsSince1970: 1_795_230_746_000_000_000)
        let folder = try RecordingFolder.create(
            storage: storage,
            room: "figures",
            start: utc,
            id: try #require(RecordingID(rawValue: "0123456789abcdef"))
        )
        let journal = try JournalWriter(folder: folder)
        try journal.append(
            .recordingStarted(RecordingStarted(room: "figures", id: folder.id.rawValue, host: "host", utc: utc)),
            monotonicNanoseconds: 0
        )
        var senders: [Sender] = []
        for participant in ["alice", "bob"] {
            try journal.append(
                .participantJoined(ParticipantJoined(participant: participant)),
                monotonicNanoseconds: 0
            )
            for codec in [MediaCodec.vp8, .opus] {
                let clock = RTPClock(rateHz: codec == .vp8 ? 90_000 : 48_000)
                let number = senders.count + 1
                let description = TrackDescription(
                    number: number,
                    participant: participant,
                    participantName: participant.capitalized,
                    codec: codec,
                    clockRateHz: clock.rateHz,
                    ssrc: UInt32(number)
                )
                let writer = TrackFileWriter(folder: folder, journal: journal, track: description)
                senders.append(Sender(writer: writer, ssrc: UInt32(number), clock: clock, codec: codec))
            }
        }
        let units = Units()
        while let index = senders.indices.min(by: { senders[$0].next < senders[$1].next }), senders[index].next < end {
            let sender = senders[index]
            let rtpTime = sender.clock.ticks(nanoseconds: sender.next)
            if sender.next >= sender.reportDue {
                let wall = (UInt64(3_900_000_000) << 32) + UInt64(Double(sender.next) * 4.294967296)
                let report = SenderReport(
                    track: index + 1,
                    ssrc: sender.ssrc,
                    rtpTimestamp: UInt32(truncatingIfNeeded: rtpTime),
                    ntpTime: wall
                )
                try journal.append(.senderReport(report), monotonicNanoseconds: sender.next + 40_000_000)
                senders[index].reportDue += 1_000_000_000
            }
            let unit = units.unit(sender.codec, sender.index)
            let result = try unit.withUnsafeBytes {
                try sender.writer.gather(
                    $0,
                    Bitstream.inspect(sender.codec, $0),
                    rtpTime: rtpTime,
                    arrivalNanoseconds: sender.next + 40_000_000
                )
            }
            guard case .taken = result else {
                Issue.record("unit \(sender.index) of \(sender.codec) became \(result)")
                return
            }
            senders[index].index += 1
            senders[index].next = senders[index].index * sender.interval
        }
        for sender in senders { try sender.writer.close(reason: "end", monotonicNanoseconds: end) }
        try journal.append(.recordingFinished(RecordingFinished(reason: "end")), monotonicNanoseconds: end)
        print(folder.path)
    }

    /// Units that parse, with noise inside.
    private struct Units {
        private let keyframe: [UInt8]
        private let pictures: [[UInt8]]
        private let sounds: [[UInt8]]

        init() {
            var generator = SystemRandomNumberGenerator()
            func noise(_ count: Int) -> [UInt8] {
                (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
            }
            // 1280×720 (RFC 6386, section 9.1).
            self.keyframe = [0x10, 0, 0, 0x9D, 0x01, 0x2A, 0x00, 0x05, 0xD0, 0x02] + noise(20_000)
            self.pictures = (0..<64).map { _ in [0x11, 0, 0] + noise(Int.random(in: 600...1_800)) }
            self.sounds = (0..<64).map { _ in [0xFC] + noise(Int.random(in: 60...100)) }
        }

        func unit(_ codec: MediaCodec, _ index: Int64) -> [UInt8] {
            if codec == .opus { return self.sounds[Int(index % 64)] }
            return index % 300 == 0 ? self.keyframe : self.pictures[Int(index % 64)]
        }
    }
}
