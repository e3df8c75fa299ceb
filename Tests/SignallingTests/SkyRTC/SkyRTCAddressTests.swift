// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Signalling

@Suite struct SkyRTCAddressTests {
    private static func room(_ text: String) throws -> RoomURL.SkyRTC {
        try #require(RoomURL(parsing: text).address as? RoomURL.SkyRTC)
    }

    @Test func readsAClassicRoom() throws {
        let room = try Self.room("skyrtc+ws://192.0.2.9:3000/wss?room=100")
        #expect(room == RoomURL.SkyRTC(isSecure: false, host: "192.0.2.9", port: 3000, path: "/wss", name: "100"))
        #expect(room.room == "100")
        #expect(room.verifiesCertificate)
        #expect(room.serverAddress == "192.0.2.9:3000")
        #expect(room.meshURL == WebURL(parsing: "ws://192.0.2.9:3000/wss"))
        #expect(RoomURL.SkyRTC.protocolName == "skyrtc")
    }

    @Test func readsEveryOption() throws {
        let room = try Self.room(
            "SKYRTC+WSS://RTC.example.org/a/ws/?room=a%20b&dialect=call&user=tape%20deck&create=4&insecure"
        )
        #expect(room.isSecure)
        #expect(room.host == "rtc.example.org")
        #expect(room.port == 443)
        #expect(room.name == "a b")
        #expect(room.dialect == .call)
        #expect(room.user == "tape deck")
        #expect(room.createdSize == 4)
        #expect(!room.verifiesCertificate)
        #expect(room.callURL(user: "tape deck").description == "wss://rtc.example.org/a/ws/tape%20deck/0")
        #expect(room.roomListURL.description == "https://rtc.example.org/a/roomList")
    }

    @Test func missingPartsHaveTheServersDefaults() throws {
        let room = try Self.room("skyrtc+ws://h")
        #expect(room.port == 80)
        #expect(room.path == "/")
        #expect(room.room == "__default")
        let call = try Self.room("skyrtc+ws://h:5000?dialect=call")
        #expect(call.name == nil)
        #expect(call.callURL(user: "u").target == "/ws/u/0")
        #expect(call.roomListURL.target == "/roomList")
    }

    @Test(arguments: [
        "skyrtc+ws://h", "skyrtc+ws://h:3000/wss?room=100", "skyrtc+wss://h/?room=%E5%AE%A2%E5%8E%85",
        "skyrtc+ws://[2001:db8::1]:3000/a/b?room=1&insecure", "skyrtc+ws://h?dialect=call",
        "skyrtc+wss://h/ws?room=x&dialect=call&user=u%2Fv&create=64&insecure", "skyrtc+ws://h:443/x?dialect=classic",
    ])
    func textOfAnAddressReadsBack(text: String) throws {
        let url = try RoomURL(parsing: text)
        #expect(try RoomURL(parsing: url.description) == url)
    }

    @Test(arguments: [
        ("skyrtc+ws://h/?room=", "room has 1 to"), ("skyrtc+ws://h/?room", "room has 1 to"),
        ("skyrtc+ws://h/?room=%07", "control character"), ("skyrtc+ws://h/?dialect=other", "classic or call"),
        ("skyrtc+ws://h/?user=x", "belong to dialect=call"), ("skyrtc+ws://h/?create=2", "belong to dialect=call"),
        ("skyrtc+ws://h/?dialect=call&create=2", "create without room"),
        ("skyrtc+ws://h/?dialect=call&room=1&create=1", "2 to 64"),
        ("skyrtc+ws://h/?dialect=call&room=1&create=65", "2 to 64"),
        ("skyrtc+ws://h/?dialect=call&user=a,b", "comma"), ("skyrtc+ws://h/?insecure=1", "takes no value"),
        ("skyrtc+ws://h/?colour=red", "is unknown"), ("skyrtc+ws://h/é?room=1", "only ASCII"),
        ("skyrtc+ws://me@h/?room=1", "user information"), ("skyrtc+ws://h:0/?room=1", "port"),
        ("skyrtc://h/?room=1", "did you mean"),
    ])
    func wrongPartsAreNamed(text: String, part: String) {
        let error = #expect(throws: SignallingError.self) { try RoomURL(parsing: text) }
        #expect(error?.code == .invalidURL)
        #expect(error?.message.contains(part) == true, "\(error?.message ?? "")")
    }

    @Test func eachDialectHasItsMachine() throws {
        let options = SignallingOptions(policy: .oneShot)
        guard case .classic = try Self.room("skyrtc+ws://h").makeMachine(options) else {
            Issue.record("no classic machine")
            return
        }
        guard case .call = try Self.room("skyrtc+ws://h?dialect=call").makeMachine(options) else {
            Issue.record("no call machine")
            return
        }
    }
}
