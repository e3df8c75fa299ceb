// SPDX-License-Identifier: Apache-2.0

import Signalling
import Testing

@Suite struct EngineIOOpenPacketTests {
    @Test func readsAndWrites() throws {
        let text = #"{"maxPayload":1000000,"pingInterval":25000,"pingTimeout":5000,"sid":"a","upgrades":["websocket"]}"#
        let open = try EngineIOOpenPacket(text: text)
        #expect(open.sessionID == "a")
        #expect(open.upgrades == ["websocket"])
        #expect(open.pingInterval == .seconds(25))
        #expect(open.pingTimeout == .seconds(5))
        #expect(open.maximumPayload == 1_000_000)
        #expect(open.text == text)
    }

    @Test func fillsAndClampsTimes() throws {
        let open = try EngineIOOpenPacket(text: #"{"sid":"a","pingInterval":-5,"maxPayload":-1}"#)
        #expect(open.upgrades.isEmpty)
        #expect(open.pingInterval == .milliseconds(100))
        #expect(open.pingTimeout == .seconds(20))
        #expect(open.maximumPayload == nil)
        let long = try EngineIOOpenPacket(text: #"{"sid":"a","pingInterval":9223372036854775807,"pingTimeout":1e300}"#)
        #expect(long.pingInterval == .seconds(3600))
        #expect(long.pingTimeout == .seconds(20))
    }

    @Test(arguments: ["", "{", "[]", "{}", #"{"sid":""}"#, #"{"sid":7}"#, #"{"sid":"a"#])
    func refuses(_ text: String) {
        #expect(throws: EngineIOError.invalidOpenPacket) { try EngineIOOpenPacket(text: text) }
    }

    @Test func refusesLongSessionID() {
        let text = #"{"sid":"\#(String(repeating: "x", count: EngineIOLimits.maximumSessionIDBytes + 1))"}"#
        #expect(throws: EngineIOError.invalidOpenPacket) { try EngineIOOpenPacket(text: text) }
    }
}
