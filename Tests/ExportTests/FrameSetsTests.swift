// SPDX-License-Identifier: Apache-2.0

import Basics
import Foundation
import Testing

@testable import Export
@testable import Matroska

@Suite(.timeLimit(.minutes(5))) struct FrameSetsTests {
    private static let picture: [UInt8] = [0x68, 0xCB, 0x8C, 0xB2]
    private static let slice: [UInt8] = [0x65, 0x88, 0x80, 0x10]

    /// A sequence parameter set with id 0, of any level.
    private static func sequence(level: UInt8) -> [UInt8] {
        [
            0x67, 0x42, 0xC0, level, 0xD9, 0x01, 0x41, 0xFA, 0x10, 0, 0, 3, 0, 0x10, 0, 0, 3, 3, 0xC8, 0xF1, 0x83, 0x24,
        ]
    }

    private func track(level: UInt8) throws -> Track {
        let sets = H264ParameterSets(sequence: [Self.sequence(level: level)], picture: [Self.picture])
        let configuration = try #require(H264.decoderConfiguration(sets))
        return .video(uid: 1, codec: .h264, width: 2, height: 2, codecPrivate: configuration)
    }

    private func block(_ units: [[UInt8]], isKeyframe: Bool = true) -> Block {
        var payload: [UInt8] = []
        for unit in units { H264.appendLengthPrefixed(unit: unit, to: &payload) }
        let head = BlockHead(
            track: 1,
            timeNanoseconds: 0,
            isKeyframe: isKeyframe,
            isDiscardable: false,
            offset: 0,
            payloadOffset: 0,
            payloadSize: payload.count
        )
        return Block(head, payload: payload)
    }

    /// The NAL units of a block after it was completed.
    private func completed(_ sets: inout FrameSets, _ block: Block, of track: Track) -> [[UInt8]] {
        var block = block
        sets.complete(&block, of: track)
        var units: [[UInt8]] = []
        block.payload.withUnsafeBytes { H264.forEachUnit($0, framing: .lengthPrefixed) { units.append(Array($0)) } }
        return units
    }

    @Test func unitsThatTheHeadServesStayAsTheyAre() throws {
        let track = try self.track(level: 30)
        var sets = try #require(FrameSets(track))
        #expect(self.completed(&sets, self.block([Self.slice]), of: track) == [Self.slice])
        let own = [Self.sequence(level: 30), Self.picture, Self.slice]
        #expect(self.completed(&sets, self.block(own), of: track) == own)
        #expect(FrameSets(.opus(uid: 1)) == nil)
    }

    @Test func setsThatWereSentOnceStandBeforeEachLaterKeyframe() throws {
        let track = try self.track(level: 30)
        var sets = try #require(FrameSets(track))
        let new = Self.sequence(level: 31)
        #expect(self.completed(&sets, self.block([new, Self.slice]), of: track) == [new, Self.slice])
        let delta = self.block([[0x41, 0x9A]], isKeyframe: false)
        #expect(self.completed(&sets, delta, of: track) == [[0x41, 0x9A]])
        #expect(self.completed(&sets, self.block([Self.slice]), of: track) == [new, Self.slice])
        let other = Self.sequence(level: 32)
        #expect(self.completed(&sets, self.block([other, Self.slice]), of: track) == [other, Self.slice])
        #expect(self.completed(&sets, self.block([Self.slice]), of: track) == [other, Self.slice])
    }

    @Test func aSecondFileBringsTheSetsOfItsHead() throws {
        let track = try self.track(level: 30), second = try self.track(level: 40)
        var sets = try #require(FrameSets(track))
        _ = self.completed(&sets, self.block([Self.slice]), of: track)
        let expected = [Self.sequence(level: 40), Self.slice]
        #expect(self.completed(&sets, self.block([Self.slice]), of: second) == expected)
        #expect(self.completed(&sets, self.block([Self.slice]), of: second) == expected)
    }
}
