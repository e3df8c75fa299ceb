// SPDX-License-Identifier: Apache-2.0

import Basics
import CGStreamer
import TestSupport
import Testing
import Timeline

@testable import GStreamer

extension AllGStreamer {
    @Suite(.serialized)
    struct TrackTapTests {
        /// How a codec goes into packets and out again, while RTP time and sequence numbers wrap.
        enum Track: String, CaseIterable, Sendable {
            case vp8, vp9, h264, opus, pcmu

            private static let offsets = "pt=96 timestamp-offset=4294950000 seqnum-offset=65500 mtu=400"
            private static let video = "videotestsrc num-buffers=60 ! video/x-raw,width=320,height=180,framerate=30/1"
            private static let audio = "audiotestsrc num-buffers=90 samplesperbuffer=960"

            var sender: String {
                switch self {
                case .vp8: "\(Self.video) ! vp8enc deadline=1 ! rtpvp8pay name=pay \(Self.offsets)"
                case .vp9: "\(Self.video) ! vp9enc deadline=1 cpu-used=8 ! rtpvp9pay name=pay \(Self.offsets)"
                case .h264:
                    "\(Self.video) ! x264enc tune=zerolatency speed-preset=ultrafast ! rtph264pay name=pay "
                        + "config-interval=-1 \(Self.offsets)"
                case .opus: "\(Self.audio) ! audio/x-raw,rate=48000 ! opusenc ! rtpopuspay name=pay \(Self.offsets)"
                case .pcmu: "\(Self.audio) ! audio/x-raw,rate=8000 ! mulawenc ! rtppcmupay name=pay \(Self.offsets)"
                }
            }

            var depayloader: String {
                switch self {
                case .vp8: "rtpvp8depay name=depay"
                case .vp9: "rtpvp9depay name=depay"
                case .h264: "rtph264depay name=depay ! video/x-h264,stream-format=byte-stream,alignment=au"
                case .opus: "rtpopusdepay name=depay"
                case .pcmu: "rtppcmudepay name=depay"
                }
            }
        }

        /// The packets and units that went through a pipeline.
        struct Outcome {
            var packets: [Packet]
            var units: [(unit: ReceivedItem.Unit, bytes: [UInt8])]
            var counters: TapCounters
            var errors: [BusEvent]
            var reachedEnd: Bool

            /// The unwrapped time of each run of packets with one time stamp.
            var packetTimes: [Int64] {
                var unwrapper = RTPTimestampUnwrapper()
                var times: [Int64] = []
                for packet in self.packets {
                    let time = unwrapper.unwrap(packet.timestamp)
                    if times.last != time { times.append(time) }
                }
                return times
            }
        }

        struct Packet: Sendable {
            var sequence: UInt16
            var timestamp: UInt32
            var size: Int

            init(_ buffer: SeenBuffer) {
                let bytes = buffer.bytes
                self.sequence = bytes[2..<4].reduce(0) { $0 << 8 | UInt16($1) }
                self.timestamp = bytes[4..<8].reduce(0) { $0 << 8 | UInt32($1) }
                self.size = bytes.count
            }
        }

        /// Runs a track to its end with the tap on the pad of `tapped`; `drops` says which packets are lost before it.
        private func run(
            _ track: Track,
            sender: String? = nil,
            queue: UnitQueue,
            tapped: (element: String, pad: String),
            between: String = "",
            drops: (@Sendable (Int) -> Bool)? = nil
        ) async throws -> Outcome {
            try Runtime.initialise()
            let bus = Log<BusEvent>()
            let sink = "appsink name=units sync=false max-buffers=8"
            let launch = [sender ?? track.sender, between, track.depayloader, sink].filter { !$0.isEmpty }.joined(
                separator: " ! "
            )
            let pipeline = try Pipeline(launch: launch) { bus.append($0) }
            if let drops {
                let passed = Log<Void>()
                try pipeline.element(named: "loss").staticPad("src").observe { _ in
                    passed.append(())
                    return !drops(passed.count)
                }
            }
            let packets = Log<Packet>()
            let pad = try pipeline.element(named: tapped.element).staticPad(tapped.pad)
            pad.observe { buffer in
                packets.append(Packet(buffer))
                return true
            }
            let tap = TrackTap(id: 3, ssrc: 4, queue: queue)
            tap.attach(to: pad)
            tap.attach(toSink: try pipeline.element(named: "units"))
            try pipeline.play()
            let reachedEnd = await eventually { bus.all.contains(.endOfStream) }
            let outcome = Outcome(
                packets: packets.all,
                units: queue.drain(),
                counters: tap.counters,
                errors: bus.all.filter { $0 != .endOfStream },
                reachedEnd: reachedEnd
            )
            pipeline.stop()
            return outcome
        }

        /// At the payloader packets come in lists, at the depayloader one by one.
        @Test(arguments: Track.allCases, [true, false])
        func everyUnitHasTheTimeOfItsPackets(track: Track, inLists: Bool) async throws {
            let start = Runtime.monotonicNanoseconds
            let outcome = try await self.run(
                track,
                queue: UnitQueue(),
                tapped: inLists ? ("pay", "src") : ("depay", "sink"),
                between: inLists ? "" : "identity name=loss"
            )
            #expect(outcome.reachedEnd)
            #expect(outcome.errors.isEmpty)
            #expect(outcome.units.count >= 50)
            #expect(outcome.units.map(\.unit.rtpTime) == outcome.packetTimes)
            #expect(outcome.units.last.map { $0.unit.rtpTime > 0xFFFF_FFFF } == true, "the time went past its wrap")
            #expect(outcome.units.allSatisfy { $0.unit.tap == 3 && $0.unit.lostPackets == 0 && !$0.bytes.isEmpty })
            let arrivals = outcome.units.map(\.unit.arrivalNanoseconds)
            #expect(arrivals == arrivals.sorted())
            #expect(arrivals.allSatisfy { $0 >= start && $0 <= Runtime.monotonicNanoseconds })
            #expect(outcome.counters.packets == UInt64(outcome.packets.count))
            #expect(outcome.counters.bytes == UInt64(outcome.packets.map(\.size).reduce(0, +)))
            #expect(outcome.counters.units == UInt64(outcome.units.count))
            #expect(outcome.counters.lostPackets == 0)
            #expect(outcome.counters.lastPacketNanoseconds.map { $0 >= (arrivals.last ?? 0) } == true)
        }

        @Test(arguments: Track.allCases)
        func countsWhatIsLost(track: Track) async throws {
            let outcome = try await self.run(
                track,
                queue: UnitQueue(),
                tapped: ("depay", "sink"),
                between: "identity name=loss",
                drops: { $0 > 40 && ($0 % 9 == 4 || $0 % 31 == 5) }
            )
            #expect(outcome.reachedEnd)
            #expect(outcome.errors.isEmpty)
            let gaps = zip(outcome.packets, outcome.packets.dropFirst()).map { Int($1.sequence &- $0.sequence) - 1 }
            let lost = gaps.reduce(0, +)
            #expect(lost > 3)
            #expect(outcome.counters.lostPackets == UInt64(lost))
            #expect(outcome.counters.packets == UInt64(outcome.packets.count))
            // Every loss is reported with the next unit: those before the last unit's packets are.
            let told = outcome.units.map(\.unit.lostPackets).reduce(0, +)
            let lastTime = outcome.units.last.map { UInt32(truncatingIfNeeded: $0.unit.rtpTime) }
            let beforeLast = outcome.packets.firstIndex { $0.timestamp == lastTime } ?? 0
            #expect(beforeLast > 0)
            #expect((gaps.prefix(beforeLast).reduce(0, +)...lost).contains(told))
            // The units are of the packets that went in.
            #expect(Set(outcome.units.map(\.unit.rtpTime)).isSubset(of: Set(outcome.packetTimes)))
        }

        /// The rest of a unit with missing packets is marked, where the depayloader passes it on at all.
        @Test(arguments: [Track.vp8, .vp9, .h264])
        func aPartOfAUnitIsKnown(track: Track) async throws {
            // H.264's depayloader passes on those slices of a frame that came.
            let slices = track.sender.replacing("speed-preset", with: "threads=1 option-string=slices=8 speed-preset")
            let outcome = try await self.run(
                track,
                sender: slices.replacing("config-interval=-1", with: "config-interval=0"),
                queue: UnitQueue(),
                tapped: ("depay", "sink"),
                between: "identity name=loss",
                drops: { $0 > 20 && $0 % 23 < 2 }
            )
            #expect(outcome.reachedEnd)
            // By the packets' own numbers: a unit is whole if every packet between its first and its last came, and its
            // neighbours are the ends of other units.
            var unwrapper = RTPTimestampUnwrapper()
            var previous: UInt16?
            var torn: Set<Int64> = []
            var time: Int64?
            for packet in outcome.packets {
                let before = time
                let now = unwrapper.unwrap(packet.timestamp)
                let isGap = previous.map { packet.sequence != $0 &+ 1 } ?? false
                if isGap, now == before { torn.insert(now) }
                (previous, time) = (packet.sequence, now)
            }
            #expect(!torn.isEmpty)
            for unit in outcome.units.map(\.unit) where torn.contains(unit.rtpTime) {
                #expect(unit.isTruncated)
                #expect(unit.lostPackets > 0)
            }
            for unit in outcome.units.map(\.unit) where unit.isTruncated { #expect(unit.lostPackets > 0) }
            if track == .h264 {
                #expect(outcome.units.contains { $0.unit.isTruncated }, "its depayloader gives out what is left")
            } else {
                #expect(outcome.units.allSatisfy { !$0.unit.isTruncated }, "its depayloader drops what is left")
            }
        }

        /// A camera that ends each slice with the marker that ends a frame: from the second frame on all of it is
        /// there.
        @Test
        func slicesThatAllHaveTheMarkerAreOnePicture() throws {
            let queue = UnitQueue()
            let feed = try HandFeed(ofH264: Self.h264Branch)
            defer { feed.stop() }
            let tap = TrackTap(id: 1, ssrc: 7, queue: queue)
            tap.attach(to: feed.pad)
            tap.attach(toSink: try feed.pipeline.element(named: "units"))
            // Parameter sets and the first slice of a keyframe, then the others; no byte is a zero.
            let pictures = (UInt8(0)..<6).map { picture in
                (UInt8(0)..<3).map { slice -> [UInt8] in
                    // The first one says that it is, by a bit.
                    let (kind, first): (UInt8, UInt8) = (picture == 0 ? 0x65 : 0x41, slice == 0 ? 0x80 : 0x40)
                    return [kind, first + slice, 0x40 + picture, 1, 2, 3]
                }
            }
            var sequence = 100 as UInt16
            for (index, slices) in pictures.enumerated() {
                let time = UInt32(index) * 3000
                if index == 0 {
                    for set in [[0x67, 0x42, 0xC0, 0x0A, 0xD9, 0x04], [0x68, 0xCB, 0x83, 0xCB, 0x20]] as [[UInt8]] {
                        feed.push(PacketFeed.packet(sequence, time, payload: set, isH264: true))
                        sequence += 1
                    }
                }
                for slice in slices {
                    feed.push(PacketFeed.packet(sequence, time, payload: slice, isH264: true, isMarked: true))
                    sequence += 1
                }
            }
            let units = queue.drain()
            // The last one waits for the next.
            #expect(units.map(\.unit.rtpTime) == (0..<5).map { $0 * 3000 })
            // The late part of the first frame is reported as lost, which asks for a keyframe.
            #expect(units.map(\.unit.lostPackets) == [0, 2, 0, 0, 0])
            #expect(units.allSatisfy { !$0.unit.isTruncated })
            #expect(tap.counters.units == 5)
            #expect(tap.counters.lostPackets == 0)
            for (unit, slices) in zip(units, pictures).dropFirst() {
                #expect(unit.bytes == slices.flatMap { [0, 0, 0, 1] + $0 })
            }
        }

        /// A packet with a header extension of the id 9 (RFC 8285), in the short form or the long one.
        private static func turned(_ packet: [UInt8], _ orientation: UInt8, isLong: Bool) -> [UInt8] {
            let element: [UInt8] =
                isLong ? [0x10, 0x00, 0, 1, 9, 1, orientation, 0] : [0xBE, 0xDE, 0, 1, 0x90, orientation, 0, 0]
            return [packet[0] | 0x10] + packet[1..<12] + element + packet[12...]
        }

        /// How frames are turned, in what some of their packets say (3GPP TS 26.114, 7.4.5).
        @Test(arguments: [true, false], [true, false])
        func orientationComesWithTheUnit(isH264: Bool, isLong: Bool) throws {
            let queue = UnitQueue()
            let tap = TrackTap(id: 1, ssrc: 7, queue: queue)
            tap.readOrientation(extensionID: 9)
            let feed = try isH264 ? self.h264(tap) : HandFeed(ofH264: "fakesink name=in")
            defer { feed.stop() }
            if !isH264 {
                tap.depayload(.vp8)
                tap.attach(to: feed.pad)
            }
            let said: [UInt8?] = [nil, 1, nil, 0, 0b1111]
            for (index, orientation) in said.enumerated() {
                // One packet a frame, with parameter sets before the first one, or a keyframe of VP8 first.
                let frame: [UInt8] =
                    isH264
                    ? [index == 0 ? 0x65 : 0x41, 0x9A, 7, 8]
                    : [0x10, index == 0 ? 0x10 : 0x11, 2, 0, 0x9D, 1, 0x2A, 8, 0, 8, 0]
                if isH264, index == 0 {
                    for (number, set) in [
                        [0x67, 0x42, 0xC0, 0x0A, 0xD9, 0x04], [0x68, 0xCB, 0x83, 0xCB, 0x20] as [UInt8],
                    ].enumerated() {
                        feed.push(PacketFeed.packet(UInt16(number), 0, payload: set, isH264: true))
                    }
                }
                let packet = PacketFeed.packet(
                    UInt16(index + 2),
                    UInt32(index) * 3000,
                    payload: frame,
                    isH264: true,
                    isMarked: true
                )
                feed.push(orientation.map { Self.turned(packet, $0, isLong: isLong) } ?? packet)
            }
            #expect(queue.drain().map(\.unit.rotation) == [nil, .quarter, .quarter, .upright, .threeQuarters])
        }

        /// The rest of a frame whose first packets came without its beginning is written, as a part.
        @Test
        func slicesBehindALostBeginningAreWritten() throws {
            let queue = UnitQueue()
            let feed = try HandFeed(ofH264: Self.h264Branch)
            defer { feed.stop() }
            let tap = TrackTap(id: 1, ssrc: 7, queue: queue)
            tap.attach(to: feed.pad)
            tap.attach(toSink: try feed.pipeline.element(named: "units"))
            func push(_ sequence: UInt16, _ time: UInt32, _ payload: [UInt8], isMarked: Bool) {
                feed.push(PacketFeed.packet(sequence, time, payload: payload, isH264: true, isMarked: isMarked))
            }
            push(1, 0, [0x67, 0x42, 0xC0, 0x0A, 0xD9, 0x04], isMarked: false)
            push(2, 0, [0x68, 0xCB, 0x83, 0xCB, 0x20], isMarked: false)
            push(3, 0, [0x65, 0x88, 1, 2], isMarked: true)
            // The end of a fragmented slice (RFC 6184 section 5.8) of which packet 4 was the beginning, and another
            // slice.
            push(5, 3000, [0x5C, 0x41, 5, 6], isMarked: false)
            push(6, 3000, [0x41, 0x9A, 7, 8], isMarked: true)
            push(7, 6000, [0x41, 0x9B, 9, 9], isMarked: true)
            let units = queue.drain()
            #expect(units.map(\.unit.rtpTime) == [0, 3000, 6000])
            #expect(units.map(\.unit.lostPackets) == [0, 1, 0])
            #expect(units.map(\.unit.isTruncated) == [false, true, false])
        }

        /// The elements that make units of a track of H.264.
        private static let h264Branch = """
            rtph264depay name=in ! video/x-h264,stream-format=byte-stream,alignment=au \
            ! appsink name=units sync=false max-buffers=8
            """

        private func h264(_ tap: TrackTap) throws -> HandFeed {
            let feed = try HandFeed(ofH264: Self.h264Branch)
            tap.depayload(.h264)
            tap.attach(to: feed.pad)
            tap.attach(toSink: try feed.pipeline.element(named: "units"))
            return feed
        }

        /// Payloads that GStreamer's depayloader reads beyond, or makes an error of.
        private static let impossible: [[[UInt8]]] = [
            // A fragment that begins, and one without anything in it (RFC 6184 section 5.8).
            [[0x7C, 0x85, 0], [0x7C]], [[0x7C, 0x85, 0], [0x7C, 0x45]],
            // A fragment that begins, nothing, one that continues, and another NAL unit.
            [[0x7C, 0x81, 1, 2], [], [0x7C, 0x01, 3, 4], [0x41, 0x9A, 7, 8]],
            // Packetization mode 2 (sections 5.7 and 5.8), and what is undefined.
            [[0x79, 0, 0, 0, 2, 1, 2]], [[0x7A, 0, 0, 0, 2, 0, 0, 0, 1]], [[0x7B, 0, 0, 0, 2, 0, 0, 0, 1]],
            [[0x7D, 0x85, 0, 0, 1]], [[0x7E, 1]], [[0x7F, 1]], [[0x60, 1]],
        ]

        @Test(arguments: impossible)
        func whatTheDepayloaderOfH264CannotTakeIsLeftOut(payloads: [[UInt8]]) throws {
            let queue = UnitQueue()
            let tap = TrackTap(id: 1, ssrc: 7, queue: queue)
            let feed = try self.h264(tap)
            defer { feed.stop() }
            var sequence: UInt16 = 0
            func push(_ time: UInt32, _ payload: [UInt8], isMarked: Bool) {
                sequence += 1
                feed.push(PacketFeed.packet(sequence, time, payload: payload, isH264: true, isMarked: isMarked))
            }
            push(0, [0x67, 0x42, 0xC0, 0x0A, 0xD9, 0x04], isMarked: false)
            push(0, [0x68, 0xCB, 0x83, 0xCB, 0x20], isMarked: false)
            push(0, [0x65, 0x88, 1, 2], isMarked: true)
            for payload in payloads { push(3000, payload, isMarked: false) }
            push(3000, [0x41, 0x9A, 7, 8], isMarked: true)
            push(6000, [0x41, 0x9B, 9, 9], isMarked: true)
            let units = queue.drain().map(\.unit)
            #expect(units.map(\.rtpTime) == [0, 3000, 6000])
            #expect(units.map(\.isTruncated) == [false, true, false])
            #expect(units.map(\.lostPackets) == [0, 1, 0])
            #expect(tap.counters.lostPackets == 0)
        }

        /// Bytes that only look like H.264, with losses.
        @Test(arguments: UInt64(1)...10)
        func theDepayloaderOfH264SurvivesWhatAPeerMakesUp(seed: UInt64) throws {
            let queue = UnitQueue()
            let tap = TrackTap(id: 1, ssrc: 7, queue: queue)
            let feed = try self.h264(tap)
            defer { feed.stop() }
            // As in an output: without a tap.
            let output = try HandFeed(
                ofH264: "rtph264depay name=in wait-for-keyframe=true ! h264parse ! fakesink async=false sync=false"
            )
            defer { output.stop() }
            output.pipeline.protectDepayloaders()
            var random = SeededGenerator(seed: seed)
            for number in 0..<4000 as Range<Int> where Int.random(in: 0..<30, using: &random) > 0 {
                let size = Int.random(in: 0...6, using: &random)
                var payload = (0..<size).map { _ in UInt8.random(in: 0...255, using: &random) }
                // Mostly fragments.
                if !payload.isEmpty, Bool.random(using: &random) { payload[0] = 0x7C }
                let packet = PacketFeed.packet(
                    UInt16(number),
                    UInt32(number / 4) * 3000,
                    payload: payload,
                    isH264: true,
                    isMarked: number % 4 == 3
                )
                feed.push(packet)
                output.push(packet)
            }
            _ = queue.drain()
            // The first of them may still belong to what was left of others.
            for number in 0..<3 as Range<UInt16> {
                let (sequence, time) = (4000 + number, 3_600_000 + 3000 * UInt32(number))
                let slice: [UInt8] = [0x65, 0x88, 1, 2]
                feed.push(PacketFeed.packet(sequence, time, payload: slice, isH264: true, isMarked: true))
            }
            #expect(queue.drain().contains { $0.unit.rtpTime == 3_603_000 })
        }

        /// decodebin makes its depayloaders itself, as in captures of RTP and RTSP.
        @Test
        func aDepayloaderThatComesLaterGetsNothingThatItCannotTake() throws {
            let errors = Log<BusEvent>()
            try Runtime.initialise()
            let pipeline = try Pipeline(launch: "identity name=in ! decodebin ! fakesink async=false sync=false") {
                errors.append($0)
            }
            let capture = try HandFeed(
                feeding: pipeline,
                into: "in",
                caps: "application/x-rtp,media=video,clock-rate=90000,encoding-name=H264,payload=96"
            )
            defer { capture.stop() }
            pipeline.protectDepayloaders()
            // The input of the depayloader, and its output.
            let given = Log<[UInt8]>()
            let made = Log<[UInt8]>()
            var sequence: UInt16 = 0
            func push(_ payload: [UInt8], isMarked: Bool = false) {
                sequence += 1
                let packet = PacketFeed.packet(sequence, 0, payload: payload, isH264: true, isMarked: isMarked)
                #expect(capture.push(packet), "\(payload)")
            }
            push([0x67, 0x42, 0xC0, 0x0A, 0xD9, 0x04])
            push([0x68, 0xCB, 0x83, 0xCB, 0x20])
            let name = try #require(pipeline.graph.firstMatch(of: /rtph264depay[0-9]+/).map { String($0.output) })
            let depayloader = try pipeline.element(named: name)
            try depayloader.staticPad("sink").observe { packet in
                given.append(Array(packet.bytes.dropFirst(PacketFeed.headerBytes)))
                return true
            }
            try depayloader.staticPad("src").observe { unit in
                made.append(unit.bytes)
                return true
            }
            for payload in Self.impossible.joined() { push(payload) }
            // Only what has something in it, and nothing between fragments.
            let passing: [[UInt8]] = [
                [0x7C, 0x85, 0], [0x7C, 0x85, 0], [0x7C, 0x81, 1, 2], [0x7C, 0x01, 3, 4], [0x41, 0x9A, 7, 8],
            ]
            #expect(given.all == passing)
            push([0x65, 0x88, 1, 2], isMarked: true)
            #expect(made.all.contains { $0.suffix(4) == [0x65, 0x88, 1, 2] })
            #expect(!errors.all.contains { if case .error = $0 { true } else { false } })
        }

        /// Two audio packets that have one time are two units.
        @Test
        func soundThatHasOneTimeTwiceIsWrittenTwice() throws {
            let queue = UnitQueue()
            let feed = try PacketFeed(id: 1, queue: queue)
            defer { feed.stop() }
            for (sequence, time) in [(1, 160), (2, 320), (3, 320), (4, 480)] as [(UInt16, UInt32)] {
                feed.push(sequence, time)
            }
            let units = queue.drain().map(\.unit)
            #expect(units.map(\.rtpTime) == [160, 320, 320, 480])
            #expect(units.allSatisfy { $0.lostPackets == 0 })
            #expect(feed.tap.counters.units == 4)
        }

        @Test(arguments: [Track.vp8, .h264, .opus])
        func aFullQueueIsNoError(track: Track) async throws {
            let queue = UnitQueue(maximumItems: 1)
            let outcome = try await self.run(track, queue: queue, tapped: ("pay", "src"))
            #expect(outcome.reachedEnd)
            #expect(outcome.errors.isEmpty)
            #expect(outcome.units.count == 1)
            #expect(outcome.counters.units == 1)
            #expect(queue.droppedItems == UInt64(outcome.packetTimes.count - 1))
            #expect(outcome.counters.packets == UInt64(outcome.packets.count))
            #expect(outcome.counters.lostPackets == 0)
        }

        /// As when a sender switches to another codec and back: one SSRC, two payload types, one row of numbers.
        @Test
        func whatGoesToAnotherPayloadTypeIsNoGap() throws {
            let queue = UnitQueue()
            let one = try PacketFeed(id: 1, queue: queue)
            defer { one.stop() }
            let other = try PacketFeed(id: 2, queue: queue, besides: one)
            defer { other.stop() }
            for sequence in 65_500...65_530 as ClosedRange<UInt16> { one.push(sequence, UInt32(sequence) * 160) }
            for step in 31..<200 as Range<UInt16> { other.push(65_500 &+ step, 10_485_000 + UInt32(step) * 160) }
            // Two are lost at the switch back, three in the midst of the stream.
            for step in [202, 203, 207] as [UInt16] { one.push(65_500 &+ step, 10_485_000 + UInt32(step) * 160) }
            #expect(one.tap.counters.lostPackets == 5)
            #expect(other.tap.counters.lostPackets == 0)
            let units = queue.drain().map(\.unit)
            #expect(units.suffix(3).map(\.lostPackets) == [2, 0, 3])
            #expect(units.dropLast(3).allSatisfy { $0.lostPackets == 0 })
        }

        /// 20 dB below full scale, with the voice flag and without, and then silence.
        @Test
        func readsHowLoudTheSenderSaysItIs() async throws {
            let feed = try PacketFeed(id: 1, queue: UnitQueue())
            defer { feed.stop() }
            feed.push(1, 160, extensionID: 5, value: 20)
            #expect(feed.tap.audioLevel == nil)
            feed.tap.readLevels(extensionID: 5)
            feed.push(2, 320)
            feed.push(3, 480, extensionID: 4, value: 20)
            #expect(feed.tap.audioLevel == nil)
            var sequence = 4 as UInt16
            func send(_ value: UInt8, until isDone: () -> Bool) async throws {
                let deadline = ContinuousClock.now + .seconds(20)
                while !isDone(), ContinuousClock.now < deadline {
                    feed.push(
                        sequence,
                        UInt32(sequence) * 160,
                        extensionID: 5,
                        value: sequence % 2 == 0 ? value : value | 128
                    )
                    sequence += 1
                    try await Task.sleep(for: .milliseconds(20))
                }
            }
            try await send(20) { feed.tap.audioLevel?.decibels != nil }
            let loud = try #require(feed.tap.audioLevel)
            #expect(abs((loud.decibels ?? 0) + 20) < 0.01 && loud.silence < .seconds(1))
            try await send(127) { (feed.tap.audioLevel?.silence ?? .zero) > .milliseconds(2100) }
            #expect(feed.tap.audioLevel?.decibels == -127)
            // A level that is not sent any more is unknown, and silent.
            #expect(
                await eventually { feed.tap.audioLevel.map { $0.decibels == nil && $0.silence > .seconds(3) } == true }
            )
        }

        @Test
        func countsWhatWasRepaired() throws {
            let queue = UnitQueue()
            let feed = try PacketFeed(id: 1, queue: queue)
            defer { feed.stop() }
            feed.push(1, 160)
            feed.pushAgain(2, 320)
            feed.push(3, 480)
            feed.pushAgain(4, 640)
            #expect(feed.tap.counters.repairedPackets == 2)
            #expect(feed.tap.counters.packets == 4)
            #expect(feed.tap.counters.lostPackets == 0)
        }

        @Test
        func unwrapsAcrossWrapsAndBackwardSteps() throws {
            let queue = UnitQueue()
            let feed = try PacketFeed(id: 1, queue: queue)
            defer { feed.stop() }
            let timestamps: [UInt32] = [
                0xFFFF_FF00, 0xFFFF_FFA0, 0x40, 0xFFFF_FFF0, 0xE0, 0x7000_0000, 0xE000_0000, 0x10,
            ]
            var unwrapper = RTPTimestampUnwrapper()
            for (index, timestamp) in timestamps.enumerated() { feed.push(65_533 &+ UInt16(index), timestamp) }
            #expect(queue.drain().map(\.unit.rtpTime) == timestamps.map { unwrapper.unwrap($0) })
            #expect(feed.tap.counters.lostPackets == 0)
        }

        @Test
        func aTimeBeforeTheFirstIsNegative() throws {
            let queue = UnitQueue()
            let feed = try PacketFeed(id: 1, queue: queue)
            defer { feed.stop() }
            feed.push(1, 100)
            feed.push(2, 0xFFFF_FFFF)
            #expect(queue.drain().map(\.unit.rtpTime) == [100, -1])
        }

        @Test
        func aPacketThatIsNoRTPIsNoUnit() throws {
            let queue = UnitQueue()
            let feed = try HandFeed(
                launch: "identity name=in ! appsink name=units sync=false",
                into: "in",
                caps: "application/x-rtp"
            )
            defer { feed.stop() }
            let tap = TrackTap(id: 1, ssrc: 1, queue: queue)
            tap.attach(to: feed.pad)
            tap.attach(toSink: try feed.pipeline.element(named: "units"))
            for bytes in [[], [0x80], [UInt8](repeating: 0xFF, count: 40), [UInt8](repeating: 0, count: 12)] {
                #expect(feed.push(bytes))
            }
            #expect(queue.drain().isEmpty)
            #expect(tap.counters.packets == 0)
            #expect(feed.push(PacketFeed.packet(9, 9, payload: [1])))
            #expect(queue.drain().count == 1)
        }

        @Test
        func aClosedTapHandsNothingOver() throws {
            let queue = UnitQueue()
            let feed = try PacketFeed(id: 1, queue: queue)
            defer { feed.stop() }
            feed.push(0, 0)
            feed.tap.close()
            #expect(feed.push(1, 160))
            #expect(queue.drain().count == 1)
            #expect(queue.droppedItems == 0)
            #expect(feed.tap.counters.packets == 2)
            #expect(feed.tap.counters.units == 1)
        }
    }
}
