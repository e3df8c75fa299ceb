// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import GStreamer

extension AllGStreamer {
    /// Units that a tap itself makes, compared with those of GStreamer's depayloaders.
    @Suite(.serialized)
    struct DepayloaderTests {
        typealias Track = TrackTapTests.Track

        /// One tap that makes units itself, and one behind a depayloader, of the same packets.
        final class Pair: Sendable {
            let ours = UnitQueue()
            let theirs = UnitQueue()
            let pipeline: Pipeline
            let tap: TrackTap
            let other: TrackTap

            init(from launch: String, _ depayloading: Depayloading, depayloader: String, onBus: Log<BusEvent>) throws {
                try Runtime.initialise()
                self.tap = TrackTap(id: 1, ssrc: 7, queue: self.ours)
                self.other = TrackTap(id: 2, ssrc: 7, queue: self.theirs)
                self.pipeline = try Pipeline(
                    launch: "\(launch) ! tee name=packets packets. ! identity name=own "
                        + "! fakesink async=false sync=false packets. ! \(depayloader) "
                        + "! appsink name=units async=false sync=false"
                ) { onBus.append($0) }
                let own = try self.pipeline.element(named: "own").staticPad("sink")
                self.tap.depayload(depayloading)
                self.tap.attach(to: own)
                self.other.attach(to: try self.pipeline.element(named: "depay").staticPad("sink"))
                self.other.attach(toSink: try self.pipeline.element(named: "units"))
            }
        }

        @Test(arguments: [Track.vp8, .opus, .pcmu], [false, true])
        func makesWhatGStreamerMakes(track: Track, isLossy: Bool) async throws {
            let bus = Log<BusEvent>()
            let pair = try Pair(
                from: "\(track.sender) ! identity name=loss",
                track == .vp8 ? .vp8 : .sound,
                depayloader: track.depayloader,
                onBus: bus
            )
            defer { pair.pipeline.stop() }
            let passed = Log<Void>()
            try pair.pipeline.element(named: "loss").staticPad("src").observe { _ in
                passed.append(())
                return !isLossy || passed.count % 23 > 1
            }
            try pair.pipeline.play()
            #expect(await eventually { bus.all.contains(.endOfStream) })
            let (ours, theirs) = (pair.ours.drain(), pair.theirs.drain())
            #expect(theirs.count >= 30)
            #expect(ours.map(\.bytes) == theirs.map(\.bytes))
            #expect(ours.map(\.unit.rtpTime) == theirs.map(\.unit.rtpTime))
            #expect(ours.map(\.unit.lostPackets) == theirs.map(\.unit.lostPackets))
            #expect(ours.map(\.unit.isTruncated) == theirs.map(\.unit.isTruncated))
            let arrivals = ours.map(\.unit.arrivalNanoseconds)
            #expect(arrivals == arrivals.sorted() && arrivals.allSatisfy { $0 > 0 })
            #expect(pair.tap.counters.packets == pair.other.counters.packets)
            #expect(pair.tap.counters.lostPackets == pair.other.counters.lostPackets)
            #expect(pair.tap.counters.units == UInt64(ours.count))
        }

        /// Frames of one to five packets with every form of descriptor, of which some packets are lost, and some cut
        /// off.
        @Test(arguments: UInt64(1)...20)
        func makesWhatGStreamerMakesOfBrokenVP8(seed: UInt64) throws {
            let feed = try VP8Feed()
            defer { feed.stop() }
            var random = SeededGenerator(seed: seed)
            var sequence = UInt16(truncatingIfNeeded: random.next())
            for picture in 0..<300 as Range<UInt32> {
                let count = Int.random(in: 1...5, using: &random)
                for part in 0..<count {
                    sequence &+= 1
                    guard Int.random(in: 0..<20, using: &random) > 0 else { continue }
                    var payload = VP8Feed.descriptor(isFirst: part == 0, form: UInt8.random(in: 0..<16, using: &random))
                    let size = Int.random(in: 1...40, using: &random)
                    payload += (0..<size).map { _ in UInt8.random(in: 0...255, using: &random) }
                    if Int.random(in: 0..<40, using: &random) == 0 {
                        payload.removeLast(Int.random(in: 0...payload.count, using: &random))
                    }
                    // Some forget the marker.
                    let isMarked = part == count - 1 && Int.random(in: 0..<30, using: &random) > 0
                    feed.push(sequence, picture &* 3000, payload, isMarked: isMarked)
                }
            }
            // Theirs rejects frames of less than ten bytes, though inter frames may have three; losses before such a
            // one are reported with it.
            var told = 0
            var ours: [(unit: ReceivedItem.Unit, bytes: [UInt8])] = []
            for (unit, bytes) in feed.pair.ours.drain() {
                told += unit.lostPackets
                guard bytes.count >= 10 else { continue }
                var unit = unit
                unit.lostPackets = told
                ours.append((unit, bytes))
                told = 0
            }
            let theirs = feed.pair.theirs.drain()
            #expect(theirs.count > 100)
            #expect(ours.map(\.bytes) == theirs.map(\.bytes))
            #expect(ours.map(\.unit.rtpTime) == theirs.map(\.unit.rtpTime))
            // A frame without an end is a loss that only we report.
            for (our, their) in zip(ours, theirs) { #expect(our.unit.lostPackets >= their.unit.lostPackets) }
            #expect(ours.allSatisfy { !$0.unit.isTruncated })
        }

        /// A decoder that is given frames one behind the other without an index decodes the first, which is the smallest.
        @Test
        func aPictureOfVP9InSpatialLayersIsASuperframe() throws {
            let queue = UnitQueue()
            let tap = TrackTap(id: 1, ssrc: 7, queue: queue)
            let feed = try HandFeed(
                launch: "identity name=in ! rtpvp9depay ! appsink name=units sync=false async=false",
                into: "in",
                caps: "application/x-rtp,media=video,clock-rate=90000,encoding-name=VP9,payload=96"
            )
            defer { feed.stop() }
            tap.depayload(.vp9)
            tap.attach(to: feed.pad)
            tap.attach(toSink: try feed.pipeline.element(named: "units"))
            func push(_ sequence: UInt16, _ time: UInt32, _ payload: [UInt8], isMarked: Bool = false) {
                var packet = PacketFeed.packet(sequence, time, payload: payload, isMarked: isMarked)
                packet[1] |= 96
                feed.push(packet)
            }
            let (base, more) = ([0x82, 1] as [UInt8], [UInt8](2...12))
            let upper = [UInt8](repeating: 0x87, count: 300)
            // A PictureID of two bytes, two layers with their sizes, in three packets, the last frame longer than 255
            // bytes.
            push(1, 0, [0xAA, 0x81, 2, 0, 7, 0x30, 1, 64, 0, 180, 2, 128, 1, 104] + base)
            push(2, 0, [0xA4, 0x81, 2, 0, 7] + more)
            push(3, 0, [0xAC, 0x81, 2, 3, 7] + upper, isMarked: true)
            // The same in flexible mode, with a reference; then the base layer alone, which is a frame.
            push(4, 3000, [0xFC, 0x81, 3, 0, 2] + base)
            push(5, 3000, [0xFC, 0x81, 3, 3, 2] + more, isMarked: true)
            push(6, 6000, [0xAC, 0x81, 4, 0, 7] + upper, isMarked: true)
            // The first packet of the next one is lost: the rest is no superframe.
            push(8, 9000, [0xAC, 0x81, 5, 3, 7] + upper, isMarked: true)
            push(9, 12_000, [0xAC, 0x81, 6, 0, 7] + base)
            push(10, 12_000, [0xAC, 0x81, 6, 3, 7] + more, isMarked: true)
            // A layer that needs nothing of the one below replaces it.
            push(11, 15_000, [0xAC, 0x81, 7, 0, 7] + base)
            push(12, 15_000, [0xAC, 0x81, 7, 2, 7] + upper, isMarked: true)
            let (short, superframe) = (base + more, base + more + [0xC1, 2, 11, 0xC1])
            let units = queue.drain()
            #expect(units.map(\.unit.rtpTime) == [0, 3000, 6000, 9000, 12_000, 15_000])
            #expect(
                units.map(\.bytes) == [
                    short + upper + [0xC9, 13, 0, 44, 1, 0xC9], superframe, upper, upper, superframe, upper,
                ]
            )
        }

        @Test
        func aPictureThatDoesNotEndIsALoss() throws {
            let feed = try VP8Feed()
            defer { feed.stop() }
            let part = [UInt8](repeating: 8, count: 10)
            feed.push(1, 0, [0x10] + part, isMarked: true)
            feed.push(2, 3000, [0x10] + part, isMarked: false)
            // The second partition.
            feed.push(3, 3000, [0x11] + part, isMarked: false)
            feed.push(4, 6000, [0x10] + part, isMarked: false)
            feed.push(5, 6000, [0x00] + part, isMarked: true)
            let units = feed.pair.ours.drain()
            #expect(units.map(\.unit.rtpTime) == [0, 6000])
            #expect(units.map(\.unit.lostPackets) == [0, 1])
            #expect(units.map(\.bytes) == [part, part + part])
        }

        @Test
        func whatHasNothingInItIsNoUnit() throws {
            let feed = try VP8Feed()
            defer { feed.stop() }
            let picture = [UInt8](repeating: 6, count: 12)
            // Padding between frames, as probes of the bandwidth send it, and a descriptor with nothing after it.
            let payloads: [[UInt8]] = [[0x10] + picture, [], [0x90, 0xF0], [0x10] + picture]
            for (number, payload) in payloads.enumerated() {
                feed.push(UInt16(number), UInt32(number) * 3000, payload, isMarked: !payload.isEmpty)
            }
            let units = feed.pair.ours.drain()
            #expect(units.map(\.bytes) == [picture, picture])
            #expect(units.allSatisfy { $0.unit.lostPackets == 0 })
        }

        /// A tap of VP8 alone.
        private final class OwnFeed {
            let queue = UnitQueue()
            let tap: TrackTap
            private let feed: HandFeed

            init(with sibling: OwnFeed? = nil) throws {
                self.feed = try HandFeed(
                    launch: "fakesink name=in async=false sync=false",
                    into: "in",
                    caps: "application/x-rtp,media=video,clock-rate=90000,encoding-name=VP8,payload=96"
                )
                self.tap = TrackTap(id: 1, ssrc: 7, queue: self.queue, with: sibling?.tap)
                self.tap.depayload(.vp8)
                self.tap.attach(to: self.feed.pad)
            }

            deinit { self.feed.stop() }

            func push(_ number: UInt16, _ payload: [UInt8], time: UInt32 = 0, isMarked: Bool = false) {
                var packet = PacketFeed.packet(number, time, payload: payload, isMarked: isMarked)
                packet[1] |= 96
                self.feed.push(packet)
            }

            /// The beginning of a frame.
            func begin(_ parts: Range<UInt16>, time: UInt32 = 0) {
                let part = [UInt8](repeating: 6, count: 60_000)
                for number in parts { self.push(number, [number == parts.lowerBound ? 0x10 : 0x00] + part, time: time) }
            }

            func end(_ number: UInt16, time: UInt32 = 0) { self.push(number, [0x00, 6], time: time, isMarked: true) }
        }

        /// Many sources with unfinished frames take only a bounded amount of memory together; those that do not fit are
        /// lost.
        @Test
        func picturesThatHaveBegunAreBoundedTogether() throws {
            let feeds = try (0..<4).map { _ in try OwnFeed() }
            // 30 MB each.
            for feed in feeds { feed.begin(0..<500) }
            for feed in feeds { feed.end(500) }
            #expect(feeds.map { $0.queue.drain().count } == [1, 1, 1, 0])
            // Now there is room for it.
            feeds[3].push(501, [0x10] + [UInt8](repeating: 6, count: 60_000), time: 3000, isMarked: true)
            #expect(feeds[3].queue.drain().map(\.unit.lostPackets) == [1])
        }

        /// Unfinished frames of some never cost another sender a frame of the usual size.
        @Test
        func aModestPictureIsTakenHoweverManyHaveBegun() throws {
            let feeds = try (0..<5).map { _ in try OwnFeed() }
            // Together they leave 43 kB.
            for feed in feeds.prefix(3) { feed.begin(0..<559) }
            for feed in feeds.suffix(2) { feed.begin(0..<17) }
            for feed in feeds.suffix(2) { feed.end(17) }
            #expect(feeds.suffix(2).map { $0.queue.drain().map(\.bytes.count) } == [[1_020_001], [1_020_001]])
            // A sender that takes more must wait.
            feeds[4].begin(18..<38, time: 3000)
            feeds[4].end(38, time: 3000)
            #expect(feeds[4].queue.drain().isEmpty)
        }

        /// All sources of a connection have together what one may have.
        @Test
        func picturesOfAConnectionAreBoundedTogether() throws {
            let first = try OwnFeed()
            let feeds = [first] + (try (0..<3).map { _ in try OwnFeed(with: first) })
            // 9 MB each.
            for feed in feeds { feed.begin(0..<150) }
            for feed in feeds { feed.end(150) }
            #expect(feeds.map { $0.queue.drain().count } == [1, 1, 1, 0])
        }

        /// GStreamer's depayloader of H.264 keeps its part of a frame, however much that is.
        @Test
        func aPictureThatDoesNotEndIsKeptFromADepayloader() throws {
            let feed = try HandFeed(
                ofH264: """
                    identity name=in ! rtph264depay name=depay ! video/x-h264,stream-format=byte-stream,alignment=au \
                    ! appsink name=units async=false sync=false
                    """
            )
            defer { feed.stop() }
            let queue = UnitQueue()
            let tap = TrackTap(id: 1, ssrc: 7, queue: queue)
            tap.attach(to: feed.pad)
            tap.attach(toSink: try feed.pipeline.element(named: "units"))
            let passed = Log<Void>()
            try feed.pipeline.element(named: "depay").staticPad("sink").observe { _ in
                passed.append(())
                return true
            }
            let part = [UInt8](repeating: 8, count: 60_000)
            for number in UInt16(0)..<600 {
                // Fragments of one slice (RFC 6184 section 5.8).
                let payload = [0x7C, number == 0 ? 0x85 : 0x05] + part
                feed.push(PacketFeed.packet(number, 0, payload: payload, isH264: true))
            }
            // With what each buffer takes besides.
            #expect(passed.count == (32 << 20) / (PacketFeed.headerBytes + 2 + part.count + 512))
            let slice = [0x65] + [UInt8](repeating: 9, count: 40)
            feed.push(PacketFeed.packet(600, 3000, payload: slice, isH264: true, isMarked: true))
            #expect(queue.drain().last?.unit.rtpTime == 3000)
            #expect(tap.counters.packets == 601 && tap.counters.lostPackets == 0)
        }

        /// A tap behind which GStreamer's depayloader of H.264 is, and how much that was given and has not given out.
        private final class ElementFeed {
            let queue = UnitQueue()
            let tap: TrackTap
            let passed = Log<Int>()
            private let feed: HandFeed

            init() throws {
                self.feed = try HandFeed(
                    ofH264: """
                        identity name=in ! rtph264depay name=depay \
                        ! video/x-h264,stream-format=byte-stream,alignment=au \
                        ! appsink name=units async=false sync=false
                        """
                )
                self.tap = TrackTap(id: 1, ssrc: 7, queue: self.queue)
                self.tap.depayload(.h264)
                self.tap.attach(to: self.feed.pad)
                self.tap.attach(toSink: try self.feed.pipeline.element(named: "units"))
                let depayloader = try self.feed.pipeline.element(named: "depay")
                try depayloader.staticPad("sink").observe { [passed] packet in
                    passed.append(packet.bytes.count)
                    return true
                }
                try depayloader.staticPad("src").observe { [passed] unit in
                    passed.append(-unit.bytes.count)
                    return true
                }
            }

            deinit { self.feed.stop() }

            func push(_ number: UInt16, _ time: UInt32, _ payload: [UInt8], isMarked: Bool = false) {
                self.feed.push(PacketFeed.packet(number, time, payload: payload, isH264: true, isMarked: isMarked))
            }

            /// The most bytes that the depayloader had at once.
            var mostKept: Int {
                self.passed.all.reduce(into: (now: 0, most: 0)) { sum, bytes in
                    sum.now += bytes
                    sum.most = max(sum.most, sum.now)
                }.most
            }
        }

        /// Whole NAL units are kept after a gap as well: single ones, and fragments of which each begins again.
        @Test(arguments: [[0x41, 0x10], [0x7C, 0x81, 0x10]] as [[UInt8]])
        func picturesThatDoNotEndAreKeptFromADepayloader(head: [UInt8]) throws {
            let feed = try ElementFeed()
            let payload = head + [UInt8](repeating: 8, count: 60_000)
            for number in UInt16(0)..<1800 { feed.push(number, UInt32(number) * 3000, payload) }
            #expect(feed.mostKept < 33 << 20)
            #expect(feed.queue.drain().isEmpty, "what got too large is lost")
            // Packets that still wait end with the first.
            for number in UInt16(1800)..<1802 {
                feed.push(number, UInt32(number) * 3000, [0x65, 0x88, 9, 9], isMarked: true)
            }
            let units = feed.queue.drain()
            #expect(units.last?.bytes == [0, 0, 0, 1, 0x65, 0x88, 9, 9])
            #expect(units.first.map { $0.unit.lostPackets > 0 } == true)
            #expect(feed.tap.counters.packets == 1802 && feed.tap.counters.lostPackets == 0)
        }

        /// A slice of 30 MB that begins a frame stays where it is when the frame before it is passed on.
        @Test
        func whatStaysBehindAPictureIsCounted() throws {
            let feed = try ElementFeed()
            let part = [UInt8](repeating: 0x88, count: 60_000)
            feed.push(0, 0, [0x65, 0x88, 1, 2])
            for number in UInt16(1)...500 {
                feed.push(number, 3000, [0x5C, number == 1 ? 0x81 : number == 500 ? 0x41 : 0x01] + part)
            }
            #expect(feed.queue.drain().map(\.unit.rtpTime) == [0])
            for number in UInt16(501)...1000 {
                feed.push(number, 3000, [0x5C, number == 501 ? 0x81 : 0x01] + part)
            }
            #expect(feed.mostKept < 33 << 20)
        }

        /// Parts of frames that wait for the rest count like the data that depayloaders keep.
        @Test
        func picturesInPartsAreBoundedTogether() throws {
            let feeds = try (0..<4).map { _ in try ElementFeed() }
            // The depayloader gives out each slice when the next one comes.
            let slice = [0x65, 0x88] + [UInt8](repeating: 8, count: 60_000)
            for feed in feeds { for number in UInt16(0)..<500 { feed.push(number, 0, slice) } }
            for feed in feeds { feed.push(500, 0, [0x65, 0x10, 1, 2], isMarked: true) }
            let units = feeds.map { $0.queue.drain() }
            #expect(units.map { $0.map(\.unit.isTruncated) } == [[false], [false], [false], [true]])
            #expect(units[0].map(\.bytes.count) == [500 * (slice.count + 4) + 8])
            #expect(units[3].allSatisfy { $0.bytes.count < 100_000 && $0.unit.lostPackets > 0 })
            // Now there is room for it.
            feeds[3].push(501, 3000, slice)
            feeds[3].push(502, 3000, slice, isMarked: true)
            #expect(feeds[3].queue.drain().map(\.bytes.count) == [2 * (slice.count + 4)])
        }

        /// Where an output's pipeline splits a frame, and packets that begin one without an end and continue it.
        struct OutputBranch: Sendable, CustomTestStringConvertible {
            var codec: String
            var launch: String
            var first: [UInt8]
            var next: [UInt8]

            var testDescription: String { "\(self.launch) \(self.next)" }

            /// The depayloader joins a frame, or the parser after it does.
            private static func h264(_ first: [UInt8], _ next: [UInt8], joinedBy alignment: String) -> Self {
                let depayloader = "rtph264depay name=in ! video/x-h264,stream-format=byte-stream,alignment=\(alignment)"
                let launch = "\(depayloader) ! h264parse ! video/x-h264,alignment=au"
                return Self(codec: "H264", launch: launch, first: first, next: next)
            }

            static let all: [Self] = [
                Self(codec: "VP8", launch: "rtpvp8depay name=in wait-for-keyframe=true", first: [0x10], next: [0]),
                Self(codec: "VP9", launch: "rtpvp9depay name=in", first: [8], next: [0]),
                h264([0x7C, 0x85, 0x10], [0x7C, 5, 0x10], joinedBy: "au"),
                h264([0x7C, 0x85, 0x10], [0x7C, 5, 0x10], joinedBy: "nal"),
                h264([0x41, 0x10], [0x41, 0x10], joinedBy: "au"),
                h264([0x41, 0x10], [0x41, 0x10], joinedBy: "nal"),
                h264([0x0C], [0x0C], joinedBy: "nal"),
            ]
        }

        @Test(arguments: OutputBranch.all)
        func aPictureThatDoesNotEndIsKeptFromAnOutput(branch: OutputBranch) throws {
            let feed = try HandFeed(
                launch: "\(branch.launch) ! fakesink async=false sync=false enable-last-sample=false",
                into: "in",
                caps: "application/x-rtp,media=video,clock-rate=90000,encoding-name=\(branch.codec),payload=96"
            )
            defer { feed.stop() }
            feed.pipeline.protectDepayloaders()
            func push(_ number: UInt16, _ time: UInt32, _ payload: [UInt8]) {
                var packet = PacketFeed.packet(number, time, payload: payload)
                packet[1] |= 96
                feed.push(packet)
            }
            if branch.codec == "H264" {
                // The parser throws away what comes before parameter sets.
                let set: [UInt8] = [
                    0x67, 0x42, 0xC0, 0x0A, 0xD9, 0x04, 0x7B, 0x01, 0x10, 0x00, 0x00, 0x03, 0x00, 0x10, 0x00, 0x00,
                    0x03,
                    0x03, 0xC8, 0xF1, 0x22, 0x64, 0x80,
                ]
                push(0, 0, set)
                push(1, 0, [0x68, 0xCB, 0x83, 0xCB, 0x20])
            }
            let before = Runtime.allocatedBytes
            var most: Int64 = 0
            let part = [UInt8](repeating: 8, count: 60_000)
            for number in UInt16(2)..<1802 {
                push(number, 0, (number == 2 ? branch.first : branch.next) + part)
                if number % 50 == 0 { most = max(most, Runtime.allocatedBytes - before) }
            }
            // A parser that joins frames has its input twice; without a bound it is 108 MB, or twice as much.
            #expect(most < 80 << 20)
        }

        /// A keyframe has ten bytes of headers, an inter frame three (RFC 6386 section 9.1).
        @Test
        func aPictureWithoutItsHeadersIsALoss() throws {
            let feed = try VP8Feed()
            defer { feed.stop() }
            let (keyframe, inter) = ([UInt8](repeating: 6, count: 10), [7, 1, 2] as [UInt8])
            for (sequence, picture) in [keyframe, inter, [7, 1], [6, 1, 2, 3], inter].enumerated() {
                feed.push(UInt16(sequence), UInt32(sequence) * 3000, [0x10] + picture, isMarked: true)
            }
            let units = feed.pair.ours.drain()
            #expect(units.map(\.bytes) == [keyframe, inter, inter])
            #expect(units.map(\.unit.lostPackets) == [0, 0, 1])
        }

        /// As GStreamer's: what comes before it cannot be decoded.
        @Test
        func theFirstUnitIsAKeyframe() throws {
            let feed = try VP8Feed()
            defer { feed.stop() }
            let (keyframe, inter) = ([UInt8](repeating: 6, count: 12), [UInt8](repeating: 7, count: 12))
            for (sequence, picture) in [inter, inter, keyframe, inter].enumerated() {
                feed.push(UInt16(sequence), UInt32(sequence) * 3000, [0x10] + picture, isMarked: true)
            }
            #expect(feed.pair.ours.drain().map(\.bytes) == [keyframe, inter])
            #expect(feed.pair.theirs.drain().map(\.bytes) == [keyframe, inter])
        }

        /// Earlier packets count once.
        @Test
        func aPacketThatComesAgainIsLeftOut() throws {
            let feed = try VP8Feed()
            defer { feed.stop() }
            let picture = [UInt8](repeating: 6, count: 12)
            for (sequence, time) in [(10, 3000), (11, 6000), (10, 3000), (11, 6000), (12, 9000)] as [(UInt16, UInt32)] {
                feed.push(sequence, time, [0x10] + picture, isMarked: true)
            }
            #expect(feed.pair.ours.drain().map(\.unit.rtpTime) == [3000, 6000, 9000])
        }
    }

    /// VP8 packets made by hand, for both taps of a pair.
    final class VP8Feed: Sendable {
        let pair: DepayloaderTests.Pair
        private let feed: HandFeed

        init() throws {
            let bus = Log<BusEvent>()
            self.pair = try DepayloaderTests.Pair(
                from: "identity name=in",
                .vp8,
                depayloader: "rtpvp8depay name=depay",
                onBus: bus
            )
            self.feed = try HandFeed(
                feeding: self.pair.pipeline,
                into: "in",
                caps: "application/x-rtp,media=video,clock-rate=90000,encoding-name=VP8,payload=96"
            )
        }

        func stop() {
            self.feed.stop()
        }

        func push(_ sequence: UInt16, _ time: UInt32, _ payload: [UInt8], isMarked: Bool) {
            var packet = PacketFeed.packet(sequence, time, payload: payload, isMarked: isMarked)
            packet[1] |= 96
            self.feed.push(packet, timeNanoseconds: UInt64(time) * 1_000_000_000 / 90_000)
        }

        /// A payload descriptor (RFC 7741 section 4.2); the bits of `form` are its extensions I, L, T and K.
        static func descriptor(isFirst: Bool, form: UInt8) -> [UInt8] {
            let start = (isFirst ? 0x10 : 0x00) as UInt8
            guard form > 0 else { return [start] }
            var bytes = [0x80 | start, form << 4]
            if form & 8 != 0 { bytes += form & 1 != 0 ? [0x81, 0x23] : [0x42] }
            if form & 4 != 0 { bytes.append(5) }
            if form & 3 != 0 { bytes.append(0x60) }
            return bytes
        }
    }
}
