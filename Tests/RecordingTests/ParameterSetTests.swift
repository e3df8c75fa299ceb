// SPDX-License-Identifier: Apache-2.0

internal import Basics
import Matroska
import Storage
import TestSupport
import Testing
import Timeline

@testable import Recording

/// Parameter sets of H.264 live as long as their track, whatever is recorded of it.
@Suite struct ParameterSetTests {
    private let sets = [TestUnits.sequenceParameters, TestUnits.pictureParameters].flatMap { TestUnits.startCode + $0 }
    private let keyframe = TestUnits.startCode + [0x65, 0x88, 0x84, 0x3A, 0xFF]
    private let frame = TestUnits.startCode + TestUnits.h264Slice
    private static let stored: [UInt8] = [0, 0, 0, 5, 0x65, 0x88, 0x84, 0x3A, 0xFF]

    private func payloads(_ feed: RecordingFeed) throws -> [[[UInt8]]] {
        try feed.folders.sorted { $0.path < $1.path }.flatMap { folder in
            try Journal.entries(of: folder).compactMap { entry -> [[UInt8]]? in
                guard case .trackOpened(let opened) = entry.record else { return nil }
                var reader = try Reader(File(folder.path + "/" + opened.file, .read))
                var payloads: [[UInt8]] = []
                while let block = try reader.next() { payloads.append(block.payload) }
                return payloads
            }
        }
    }

    @Test(arguments: [true, false])
    func areKeptWhileNothingIsRecorded(areInBand: Bool) throws {
        let feed = RecordingFeed { $0.isAutomatic = false }
        let stated = H264ParameterSets(
            sequence: [TestUnits.sequenceParameters],
            picture: [TestUnits.pictureParameters]
        )
        let video = feed.open(.h264, parameterSets: areInBand ? nil : stated)
        if areInBand { feed.push(video, self.sets + self.keyframe, at: 0) }
        feed.push(video, self.frame, at: 30)
        #expect(feed.tell { $0.recordOrdered() } == .done)
        feed.push(video, self.keyframe, at: 60)
        #expect(feed.tell { $0.stopOrdered(reason: "stopped") } == .finish)
        feed.push(video, self.frame, at: 90)
        #expect(feed.tell { $0.recordOrdered() } == .done)
        feed.push(video, self.keyframe, at: 120)
        feed.end()
        #expect(try self.payloads(feed) == [[Self.stored], [Self.stored]])
    }

    @Test func changesDuringAPauseReachTheFile() throws {
        let feed = RecordingFeed()
        let video = feed.open(.h264)
        feed.push(video, self.sets + self.keyframe, at: 0)
        #expect(feed.tell { $0.pauseOrdered() } == .done)
        let changed: [UInt8] = [0x68, 0xCE, 0x3C, 0x80]
        feed.push(video, TestUnits.startCode + changed, at: 30)
        #expect(feed.tell { $0.resumeOrdered() } == .done)
        feed.push(video, self.keyframe, at: 60)
        feed.end()
        #expect(try self.payloads(feed).first?.last == [0, 0, 0, 4] + changed + Self.stored)
    }

    /// Units before the recording have the parameter sets of their own time.
    @Test func thePrerollHasItsOwn() throws {
        let feed = RecordingFeed {
            $0.isAutomatic = false
            $0.preroll = .seconds(5)
        }
        let video = feed.open(.h264)
        let changed: [UInt8] = [0x68, 0xCE, 0x3C, 0x80]
        feed.push(video, self.sets, at: 0)
        feed.push(video, self.keyframe, at: 10)
        feed.push(video, TestUnits.startCode + changed, at: 20)
        feed.push(video, self.keyframe, at: 30)
        #expect(feed.tell { $0.recordOrdered() } == .done)
        feed.end()
        #expect(try self.payloads(feed) == [[Self.stored, [0, 0, 0, 4] + changed + Self.stored]])
    }

    @Test func aKeyframeWithoutItsFirstSliceBeginsNothing() throws {
        let feed = RecordingFeed()
        let video = feed.open(.h264)
        feed.push(video, self.sets + self.keyframe, at: 0)
        #expect(feed.tell { $0.pauseOrdered() } == .done)
        #expect(feed.tell { $0.resumeOrdered() } == .done)
        // first_mb_in_slice is 1.
        feed.push(video, TestUnits.startCode + [0x65, 0b0100_0100, 0x84], at: 30)
        #expect(feed.status.tracks.first?.units == 1)
        feed.push(video, self.keyframe, at: 60)
        #expect(feed.status.tracks.first?.units == 2)
    }

    /// Behind a loss a keyframe without parameter sets is whole only where its sender sends such ones.
    @Test(arguments: [true, false])
    func aBareKeyframeMendsWhereTheSenderSendsThem(sendsBare: Bool) throws {
        let feed = RecordingFeed()
        let video = feed.open(.h264)
        feed.push(video, self.sets + self.keyframe, at: 0)
        if sendsBare { feed.push(video, self.keyframe, at: 30) }
        feed.push(video, self.frame, at: 60, lost: 1)
        feed.push(video, self.keyframe, at: 90, lost: 1)
        feed.end()
        let folder = try #require(feed.folders.first)
        let isMended = try Journal.entries(of: folder).contains {
            if case .trackMended = $0.record { true } else { false }
        }
        #expect(isMended == sendsBare)
    }

    @Test func aStillHasThem() throws {
        let feed = RecordingFeed()
        let video = feed.open(.h264)
        #expect(feed.tell { $0.stillOrdered(of: "alice") } == nil)
        feed.push(video, self.sets, at: 10)
        feed.push(video, self.keyframe, at: 20)
        let still = try #require(feed.tell { $0.stillOrdered(of: "alice") })
        #expect(still.bytes == self.sets + self.keyframe)
    }
}
