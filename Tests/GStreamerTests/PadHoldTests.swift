// SPDX-License-Identifier: Apache-2.0

import CGStreamer
import Synchronization
import Testing

@testable import GStreamer

extension AllGStreamer {
    @Suite(.serialized)
    struct PadHoldTests {
        /// A pad of a bin that packets come out of, held and counted.
        private final class Held {
            let feed: HandFeed
            let path = ReceivePath(maximumSources: 1)
            let passed = Log<UInt64>()
            private let sink: Pad
            private var hold: PadHold?

            init() throws {
                try Runtime.initialise()
                let pipeline = try Pipeline(launch: "fakesink name=sink async=false sync=false") { _ in }
                let branch = try pipeline.add(branch: "identity name=in")
                self.sink = try pipeline.element(named: "sink").staticPad("sink")
                self.hold = PadHold(try branch.staticPad("src"), counting: (self.path, 7))
                self.feed = try HandFeed(feeding: pipeline, into: "in", caps: "application/x-rtp")
                self.sink.observe { [passed] packet in
                    passed.append(packet.number)
                    return true
                }
            }

            func push(_ numbers: Range<UInt64>) {
                for number in numbers { self.feed.push(number: number, timeNanoseconds: 0, isKeyframe: true) }
            }

            func push(_ packet: [UInt8]) { self.feed.push(packet) }

            func headerExtension(_ id: UInt8) -> String? { self.hold?.headerExtension(id) }

            func release(hasTap: Bool) throws {
                self.hold?.hasTap.store(hasTap, ordering: .relaxed)
                try self.hold?.release(to: self.sink)
            }

            func forget() {
                self.feed.stop()
                self.hold = nil
            }

            var counts: SourceCounters { self.path.sources.first ?? SourceCounters(ssrc: 7) }
        }

        @Test(arguments: [true, false])
        func whatIsHeldWaitsAndTheRestIsCounted(hasTap: Bool) throws {
            let held = try Held()
            defer { held.forget() }
            held.push(0..<4096)
            #expect(held.counts.waiting == 4096 && held.counts.heldAndDropped == 0)
            held.push(4096..<4100)
            #expect(held.counts.waiting == 4096 && held.counts.heldAndDropped == 4)
            try held.release(hasTap: hasTap)
            held.push(4100..<4110)
            #expect(held.passed.all == Array(0..<4096) + Array(4100..<4110))
            #expect(held.counts.waiting == 0 && held.counts.heldAndDropped == (hasTap ? 4 : 4110))
        }

        /// The layer of a camera, as the first packets name it (RFC 8852), in either form of header (RFC 8285).
        @Test(
            arguments: [
                ([0xBE, 0xDE, 0, 1, 0xA0, 0x66, 0, 0], "f"), ([0xBE, 0xDE, 0, 1, 0xA2, 0x6D, 0x69, 0x64], "mid"),
                ([0x10, 0, 0, 1, 0x0A, 2, 0x6C, 0x6F], "lo"), ([0xBE, 0xDE, 0, 1, 0x90, 0x66, 0, 0], nil),
                ([0xBE, 0xDE, 0, 9, 0xA0, 0x66, 0, 0], nil), ([], nil),
            ] as [([UInt8], String?)]
        )
        func headerExtensionsOfWhatIsHeldCanBeRead(bytes: [UInt8], text: String?) throws {
            let held = try Held()
            defer { held.forget() }
            #expect(held.headerExtension(10) == nil)
            let head: [UInt8] = [bytes.isEmpty ? 0x80 : 0x90, 96, 0, 1, 0, 0, 0, 2, 0, 0, 0, 7]
            held.push([1, 2, 3])
            held.push([0x80, 96, 0, 0] + head[4...] + [9])
            held.push(head + bytes + [1, 2, 3])
            #expect(held.headerExtension(10) == text)
            try held.release(hasTap: true)
            #expect(held.headerExtension(10) == nil)
        }

        @Test
        func whatNobodyTookWasDropped() async throws {
            var held: Held? = try Held()
            let path = try #require(held?.path)
            func counts() -> SourceCounters { path.sources.first ?? SourceCounters(ssrc: 7) }
            held?.push(0..<10)
            #expect(counts().waiting == 10)
            held?.forget()
            held = nil
            #expect(await eventually { counts().waiting == 0 && counts().heldAndDropped == 10 })
        }

        /// A pad whose stream was never taken stayed for ever, and with it, by its transceiver, a whole connection.
        @Test
        func aStreamThatNobodyTookIsFreedWithItsPipeline() async throws {
            try Runtime.startCountingObjects()
            let before = Runtime.liveObjectCount
            do {
                let pipeline = try Pipeline(
                    launch: "fakesrc is-live=true sizetype=fixed ! identity name=held ! fakesink name=sink"
                ) { _ in }
                let held = PadHold(try pipeline.element(named: "held").staticPad("src"))
                try pipeline.play()
                #expect(Runtime.liveObjectCount > before)
                try await ControlThread(name: "test").run("stop") { pipeline.stop() }
                withExtendedLifetime(held) {}
            }
            #expect(await eventually { Runtime.liveObjectCount <= before })
        }
    }
}
