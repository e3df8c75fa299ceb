// SPDX-License-Identifier: Apache-2.0

import Signalling
import TestSupport
import Testing

@Suite struct EngineIOPayloadTests {
    struct Vector: Sendable {
        let packets: [EngineIOPacket]
        let payload: String
    }

    static let openText = #"{"pingInterval":25000,"pingTimeout":5000,"sid":"qX7cSk1wAAAB","upgrades":["websocket"]}"#

    /// Payloads of version 3 as servers of socket.io 2 write them.
    static let versionThree: [Vector] = [
        Vector(
            packets: [EngineIOPacket(.open, openText), EngineIOPacket(.message, "0")],
            payload: "88:0\(openText)2:40"
        ),
        Vector(packets: [EngineIOPacket(.message, #"2["join","123123"]"#)], payload: #"19:42["join","123123"]"#),
        Vector(
            packets: [EngineIOPacket(.message, #"2["joined","123123","qX7cSk1wAAAB"]"#)],
            payload: #"36:42["joined","123123","qX7cSk1wAAAB"]"#
        ),
        Vector(
            packets: [EngineIOPacket(.ping), EngineIOPacket(.message, #"2["leave","123123"]"#)],
            payload: #"1:220:42["leave","123123"]"#
        ),
        Vector(packets: [EngineIOPacket(.message, #"2["join","客厅"]"#)], payload: #"15:42["join","客厅"]"#),
        Vector(packets: [EngineIOPacket(.message, #"2["join","😀"]"#)], payload: #"15:42["join","😀"]"#),
        Vector(
            packets: [EngineIOPacket(binaryMessage: [1, 2, 3]), EngineIOPacket(.noop)],
            payload: "6:b4AQID1:6"
        ),
    ]

    static let versionFour: [Vector] = [
        Vector(
            packets: [EngineIOPacket(.ping), EngineIOPacket(.message, #"2["leave","123123"]"#)],
            payload: "2\u{1e}42[\"leave\",\"123123\"]"
        ),
        Vector(packets: [EngineIOPacket(binaryMessage: [1, 2, 3, 4])], payload: "bAQIDBA=="),
    ]

    @Test(arguments: versionThree) func codesVersionThree(_ vector: Vector) throws {
        #expect(EngineIOPayload.encode(vector.packets, version: .three) == vector.payload)
        #expect(try EngineIOPayload.decode([UInt8](vector.payload.utf8), version: .three) == vector.packets)
    }

    @Test(arguments: versionThree) func codesVersionThreeOctets(_ vector: Vector) throws {
        let octets = EngineIOPayload.encodeOctets(vector.packets)
        #expect(try EngineIOPayload.decode(octets, version: .three) == vector.packets)
    }

    @Test(arguments: versionFour) func codesVersionFour(_ vector: Vector) throws {
        #expect(EngineIOPayload.encode(vector.packets, version: .four) == vector.payload)
        #expect(try EngineIOPayload.decode([UInt8](vector.payload.utf8), version: .four) == vector.packets)
    }

    @Test func octetsAreKindLengthAndData() {
        let octets = EngineIOPayload.encodeOctets([EngineIOPacket(.message, "0"), EngineIOPacket(binaryMessage: [9])])
        #expect(octets == [0, 2, 0xff, 0x34, 0x30, 1, 2, 0xff, 4, 9])
    }

    @Test(arguments: [
        ("", EngineIOVersion.three, EngineIOError.empty),
        ("5:40", .three, .truncated),
        ("5", .three, .truncated),
        (":40", .three, .invalidLength),
        ("x:40", .three, .invalidLength),
        ("-1:40", .three, .invalidLength),
        ("9999999999:40", .three, .invalidLength),
        ("99999999999999999999999999:4", .three, .invalidLength),
        ("2:4😀", .three, .invalidLength),
        ("2:90", .three, .unknownPacketType),
        ("0:", .three, .empty),
        ("4:b4!!", .three, .invalidBase64),
        ("3:b2A", .three, .unknownPacketType),
        ("40\u{1e}", .four, .empty),
        ("<html>", .four, .unknownPacketType),
        ("b***", .four, .invalidBase64),
    ])
    func refuses(_ payload: String, _ version: EngineIOVersion, _ error: EngineIOError) {
        #expect(throws: error) { try EngineIOPayload.decode([UInt8](payload.utf8), version: version) }
    }

    @Test(arguments: [
        ([0, 2, 0xff, 0x34], EngineIOError.truncated),
        ([0, 0xff, 0x34], .invalidLength),
        ([0, 0x31, 0xff, 0x34], .invalidLength),
        ([0, 2, 0xff, 0x34, 0xc3], .invalidUTF8),
        ([1, 1, 0xff, 2], .unknownPacketType),
        ([1, 0, 0xff], .empty),
        ([1, 2, 0xff, 4, 0, 7, 1, 0xff, 4], .invalidLength),
    ])
    func refusesOctets(_ payload: [UInt8], _ error: EngineIOError) {
        #expect(throws: error) { try EngineIOPayload.decode(payload, version: .three) }
    }

    @Test func refusesInvalidUTF8AndSize() {
        #expect(throws: EngineIOError.invalidUTF8) { try EngineIOPayload.decode([0x34, 0xff], version: .four) }
        let long = [UInt8](repeating: 0x34, count: EngineIOLimits.maximumPayloadBytes + 1)
        #expect(throws: EngineIOError.oversize) { try EngineIOPayload.decode(long, version: .four) }
        let many = [UInt8](String(repeating: "1:6", count: EngineIOLimits.maximumPacketsPerPayload + 1).utf8)
        #expect(throws: EngineIOError.tooManyPackets) { try EngineIOPayload.decode(many, version: .three) }
    }

    @Test func framesCarryBinaryPerVersion() throws {
        let packet = EngineIOPacket(binaryMessage: [7, 8])
        #expect(WebSocketMessage(packet, version: .three) == .binary([4, 7, 8]))
        #expect(WebSocketMessage(packet, version: .four) == .binary([7, 8]))
        for version in EngineIOVersion.allCases {
            #expect(try WebSocketMessage(packet, version: version).packet(version: version) == packet)
            #expect(try WebSocketMessage.text("2probe").packet(version: version) == EngineIOPacket(.ping, "probe"))
        }
    }

    /// A cut or altered body is refused or read, never a trap.
    @Test func survivesNoise() {
        var generator = SeededGenerator(seed: 0x7461_7065)
        let seeds =
            Self.versionThree.map { [UInt8]($0.payload.utf8) }
            + Self.versionThree.map { EngineIOPayload.encodeOctets($0.packets) }
            + Self.versionFour.map { [UInt8]($0.payload.utf8) }
        var read = 0
        for _ in 0..<20_000 {
            guard var bytes = seeds.randomElement(using: &generator) else { continue }
            for _ in 0..<Int.random(in: 0...3, using: &generator) where !bytes.isEmpty {
                bytes[Int.random(in: 0..<bytes.count, using: &generator)] = .random(in: 0...255, using: &generator)
            }
            bytes.removeLast(Int.random(in: 0...min(3, bytes.count), using: &generator))
            for version in EngineIOVersion.allCases {
                if let packets = try? EngineIOPayload.decode(bytes, version: version) { read += packets.count }
            }
        }
        #expect(read > 1000)
    }
}
