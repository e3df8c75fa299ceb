// SPDX-License-Identifier: Apache-2.0

internal import Basics
import FoundationEssentials
import Glibc
import Matroska
import Storage
import TestSupport
import Testing
import Timeline

@testable import Recording

@Suite struct TrackFileWriterTests {
    let storage: TemporaryStorage
    let folder: RecordingFolder
    private let journal: JournalWriter

    init() throws {
        self.storage = try TemporaryStorage()
        self.folder = try self.storage.makeFolder()
        self.journal = try JournalWriter(folder: self.folder)
    }

    func makeWriter(_ codec: MediaCodec, rate: Int = 90_000, participant: String = "alice") -> TrackFileWriter {
        TrackFileWriter(
            folder: self.folder,
            journal: self.journal,
            track: TrackDescription(number: 1, participant: participant, codec: codec, clockRateHz: rate, ssrc: 7)
        )
    }

    func blocks(_ writer: TrackFileWriter) throws -> [Block] {
        var reader = try Reader(File(self.folder.path + "/" + writer.relativePath, .read))
        var blocks: [Block] = []
        while let block = try reader.next() { blocks.append(block) }
        #expect(reader.tornTailOffset == nil)
        return blocks
    }

    private func records() throws -> [JournalRecord] {
        try Journal.entries(of: self.folder).map(\.record)
    }

    @Test func beginsAtTheFirstKeyframe() throws {
        let writer = self.makeWriter(.vp8)
        #expect(try writer.write(TestUnits.vp8Frame(), rtpTime: 0) == .needsKeyframe)
        #expect(!FileManager.default.fileExists(atPath: self.folder.path + "/" + writer.relativePath))
        #expect(try writer.write(TestUnits.vp8Keyframe(), rtpTime: 3000) == .taken(isKeyframe: true))
        #expect(try writer.write(TestUnits.vp8Frame(), rtpTime: 6000) == .taken(isKeyframe: false))
        let blocks = try self.blocks(writer)
        #expect(blocks.map(\.timeNanoseconds) == [0, 33_300_000])
        #expect(blocks.map(\.isKeyframe) == [true, false])
        #expect(blocks.map(\.payload) == [TestUnits.vp8Keyframe(), TestUnits.vp8Frame()])
        #expect(writer.statistics.packets == 2)
        #expect(writer.statistics.firstRTPTime == 3000)
    }

    @Test func doesNotKeepTheRoomOfTheLargestPicture() throws {
        let writer = self.makeWriter(.h264)
        #expect(try writer.write(TestUnits.h264Keyframe(), rtpTime: 0) == .taken(isKeyframe: true))
        #expect(writer.converted.capacity > 0)
        let large = TestUnits.startCode + TestUnits.h264Slice + [UInt8](repeating: 0xA5, count: 3 << 20)
        #expect(try writer.write(large, rtpTime: 3000) == .taken(isKeyframe: false))
        #expect(writer.converted.capacity <= 1 << 20)
    }

    @Test func isPlayableBeforeItIsClosed() throws {
        let writer = self.makeWriter(.opus, rate: 48_000)
        for index in 0..<200 {
            _ = try writer.write(TestUnits.opusPacket, rtpTime: Int64(index) * 960)
            if index.isMultiple(of: 50) { #expect(try self.blocks(writer).count == index + 1) }
        }
        #expect(writer.relativePath == "tracks/001-alice-audio.mka")
    }

    @Test func theEndOfALongTrackWritesAHandfulOfPlaces() throws {
        let writer = self.makeWriter(.opus, rate: 48_000)
        for index in 0..<10_000 { _ = try writer.write(TestUnits.opusPacket, rtpTime: Int64(index) * 960) }
        let end = try #require(writer.end(reason: "left", monotonicNanoseconds: 0))
        #expect(end.finish.patches.count <= 5)
        #expect(writer.end(reason: "left", monotonicNanoseconds: 0) == nil)
        // Not before it is complete.
        #expect(try self.records().count { if case .trackClosed = $0 { true } else { false } } == 0)
        try end.complete()
        #expect(try self.records().count { if case .trackClosed = $0 { true } else { false } } == 1)
        #expect(try self.blocks(writer).count == 10_000)
    }

    @Test func whatWasNotWrittenToNeedsNoSync() throws {
        let writer = self.makeWriter(.opus, rate: 48_000)
        #expect(writer.takeUnsynchronised() == nil)
        _ = try writer.write(TestUnits.opusPacket, rtpTime: 0)
        let first = try #require(writer.takeUnsynchronised())
        #expect(first.file.path.hasSuffix(writer.relativePath) && first.isNew)
        #expect(writer.takeUnsynchronised() == nil)
        _ = try writer.write(TestUnits.opusPacket, rtpTime: 960)
        #expect(writer.takeUnsynchronised()?.isNew == false)
        #expect(self.journal.takeUnsynchronised() != nil)
        #expect(self.journal.takeUnsynchronised() == nil)
        self.journal.note(.marker(Marker(name: "mark", text: nil)), monotonicNanoseconds: 0)
        #expect(self.journal.takeUnsynchronised() != nil)
    }

    @Test func losesNothingThatWasWrittenBeforeAKill() async throws {
        let path = self.folder.path
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
            let folder = try RecordingFolder.open(path: path)
            let writer = TrackFileWriter(
                folder: folder,
                journal: try JournalWriter(folder: folder),
                track: TrackDescription(number: 1, participant: "alice", codec: .opus, clockRateHz: 48_000)
            )
            for index in 0..<100 { _ = try writer.write(TestUnits.opusPacket, rtpTime: Int64(index) * 960) }
            kill(getpid(), SIGKILL)
        }
        var reader = try Reader(File(path + "/tracks/001-alice-audio.mka", .read))
        var units = 0
        while try reader.nextHead() != nil { units += 1 }
        #expect(units == 100)
        #expect(try self.records().count == 2)
    }

    @Test func closesWithDurationAndRecord() throws {
        let writer = self.makeWriter(.opus, rate: 48_000)
        for index in 0..<200 { _ = try writer.write(TestUnits.opusPacket, rtpTime: Int64(index) * 960) }
        try writer.close(reason: "left", monotonicNanoseconds: 9)
        try writer.close(reason: "again", monotonicNanoseconds: 10)
        let reader = try Reader(File(self.folder.path + "/" + writer.relativePath, .read))
        #expect((reader.durationNanoseconds ?? 0) >= 199 * 20_000_000)
        #expect(try self.blocks(writer).count == 200)
        let closed = TrackClosed(
            track: 1,
            units: 200,
            bytes: 1600,
            keyframes: 200,
            lastRTPTime: 199 * 960,
            reason: "left",
            packets: 200
        )
        #expect(try self.records().last == .trackClosed(closed))
        #expect { try writer.write(TestUnits.opusPacket, rtpTime: 0) } throws: {
            ($0 as? RecordingError)?.cause.code == .closed
        }
    }

    @Test func closesWithoutAUnit() throws {
        let writer = self.makeWriter(.vp8)
        try writer.close(reason: "left", monotonicNanoseconds: 0)
        #expect(try self.records().isEmpty)
        #expect(try FileManager.default.contentsOfDirectory(atPath: self.folder.tracksPath).isEmpty)
    }

    @Test func convertsAnnexB() throws {
        let writer = self.makeWriter(.h264)
        let slice = TestUnits.startCode + TestUnits.h264Slice
        #expect(try writer.write(slice, rtpTime: 0) == .needsKeyframe)
        #expect(try writer.write(TestUnits.h264Keyframe(), rtpTime: 0) == .taken(isKeyframe: true))
        #expect(try writer.write(slice, rtpTime: 3000) == .taken(isKeyframe: false))
        let reader = try Reader(File(self.folder.path + "/" + writer.relativePath, .read))
        let track = try #require(reader.tracks.first)
        #expect(track.video == VideoTrack(width: 64, height: 48))
        #expect(
            track.codecPrivate
                == H264.decoderConfiguration(
                    H264ParameterSets(sequence: [TestUnits.sequenceParameters], picture: [TestUnits.pictureParameters])
                )
        )
        let blocks = try self.blocks(writer)
        #expect(blocks[0].payload.prefix(5) == [0, 0, 0, UInt8(TestUnits.sequenceParameters.count), 0x67])
        #expect(blocks[1].payload == [0, 0, 0, UInt8(TestUnits.h264Slice.count)] + TestUnits.h264Slice)
    }

    @Test func needsParameterSetsToBegin() throws {
        let writer = self.makeWriter(.h264)
        let bare = TestUnits.startCode + [0x65, 0x88, 0x84, 0x3A, 0xFF]
        #expect(try writer.write(bare, rtpTime: 0) == .needsParameterSets)
        // They come for another PPS than the keyframe uses.
        let strange = TestUnits.startCode + TestUnits.sequenceParameters + TestUnits.startCode + [0x68, 0x5B, 0x83]
        #expect(try writer.write(strange, rtpTime: 0) == .needsKeyframe)
        #expect(try writer.write(bare, rtpTime: 3000) == .needsParameterSets)
        #expect(try FileManager.default.contentsOfDirectory(atPath: self.folder.tracksPath).isEmpty)
    }

    /// A description may state them, and they may come while nothing is recorded (RFC 6184 section 8.4).
    @Test func beginsWithParameterSetsThatItIsTold() throws {
        let writer = self.makeWriter(.h264)
        var known = H264KnownSets()
        let sets = H264ParameterSets(
            sequence: [TestUnits.sequenceParameters],
            picture: [TestUnits.pictureParameters]
        )
        known.note(sets)
        writer.know(known)
        let bare = TestUnits.startCode + [0x65, 0x88, 0x84, 0x3A, 0xFF]
        #expect(try writer.write(bare, rtpTime: 0) == .taken(isKeyframe: true))
        let reader = try Reader(File(self.folder.path + "/" + writer.relativePath, .read))
        #expect(reader.tracks.first?.codecPrivate == H264.decoderConfiguration(sets))
        #expect(reader.tracks.first?.video == VideoTrack(width: 64, height: 48))
        #expect(try self.blocks(writer).map(\.payload) == [[0, 0, 0, 5, 0x65, 0x88, 0x84, 0x3A, 0xFF]])
    }

    /// Parameter sets that come by themselves are no frame: the next one brings them, once.
    @Test func putsParameterSetsIntoTheFileWithTheNextFrame() throws {
        let writer = self.makeWriter(.h264)
        #expect(try writer.write(TestUnits.h264Keyframe(), rtpTime: 0) == .taken(isKeyframe: true))
        let changed: [UInt8] = [0x68, 0xCE, 0x3C, 0x80]
        #expect(try writer.write(TestUnits.startCode + changed, rtpTime: 3000) == .kept)
        let slice = TestUnits.startCode + TestUnits.h264Slice
        for time in [3000, 6000] as [Int64] {
            #expect(try writer.write(slice, rtpTime: time) == .taken(isKeyframe: false))
        }
        let frame = [0, 0, 0, UInt8(TestUnits.h264Slice.count)] + TestUnits.h264Slice
        #expect(try self.blocks(writer).dropFirst().map(\.payload) == [[0, 0, 0, 4] + changed + frame, frame])
        #expect(writer.statistics.units == 3)
        #expect(writer.statistics.packets == 4)
    }

    /// A recovery point is where a decoder may begin as well (H.264 section D.2.8), and the index says so.
    @Test func beginsAtARecoveryPoint() throws {
        let writer = self.makeWriter(.h264)
        let sets = [TestUnits.sequenceParameters, TestUnits.pictureParameters].flatMap { TestUnits.startCode + $0 }
        let slice = TestUnits.startCode + TestUnits.h264Slice
        let recovery = sets + TestUnits.startCode + [6, 6, 1, 0x84, 0x80] + slice
        #expect(try writer.write(slice, rtpTime: 0) == .needsKeyframe)
        #expect(try writer.write(recovery, rtpTime: 3000) == .taken(isKeyframe: true))
        #expect(try writer.write(slice, rtpTime: 6000) == .taken(isKeyframe: false))
        #expect(try writer.write(recovery, rtpTime: 9000) == .taken(isKeyframe: true))
        #expect(try self.blocks(writer).map(\.isKeyframe) == [true, false, true])
    }

    /// Some senders set the marker after the parameter sets: they are separate access units then.
    @Test(arguments: [true, false])
    func beginsWithParameterSetsOfUnitsBefore(areTogether: Bool) throws {
        let writer = self.makeWriter(.h264)
        let sets = [TestUnits.sequenceParameters, TestUnits.pictureParameters].map { TestUnits.startCode + $0 }
        for unit in areTogether ? [sets[0] + sets[1]] : sets {
            #expect(try writer.write(unit, rtpTime: 0) == .needsKeyframe)
        }
        let bare = TestUnits.startCode + [0x65, 0x88, 0x84, 0x3A, 0xFF]
        #expect(try writer.write(bare, rtpTime: 0) == .taken(isKeyframe: true))
        #expect(writer.statistics.width == 64)
        let reader = try Reader(File(self.folder.path + "/" + writer.relativePath, .read))
        let track = try #require(reader.tracks.first)
        #expect(track.video == VideoTrack(width: 64, height: 48))
        #expect(
            track.codecPrivate
                == H264.decoderConfiguration(
                    H264ParameterSets(sequence: [TestUnits.sequenceParameters], picture: [TestUnits.pictureParameters])
                )
        )
        #expect(try self.blocks(writer).map(\.payload) == [[0, 0, 0, 5, 0x65, 0x88, 0x84, 0x3A, 0xFF]])
    }

    @Test func journalsOpeningAnchorsAndChanges() throws {
        let writer = self.makeWriter(.vp8)
        for index in 0..<90 {
            let unit =
                index.isMultiple(of: 30)
                ? TestUnits.vp8Keyframe(width: index < 60 ? 320 : 640, height: index < 60 ? 240 : 480)
                : TestUnits.vp8Frame()
            _ = try writer.write(
                unit,
                rtpTime: 1000 + Int64(index) * 3000,
                arrival: 50_000_000 + Int64(index) * 33_400_000
            )
        }
        let records = try self.records()
        let opened = TrackOpened(
            track: 1,
            participant: "alice",
            media: .video,
            codec: "vp8",
            clockRateHz: 90_000,
            ssrc: 7,
            file: "tracks/001-alice-video.mkv",
            firstRTPTime: 1000
        )
        #expect(records.first == .trackOpened(opened))
        let anchors = records.filter { if case .clockAnchor = $0 { true } else { false } }
        #expect(anchors.count == 3)
        let changes = records.compactMap { if case .formatChanged(let change) = $0 { change } else { nil } }
        #expect(
            changes == [
                FormatChanged(track: 1, rtpTime: 1000, width: 320, height: 240, parameterSets: false),
                FormatChanged(track: 1, rtpTime: 181_000, width: 640, height: 480, parameterSets: false),
            ]
        )
        #expect(writer.statistics.width == 640)
        #expect(writer.statistics.keyframes == 3)
    }

    private func changes() throws -> [FormatChanged] {
        try self.records().compactMap { if case .formatChanged(let change) = $0 { change } else { nil } }
    }

    /// The file says how it begins, and the journal each turn; senders say it with some frames only.
    @Test(arguments: [MediaCodec.vp8, .h264])
    func journalsHowFramesAreTurned(codec: MediaCodec) throws {
        let writer = self.makeWriter(codec)
        let keyframe = codec == .h264 ? TestUnits.h264Keyframe() : TestUnits.vp8Keyframe()
        let frame = codec == .h264 ? TestUnits.startCode + TestUnits.h264Slice : TestUnits.vp8Frame()
        let said: [VideoRotation?] = [.quarter, nil, .quarter, .upright, nil, .threeQuarters]
        for (index, rotation) in said.enumerated() {
            _ = try writer.write(
                index == 0 ? keyframe : frame,
                rtpTime: Int64(index) * 27_000,
                arrival: Int64(index) * 300_000_000,
                rotation: rotation
            )
        }
        try writer.close(reason: "end", monotonicNanoseconds: 3_000_000_000)
        let changes = try self.changes()
        #expect(changes.map(\.rotation) == [.quarter, .upright, .threeQuarters])
        #expect(changes.map(\.rtpTime) == [0, 81_000, 135_000])
        let file = try File(self.folder.path + "/" + writer.relativePath, .read)
        #expect(try Reader(file).tracks.first?.video?.rotation == .quarter)
    }

    @Test func journalsNewParameterSets() throws {
        let writer = self.makeWriter(.h264)
        _ = try writer.write(TestUnits.h264Keyframe(), rtpTime: 0)
        _ = try writer.write(TestUnits.h264Keyframe(), rtpTime: 3000)
        let others = TestUnits.h264Keyframe(pictureParameters: [0x68, 0xCE, 0x3C, 0x80])
        _ = try writer.write(others, rtpTime: 27_000, arrival: 300_000_000)
        #expect(try self.changes().map(\.rtpTime) == [0, 27_000])
        #expect(try self.changes().map(\.parameterSets) == [false, true])
    }

    /// A line in 200 ms, however often the format changes; the last says how it is in the end, and all are counted.
    @Test func journalsChangesOfFormatNowAndThen() throws {
        let writer = self.makeWriter(.vp8)
        for index in 0..<100 {
            let unit = TestUnits.vp8Keyframe(width: 320 + 2 * index, height: 240)
            _ = try writer.write(unit, rtpTime: Int64(index) * 900, arrival: Int64(index) * 10_000_000)
        }
        let whileItLasts = try self.changes()
        #expect(whileItLasts.map(\.rtpTime) == [0, 19, 39, 59, 79].map { $0 * 900 })
        try writer.close(reason: "end", monotonicNanoseconds: 1_000_000_000)
        let changes = try self.changes()
        #expect(changes.dropLast() == whileItLasts[...])
        #expect(changes.last?.width == 518)
        #expect(changes.reduce(0) { $0 + ($1.changes ?? 1) } == 100)
    }

    /// The last of many changes is journalled with whatever unit comes next.
    @Test func journalsTheLastChangeOfFormatSoon() throws {
        let writer = self.makeWriter(.vp8)
        for index in 0..<3 {
            let unit = TestUnits.vp8Keyframe(width: 320 + 2 * index, height: 240)
            _ = try writer.write(unit, rtpTime: Int64(index) * 900, arrival: Int64(index) * 10_000_000)
        }
        _ = try writer.write(TestUnits.vp8Frame(), rtpTime: 18_000, arrival: 199_000_000)
        #expect(try self.changes().map(\.width) == [320])
        _ = try writer.write(TestUnits.vp8Frame(), rtpTime: 18_900, arrival: 210_000_000)
        #expect(try self.changes().map(\.width) == [320, 324])
        #expect(try self.changes().map(\.rtpTime) == [0, 1800])
    }

    @Test func timesRiseWhateverTheRTPTimesDo() throws {
        let writer = self.makeWriter(.vp8)
        _ = try writer.write(TestUnits.vp8Keyframe(), rtpTime: 0)
        for rtpTime: Int64 in [3000, 3000, 1500, 6000, 5999, 9000] {
            #expect(try writer.write(TestUnits.vp8Frame(), rtpTime: rtpTime) == .taken(isKeyframe: false))
        }
        let times = try self.blocks(writer).map(\.timeNanoseconds)
        #expect(zip(times, times.dropFirst()).allSatisfy { $0 < $1 })
        #expect(times.last == 100_000_000)
    }

    /// Frames are sent after later ones only where their parameter sets say so.
    @Test(
        arguments: [
            (true, [9000, 3000, 6000, 18_000, 12_000, 15_000], [0, 1000, 333, 667, 2000, 1333, 1667]),
            (false, [9000, 3000, 6000, 18_000, 12_000, 15_000], [0, 1000, 1001, 1002, 2000, 2001, 2002]),
            // Parts of one frame.
            (true, [9000, 9000, 9000, 3000, 3000, 6000], [0, 1000, 1001, 1002, 333, 334, 667]),
        ] as [(Bool, [Int64], [Int64])]
    )
    func picturesKeepTheTimesAtWhichTheyAreShown(isMain: Bool, rtpTimes: [Int64], expected: [Int64]) throws {
        let writer = self.makeWriter(.h264)
        _ = try writer.write(isMain ? TestUnits.mainKeyframe : TestUnits.h264Keyframe(), rtpTime: 0)
        let slice = TestUnits.startCode + TestUnits.h264Slice
        for rtpTime in rtpTimes {
            #expect(try writer.write(slice, rtpTime: rtpTime) == .taken(isKeyframe: false))
        }
        // In units of 100 µs, as the file has them.
        #expect(try self.blocks(writer).map { $0.timeNanoseconds / 100_000 } == expected)
        #expect(writer.statistics.durationNanoseconds == (expected.max() ?? 0) * 100_000)
        #expect(try writer.write(slice, rtpTime: (rtpTimes.max() ?? 0) - 68_000) == .discontinuity)
    }

    @Test(arguments: [-80_000, 31 * 90_000, 3600 * 90_000, 90_000 * 100_000, .max, .min] as [Int64])
    func refusesANewTimeline(step: Int64) throws {
        let writer = self.makeWriter(.vp8)
        _ = try writer.write(TestUnits.vp8Keyframe(), rtpTime: 0)
        #expect(try writer.write(TestUnits.vp8Keyframe(), rtpTime: step) == .discontinuity)
        #expect(try writer.write(TestUnits.vp8Frame(), rtpTime: 3000) == .taken(isKeyframe: false))
    }

    /// A pause in sending is no new timeline, nor is a queue that ends, nor frames out of order.
    @Test(arguments: [(3600, 3600), (29, 0), (60, 31), (0, 60), (-0.7, 0)] as [(Double, Double)])
    func goesOnWhereTimePassed(step: Double, passed: Double) throws {
        let writer = self.makeWriter(.vp8)
        _ = try writer.write(TestUnits.vp8Keyframe(), rtpTime: 0)
        _ = try writer.write(TestUnits.vp8Frame(), rtpTime: 90_000, arrival: 1_000_000_000)
        let result = try writer.write(
            TestUnits.vp8Frame(),
            rtpTime: 90_000 + Int64(step * 90_000),
            arrival: 1_000_000_000 + Int64(passed * 1e9)
        )
        #expect(result == .taken(isKeyframe: false))
    }

    @Test func limitsTheSpanOfAFile() throws {
        let writer = self.makeWriter(.opus, rate: 48_000)
        var result = TrackFileWriter.WriteResult.taken(isKeyframe: true)
        var days: Int64 = 0
        while result == .taken(isKeyframe: true), days < 200 {
            let seconds = days * 86_400
            result = try writer.write(
                TestUnits.opusPacket,
                rtpTime: seconds * 48_000,
                arrival: seconds * 1_000_000_000
            )
            days += 1
        }
        #expect(result == .discontinuity)
        #expect(days > 90)
    }

    @Test(
        arguments: [
            (MediaCodec.vp8, []), (.vp8, [0x10, 0x02]), (.vp8, [0x10, 0x02, 0, 1, 2, 3, 4, 5, 6, 7]), (.vp9, [0xFF]),
            (.h264, [1, 2, 3]), (.opus, []),
        ] as [(MediaCodec, [UInt8])]
    )
    func refusesMalformedUnits(codec: MediaCodec, unit: [UInt8]) throws {
        let writer = self.makeWriter(codec)
        #expect(try writer.write(unit, rtpTime: 0) == .malformed)
        #expect(writer.statistics.packets == 0)
    }

    @Test func namesHostileParticipantsSafely() throws {
        let writer = self.makeWriter(.opus, rate: 48_000, participant: "../../evil\u{0}")
        _ = try writer.write(TestUnits.opusPacket, rtpTime: 0)
        #expect(writer.relativePath.hasPrefix("tracks/001-evil-"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: self.folder.tracksPath).count == 1)
    }

    @Test func refusesToOverwriteATrack() throws {
        _ = try self.makeWriter(.opus, rate: 48_000).write(TestUnits.opusPacket, rtpTime: 0)
        #expect { try self.makeWriter(.opus, rate: 48_000).write(TestUnits.opusPacket, rtpTime: 0) } throws: {
            let error = $0 as? RecordingError
            return error?.part == .track(1) && error?.cause.code == .exists
        }
    }

    @Test func writesG711() throws {
        for (number, codec) in [MediaCodec.pcmu, .pcma].enumerated() {
            let writer = TrackFileWriter(
                folder: self.folder,
                journal: self.journal,
                track: TrackDescription(number: number + 1, participant: "sip", codec: codec, clockRateHz: 8000)
            )
            for index in 0..<50 {
                _ = try writer.write([UInt8](repeating: 0xD5, count: 160), rtpTime: Int64(index) * 160)
            }
            try writer.close(reason: "left", monotonicNanoseconds: 0)
            #expect(try self.blocks(writer).last?.timeNanoseconds == 980_000_000)
        }
    }
}
