// SPDX-License-Identifier: Apache-2.0

@testable internal import DataChannels

/// Packets of a peer's data channels.
///
/// An input is a list of packets, each behind its length in two bytes: chunks, around which a header with the right tag
/// and the right checksum is put. A first byte of 1 shows the cookie in front of the first packet; each packet comes a
/// quarter of a second after the one before. The same bytes are also read as they are.
enum DataChannelTarget {
    private static let tag: UInt32 = 0x0102_0304

    @Sendable static func run(_ bytes: [UInt8]) {
        var plain = DataChannelReceiver(port: 5000, seed: 9)
        require(plain.received(bytes, at: 0).messages.isEmpty, "words out of nothing")
        var receiver = DataChannelReceiver(port: 5000, seed: 9)
        var now: Int64 = 0
        var (theirTag, cookie) = self.begin(&receiver)
        var reader = ByteReader(bytes[...])
        if reader.uint8() == 1 {
            _ = self.send(SCTPChunk(.cookieEcho, cookie), to: &receiver, tag: theirTag, now)
        }
        var texts = 0
        while let length = reader.uint16(), let chunks = reader.bytes(min(Int(length), reader.count)), !reader.isAtEnd {
            now += 250_000_000
            let output = receiver.received(self.packet(Array(chunks), tag: theirTag), at: now)
            texts += output.messages.count
            self.check(output.packets)
            for message in output.messages {
                require(message.text.utf8.count <= 3 * DataChannelLimits.messageBytes, "a text that is too long")
                require(message.label.utf8.count <= 3 * DataChannelLimits.labelBytes, "a label that is too long")
            }
            for packet in output.packets.compactMap({ SCTPPacket($0) }) {
                guard let chunk = packet.chunks.first, chunk.kind == .initiationAcknowledgement else { continue }
                (theirTag, cookie) = self.tagAndCookie(chunk)
                _ = self.send(SCTPChunk(.cookieEcho, cookie), to: &receiver, tag: theirTag, now)
            }
            self.check(receiver.repeatUnacknowledged())
            require(receiver.channels.count <= DataChannelLimits.channels, "too many channels")
        }
        let seconds = Int(now / 1_000_000_000) + 1
        require(texts <= DataChannelLimits.messagesPerSecond * (seconds + 1), "too many texts")
    }

    private static func check(_ packets: [[UInt8]]) {
        for bytes in packets {
            require(SCTPPacket(bytes) != nil, "a packet of ours that cannot be read")
            require(bytes.count <= 66_000, "a packet of ours that is too long")
        }
    }

    private static func begin(_ receiver: inout DataChannelReceiver) -> (UInt32, [UInt8]) {
        let head: [UInt8] = [1, 2, 3, 4, 0, 1, 0, 0, 0, 16, 0, 16, 0xFF, 0xFF, 0xFF, 0xF0]
        let output = self.send(SCTPChunk(.initiation, head), to: &receiver, tag: 0, 0)
        guard let chunk = output.packets.first.flatMap({ SCTPPacket($0) })?.chunks.first else {
            fatalError("INIT is not answered")
        }
        return self.tagAndCookie(chunk)
    }

    private static func tagAndCookie(_ chunk: SCTPChunk) -> (UInt32, [UInt8]) {
        var reader = ByteReader(chunk.value)
        let tag = reader.uint32() ?? 0
        _ = reader.bytes(12)
        let cookie = SCTPParameter.list(reader.remaining).first { $0.type == SCTPParameter.stateCookie }
        return (tag, Array(cookie?.value ?? []))
    }

    private static func send(
        _ chunk: SCTPChunk,
        to receiver: inout DataChannelReceiver,
        tag: UInt32,
        _ now: Int64
    ) -> DataChannelReceiver.Output {
        let packet = SCTPPacket(sourcePort: 5001, destinationPort: 5000, verificationTag: tag, chunks: [chunk])
        return receiver.received(packet.bytes, at: now)
    }

    /// A packet of these chunks; one that begins with INIT has no tag.
    private static func packet(_ chunks: [UInt8], tag: UInt32) -> [UInt8] {
        var writer = ByteWriter()
        writer.append(UInt16(5001))
        writer.append(UInt16(5000))
        writer.append(chunks.first == SCTPChunk.Kind.initiation.rawValue ? 0 : tag)
        writer.append(UInt32(0))
        writer.append(chunks)
        var bytes = writer.bytes
        bytes.replaceSubrange(8..<12, with: CRC32C.bytes(of: bytes, clearing: 8..<12))
        return bytes
    }
}
