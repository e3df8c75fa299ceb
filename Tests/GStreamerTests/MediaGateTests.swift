// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import GStreamer

extension AllGStreamer {
    /// Output of a gate: frames of 320x180, each of one luma, and audio.
    @Suite(.serialized)
    struct MediaGateTests {
        private static let size = 320 * 180
        private static let black = [UInt8](repeating: 16, count: size) + [UInt8](repeating: 128, count: size / 2)

        private static func picture(_ luma: UInt8) -> [UInt8] { [UInt8](repeating: luma, count: Self.size * 3 / 2) }

        /// A pipeline behind a gate, and what came out of it.
        private struct Way {
            let feed: HandFeed
            let seen = Log<SeenBuffer>()

            init(_ gate: MediaGate, caps: String) throws {
                self.feed = try HandFeed(launch: "identity name=gate ! fakesink", into: "gate", caps: caps)
                try gate.attach(to: try self.feed.pipeline.element(named: "gate"))
                let seen = self.seen
                try self.feed.pipeline.element(named: "gate").staticPad("src").observe { buffer in
                    seen.append(buffer)
                    return true
                }
            }

            /// The buffer that came out instead of the given one.
            func pass(_ bytes: [UInt8], at nanoseconds: UInt64 = 0) -> [UInt8]? {
                let count = self.seen.all.count
                self.feed.push(bytes, timeNanoseconds: nanoseconds)
                return self.seen.all.count == count + 1 ? self.seen.all.last?.bytes : nil
            }
        }

        private static func pictures(_ gate: MediaGate, width: Int = 320, height: Int = 180) throws -> Way {
            try Way(gate, caps: "video/x-raw,format=I420,width=\(width),height=\(height),framerate=30/1")
        }

        @Test
        func anOpenGateLeavesEverythingAlone() throws {
            let way = try Self.pictures(MediaGate())
            defer { way.feed.stop() }
            #expect(way.pass(Self.picture(50)) == Self.picture(50))
            #expect(way.pass(Self.picture(60)) == Self.picture(60))
        }

        @Test
        func blankPicturesAreBlackAndTheirTimesStay() throws {
            let gate = MediaGate()
            let way = try Self.pictures(gate)
            defer { way.feed.stop() }
            gate.set(isBlank: true, isHeld: false)
            #expect(way.pass(Self.picture(50), at: 40_000_000) == Self.black)
            #expect(way.pass(Self.picture(51), at: 80_000_000) == Self.black)
            gate.set(isBlank: false, isHeld: false)
            #expect(way.pass(Self.picture(52), at: 120_000_000) == Self.picture(52))
            #expect(way.seen.all.map(\.timeNanoseconds) == [40_000_000, 80_000_000, 120_000_000])
        }

        @Test
        func aHeldPictureStands() throws {
            let gate = MediaGate()
            let way = try Self.pictures(gate)
            defer { way.feed.stop() }
            #expect(way.pass(Self.picture(50)) == Self.picture(50))
            gate.set(isBlank: false, isHeld: true)
            #expect(way.pass(Self.picture(51), at: 1) == Self.picture(51))
            #expect(way.pass(Self.picture(52), at: 2) == Self.picture(51))
            // Black in between; then what stood before.
            gate.set(isBlank: true, isHeld: true)
            #expect(way.pass(Self.picture(53), at: 3) == Self.black)
            gate.set(isBlank: false, isHeld: true)
            #expect(way.pass(Self.picture(54), at: 4) == Self.picture(51))
            gate.set(isBlank: false, isHeld: false)
            #expect(way.pass(Self.picture(55), at: 5) == Self.picture(55))
            // The next time another one stands.
            gate.set(isBlank: false, isHeld: true)
            #expect(way.pass(Self.picture(56), at: 6) == Self.picture(56))
            #expect(way.seen.all.map(\.timeNanoseconds) == [0, 1, 2, 3, 4, 5, 6])
        }

        /// Unmuting a frozen black frame does not show anything.
        @Test
        func blackIsHeldWhereItWasBlack() throws {
            let gate = MediaGate()
            let way = try Self.pictures(gate)
            defer { way.feed.stop() }
            gate.set(isBlank: true, isHeld: true)
            #expect(way.pass(Self.picture(50)) == Self.black)
            gate.set(isBlank: false, isHeld: true)
            #expect(way.pass(Self.picture(51)) == Self.black)
        }

        @Test
        func picturesOfAnotherSizeAreHeldAnew() throws {
            let gate = MediaGate()
            let (way, larger) = (try Self.pictures(gate), try Self.pictures(gate, width: 640, height: 360))
            defer { [way, larger].forEach { $0.feed.stop() } }
            gate.set(isBlank: false, isHeld: true)
            #expect(way.pass(Self.picture(50)) == Self.picture(50))
            let picture = [UInt8](repeating: 70, count: 4 * Self.size * 3 / 2)
            #expect(larger.pass(picture) == picture)
            #expect(larger.pass([UInt8](repeating: 71, count: picture.count)) == picture)
            gate.set(isBlank: true, isHeld: false)
            #expect(way.pass(Self.picture(51)) == Self.black)
            #expect(larger.pass(picture)?.prefix(4 * Self.size).allSatisfy { $0 == 16 } == true)
        }

        @Test
        func blankSoundIsSilence() throws {
            let gate = MediaGate()
            let way = try Way(gate, caps: "audio/x-raw,format=S16LE,rate=48000,channels=2,layout=interleaved")
            defer { way.feed.stop() }
            let sound = [UInt8](repeating: 9, count: 3840)
            #expect(way.pass(sound) == sound)
            gate.set(isBlank: true, isHeld: false)
            #expect(way.pass(sound) == [UInt8](repeating: 0, count: 3840))
        }

        /// A frame that cannot be made black does not pass.
        @Test
        func otherFormatsAreLeftOut() throws {
            let gate = MediaGate()
            let way = try Way(gate, caps: "video/x-raw,format=RGB,width=320,height=180,framerate=30/1")
            defer { way.feed.stop() }
            gate.set(isBlank: true, isHeld: false)
            #expect(way.pass([UInt8](repeating: 9, count: Self.size * 3)) == nil)
        }
    }
}
