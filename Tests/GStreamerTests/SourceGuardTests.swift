// SPDX-License-Identifier: Apache-2.0

import CGStreamer
import CTapedeck
import Synchronization
import TestSupport
import Testing

@testable import GStreamer

extension AllGStreamer {
    @Suite struct SourceGuardTests {
        static let key = String(repeating: "0123456789", count: 6)
        private static let otherKey = String(repeating: "9876543210", count: 6)

        /// The packets of a sender with a key.
        ///
        /// - Parameter options: properties of `srtpenc`.
        static func protected(
            _ packets: [[UInt8]],
            key: String = Self.key,
            isControl: Bool = false,
            options: String = ""
        ) throws -> [[UInt8]] {
            let kind = isControl ? "rtcp" : "rtp"
            let feed = try HandFeed(
                launch: """
                    srtpenc name=sender key=\(key) \(options) identity name=in ! sender.\(kind)_sink_0 \
                    sender.\(kind)_src_0 ! fakesink name=out async=false
                    """,
                into: "in",
                caps: "application/x-\(kind)"
            )
            defer { feed.stop() }
            let sent = Log<SeenBuffer>()
            try feed.pipeline.element(named: "out").staticPad("sink").observe { packet in
                sent.append(packet)
                return true
            }
            for packet in packets { feed.push(packet) }
            try #require(sent.count == packets.count)
            return sent.all.map(\.bytes)
        }

        /// An `srtpdec` that has the key, with a guard in front of it.
        private final class Receiver {
            let feed: HandFeed
            let path: ReceivePath
            let media = Log<SeenBuffer>()
            let control = Log<SeenBuffer>()
            private let reasons = Log<ReceivePath.Event>()
            let requests = KeyRequests()

            /// - Parameters:
            ///   - hasSession: whether an `rtpsession` follows, so that media may go around the element.
            ///   - decrypts: whether they may at all.
            ///   - probation: packets that the session waits for before it believes in a source.
            ///   - answer: gives the key.
            init(
                maximumSources: Int,
                hasSession: Bool = false,
                decrypts: Bool = true,
                probation: Int = 0,
                answer: KeyRequestHandler = handleRequest
            ) throws {
                let session =
                    hasSession
                    ? "! session.recv_rtp_sink rtpsession name=session probation=\(probation) session.recv_rtp_src"
                    : ""
                self.feed = try HandFeed(
                    launch: """
                        srtpdec name=receiver receiver.rtp_src \(session) ! fakesink name=media async=false sync=false \
                        receiver.rtcp_src ! fakesink name=control async=false sync=false
                        """,
                    into: "receiver",
                    pad: "rtp_sink",
                    caps: "application/x-srtp"
                )
                let receiver = try self.feed.pipeline.element(named: "receiver")
                let function = unsafeBitCast(answer, to: UnsafeMutableRawPointer.self)
                let user = Unmanaged.passRetained(self.requests).toOpaque()
                _ = CGst_connect(receiver.pointer, "request-key", function, user, releaseClosure)
                self.path = ReceivePath(maximumSources: maximumSources, takesWholeWay: !decrypts) { [reasons] in
                    reasons.append($0)
                }
                self.path.met(receiver)
                for (name, log) in [("media", self.media), ("control", self.control)] {
                    try self.feed.pipeline.element(named: name).staticPad("sink").observe { packet in
                        log.append(packet)
                        return true
                    }
                }
            }

            func push(_ packets: [[UInt8]]) {
                for packet in packets { self.feed.push(packet) }
            }

            /// How often something was said to be refused for a reason.
            func refusals(_ reason: ReceivePath.Event = .sourceRefused) -> Int {
                self.reasons.all.count { $0 == reason }
            }

            var counters: CTapedeckPathCounters { self.path.counters }

            /// Streams that srtpdec made: the guard asked for the key once.
            var streams: Int { max(0, self.requests.count - 1) }
        }

        private static func bytes(_ number: UInt32) -> [UInt8] {
            (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) }
        }

        /// A packet whose payload names its source.
        private static func packet(of source: UInt32, sequence: UInt16 = 0, contributors: [UInt32] = []) -> [UInt8] {
            let number = [UInt8(sequence >> 8), UInt8(truncatingIfNeeded: sequence)]
            let beginning = [0x80 | UInt8(contributors.count), 96] + number + [0, 0, 0, 0] + Self.bytes(source)
            return beginning + contributors.flatMap(Self.bytes) + Self.bytes(source)
        }

        /// Packets of four sources in turn.
        private static let fortyPackets = (0..<40).map { step -> [UInt8] in
            Self.packet(of: UInt32(step % 4 + 1), sequence: UInt16(step / 4))
        }

        private static func report(of source: UInt32) -> [UInt8] { [0x80, 201, 0, 1] + Self.bytes(source) }

        /// A description of as many sources as are given, each with a canonical name (RFC 3550 section 6.5).
        private static func descriptions(of sources: [UInt32], name: String = "") -> [UInt8] {
            let item = name.isEmpty ? [] : [1, UInt8(name.utf8.count)] + Array(name.utf8)
            let end = [UInt8](repeating: 0, count: 4 - item.count % 4)
            let chunks = sources.flatMap { Self.bytes($0) + item + end }
            return [0x80 | UInt8(sources.count), 202, 0, UInt8(chunks.count / 4)] + chunks
        }

        @Test func letsSoManySourcesInAndNoMore() throws {
            let receiver = try Receiver(maximumSources: 4)
            defer { receiver.feed.stop() }
            let first = (1...10).map { Self.packet(of: $0) }
            let second = (1...10).map { Self.packet(of: $0, sequence: 1) }
            receiver.push(try Self.protected(first + second))
            #expect(receiver.media.all.map(\.bytes) == Array(first.prefix(4) + second.prefix(4)))
            #expect(receiver.counters.sources == 4)
            #expect(receiver.counters.refused == 12)
            #expect(receiver.counters.decrypted == 0 && receiver.counters.goes_through)
            #expect(receiver.refusals() == 1)
            #expect(receiver.streams == 4)
        }

        /// Media of every source, over wraps of the sequence numbers.
        @Test func mediaGoAroundTheDecoderWhereASessionFollows() throws {
            let receiver = try Receiver(maximumSources: 4, hasSession: true)
            defer { receiver.feed.stop() }
            let packets = (0..<400).map { step -> [UInt8] in
                let sequence = UInt16(truncatingIfNeeded: 65_535 + step / 4 * 700)
                let contributors: [UInt32] = step % 3 == 0 ? [7, 8] : []
                return Self.packet(of: UInt32(step % 4 + 1), sequence: sequence, contributors: contributors)
            }
            let protected = try Self.protected(packets)
            receiver.push(protected)
            // Once more.
            receiver.push(protected)
            // Forged packets continue the numbers of a source.
            let forged = (1...20).map { step -> [UInt8] in
                let sequence = UInt16(truncatingIfNeeded: 65_535 + 99 * 700 + step)
                return Self.packet(of: 1, sequence: sequence)
            }
            let before = receiver.counters.forged
            receiver.push(try Self.protected(forged, key: Self.otherKey))
            let plain = packets.map { packet -> [UInt8] in
                guard packet[0] != 0x80 else { return packet }
                return [0x80] + Array(packet[1..<12]) + Array(packet[20...])
            }
            #expect(receiver.media.all.map(\.bytes) == plain)
            #expect(receiver.counters.decrypted == 400 && !receiver.counters.goes_through)
            #expect(receiver.counters.sources == 4 && receiver.streams == 0)
            #expect(receiver.counters.forged == before + 20 && receiver.refusals(.keyRefused) == 1)
        }

        /// A key of another kind, and a connection that shall go the whole way.
        @Test(arguments: [false, true])
        func mediaGoThroughTheDecoderWhereTheyHaveTo(hasOtherKey: Bool) throws {
            let receiver = try Receiver(
                maximumSources: 4,
                hasSession: true,
                decrypts: hasOtherKey,
                answer: hasOtherKey ? handleLongRequest : handleRequest
            )
            defer { receiver.feed.stop() }
            let packets = Self.fortyPackets
            let key = hasOtherKey ? longKey : Self.key
            let options = hasOtherKey ? "rtp-cipher=aes-256-icm rtcp-cipher=aes-256-icm" : ""
            receiver.push(try Self.protected(packets, key: key, options: options))
            #expect(receiver.media.all.map(\.bytes) == packets)
            #expect(receiver.counters.decrypted == 0 && receiver.counters.goes_through)
            #expect(receiver.counters.sources == 4 && receiver.streams == 4)
        }

        /// Media may overtake the end of the handshake.
        @Test(arguments: [false, true])
        func whatComesBeforeTheKeyIsKept(hasSession: Bool) throws {
            let receiver = try Receiver(maximumSources: 4, hasSession: hasSession)
            defer { receiver.feed.stop() }
            let packets = Self.fortyPackets
            let protected = try Self.protected(packets)
            let report = try Self.protected([Self.report(of: 2)], isControl: true)
            receiver.requests.hasKey.store(false, ordering: .relaxed)
            receiver.push(Array(protected[..<20]) + report + Array(protected[20..<30]))
            #expect(receiver.media.count == 0 && receiver.control.count == 0 && receiver.counters.sources == 0)
            receiver.requests.hasKey.store(true, ordering: .relaxed)
            receiver.push(Array(protected[30...]))
            #expect(receiver.media.all.map(\.bytes) == packets)
            #expect(receiver.control.count == 1)
            #expect(receiver.counters.sources == 4 && receiver.counters.refused == 0)
            #expect(receiver.counters.forged == 0)
        }

        /// A peer that never ends its handshake fills no memory.
        @Test(arguments: [(payload: 4, kept: 1024), (payload: 2000, kept: (1 << 20) / (12 + 2000 + 10))])
        func ofWhatComesBeforeTheKeySoMuchIsKept(payload: Int, kept: Int) throws {
            let receiver = try Receiver(maximumSources: 4)
            defer { receiver.feed.stop() }
            let packets = (0..<1100).map { number -> [UInt8] in
                let filling = [UInt8](repeating: 7, count: payload - 4)
                return Self.packet(of: 1, sequence: UInt16(number)) + filling
            }
            let protected = try Self.protected(packets)
            receiver.requests.hasKey.store(false, ordering: .relaxed)
            receiver.push(Array(protected.dropLast()))
            receiver.requests.hasKey.store(true, ordering: .relaxed)
            receiver.push([protected[1099]])
            #expect(receiver.media.all.map(\.bytes) == Array(packets.prefix(kept)) + [packets[1099]])
        }

        /// Losses, delays of more than the window, what comes twice, and bits that were changed, over a wrap of each source.
        @Test func judgesAsTheDecoderDoes() throws {
            let packets = SRTPReceiverTests.packets(6000, from: 60_000, step: 37, sources: 4)
            let protected = try Self.protected(packets)
            var random = SeededGenerator(seed: 21)
            var arrivals: [(place: Int, packet: [UInt8])] = []
            for (number, packet) in protected.enumerated() where Int.random(in: 0..<10, using: &random) > 0 {
                let delay = Int.random(in: 0..<4, using: &random) == 0 ? Int.random(in: 0..<160, using: &random) : 0
                arrivals.append((number + delay, packet))
                if Int.random(in: 0..<10, using: &random) == 0 { arrivals.append((number + 240, packet)) }
                if Int.random(in: 0..<10, using: &random) == 0 {
                    var changed = packet
                    let place = Int.random(in: 0..<packet.count, using: &random)
                    changed[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
                    arrivals.append((number, changed))
                }
            }
            let order = arrivals.indices.sorted { (arrivals[$0].place, $0) < (arrivals[$1].place, $1) }
            let found = try [true, false].map { decrypts in
                let receiver = try Receiver(maximumSources: 4, hasSession: true, decrypts: decrypts)
                defer { receiver.feed.stop() }
                receiver.push(order.map { arrivals[$0].packet })
                return (media: receiver.media.all.map(\.bytes), decrypted: receiver.counters.decrypted)
            }
            #expect(found[0].media == found[1].media)
            #expect(found[0].media.count > 4000)
            #expect(found[0].decrypted > 4000 && found[1].decrypted == 0)
        }

        @Test func shortTagsGoAroundTheDecoderAsWell() throws {
            let receiver = try Receiver(maximumSources: 4, hasSession: true, answer: handleShortRequest)
            defer { receiver.feed.stop() }
            let packets = Self.fortyPackets
            let protected = try Self.protected(packets, options: "rtp-auth=hmac-sha1-32 rtcp-auth=hmac-sha1-80")
            #expect(protected.allSatisfy { $0.count == packets[0].count + 4 })
            receiver.push(protected)
            #expect(receiver.media.all.map(\.bytes) == packets)
            #expect(receiver.counters.decrypted == 40 && !receiver.counters.goes_through)
        }

        /// rtpbin keeps elements for each payload type of a source.
        @Test(arguments: [false, true])
        func aSourceHasSoManyPayloadTypesAndNoMore(hasSession: Bool) throws {
            let receiver = try Receiver(maximumSources: 4, hasSession: hasSession)
            defer { receiver.feed.stop() }
            let packets = (0..<13).map { step -> [UInt8] in
                var packet = Self.packet(of: 1, sequence: UInt16(step))
                packet[1] = step == 12 ? 103 : UInt8(96 + step)
                return packet
            }
            // Others' packets take no place.
            receiver.push(try Self.protected(packets.reversed(), key: Self.otherKey))
            receiver.push(try Self.protected(packets))
            #expect(receiver.media.all.map(\.bytes) == Array(packets.prefix(8) + packets.suffix(1)))
            #expect(receiver.counters.sources == 1)
            #expect(receiver.counters.refused == 4 && receiver.refusals() == 1)
            let counters = receiver.path.sources
            #expect(counters.map(\.packets) == [[96: 1, 97: 1, 98: 1, 99: 1, 100: 1, 101: 1, 102: 1, 103: 2]])
            #expect(counters.map(\.typesBeyond) == [4] && counters.map(\.outOfSequence) == [0])
        }

        /// Packets of each source, whichever way they go, of which rtpsession keeps some back.
        @Test(arguments: [true, false])
        func authenticPacketsAreCounted(decrypts: Bool) throws {
            let receiver = try Receiver(maximumSources: 4, hasSession: true, decrypts: decrypts, probation: 2)
            defer { receiver.feed.stop() }
            var packets: [[UInt8]] = []
            for number in 0..<50 as Range<UInt16> {
                for source in 1...3 as ClosedRange<UInt32> where number % UInt16(source) == 0 {
                    packets.append(Self.packet(of: source, sequence: number / UInt16(source)))
                }
            }
            // Packets of a source that sends only one, and one far off, which no other follows.
            packets += [Self.packet(of: 4), Self.packet(of: 1, sequence: 30_000), Self.packet(of: 2, sequence: 25)]
            receiver.push(try Self.protected(packets))
            receiver.push(try Self.protected([Self.packet(of: 1, sequence: 50)], key: Self.otherKey))
            let counters = receiver.path.sources
            #expect(counters.map(\.ssrc) == [1, 2, 3, 4])
            #expect(counters.map(\.packets) == [[96: 51], [96: 26], [96: 17], [96: 1]])
            #expect(counters.map(\.outOfSequence) == [1, 0, 0, 1])
            #expect(receiver.media.count == 93)
            for counter in counters {
                let passed = receiver.media.all.count { $0.bytes[11] == UInt8(counter.ssrc) }
                #expect(counter.packets[96] == UInt64(passed) + counter.outOfSequence)
            }
        }

        /// rtpsession may believe in the source when its next packet comes.
        @Test(arguments: [(0 as UInt64, 1 as UInt64, 0 as UInt64), (5, 0, 1)])
        func theFirstPacketOfAnOpenSourceWaits(entered: UInt64, waiting: UInt64, outOfSequence: UInt64) {
            var counters = SourceCounters(ssrc: 7)
            (counters.entered, counters.outOfSequence) = (entered, 1)
            counters.sortWaiting(isStopped: false)
            #expect((counters.waiting, counters.outOfSequence) == (waiting, outOfSequence))
        }

        @Test(arguments: [false, true])
        func forgedPacketsUseUpNoPayloadTypes(hasSession: Bool) throws {
            let receiver = try Receiver(maximumSources: 4, hasSession: hasSession)
            defer { receiver.feed.stop() }
            let packets = (0..<21).map { step -> [UInt8] in
                var packet = Self.packet(of: 1, sequence: UInt16(step))
                packet[1] = UInt8(96 + step)
                return packet
            }
            receiver.push(try Self.protected([packets[0]]))
            receiver.push(try Self.protected(Array(packets[1..<20]), key: Self.otherKey))
            receiver.push(try Self.protected([packets[20]]))
            #expect(receiver.media.all.map(\.bytes) == [packets[0], packets[20]])
            #expect(receiver.counters.refused == 0)
        }

        @Test func sourcesBeyondAreDroppedWhereASessionFollows() throws {
            let receiver = try Receiver(maximumSources: 4, hasSession: true)
            defer { receiver.feed.stop() }
            receiver.push(try Self.protected((100..<120).map { Self.packet(of: $0) }, key: Self.otherKey))
            #expect(receiver.counters.sources == 0)
            receiver.push(try Self.protected((1...10).map { Self.packet(of: $0) }))
            #expect(receiver.media.count == 4 && receiver.counters.sources == 4)
            #expect(receiver.counters.refused == 6 && receiver.refusals() == 1)
        }

        @Test func forgedPacketsTakeNoPlace() throws {
            let receiver = try Receiver(maximumSources: 4)
            defer { receiver.feed.stop() }
            receiver.push(try Self.protected((100..<200).map { Self.packet(of: $0) }, key: Self.otherKey))
            receiver.push(
                try Self.protected((200..<300).map { Self.report(of: $0) }, key: Self.otherKey, isControl: true)
            )
            #expect(receiver.counters.sources == 0)
            #expect(receiver.streams == 0)
            let packets = (1...4).map { Self.packet(of: $0) }
            receiver.push(try Self.protected(packets))
            #expect(receiver.media.all.map(\.bytes) == packets)
            #expect(receiver.counters.refused == 0)
            #expect(receiver.streams == 4)
        }

        @Test func whatHasNoSourceBeforeItIsDecryptedIsDropped() throws {
            let receiver = try Receiver(maximumSources: 4)
            defer { receiver.feed.stop() }
            // srtpdec would take the report after each for the one that names the source.
            let report = Self.report(of: 7)
            // The bytes read as their source name a known one: nothing verifies its packets again.
            let known = Self.packet(of: report.prefix(4).reduce(0) { $0 << 8 | UInt32($1) })
            receiver.push(try Self.protected([known]))
            #expect(receiver.streams == 1)
            let padded = [0x8F, 96, 0, 0] + report
            for start in [padded, [0x80, 202, 0, 0] + report, [0x80, 203, 0, 0] + report, [0x80, 72, 0, 0] + report] {
                receiver.push([start + [UInt8](repeating: 0, count: 14)])
            }
            receiver.push([[], [0x80], [0x80, 96, 0, 0, 0, 0, 0, 0]])
            #expect(receiver.streams == 1)
            #expect(receiver.counters.sources == 1)
            #expect(receiver.media.count == 1 && receiver.control.count == 0)
        }

        @Test func contributorsAreTakenOffAndTakeNoPlace() throws {
            let receiver = try Receiver(maximumSources: 4)
            defer { receiver.feed.stop() }
            let packets = (0..<100).map { number in
                Self.packet(of: 1, sequence: UInt16(number), contributors: (0..<15).map { 15 * UInt32(number) + $0 })
            }
            receiver.push(try Self.protected(packets))
            #expect(receiver.media.all.map(\.bytes) == (0..<100).map { Self.packet(of: 1, sequence: UInt16($0)) })
            #expect(receiver.counters.sources == 1 && receiver.streams == 1)
            #expect(receiver.counters.refused == 0 && receiver.refusals() == 0)
            // A later sender still gets a slot.
            receiver.push(try Self.protected((2...4).map { Self.packet(of: $0) }))
            #expect(receiver.counters.sources == 4 && receiver.media.count == 103)
        }

        @Test func descriptionsOfOthersAreTakenOffAndTakeNoPlace() throws {
            let receiver = try Receiver(maximumSources: 4)
            defer { receiver.feed.stop() }
            receiver.push(try Self.protected([Self.packet(of: 2)]))
            let report = Self.report(of: 1)
            let packets = [
                report + Self.descriptions(of: [5, 1, 6, 2, 7]), report + Self.descriptions(of: Array(10..<41)),
                report + Self.descriptions(of: [8], name: "somebody") + Self.report(of: 2)
                    + Self.descriptions(of: [9, 2], name: "me"),
                // The last chunk does not end.
                report + [0x82, 202, 0, 4] + Self.bytes(1) + [0, 0, 0, 0] + Self.bytes(2) + [1, 2, 65, 66],
                report + [0x81, 202, 0, 2] + Self.bytes(1) + [1, 3, 65, 66],
                // One word more than there is.
                report + [0x81, 202, 0, 3] + Self.bytes(1) + [0, 0, 0, 0],
            ]
            receiver.push(try Self.protected(packets, isControl: true))
            #expect(
                receiver.control.all.map(\.bytes) == [
                    report + Self.descriptions(of: [1, 2]), report,
                    report + Self.report(of: 2) + Self.descriptions(of: [2], name: "me"),
                    report + Self.descriptions(of: [1]), report,
                ]
            )
            #expect(receiver.counters.sources == 2 && receiver.streams == 2)
            #expect(receiver.counters.refused == 0 && receiver.refusals() == 0)
        }

        /// rtpsession makes a name of each for ever (RFC 3550 section 6.5.8).
        @Test func privateItemsAreTakenOff() throws {
            let receiver = try Receiver(maximumSources: 4)
            defer { receiver.feed.stop() }
            receiver.push(try Self.protected([Self.packet(of: 2)]))
            let report = Self.report(of: 1)
            // Items of source 1: a name, then an item of type 8 with the prefix "p" and the value "v".
            let items: [UInt8] = [1, 1, 65, 8, 3, 1, 112, 118, 0, 0, 0, 0]
            let others = Self.descriptions(of: [2], name: "me")
            let both = [0x82, 202, 0, UInt8(4 + (others.count - 4) / 4)] + Self.bytes(1) + items + others.dropFirst(4)
            receiver.push(
                try Self.protected(
                    [report + both, report + [0x81, 202, 0, 4] + Self.bytes(1) + items, report + others],
                    isControl: true
                )
            )
            #expect(receiver.control.all.map(\.bytes) == [report + others, report, report + others])
            #expect(receiver.counters.refused == 0)
        }

        @Test func reportsOfSourcesBeyondAreDropped() throws {
            let receiver = try Receiver(maximumSources: 4)
            defer { receiver.feed.stop() }
            let known = (1...4).flatMap { Self.report(of: $0) }
            let packets = [
                known, Self.report(of: 3) + Self.report(of: 6), Self.report(of: 7), Self.report(of: 4),
            ]
            receiver.push(try Self.protected(packets, isControl: true))
            #expect(receiver.control.all.map(\.bytes) == [known, Self.report(of: 4)])
            #expect(receiver.counters.sources == 4)
            #expect(receiver.counters.refused == 2)
            #expect(receiver.refusals() == 1)
            // Those that only reported have none before they send.
            #expect(receiver.streams == 3)
        }
    }
}

/// Answers a request for the key of a source.
private typealias KeyRequestHandler =
    @convention(c) (UnsafeMutableRawPointer?, guint, gpointer?) -> UnsafeMutablePointer<GstCaps>?

/// How often a key was asked for, and whether there is one.
private final class KeyRequests: Sendable {
    private let asked = Atomic(0)
    let hasKey = Atomic(true)

    var count: Int { self.asked.load(ordering: .relaxed) }

    /// The signal handler, which answers with the result of `caps` once there is a key.
    static func answer(
        _ user: gpointer?,
        _ caps: () -> UnsafeMutablePointer<GstCaps>?
    ) -> UnsafeMutablePointer<GstCaps>? {
        guard let user else { return nil }
        let requests = Unmanaged<KeyRequests>.fromOpaque(user).takeUnretainedValue()
        requests.asked.add(1, ordering: .relaxed)
        return requests.hasKey.load(ordering: .relaxed) ? caps() : nil
    }
}

private let handleRequest: KeyRequestHandler = { _, _, user in
    KeyRequests.answer(user) { keyCaps(AllGStreamer.SourceGuardTests.key) }
}

/// AES-256 (RFC 6188), which DTLS-SRTP has no profile of.
private let longKey = String(repeating: "0123456789ab", count: 7) + "01234567"

private let handleLongRequest: KeyRequestHandler = { _, _, user in
    KeyRequests.answer(user) { keyCaps(longKey, cipher: "aes-256-icm") }
}

private let handleShortRequest: KeyRequestHandler = { _, _, user in
    KeyRequests.answer(user) { keyCaps(AllGStreamer.SourceGuardTests.key, tag: "32") }
}

private func keyCaps(_ key: String, cipher: String = "aes-128-icm", tag: String = "80")
    -> UnsafeMutablePointer<GstCaps>?
{
    gst_caps_from_string(
        """
        application/x-srtp,srtp-key=(buffer)\(key),srtp-cipher=\(cipher),srtcp-cipher=\(cipher),\
        srtp-auth=hmac-sha1-\(tag),srtcp-auth=hmac-sha1-80
        """
    )
}
