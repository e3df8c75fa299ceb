// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Signalling

@Suite struct RoomURLWHIPTests {
    private static func endpoint(_ text: String) throws -> WHIPEndpoint {
        let address = try RoomURL(parsing: text).address
        return try #require((address as? RoomURL.WHIP)?.endpoint ?? (address as? RoomURL.WHEP)?.endpoint)
    }

    @Test(arguments: [
        ("whip+https://host/whip/cam1", "https://host/whip/cam1", "cam1"),
        ("whep+http://host:8889/cam1/whep?a=b&insecure&c=%2F", "http://host:8889/cam1/whep?a=b&c=%2F", "whep"),
        ("WHEP+HTTPS://Media.Example.org", "https://media.example.org/", "media.example.org"),
        ("whip+http://[2001:db8::1]:81/live/%C3%A9/", "http://[2001:db8::1]:81/live/%C3%A9/", "é"),
    ])
    func readsTheEndpoint(text: String, url: String, name: String) throws {
        let endpoint = try Self.endpoint(text)
        #expect("\(endpoint.url)" == url)
        #expect(endpoint.name == name)
        #expect(endpoint.verifiesCertificate == !text.contains("insecure"))
    }

    @Test(arguments: [
        "whip+https://host/whip/cam1", "whep+http://host:8889/whep/cam1?token=%20a&x",
        "whep+https://host/whep/cam1?insecure", "whip+https://[::1]/a/b?c=d&insecure", "whip+https://host/",
    ])
    func printsBack(text: String) throws {
        let url = try RoomURL(parsing: text)
        #expect(url.description == text)
        #expect(try RoomURL(parsing: url.description) == url)
    }

    @Test(arguments: [
        ("whip+https:///whip", "host"), ("whip+https://host:0/whip", "port"), ("whep+https://u@host/whep", "user"),
        ("whep+https://host/whep?insecure=no", "insecure"), ("whep+https://host/%ZZ", "%"),
        ("whep+https://host/a%00b", "control"), ("whip+ftp://host/", "scheme"), ("whip://host/whip", "whip+http"),
        ("whep+https://host/whep#x", "#"), ("whep+https://host/" + String(repeating: "a", count: 300), "path"),
    ])
    func namesTheWrongPart(text: String, part: String) {
        let error = #expect(throws: SignallingError.self) { try RoomURL(parsing: text) }
        #expect(error?.code == .invalidURL)
        #expect(error?.message.contains(part) == true)
    }

    @Test func aRoomThatOnlyTakesIsNotRecorded() throws {
        let publish = try RoomURL(parsing: "whip+https://host/whip/cam1")
        let play = try RoomURL(parsing: "whep+https://host/whep/cam1")
        try publish.checkSending()
        try play.checkRecording()
        #expect(#expect(throws: SignallingError.self) { try publish.checkRecording() }?.code == .invalidURL)
        #expect(#expect(throws: SignallingError.self) { try play.checkSending() }?.code == .invalidURL)
        let room = try RoomURL(parsing: "socketio+https://host/1")
        try room.checkRecording()
        try room.checkSending()
    }
}
