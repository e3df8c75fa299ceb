// SPDX-License-Identifier: Apache-2.0

import Recording
import Testing

@Suite struct PrerollBufferTests {
    private static let second: Int64 = 1_000_000_000

    private static func unit(_ track: UInt64, at seconds: Int64, size: Int = 1000) -> PrerollBuffer.Unit {
        PrerollBuffer.Unit(
            track: track,
            rtpTime: seconds * 90_000,
            arrivalNanoseconds: seconds * Self.second,
            lostPackets: 0,
            isTruncated: false,
            packets: 0,
            bytes: [UInt8](repeating: 0, count: size)
        )
    }

    private static func seconds(_ units: [PrerollBuffer.Unit], _ track: UInt64) -> [Int64] {
        units.filter { $0.track == track }.map { $0.arrivalNanoseconds / Self.second }
    }

    @Test func picturesAreKeptFromAKeyframeAndSoundByItsAge() {
        var buffer = PrerollBuffer(span: 10 * Self.second, maximumBytes: 1 << 20)
        #expect(buffer.isEmpty && buffer.start == nil)
        for time in Int64(0)...30 {
            // Nothing before the first keyframe, at 2 s, then one every 5 s.
            buffer.keep(Self.unit(1, at: time), isVideo: true, isWholeKeyframe: time % 5 == 2)
            buffer.keep(Self.unit(2, at: time), isVideo: false, isWholeKeyframe: false)
        }
        #expect(buffer.start == 17 * Self.second)
        let units = buffer.take()
        #expect(Self.seconds(units, 1) == Array(17...30))
        #expect(Self.seconds(units, 2) == Array(20...30))
        #expect(units.map(\.arrivalNanoseconds) == units.map(\.arrivalNanoseconds).sorted())
        #expect(buffer.isEmpty)
        #expect(buffer.take().isEmpty)
    }

    @Test func memoryIsBounded() {
        var buffer = PrerollBuffer(span: 60 * Self.second, maximumBytes: 20_000)
        for time in Int64(0)..<30 {
            buffer.keep(Self.unit(1, at: time), isVideo: true, isWholeKeyframe: time % 6 == 0)
            buffer.keep(Self.unit(2, at: time), isVideo: false, isWholeKeyframe: false)
        }
        let units = buffer.take()
        #expect(units.reduce(0) { $0 + $1.bytes.count } <= 20_000)
        #expect(Self.seconds(units, 1).first.map { $0 % 6 } == 0, "let go at keyframes")
        #expect(Self.seconds(units, 1).last == 29)
        // More than all memory in one GOP: it is dropped, and video waits for the next keyframe.
        buffer.keep(Self.unit(1, at: 100), isVideo: true, isWholeKeyframe: true)
        for time in Int64(101)...130 { buffer.keep(Self.unit(1, at: time), isVideo: true, isWholeKeyframe: false) }
        #expect(buffer.isEmpty)
        #expect(buffer.keyframeIsDue(track: 1, now: 130 * Self.second) == true)
        buffer.keep(Self.unit(1, at: 131), isVideo: true, isWholeKeyframe: true)
        #expect(Self.seconds(buffer.take(), 1) == [131])
    }

    @Test func keyframesAreAskedForNowAndThen() {
        var buffer = PrerollBuffer(span: 6 * Self.second, maximumBytes: 1 << 20)
        #expect(buffer.keyframeIsDue(track: 1, now: 0) == true)
        #expect(buffer.keyframeIsDue(track: 1, now: Self.second - 1) == false)
        #expect(buffer.keyframeIsDue(track: 1, now: Self.second) == true)
        buffer.keep(Self.unit(1, at: 2), isVideo: true, isWholeKeyframe: true)
        #expect(buffer.keyframeIsDue(track: 1, now: 8 * Self.second - 1) == false)
        #expect(buffer.keyframeIsDue(track: 1, now: 8 * Self.second) == true)
        #expect(buffer.keyframeIsDue(track: 1, now: 9 * Self.second) == false)
    }

    @Test func whatStoppedOrIsGoneIsForgotten() {
        var buffer = PrerollBuffer(span: 5 * Self.second, maximumBytes: 1 << 20)
        buffer.keep(Self.unit(1, at: 0), isVideo: true, isWholeKeyframe: true)
        buffer.keep(Self.unit(2, at: 0), isVideo: false, isWholeKeyframe: false)
        buffer.keep(Self.unit(3, at: 20), isVideo: false, isWholeKeyframe: false)
        #expect(buffer.start == 20 * Self.second)
        buffer.remove(track: 3)
        buffer.remove(track: 4)
        #expect(buffer.isEmpty)
    }
}
