// SPDX-License-Identifier: Apache-2.0

@testable import DataChannels

/// The other end of an association, as far as a test needs it.
struct SendingPeer {
    static let second: Int64 = 1_000_000_000

    var receiver = DataChannelReceiver(port: 5000, seed: 77)
    let tag: UInt32
    var theirTag: UInt32 = 0
    var next: UInt32
    var now: Int64 = 1
    /// Everything that the receiver said, chunk by chunk.
    var heard: [SCTPChunk] = []
    var messages: [DataChannelMessage] = []

    init(tag: UInt32 = 0xABCD, first: UInt32 = 0xFFFF_FFFE) {
        self.tag = tag
        self.next = first
    }

    /// Sends chunks in one packet; the reply is in `heard`.
    mutating func send(_ chunks: [SCTPChunk], tag: UInt32? = nil) {
        let packet = SCTPPacket(
            sourcePort: 5001,
            destinationPort: 5000,
            verificationTag: tag ?? self.theirTag,
            chunks: chunks
        )
        self.take(self.receiver.received(packet.bytes, at: self.now))
    }

    mutating func take(_ output: DataChannelReceiver.Output) {
        self.messages += output.messages
        self.take(output.packets)
    }

    mutating func take(_ packets: [[UInt8]]) {
        for bytes in packets {
            guard let packet = SCTPPacket(bytes), packet.verificationTag == self.tag, packet.sourcePort == 5000,
                packet.destinationPort == 5001
            else { continue }
            self.heard += packet.chunks
        }
    }

    static func number(_ value: some FixedWidthInteger) -> [UInt8] {
        withUnsafeBytes(of: value.bigEndian) { Array($0) }
    }

    static func initiation(tag: UInt32, first: UInt32) -> SCTPChunk {
        let window = Self.number(tag) + Self.number(UInt32(131_072))
        return SCTPChunk(.initiation, window + Self.number(UInt16(16)) + Self.number(UInt16(16)) + Self.number(first))
    }

    /// Says INIT; returns the cookie of the answer.
    mutating func begin() -> [UInt8] {
        self.send([Self.initiation(tag: self.tag, first: self.next)], tag: 0)
        guard let answer = self.heard.last, answer.kind == .initiationAcknowledgement else { return [] }
        var reader = ByteReader(answer.value)
        self.theirTag = reader.uint32() ?? 0
        _ = reader.bytes(12)
        return SCTPParameter.list(reader.remaining).first { $0.type == 7 }.map { Array($0.value) } ?? []
    }

    mutating func establish() {
        let cookie = self.begin()
        self.send([SCTPChunk(.cookieEcho, cookie)])
    }

    /// A DATA chunk with the next number.
    mutating func data(_ bytes: [UInt8], stream: UInt16 = 0, identifier: UInt32 = 51, flags: UInt8 = 3) -> SCTPChunk {
        defer { self.next &+= 1 }
        let head = Self.number(self.next) + Self.number(stream) + Self.number(UInt16(0)) + Self.number(identifier)
        return SCTPChunk(.data, flags: flags, head + bytes)
    }

    mutating func text(_ text: String, stream: UInt16 = 0) -> SCTPChunk {
        self.data(Array(text.utf8), stream: stream)
    }

    mutating func open(_ label: String, stream: UInt16 = 0) -> SCTPChunk {
        let lengths = Self.number(UInt16(label.utf8.count)) + Self.number(UInt16(0))
        return self.data([3, 0, 0, 0, 0, 0, 0, 0] + lengths + Array(label.utf8), stream: stream, identifier: 50)
    }

    /// The last SACK: what came in order, and how many blocks beyond.
    var acknowledged: (number: UInt32, blocks: UInt16)? {
        guard let chunk = self.heard.last(where: { $0.kind == .selectiveAcknowledgement }) else { return nil }
        var reader = ByteReader(chunk.value)
        guard let number = reader.uint32(), reader.uint32() != nil, let blocks = reader.uint16() else { return nil }
        return (number, blocks)
    }
}
