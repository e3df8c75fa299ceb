// SPDX-License-Identifier: Apache-2.0

import Basics
import Signalling
import TestSupport
import Testing

@Suite struct SocketIOPacketTests {
    @Test(arguments: [
        ("0", SocketIOPacket(.connect)),
        (#"0{"sid":"x"}"#, SocketIOPacket(.connect, data: .object(["sid": "x"]))),
        ("1", SocketIOPacket(.disconnect)),
        ("1/admin,", SocketIOPacket(.disconnect, namespace: "/admin")),
        (#"2["join","123123"]"#, .event("join", ["123123"])),
        (
            #"2/a,17["x",1]"#,
            SocketIOPacket(.event, namespace: "/a", acknowledgementID: 17, data: .array(["x", .integer(1)]))
        ),
        ("317[]", SocketIOPacket(.acknowledgement, acknowledgementID: 17, data: .array([]))),
        (#"4/nosuch,"Invalid namespace""#, SocketIOPacket(.error, namespace: "/nosuch", data: "Invalid namespace")),
        (#"4{"message":"no"}"#, SocketIOPacket(.error, data: .object(["message": "no"]))),
        (
            #"51-["f",{"_placeholder":true,"num":0}]"#,
            SocketIOPacket(
                .binaryEvent,
                attachments: 1,
                data: .array(["f", .object(["_placeholder": .bool(true), "num": .integer(0)])])
            )
        ),
        (
            "62-5[null]",
            SocketIOPacket(.binaryAcknowledgement, attachments: 2, acknowledgementID: 5, data: .array([.null]))
        ),
    ])
    func codes(_ text: String, _ packet: SocketIOPacket) throws {
        #expect(try SocketIOPacket(text: text) == packet)
        #expect(packet.text == text)
    }

    @Test(arguments: [
        ("0/,", SocketIOPacket(.connect)),
        ("1/,", SocketIOPacket(.disconnect)),
        ("0/room?k=v,", SocketIOPacket(.connect, namespace: "/room")),
        ("0/room", SocketIOPacket(.connect, namespace: "/room")),
        (#"2 [ "a" , 1.0 ]"#, .event("a", [.integer(1)])),
    ])
    func reads(_ text: String, _ packet: SocketIOPacket) throws {
        #expect(try SocketIOPacket(text: text) == packet)
    }

    @Test(arguments: [
        ("", SocketIOPacket.ParsingError.unknownKind),
        ("7[]", .unknownKind),
        ("x", .unknownKind),
        ("/", .unknownKind),
        ("5[]", .invalidNumber),
        (#"5999999999999999999999-["a"]"#, .invalidNumber),
        (#"565-["a"]"#, .invalidNumber),
        (#"299999999999999999999["a"]"#, .invalidNumber),
        (#"2["a""#, .invalidJSON),
        ("2x", .invalidJSON),
        ("2[]", .invalidEvent),
        ("2[1]", .invalidEvent),
        ("2{}", .invalidEvent),
        ("2", .invalidEvent),
    ])
    func refuses(_ text: String, _ error: SocketIOPacket.ParsingError) {
        #expect(throws: error) { try SocketIOPacket(text: text) }
    }

    @Test func refusesDeepAndRichJSON() {
        let deep = "2[\"a\"," + String(repeating: "[", count: 40) + String(repeating: "]", count: 40) + "]"
        #expect(throws: SocketIOPacket.ParsingError.tooLarge) { try SocketIOPacket(text: deep) }
        let rich = "2[\"a\"" + String(repeating: ",1", count: JSONValue.maximumValues) + "]"
        #expect(throws: SocketIOPacket.ParsingError.tooLarge) { try SocketIOPacket(text: rich) }
    }

    @Test func survivesNoise() {
        var generator = SeededGenerator(seed: 0x6465_636b)
        let seeds = [
            #"2["message","1",{"sdp":"v=0","type":"offer"}]"#, "51-[\"f\"]", "0/n,{\"sid\":\"x\"}", "62-5[null]",
        ]
        .map { [UInt8]($0.utf8) }
        var read = 0
        for _ in 0..<20_000 {
            guard var bytes = seeds.randomElement(using: &generator) else { continue }
            for _ in 0..<Int.random(in: 0...2, using: &generator) {
                bytes[Int.random(in: 0..<bytes.count, using: &generator)] = .random(in: 0...255, using: &generator)
            }
            bytes.removeLast(Int.random(in: 0...2, using: &generator))
            if (try? SocketIOPacket(text: String(decoding: bytes, as: UTF8.self))) != nil { read += 1 }
        }
        #expect(read > 1000)
    }
}
