// SPDX-License-Identifier: Apache-2.0

import CTapedeck
import TestSupport
import Testing

@testable import GStreamer

extension AllGStreamer {
    /// Against packets that libsrtp made.
    @Suite struct SRTPReceiverTests {
        final class Receiver {
            private let pointer: OpaquePointer

            init(key: String = SourceGuardTests.key, tagSize: Int = 10, maximumSources: UInt32 = 4) throws {
                let bytes = Self.bytes(key)
                try #require(bytes.count == CTAPEDECK_SRTP_KEY_SIZE)
                self.pointer = try #require(CTapedeck_srtp_receiver_new(bytes, tagSize, maximumSources))
            }

            deinit {
                CTapedeck_srtp_receiver_free(self.pointer)
            }

            /// The packet as it was; nil if it is refused, which changes nothing.
            func open(_ packet: [UInt8]) -> [UInt8]? {
                var bytes = packet
                let size = CTapedeck_srtp_receiver_open(self.pointer, &bytes, bytes.count)
                if size == 0 { #expect(bytes == packet) }
                return size == 0 ? nil : Array(bytes.prefix(size))
            }

            var forgedPackets: UInt64 { CTapedeck_srtp_receiver_forged(self.pointer) }

            static func bytes(_ text: String) -> [UInt8] {
                stride(from: 0, to: text.count, by: 2).compactMap { UInt8(text.dropFirst($0).prefix(2), radix: 16) }
            }
        }

        /// RTP with every form of header.
        static func packets(_ count: Int, from first: Int, step: Int, sources: UInt32 = 1) -> [[UInt8]] {
            var random = SeededGenerator(seed: UInt64(first))
            return (0..<count).map { number in
                let sequence = UInt16(truncatingIfNeeded: first + number / Int(sources) * step)
                let contributors = number % 5 == 0 ? 3 : 0
                let hasExtension = number % 3 == 0
                var packet = PacketFeed.packet(sequence, UInt32(number), payload: [], isMarked: number % 7 == 0)
                packet[0] |= UInt8(contributors) | (hasExtension ? 0x10 : 0)
                packet[11] = UInt8(UInt32(number) % sources + 1)
                packet += [UInt8](repeating: 9, count: 4 * contributors)
                if hasExtension { packet += [0xBE, 0xDE, 0, 1, 0x10, 5, 0, 0] }
                let size = Int.random(in: 1...60, using: &random)
                return packet + (0..<size).map { _ in UInt8.random(in: 0...255, using: &random) }
            }
        }

        /// The packet by which libsrtp tests itself, with the master key of RFC 3711 appendix B.3.
        @Test func knownPacket() throws {
            let receiver = try Receiver(key: "e1f97a0d3e018be0d64fa32c06de41390ec675ad498afeebb6960b3aabe6")
            let protected = "800f1234decafbadcafebabe4e55dc4ce79978d88ca4d215949d2402b78d6acc99ea179b8dbb"
            let plain = "800f1234decafbadcafebabeabababababababababababababababab"
            #expect(receiver.open(Receiver.bytes(protected)) == Receiver.bytes(plain))
        }

        /// The sequence numbers of four sources wrap fifteen times.
        @Test(arguments: [10, 4])
        func opensWhatLibsrtpMade(tagSize: Int) throws {
            let receiver = try Receiver(tagSize: tagSize)
            let packets = Self.packets(8000, from: 65_000, step: 500, sources: 4)
            let protected = try SourceGuardTests.protected(packets, options: "rtp-auth=hmac-sha1-\(8 * tagSize)")
            #expect(zip(protected, packets).allSatisfy { $0.count == $1.count + tagSize })
            for (packet, plain) in zip(protected, packets) { #expect(receiver.open(packet) == plain) }
        }

        /// A third is lost, and what comes is up to 60 packets late.
        @Test func opensWhatComesInAnotherOrder() throws {
            let receiver = try Receiver()
            let packets = Self.packets(3000, from: 65_000, step: 3)
            let protected = try SourceGuardTests.protected(packets)
            var random = SeededGenerator(seed: 4)
            let order = (0..<packets.count).filter { $0 == 0 || Int.random(in: 0..<3, using: &random) > 0 }
                .map { (place: $0 + ($0 == 0 ? 0 : Int.random(in: 0..<20, using: &random)), number: $0) }
                .sorted { ($0.place, $0.number) < ($1.place, $1.number) }
            for (_, number) in order { #expect(receiver.open(protected[number]) == packets[number]) }
            for (_, number) in order { #expect(receiver.open(protected[number]) == nil) }
        }

        /// Steps of every size up to beyond the window, forwards and back: against a list of what came.
        @Test func eachPacketIsOpenedOnceWhileTheWindowMoves() throws {
            let receiver = try Receiver()
            let packets = Self.packets(20_000, from: 65_000, step: 1)
            let protected = try SourceGuardTests.protected(packets)
            var random = SeededGenerator(seed: 11)
            let window = Int(CTAPEDECK_SRTP_WINDOW)
            var (newest, seen) = (window + 100, Set<Int>())
            #expect(receiver.open(protected[newest]) != nil)
            seen.insert(newest)
            for _ in 0..<8000 {
                let isLeap = Int.random(in: 0..<100, using: &random) == 0
                let step = Int.random(in: (-window - 12)...(isLeap ? window + 7 : 2), using: &random)
                let number = newest + step
                guard number >= 0, number < packets.count else { break }
                let isWanted = step > 0 || (-step < window && !seen.contains(number))
                #expect(receiver.open(protected[number]) == (isWanted ? packets[number] : nil), "\(newest) \(step)")
                if isWanted { seen.insert(number) }
                newest = max(newest, number)
            }
            #expect(newest > 3000)
            #expect(receiver.forgedPackets == 0)
        }

        @Test func refusesWhatIsOlderThanTheWindow() throws {
            let receiver = try Receiver()
            let window = Int(CTAPEDECK_SRTP_WINDOW)
            let protected = try SourceGuardTests.protected(Self.packets(window + 80, from: 65_400, step: 1))
            #expect(receiver.open(protected[0]) != nil)
            #expect(receiver.open(protected[window + 72]) != nil)
            #expect(receiver.open(protected[72]) == nil)
            #expect(receiver.open(protected[73]) != nil)
            #expect(receiver.open(protected[73]) == nil)
        }

        /// More than half of the sequence numbers are lost in a row, from every quarter of them.
        @Test(arguments: [100, 20_000, 40_000, 60_000, 65_636, 100_000], [33_000, 40_000, 64_000, 70_000])
        func continuesBehindALongLoss(first: Int, lost: Int) throws {
            let receiver = try Receiver()
            let packets = Self.packets(lost / 500 + 20, from: first, step: 500)
            let protected = try SourceGuardTests.protected(packets)
            #expect(receiver.open(protected[0]) == packets[0])
            for number in (lost / 500)..<packets.count { #expect(receiver.open(protected[number]) == packets[number]) }
            #expect(receiver.open(protected[lost / 500]) == nil)
            #expect(receiver.forgedPackets == 0)
        }

        /// Of a source that begins shortly before its numbers wrap nothing comes until they have, but for what is late.
        @Test(arguments: [6, 7, 200])
        func beginsBehindAWrap(lost: Int) throws {
            let receiver = try Receiver()
            let packets = Self.packets(400, from: 65_530, step: 1)
            let protected = try SourceGuardTests.protected(packets)
            for number in [lost, lost - 1, lost - 6] + ((lost + 1)..<400) {
                #expect(receiver.open(protected[number]) == packets[number], "\(number)")
            }
            #expect(receiver.open(protected[399]) == nil && receiver.forgedPackets == 0)
        }

        @Test func refusesWhatWasChanged() throws {
            let receiver = try Receiver()
            let packets = Self.packets(200, from: 1, step: 1)
            var random = SeededGenerator(seed: 9)
            for (packet, plain) in zip(try SourceGuardTests.protected(packets), packets) {
                for _ in 0..<20 {
                    var forged = packet
                    let place = Int.random(in: 0..<forged.count, using: &random)
                    forged[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
                    #expect(receiver.open(forged) == nil)
                    #expect(receiver.open(Array(packet.prefix(place))) == nil)
                }
                #expect(receiver.open(packet) == plain)
            }
            let other = try Receiver(key: String(repeating: "9876543210", count: 6))
            #expect(try SourceGuardTests.protected(packets).allSatisfy { other.open($0) == nil })
            #expect(other.forgedPackets == 200)
        }

        @Test func refusesWhatIsNoRTP() throws {
            let receiver = try Receiver()
            var random = SeededGenerator(seed: 2)
            for size in 0..<200 {
                for first in [0x80, 0x90, 0x9F, 0xFF, 0x00] as [UInt8] {
                    var bytes = (0..<size).map { _ in UInt8.random(in: 0...255, using: &random) }
                    if size > 0 { bytes[0] = first }
                    #expect(receiver.open(bytes) == nil)
                }
            }
        }

        @Test func knowsSoManySourcesAndNoMore() throws {
            let receiver = try Receiver(maximumSources: 2)
            let packets = Self.packets(12, from: 5, step: 1, sources: 3)
            let opened = try SourceGuardTests.protected(packets).map { receiver.open($0) != nil }
            #expect(opened == (0..<12).map { $0 % 3 < 2 })
        }
    }
}
