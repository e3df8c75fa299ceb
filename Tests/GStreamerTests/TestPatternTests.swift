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

        /// Waves of the tone in the 33 ms of the second beep, the first that is heard.
        @Test(arguments: [500, 1000, 3480])
        func beepsAtItsPitch(hertz: Int) throws {
            let sounds = Log<SeenBuffer>()
            let feed = try HandFeed(
                launch: "identity name=sound ! fakesink",
                into: "sound",
                caps: "audio/x-raw,format=S16LE,rate=48000,channels=2,layout=interleaved"
            )
            defer { feed.stop() }
            try feed.pipeline.paintTestSound(on: "sound", framesPerSecond: 30, hertz: hertz)
            try feed.pipeline.element(named: "sound").staticPad("src").observe { buffer in
                sounds.append(buffer)
                return true
            }
            for second in [0, 1] as [UInt64] {
                #expect(feed.push([UInt8](repeating: 7, count: 48_000 * 4), timeNanoseconds: second * 1_000_000_000))
            }
            let samples = sounds.all.map { buffer in
                stride(from: 0, to: buffer.bytes.count, by: 4).map {
                    Int16(truncatingIfNeeded: Int(buffer.bytes[$0]) | Int(buffer.bytes[$0 + 1]) << 8)
                }
            }
            try #require(samples.map(\.count) == [48_000, 48_000])
            #expect(samples[0].allSatisfy { $0 == 0 } && samples[1].dropFirst(1600).allSatisfy { $0 == 0 })
            let beep = samples[1].prefix(1600)
            let crossings = zip(beep, beep.dropFirst()).count { $0 < 0 && $1 >= 0 }
            #expect(abs(crossings - hertz / 30) <= 1 && beep.max().map { $0 > 16_000 } == true)
        }

        @Test(arguments: Self.sizes)
        func isReadAsItWasPainted(_ size: Size) throws {
            let indices: [UInt64] = [0, 1, 30, 900, 0xABCDEF, 0xFFFFFF, 0x1000001]
            let chain = try CodecChain(
                launch: "identity",
                caps: "video/x-raw,format=I420,width=\(size.width),height=\(size.height),framerate=30/1"
            )
            func read(_ bytes: [UInt8]) throws -> TestPicture? {
                #expect(chain.push(bytes, nanoseconds: 0))
                return try #require(chain.pull()).testPicture
            }
            for (index, frame) in zip(indices, try self.paint(indices, size)) {
                let picture = TestPicture(counter: Int(index & 0xFFFFFF), hasFlash: index % 30 == 0)
                #expect(try read(frame.bytes) == picture)
                // One cell of the checksum turned over.
                var broken = frame.bytes
                for row in 16 * size.height / 720..<48 * size.height / 720 {
                    for column in (16 + 32 * 31) * size.width / 1280..<(48 + 32 * 31) * size.width / 1280 {
                        broken[row * size.width + column] = 251 - broken[row * size.width + column]
                    }
                }
                #expect(try read(broken) == TestPicture(counter: nil, hasFlash: picture.hasFlash))
            }
            let grey = [UInt8](repeating: 128, count: size.width * size.height * 3 / 2)
            #expect(try read(grey) == TestPicture(counter: nil, hasFlash: false))
        }

        @Test(arguments: ["RGB,width=320,height=180", "I420,width=160,height=90"])
        func isNotReadWhereItCannotBe(_ format: String) throws {
            let chain = try CodecChain(launch: "identity", caps: "video/x-raw,format=\(format),framerate=30/1")
            #expect(chain.push([UInt8](repeating: 128, count: 320 * 180 * 3), nanoseconds: 0))
            #expect(try #require(chain.pull()).testPicture == nil)
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
