// SPDX-License-Identifier: Apache-2.0

import Basics
import TestSupport
import Testing

@testable import Signalling

/// Anything in any order: nothing traps, nothing grows, and what goes out can be read.
@Suite struct SkyRTCNoiseTests {
    private static let names = SkyRTCMessage.Event.allCases.map { "_" + $0.rawValue } + ["", "x", "__new_peer"]
    private static let values: [JSONValue] = [
        .null, "p", "q", "us", "", "100", "v=0", .integer(2), .integer(.max), .number(0.5), .bool(true), .array([]),
        .array(["p", "us", .null]), "p,q,,us", .object(["type": "offer", "sdp": "v=0"]),
        .string(SkyRTCBench.candidateLine), .string(String(repeating: "é", count: 300)),
    ]
    private static let keys = [
        "connections", "you", "socketId", "sdp", "label", "candidate", "id", "userID", "fromID", "room", "roomSize",
        "inviteID", "to",
    ]

    private static func input(_ random: inout SeededGenerator) -> SignallingInput {
        let peer = PeerID(["p", "q", "us", "z"].randomElement(using: &random) ?? "p")
        switch Int.random(in: 0..<16, using: &random) {
        case 0: return .attempt(note: Bool.random(using: &random) ? "note" : nil)
        case 1, 2: return .webSocket(.opened)
        case 3: return .webSocket(.closed(nil))
        case 4: return .webSocket(.refused(status: Int.random(in: 100...599, using: &random), body: []))
        case 5: return .timerFired(SkyRTCCallStateMachine.answerTimer)
        case 6: return .timerFired(SkyRTCCallStateMachine.againTimer)
        case 7: return .command(.resetCall(peer))
        case 8:
            return .command([.offer(to: peer, sdp: "v=0"), .yield].randomElement(using: &random) ?? .yield)
        case 9:
            return .answered(
                SkyRTCCallStateMachine.roomList,
                HTTPAnswer(status: 200, body: [UInt8](#"[{"roomId":"100"}]"#.utf8))
            )
        case 10:
            let bytes = (0..<Int.random(in: 0...40, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
            return .webSocket(.received(.binary(bytes)))
        default:
            var data: [String: JSONValue] = [:]
            for key in Self.keys where Bool.random(using: &random) {
                data[key] = Self.values.randomElement(using: &random)
            }
            let name = Self.names.randomElement(using: &random) ?? ""
            let message = JSONValue.object(["eventName": .string(name), "data": .object(data)])
            return .webSocket(.received(.text(message.text)))
        }
    }

    @Test(arguments: ["dialect=classic", "dialect=call&user=us", "dialect=call&user=us&create=2"])
    func survivesNoise(query: String) throws {
        let url = try RoomURL(parsing: "skyrtc+ws://h/ws?room=100&" + query)
        let address = try #require(url.address as? RoomURL.SkyRTC)
        for seed in 0..<12 as Range<UInt64> {
            var random = SeededGenerator(seed: seed)
            var machine = address.makeMachine(SignallingOptions(policy: .persistent))
            for _ in 0..<300 {
                for action in machine.handle(Self.input(&random)) {
                    guard case .sendWebSocket(let message) = action else { continue }
                    guard case .text = message else {
                        Issue.record("a binary frame")
                        return
                    }
                    _ = try SkyRTCMessage(message)
                }
            }
            #expect(machine.handle(.command(.leave)).last == .finished(nil))
            #expect(machine.handle(.attempt(note: nil)).isEmpty)
        }
    }
}
