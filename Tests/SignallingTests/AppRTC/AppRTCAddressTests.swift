// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Signalling

@Suite struct AppRTCAddressTests {
    private static func room(_ text: String) throws -> RoomURL.AppRTC {
        try #require(try RoomURL(parsing: text).address as? RoomURL.AppRTC)
    }

    @Test func readsEveryPart() throws {
        let room = try Self.room(
            "AppRTC+HTTPS://Appr.example.org:8443/rtc/r/stand-up_1?wshpp=ws.h:8089&wstls&insecure&t=a%20b"
        )
        #expect(room.isSecure && room.host == "appr.example.org" && room.port == 8443)
        #expect(room.path == "/rtc" && room.room == "stand-up_1")
        #expect(room.query == "wshpp=ws.h:8089&wstls&t=a%20b")
        #expect(!room.verifiesCertificate)
        #expect(room.origin == "https://appr.example.org:8443")
        #expect(
            room.url("join/1", keepsQuery: true).description
                == "https://appr.example.org:8443/rtc/join/1?wshpp=ws.h:8089&wstls&t=a%20b"
        )
        #expect(room.url("leave/1/2", keepsQuery: false).description == "https://appr.example.org:8443/rtc/leave/1/2")
        let short = try Self.room("apprtc+http://h/lab7")
        #expect(short == RoomURL.AppRTC(isSecure: false, host: "h", room: "lab7"))
        #expect(short.port == 80 && short.verifiesCertificate && short.serverAddress == "h:80")
    }

    @Test(arguments: [
        "apprtc+https://appr.example.org/r/standup", "apprtc+http://[2001:db8::1]:8080/r/1",
        "apprtc+https://h/a/b%20c/r/1?x=%2B+1&y&insecure", "apprtc+https://h/r/r/1?t=%C3%A9", "apprtc+http://h/r/r",
    ])
    func printsBack(text: String) throws {
        let url = try RoomURL(parsing: text)
        #expect(url.description == text)
        #expect(try RoomURL(parsing: url.description) == url)
    }

    @Test func printsTheShortestForm() throws {
        #expect(try RoomURL(parsing: "APPRTC+HTTPS://H:443/1?é").description == "apprtc+https://h/r/1?%C3%A9")
        // A mark that joins the slash before it is the first character of its part.
        #expect(
            try RoomURL(parsing: "apprtc+https://h/a/\u{34F}b/r/1").description == "apprtc+https://h/a/%CD%8Fb/r/1"
        )
    }

    @Test(arguments: [
        ("apprtc+https://h", "room"), ("apprtc+https://h/", "room"), ("apprtc+https://h/r/", "room"),
        ("apprtc+https://h/r/a%20b", "room"), ("apprtc+https://h/r/%", "room"), ("apprtc+https://h/r/é", "room"),
        ("apprtc+https://h/r/\(String(repeating: "x", count: 129))", "room"), ("apprtc+https://h//r/1", "path"),
        ("apprtc+https://h/%zz/r/1", "path"),
        ("apprtc+https://h/a//\u{34F}b/r/1", "path"),
        ("apprtc+https://h/r/1?insecure=no", "insecure"),
        ("apprtc+https://h/r/1?a=1&a=2", "a is given twice"),
    ])
    func namesTheWrongPart(text: String, part: String) {
        let error = #expect(throws: SignallingError.self) { try RoomURL(parsing: text) }
        #expect(error?.code == .invalidURL && error?.message.contains(part) == true, "\(error?.message ?? "")")
        #expect(error?.message.contains("Example: ") == true)
    }

    @Test func collidersWithAPathAreReached() {
        let membership = AppRTCMembership(
            room: "lab7",
            client: "1",
            postURL: WebURL(parsing: "https://h/collider/?key=k")
        )
        #expect(membership.colliderURL?.description == "https://h/collider/lab7/1")
        #expect(AppRTCMembership(note: membership.note) == membership)
    }
}
