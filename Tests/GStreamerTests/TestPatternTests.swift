// SPDX-License-Identifier: Apache-2.0

import CGStreamer
import Testing

@testable import GStreamer

extension AllGStreamer {
    /// Layout and vectors: Tests/Peers/test-pattern.md.
    @Suite(.serialized)
    struct TestPatternTests {
        struct Size: Sendable, CustomTestStringConvertible {
            var width: Int
            var height: Int
            var testDescription: String { "\(self.width)x\(self.height)" }
        }

        static let sizes = [
            Size(width: 1280, height: 720), Size(width: 640, height: 360), Size(width: 320, height: 180),
        ]

        /// One I420 frame, read as the document says.
        struct Frame {
            let bytes: [UInt8]
            let size: Size

            /// Luma of a rectangle in reference coordinates.
            func luma(_ x: Range<Int>, _ y: Range<Int>) -> [UInt8] {
                let left = x.lowerBound * self.size.width / 1280
                let right = x.upperBound * self.size.width / 1280
                let rows = y.lowerBound * self.size.height / 720..<y.upperBound * self.size.height / 720
                return rows.flatMap { self.bytes[$0 * self.size.width + left..<$0 * self.size.width + right] }
            }

            /// Both chroma planes over the same rectangle.
            func chroma(_ x: Range<Int>, _ y: Range<Int>) -> [UInt8] {
                let (width, height) = (self.size.width / 2, self.size.height / 2)
                let left = x.lowerBound * self.size.width / 1280 / 2
                let right = x.upperBound * self.size.width / 1280 / 2
                let rows = y.lowerBound * self.size.height / 720 / 2..<y.upperBound * self.size.height / 720 / 2
                return [0, 1].flatMap { plane in
                    let start = self.size.width * self.size.height + plane * width * height
                    return rows.flatMap { self.bytes[start + $0 * width + left..<start + $0 * width + right] }
                }
            }

            /// The cells, first to last, as `0` and `1`; `?` for a cell that is not of one colour.
            var cells: String {
                String(
                    (0..<32).map { index -> Character in
                        let x = 16 + 32 * index
                        switch Set(self.luma(x..<x + 32, 16..<48)) {
                        case [235]: return "1"
                        case [16]: return "0"
                        default: return "?"
                        }
                    }
                )
            }

            var flash: Set<UInt8> { Set(self.luma(320..<960, 240..<480)) }
        }

        /// Paints one frame with the given index.
        private func paint(_ indices: [UInt64], _ size: Size, framesPerSecond: Int = 30) throws -> [Frame] {
            let frames = Log<SeenBuffer>()
            let feed = try HandFeed(
                launch: "identity name=picture ! appsink name=raw sync=false",
                into: "picture",
                caps: """
                    video/x-raw,format=I420,width=\(size.width),height=\(size.height),\
                    framerate=\(framesPerSecond)/1,interlace-mode=progressive
                    """
            )
            defer { feed.stop() }
            try feed.pipeline.paintTestPattern(on: "picture", framesPerSecond: framesPerSecond)
            try feed.pipeline.element(named: "picture").staticPad("src").observe { buffer in
                frames.append(buffer)
                return true
            }
            // 77 is nothing that the pattern draws.
            let blank = [UInt8](repeating: 77, count: size.width * size.height * 3 / 2)
            for index in indices {
                let time = index * 1_000_000_000 / UInt64(framesPerSecond)
                #expect(feed.push(blank, timeNanoseconds: time))
            }
            return frames.all.map { Frame(bytes: $0.bytes, size: size) }
        }

        @Test(arguments: sizes)
        func drawsTheVectors(size: Size) throws {
            let vectors: [(index: UInt64, counter: String, checksum: String)] = [
                (0, "000000000000000000000000", "010101"),
                (1, "000000000000000000000001", "010110"),
                (0xABCDEF, "101010111100110111101111", "100001"),
                (900, "000000000000001110000100", "100111"),
                // The counter is the index modulo 2^24.
                (1 << 24, "000000000000000000000000", "010101"),
                (1 << 24 | 0xABCDEF, "101010111100110111101111", "100001"),
            ]
            let frames = try self.paint(vectors.map(\.index), size)
            #expect(frames.map(\.cells) == vectors.map { "10" + $0.counter + $0.checksum })
        }

        @Test(arguments: sizes)
        func fillsTheBandAndLeavesTheRest(size: Size) throws {
            let frame = try #require(try self.paint([7], size).first)
            #expect(Set(frame.luma(0..<16, 0..<64)) == [48])
            #expect(Set(frame.luma(1040..<1280, 0..<64)) == [48])
            #expect(Set(frame.luma(0..<1280, 0..<16)) == [48])
            #expect(Set(frame.luma(0..<1280, 48..<64)) == [48])
            #expect(Set(frame.chroma(0..<1280, 0..<64)) == [128])
            #expect(frame.flash == [48])
            #expect(Set(frame.chroma(320..<960, 240..<480)) == [128])
            #expect(Set(frame.luma(0..<1280, 64..<240)) == [77])
            #expect(Set(frame.luma(0..<1280, 480..<720)) == [77])
            #expect(Set(frame.luma(0..<320, 240..<480)) == [77])
            #expect(Set(frame.luma(960..<1280, 240..<480)) == [77])
            #expect(Set(frame.chroma(0..<1280, 480..<720)) == [77])
        }

        @Test(arguments: [1, 10, 25, 30, 60])
        func flashesOnceASecond(framesPerSecond: Int) throws {
            let indices = (0..<130).map { UInt64($0) }
            let frames = try self.paint(indices, Size(width: 320, height: 180), framesPerSecond: framesPerSecond)
            #expect(frames.count == indices.count)
            for (index, frame) in frames.enumerated() {
                #expect(frame.flash == (index % framesPerSecond == 0 ? [235] : [48]), "frame \(index)")
            }
        }

        /// The real source: every frame counts one up from 0.
        @Test(arguments: [15, 30])
        func countsTheFramesOfASource(framesPerSecond: Int) async throws {
            try Runtime.initialise()
            let size = Size(width: 320, height: 180)
            let bus = Log<BusEvent>()
            let frames = Log<SeenBuffer>()
            let pipeline = try Pipeline(
                launch: """
                    videotestsrc num-buffers=70 ! video/x-raw,format=I420,width=320,height=180,\
                    framerate=\(framesPerSecond)/1 ! identity name=picture ! fakesink
                    """
            ) { bus.append($0) }
            try pipeline.paintTestPattern(on: "picture", framesPerSecond: framesPerSecond)
            try pipeline.element(named: "picture").staticPad("src").observe { buffer in
                frames.append(buffer)
                return true
            }
            try pipeline.play()
            #expect(await eventually { bus.all.contains(.endOfStream) })
            pipeline.stop()
            let counters = frames.all.map { Frame(bytes: $0.bytes, size: size).cells }
                .map { Int($0.dropFirst(2).prefix(24), radix: 2) }
            #expect(counters == (0..<70).map { $0 })
        }

        @Test
        func leavesOtherFormatsAlone() throws {
            let frames = Log<SeenBuffer>()
            let feed = try HandFeed(
                launch: "identity name=picture ! appsink name=raw sync=false",
                into: "picture",
                caps: "video/x-raw,format=RGB,width=320,height=180,framerate=30/1"
            )
            defer { feed.stop() }
            try feed.pipeline.paintTestPattern(on: "picture", framesPerSecond: 30)
            try feed.pipeline.element(named: "picture").staticPad("src").observe { buffer in
                frames.append(buffer)
                return true
            }
            let picture = [UInt8](repeating: 77, count: 320 * 180 * 3)
            #expect(feed.push(picture, timeNanoseconds: 0))
            #expect(frames.all.map(\.bytes) == [picture])
        }
    }
}
