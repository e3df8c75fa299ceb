// SPDX-License-Identifier: Apache-2.0

import CGStreamer
import CTapedeck
import Glibc
import Testing

@testable import GStreamer

extension AllGStreamer {
    @Suite(.serialized)
    struct RTPStreamTests {
        /// A UDP socket on 127.0.0.1.
        final class Socket {
            let descriptor: Int32
            let port: UInt16

            init(port: UInt16 = 0) throws {
                let descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
                var address = Self.loopback(port)
                var size = socklen_t(MemoryLayout<sockaddr_in>.size)
                let bound = withUnsafeMutablePointer(to: &address) { address in
                    address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                        bind(descriptor, address, size) == 0 && getsockname(descriptor, address, &size) == 0
                    }
                }
                self.descriptor = descriptor
                self.port = UInt16(bigEndian: address.sin_port)
                try #require(bound)
            }

            deinit { close(self.descriptor) }

            static func loopback(_ port: UInt16) -> sockaddr_in {
                var address = sockaddr_in()
                address.sin_family = sa_family_t(AF_INET)
                address.sin_port = port.bigEndian
                address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
                return address
            }

            /// Datagrams that are there; loopback delivers before the sender's call returns.
            var datagrams: [[UInt8]] {
                var found: [[UInt8]] = []
                var bytes = [UInt8](repeating: 0, count: 2048)
                while true {
                    let count = recv(self.descriptor, &bytes, bytes.count, Int32(MSG_DONTWAIT))
                    guard count >= 0 else { return found }
                    found.append(Array(bytes[..<count]))
                }
            }

            func send(_ bytes: [UInt8], to port: UInt16) {
                var address = Self.loopback(port)
                _ = withUnsafePointer(to: &address) {
                    $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                        sendto(self.descriptor, bytes, bytes.count, 0, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                    }
                }
            }
        }

        /// A pad that packets are pushed through, and the fork on it.
        final class Track {
            let fork: RTPFork
            private let pad: UnsafeMutablePointer<GstPad>

            init(ssrc: UInt32 = 7, isVideo: Bool = true) throws {
                try Runtime.initialise()
                self.pad = try #require(gst_pad_new("src", GST_PAD_SRC))
                gst_pad_set_active(self.pad, 1)
                var segment = GstSegment()
                gst_segment_init(&segment, GST_FORMAT_TIME)
                gst_pad_push_event(self.pad, gst_event_new_stream_start("test"))
                gst_pad_push_event(self.pad, gst_event_new_segment(&segment))
                self.fork = RTPFork(watcher: RTCPWatcher(id: 1, queue: nil), ssrc: ssrc, isVideo: isVideo)
                self.fork.attach(to: Pad(referencing: self.pad))
            }

            deinit {
                gst_pad_set_active(self.pad, 0)
                gst_object_unref(self.pad)
            }

            func push(_ packet: [UInt8]) {
                let buffer = packet.withUnsafeBytes { bytes in
                    gst_buffer_new_memdup(bytes.baseAddress, gsize(bytes.count))
                }
                // The pad has no peer: only the probe's work counts.
                _ = gst_pad_push(self.pad, buffer)
            }
        }

        private static func target(_ port: UInt16, source: UInt16? = nil) -> RTPTarget {
            RTPTarget(address: "127.0.0.1", port: port, sourcePort: source, ssrc: 0x0102_0304, canonicalName: "test")
        }

        private static func packet(
            _ sequence: UInt16,
            _ time: UInt32,
            marker: Bool = false,
            head: UInt8 = 0x80,
            rest: [UInt8] = [9, 8, 7]
        ) -> [UInt8] {
            [head, (marker ? 0x80 : 0) | 100] + Self.bytes(UInt32(sequence)).suffix(2) + Self.bytes(time)
                + [0, 0, 0, 7] + rest
        }

        private static func bytes(_ number: UInt32) -> [UInt8] {
            withUnsafeBytes(of: number.bigEndian) { Array($0) }
        }

        @Test func packetsGoOnWithOurNumbers() throws {
            let receiver = try Socket()
            let track = try Track()
            let stream = try RTPStream(Self.target(receiver.port))
            #expect(track.fork.add(stream, payloadType: 96, clockRateHz: 90_000))
            track.push(Self.packet(65_535, 1000, marker: true))
            track.push(Self.packet(0, 4000))
            let ssrc: [UInt8] = [1, 2, 3, 4]
            #expect(
                receiver.datagrams == [
                    [0x80, 0x80 | 96, 255, 255] + Self.bytes(1000) + ssrc + [9, 8, 7],
                    [0x80, 96, 0, 0] + Self.bytes(4000) + ssrc + [9, 8, 7],
                ]
            )
            let counters = stream.counters
            #expect((counters.packets, counters.bytes, counters.droppedPackets) == (2, 30, 0))
            #expect(track.fork.lastPacketNanoseconds != nil)
        }

        /// Alone, and several in one packet (STAP-A); what is cut off, or no set, is none.
        @Test func parameterSetsAreNoted() throws {
            let receiver = try Socket()
            let track = try Track()
            let stream = try RTPStream(Self.target(receiver.port))
            #expect(track.fork.add(stream, payloadType: 96, clockRateHz: 90_000))
            let both: [UInt8] = [24, 0, 4, 0x67, 0x42, 0xC0, 0x1F, 0, 2, 0x68, 0xCE]
            track.push(Self.packet(1, 1000, rest: both))
            #expect(track.fork.parameterSets == nil)
            track.fork.noteParameterSets()
            let others: [[UInt8]] = [
                [0x67, 1, 2, 3], [0x65, 1], [24, 0, 9, 0x68], [24, 0], [0x68] + [UInt8](repeating: 1, count: 600), [],
            ]
            for rest in others {
                track.push(Self.packet(2, 1000, rest: rest))
                #expect(track.fork.parameterSets == nil)
            }
            track.push(Self.packet(3, 1000, rest: both))
            #expect(track.fork.parameterSets == [[0x67, 0x42, 0xC0, 0x1F], [0x68, 0xCE]])
            track.push(Self.packet(4, 1000, rest: [0x68, 0xEE]))
            #expect(track.fork.parameterSets == [[0x67, 0x42, 0xC0, 0x1F], [0x68, 0xEE]])
        }

        @Test func extensionsAndContributingSourcesStayHere() throws {
            let receiver = try Socket()
            let track = try Track()
            let stream = try RTPStream(Self.target(receiver.port))
            #expect(track.fork.add(stream, payloadType: 96, clockRateHz: 90_000))
            // One contributing source, an extension of two words, padding that stays.
            let rest: [UInt8] = [0, 0, 0, 1] + [0xBE, 0xDE, 0, 2] + [1, 2, 3, 4, 5, 6, 7, 8] + [42, 0, 2]
            track.push(Self.packet(1, 1, head: 0x80 | 0x20 | 0x10 | 1, rest: rest))
            #expect(receiver.datagrams == [[0xA0, 96, 0, 1, 0, 0, 0, 1, 1, 2, 3, 4, 42, 0, 2]])
        }

        @Test func whatIsNoPacketIsLeftOut() throws {
            let receiver = try Socket()
            let track = try Track()
            let stream = try RTPStream(Self.target(receiver.port))
            #expect(track.fork.add(stream, payloadType: 96, clockRateHz: 90_000))
            let broken: [[UInt8]] = [
                [0x80], Array(Self.packet(1, 1).prefix(11)), Self.packet(1, 1, head: 0x40),
                Self.packet(1, 1, head: 0x8F), Self.packet(1, 1, head: 0x90, rest: [1, 2, 0xFF, 0xFF]),
                Self.packet(1, 1, head: 0x90, rest: [1, 2]),
            ]
            for packet in broken { track.push(packet) }
            #expect(receiver.datagrams.isEmpty)
            #expect(stream.counters.packets == 0)
        }

        @Test func anotherSourceGoesOnInTheSameStream() throws {
            let receiver = try Socket()
            let stream = try RTPStream(Self.target(receiver.port))
            let first = try Track()
            #expect(first.fork.add(stream, payloadType: 96, clockRateHz: 90_000))
            first.push(Self.packet(500, 90_000))
            first.fork.remove(stream)
            first.push(Self.packet(501, 93_000))
            let second = try Track(ssrc: 8)
            #expect(second.fork.add(stream, payloadType: 102, clockRateHz: 90_000))
            second.push(Self.packet(9, 5))
            second.push(Self.packet(10, 3005))
            let found = receiver.datagrams
            #expect(found.map { $0[1] } == [96, 102, 102])
            #expect(found.map { Int($0[2]) << 8 | Int($0[3]) } == [500, 501, 502])
            let times = found.map { $0[4..<8].reduce(UInt32(0)) { $0 << 8 | UInt32($1) } }
            // A time that only rises, and by no more than the test can have taken.
            #expect(times[1] > times[0] && times[1] - times[0] < 90_000 * 120)
            #expect(times[2] - times[1] == 3000)
        }

        @Test func aClosedPortDropsAndAReaderIsNoticed() throws {
            var socket: Socket? = try Socket()
            let port = try #require(socket).port
            socket = nil
            let track = try Track()
            let stream = try RTPStream(Self.target(port))
            #expect(track.fork.add(stream, payloadType: 96, clockRateHz: 90_000))
            for number in 0..<10 { track.push(Self.packet(UInt16(number), 1)) }
            let alone = stream.counters
            #expect(alone.droppedPackets >= 4)
            #expect(stream.lastError == "no one listens there")
            let receiver = try Socket(port: port)
            for number in 10..<20 { track.push(Self.packet(UInt16(number), 1)) }
            let heard = stream.counters
            // The packet that reports the closed port is the last that is lost.
            #expect(heard.droppedPackets <= alone.droppedPackets + 1)
            #expect(receiver.datagrams.count >= 9)
            #expect(heard.keyframeRequests == alone.keyframeRequests + 1)
        }

        private static func encryptedTarget(_ port: UInt16) -> RTPTarget {
            var target = Self.target(port)
            target.key = [UInt8](repeating: 7, count: RTPTarget.keySize)
            return target
        }

        /// Sequence numbers are not encrypted.
        private static func sequence(_ datagram: [UInt8]) -> Int { Int(datagram[2]) << 8 | Int(datagram[3]) }

        /// A receiver that starts before the numbers wrap needs no roll-over counter.
        @Test func anEncryptedStreamBeginsWithOne() throws {
            let receiver = try Socket()
            let track = try Track()
            let stream = try RTPStream(Self.encryptedTarget(receiver.port))
            #expect(track.fork.add(stream, payloadType: 96, clockRateHz: 90_000))
            for number: UInt16 in [65_534, 65_535, 0, 1] { track.push(Self.packet(number, 1)) }
            let found = receiver.datagrams
            #expect(found.map(Self.sequence) == [1, 2, 3, 4])
            // The payload, and what authenticates the packet.
            #expect(found.allSatisfy { $0.count == 12 + 3 + 10 && $0[12..<15] != [9, 8, 7] })
        }

        @Test func anEncryptedStreamSavesItsNumbersForAReader() async throws {
            var socket: Socket? = try Socket()
            let port = try #require(socket).port
            socket = nil
            let track = try Track()
            let stream = try RTPStream(Self.encryptedTarget(port))
            #expect(track.fork.add(stream, payloadType: 96, clockRateHz: 90_000))
            for number in 0..<2000 { track.push(Self.packet(UInt16(number), 1)) }
            #expect(stream.isRefused && !stream.isWorn)
            #expect(stream.counters.droppedPackets >= 1000)
            let receiver = try Socket(port: port)
            var next: UInt16 = 2000
            let isNoticed = await eventually {
                track.push(Self.packet(next, 1))
                next += 1
                return stream.counters.keyframeRequests == 1
            }
            #expect(isNoticed)
            track.push(Self.packet(next, 1))
            // Ten a second were tried, and none are missing from now on.
            let found = receiver.datagrams.map(Self.sequence)
            let first = try #require(found.first)
            #expect(first < 1000)
            #expect(found.count >= 4 && found == Array(first..<first + found.count))
        }

        @Test func anEncryptedStreamThatIsLeftLateIsWorn() throws {
            var receiver: Socket? = try Socket()
            let port = try #require(receiver).port
            let track = try Track()
            let stream = try RTPStream(Self.encryptedTarget(port))
            let plain = try RTPStream(Self.target(port))
            for stream in [stream, plain] {
                #expect(track.fork.add(stream, payloadType: 96, clockRateHz: 90_000))
            }
            // Packets that the socket has no room for are lost after they were sent.
            for number in 0..<33_000 { track.push(Self.packet(UInt16(number), 1)) }
            #expect(!stream.isWorn)
            receiver = nil
            for number in 33_000..<33_010 { track.push(Self.packet(UInt16(number), 1)) }
            #expect(stream.isWorn && stream.isRefused)
            #expect(!plain.isWorn && plain.isRefused)
        }

        @Test func receiversAskForKeyframes() async throws {
            let receiver = try Socket()
            let track = try Track()
            let stream = try RTPStream(Self.target(receiver.port))
            #expect(track.fork.add(stream, payloadType: 96, clockRateHz: 90_000))
            let rtcp = stream.sourcePort + 1
            let ours: [UInt8] = [1, 2, 3, 4]
            let words: [(name: String, bytes: [UInt8], count: UInt64)] = [
                ("a receiver that came", [0x80, 201, 0, 1, 0, 0, 0, 42], 1),
                ("the same again", [0x80, 201, 0, 1, 0, 0, 0, 42], 1),
                ("picture loss", [0x81, 206, 0, 2, 0, 0, 0, 42] + ours, 2),
                ("picture loss of somebody else", [0x81, 206, 0, 2, 0, 0, 0, 42, 9, 9, 9, 9], 2),
                ("full intra request", [0x84, 206, 0, 4, 0, 0, 0, 42, 0, 0, 0, 0] + ours + [1, 0, 0, 0], 3),
                ("it leaves", [0x81, 203, 0, 1, 0, 0, 0, 42], 3),
                ("and comes back", [0x80, 201, 0, 1, 0, 0, 0, 42], 4),
                ("rubbish", [0x80, 206, 0xFF, 0xFF, 0, 0, 0, 42] + ours, 4),
                ("less than a header", [0x80, 206, 0], 4),
                ("nothing", [], 4),
                // Packets before it were read by now, because they are read in order.
                ("another receiver", [0x80, 201, 0, 1, 0, 0, 0, 43], 5),
            ]
            for (name, bytes, count) in words {
                receiver.send(bytes, to: rtcp)
                var sequence: UInt16 = 0
                // Receivers are listened to every 20 ms, when there is something to send.
                let isHeard = await eventually {
                    sequence += 1
                    track.push(Self.packet(sequence, 1))
                    return stream.counters.keyframeRequests >= count
                }
                #expect(isHeard, "\(name): \(stream.counters.keyframeRequests)")
            }
            #expect(stream.counters.keyframeRequests == 5)
        }

        /// If there are more receivers than are remembered, one is welcomed in ten seconds.
        @Test(arguments: [(UInt32(20), UInt64(20)), (300, 256)])
        func everyReceiverAsksOnce(receivers: UInt32, welcomed: UInt64) async throws {
            let receiver = try Socket()
            let track = try Track()
            let stream = try RTPStream(Self.target(receiver.port))
            #expect(track.fork.add(stream, payloadType: 96, clockRateHz: 90_000))
            let rtcp = stream.sourcePort + 1
            // Two datagrams a round: four are read at a time.
            let names = (1...receivers).map { Self.bytes($0) }
            let halves = [names.prefix(names.count / 2), names.suffix(names.count / 2)]
            for _ in 0..<2 {
                for half in halves {
                    let reports = half.map { name -> [UInt8] in [0x80, 201, 0, 1] + name }
                    receiver.send(Array(reports.joined()), to: rtcp)
                }
            }
            // Packets before it were read by then, because they are read in order.
            let picturesLost: UInt64 = 100
            let loss: [UInt8] = [0x81, 206, 0, 2, 0, 0, 0, 1, 1, 2, 3, 4]
            receiver.send(Array(repeatElement(loss, count: Int(picturesLost)).joined()), to: rtcp)
            var sequence: UInt16 = 0
            let isHeard = await eventually {
                sequence += 1
                track.push(Self.packet(sequence, 1))
                return stream.counters.keyframeRequests >= welcomed + picturesLost
            }
            #expect(isHeard)
            // A test that is held up for ten seconds has one more.
            let slack: UInt64 = receivers > 256 ? 3 : 0
            let requests = stream.counters.keyframeRequests
            #expect(requests <= welcomed + picturesLost + slack)
        }

        @Test func aClosedStreamSaysGoodbyeAndSendsNoMore() throws {
            let pair = try Self.pair()
            let track = try Track()
            let stream = try RTPStream(Self.target(pair.rtp.port))
            #expect(track.fork.add(stream, payloadType: 96, clockRateHz: 90_000))
            track.push(Self.packet(1, 1))
            stream.close()
            stream.close()
            track.push(Self.packet(2, 2))
            #expect(pair.rtp.datagrams.count == 1)
            let said = pair.rtcp.datagrams
            #expect(said.count == 1)
            #expect(said.first?.suffix(8) == [0x81, 203, 0, 1, 1, 2, 3, 4])
            // A compound packet begins with a report and names its source (RFC 3550 section 6.1).
            #expect(said.first?[1] == 201)
            #expect(said.first?.dropFirst(8).prefix(2) == [0x81, 202])
        }

        /// Sixteen outputs, and two that feed the RTSP server.
        @Test func eighteenStreamsAreTheMost() throws {
            let receiver = try Socket()
            let track = try Track()
            let streams = try (0..<19).map { _ in try RTPStream(Self.target(receiver.port)) }
            let taken = streams.map { track.fork.add($0, payloadType: 96, clockRateHz: 90_000) }
            #expect(taken == Array(repeating: true, count: 18) + [false])
            track.push(Self.packet(1, 1))
            #expect(receiver.datagrams.count == 18)
            for stream in streams { track.fork.remove(stream) }
            track.push(Self.packet(2, 1))
            #expect(receiver.datagrams.isEmpty)
        }

        @Test func socketsThatAreRefusedSayWhy() throws {
            let taken = try Socket()
            for target in [
                RTPTarget(address: "no address", port: 5004, ssrc: 1, canonicalName: "a"),
                RTPTarget(address: "239.1.2.3", port: 5004, interface: "nosuch0", ssrc: 1, canonicalName: "a"),
                Self.target(5004, source: taken.port),
            ] {
                #expect(throws: GStreamerError.self) { try RTPStream(target) }
            }
        }

        /// Two sockets whose ports follow each other.
        private static func pair() throws -> (rtp: Socket, rtcp: Socket) {
            for _ in 0..<50 {
                let rtp = try Socket()
                if let rtcp = try? Socket(port: rtp.port + 1) { return (rtp, rtcp) }
            }
            throw GStreamerError(.socket, "no two ports that follow each other are free")
        }
    }
}
