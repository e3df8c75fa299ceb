// SPDX-License-Identifier: Apache-2.0

import GStreamer
import SDP
import Testing

@testable import DataChannels
@testable import Media

/// Gives a peer connection that only sends media a data channel, as far as words need one.
enum SpeakingPeer {
    private static let port: UInt16 = 5001
    private static let tag: UInt32 = 4711
    private static let first: UInt32 = 1

    /// An offer of two m-lines with a third for data channels.
    static func offer(_ sdp: SessionDescription) throws -> SessionDescription {
        var offer = sdp
        var data = try #require(offer.media.first)
        data.media = "application"
        data.protocolName = "UDP/DTLS/SCTP"
        data.formats = ["webrtc-datachannel"]
        data.lines = data.lines.filter { line in
            ["ice-", "fingerprint", "setup"].contains { line.value.hasPrefix($0) }
        }
        data.lines += [.attribute("mid", "2"), .attribute("sctp-port", "\(Self.port)")]
        offer.media.append(data)
        return try SessionDescription(parsing: offer.text.replacing("group:BUNDLE 0 1", with: "group:BUNDLE 0 1 2"))
    }

    /// The answer to the offer as it was; false for one that does not take the data channels.
    static func answer(_ sdp: SessionDescription) throws -> (sdp: SessionDescription, takesData: Bool) {
        var answer = sdp
        let data = answer.media.popLast()
        let text = answer.text.replacing("group:BUNDLE 0 1 2", with: "group:BUNDLE 0 1")
        return (try SessionDescription(parsing: text), data?.port == 9)
    }

    /// Opens a channel, writes into it, and waits until all of it is acknowledged; false after 10 s.
    static func write(_ texts: [String], on connection: PeerConnection, _ control: ControlThread) async throws -> Bool {
        let bin = try #require(connection.bin)
        let (packets, feed) = AsyncStream.makeStream(of: [UInt8].self)
        let listens = try await control.run("listening") {
            bin.receiveData(packetsPerSecond: 1000) { packet, _ in feed.yield(packet) }
        }
        #expect(listens)
        control.enqueue(after: .seconds(10)) { feed.finish() }
        func send(_ chunks: [SCTPChunk], to tag: UInt32) async throws {
            let packet = SCTPPacket(
                sourcePort: Self.port,
                destinationPort: 5000,
                verificationTag: tag,
                chunks: chunks
            ).bytes
            #expect(try await control.run("sending") { bin.sendData(packet) })
        }
        let window = Self.bytes(Self.tag) + Self.bytes(UInt32(65_536)) + Self.bytes(UInt32(0x0010_0010))
        try await send([SCTPChunk(.initiation, window + Self.bytes(Self.first))], to: 0)
        let open = [3] + [UInt8](repeating: 0, count: 7) + [0, 4, 0, 0] + Array("chat".utf8)
        let messages = [(UInt32(50), open)] + texts.map { (UInt32(51), Array($0.utf8)) }
        for await bytes in packets {
            for chunk in SCTPPacket(bytes)?.chunks ?? [] {
                var reader = ByteReader(chunk.value)
                let number = reader.uint32() ?? 0
                switch chunk.kind {
                case .initiationAcknowledgement:
                    _ = reader.bytes(12)
                    let cookie = SCTPParameter.list(reader.remaining).first { $0.type == SCTPParameter.stateCookie }
                    try await send([SCTPChunk(.cookieEcho, Array(cookie?.value ?? []))], to: number)
                    for (index, message) in messages.enumerated() {
                        let head = Self.bytes(Self.first + UInt32(index)) + [0, 0, 0, UInt8(index)]
                        let chunk = SCTPChunk(.data, flags: 3, head + Self.bytes(message.0) + message.1)
                        try await send([chunk], to: number)
                    }
                case .selectiveAcknowledgement:
                    if number == Self.first + UInt32(texts.count) { return true }
                default:
                    break
                }
            }
        }
        return false
    }

    private static func bytes(_ number: UInt32) -> [UInt8] {
        withUnsafeBytes(of: number.bigEndian) { Array($0) }
    }
}
