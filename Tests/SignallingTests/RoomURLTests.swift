// SPDX-License-Identifier: Apache-2.0

import Signalling
import Testing

@Suite struct RoomURLTests {
    private static func socketIO(_ text: String) throws -> RoomURL.SocketIO {
        try #require(RoomURL(parsing: text).address as? RoomURL.SocketIO)
    }

    @Test func readsTheShortestForm() throws {
        let room = try Self.socketIO("socketio+https://rtc.example.org/123123")
        #expect(room == RoomURL.SocketIO(isSecure: true, host: "rtc.example.org", room: "123123"))
        #expect(room.port == 443)
        #expect(room.hostAndPort == "rtc.example.org")
        #expect(room.path == "/socket.io/")
        #expect(room.transport == .automatic)
        #expect(room.version == .automatic)
        #expect(room.verifiesCertificate)
        #expect(try Self.socketIO("socketio+http://rtc.example.org/1").port == 80)
    }

    @Test func readsEveryOption() throws {
        let room = try Self.socketIO(
            "SocketIO+HTTPS://RTC.example.org:8443/a/b/123?transport=polling&eio=3&path=/rtc/io&insecure"
                + "&dialect=message:signal,leave:go%20away,room:object"
        )
        #expect(room.host == "rtc.example.org")
        #expect(room.hostAndPort == "rtc.example.org:8443")
        #expect(room.room == "123")
        #expect(room.transport == .polling)
        #expect(room.version == .v3)
        #expect(room.path == "/rtc/io/")
        #expect(!room.verifiesCertificate)
        #expect(
            room.dialect
                == SocketIORoomDialect(leaveEvent: "go away", messageEvent: "signal", roomArgument: .object)
        )
        #expect(try Self.socketIO("socketio+http://h/1?dialect=stock").dialect == SocketIORoomDialect())
        #expect(try Self.socketIO("socketio+http://h/1?transport=websocket&eio=4").transport == .webSocket)
        #expect(try Self.socketIO("socketio+http://h/1?transport=auto&eio=auto").version == .automatic)
    }

    @Test(arguments: [
        ("socketio+http://h/%E5%AE%A2%E5%8E%85", "客厅"), ("socketio+http://h/a%2Fb", "a/b"),
        ("socketio+http://h/a+b", "a+b"), ("socketio+http://h/客厅", "客厅"), ("socketio+http://h/me@home", "me@home"),
        ("socketio+http://h/%3F%23%25", "?#%"),
    ])
    func decodesTheRoom(text: String, room: String) throws {
        #expect(try Self.socketIO(text).room == room)
    }

    @Test(arguments: [
        ("[::1]", "::1"), ("[2001:DB8::1]", "2001:db8::1"), ("[::]", "::"), ("[1:2:3:4:5:6:7:8]", "1:2:3:4:5:6:7:8"),
        ("[::ffff:192.0.2.7]", "::ffff:192.0.2.7"), ("[1::]", "1::"),
    ])
    func readsIPv6(written: String, host: String) throws {
        let room = try Self.socketIO("socketio+http://\(written):3000/1")
        #expect(room.host == host)
        #expect(room.port == 3000)
        #expect(room.hostAndPort == "[\(host)]:3000")
        #expect(try Self.socketIO("socketio+http://\(written)/1").hostAndPort == "[\(host)]")
    }

    @Test(arguments: [
        "socketio+https://rtc.example.org/123123", "socketio+http://127.0.0.1:3000/123123",
        "socketio+http://[2001:db8::1]:81/%E5%AE%A2%E5%8E%85",
        "socketio+https://h/1?transport=polling&eio=3&path=/rtc/&dialect=leave:go,message:signal,room:object&insecure",
        "socketio+https://h/a%2Fb%20c?transport=websocket&eio=4",
    ])
    func printsBack(text: String) throws {
        let url = try RoomURL(parsing: text)
        #expect(url.description == text)
        #expect(try RoomURL(parsing: url.description) == url)
    }

    @Test func printsTheShortestForm() throws {
        let url = try RoomURL(
            parsing: "SOCKETIO+HTTP://H:80/x/1?transport=auto&eio=auto&path=/socket.io&dialect=join:join,room:text"
        )
        #expect(url.description == "socketio+http://h/1")
    }

    @Test(arguments: [
        ("", "scheme"), ("123123", "scheme"), ("://h/1", "scheme"), ("socketio+https:/h/1", "scheme"),
        ("gopher://h/1", "scheme"), ("https://h/1", "did you mean socketio+https"),
        ("http://h/1", "did you mean socketio+http?"),
        ("socketio+http://h/1#2", "fragment"), ("socketio+http://h/a b", "characters"),
        ("socketio+http://h/a\u{7}", "characters"), ("socketio+http:///1", "host"), ("socketio+http://:80/1", "host"),
        ("socketio+http://h_%41/1", "host"), ("socketio+http://hö/1", "host"), ("socketio+http://[::1/1", "host"),
        ("socketio+http://[1:2]/1", "host"), ("socketio+http://[::1::]/1", "host"), ("socketio+http://[:::]/1", "host"),
        ("socketio+http://[::256.0.0.1]/1", "host"), ("socketio+http://[12345::]/1", "host"),
        ("socketio+http://[1:2:3:4:5:6:7:8::]/1", "host"), ("socketio+http://[192.0.2.7::]/1", "host"),
        ("socketio+http://::1/1", "brackets"), ("socketio+http://h:/1", "port"), ("socketio+http://h:0/1", "port"),
        ("socketio+http://h:65536/1", "port"), ("socketio+http://h:+1/1", "port"), ("socketio+http://h:x/1", "port"),
        ("socketio+http://h:99999999999999999999/1", "port"), ("socketio+http://[::1]80/1", "port"),
        ("socketio+http://h", "room"), ("socketio+http://h/", "room"), ("socketio+http://h/1/", "room"),
        ("socketio+http://h/%", "room"), ("socketio+http://h/%4", "room"), ("socketio+http://h/%zz", "room"),
        ("socketio+http://h/%FF", "room"), ("socketio+http://h/%00", "room"),
        ("socketio+http://h/1?transport=carrier", "transport"), ("socketio+http://h/1?transport", "transport"),
        ("socketio+http://h/1?eio=5", "eio"), ("socketio+http://h/1?dialect=room:x", "dialect"),
        ("socketio+http://h/1?path=x", "path"), ("socketio+http://h/1?path=/a%3F", "path"),
        ("socketio+http://h/1?insecure=no", "insecure"), ("socketio+http://h/1?color=red", "\"color\" is unknown"),
        ("socketio+http://h/1?eio=3&eio=4", "eio is given twice"), ("socketio+http://h/1?eio=%", "eio"),
        ("socketio+http://h/1?=3", "query"), ("socketio+http://h/1?dialect", "dialect"),
        ("socketio+http://h/1?dialect=hello:x", "dialect"), ("socketio+http://h/1?dialect=join:", "dialect"),
    ])
    func namesTheWrongPart(text: String, part: String) {
        let error = #expect(throws: SignallingError.self) { try RoomURL(parsing: text) }
        #expect(error?.code == .invalidURL)
        #expect(error?.blame == .configuration)
        #expect(error?.message.contains(part) == true, "\(error?.message ?? "")")
        #expect(error?.message.contains("Example: socketio+https://rtc.example.org/123123") == true)
    }

    @Test func refusesLongParts() {
        for text in [
            "socketio+http://h/" + String(repeating: "r", count: 257),
            "socketio+http://" + String(repeating: "h", count: 254) + "/1",
            "socketio+http://h/1?dialect=join:" + String(repeating: "n", count: 65),
            "socketio+http://h/1?" + String(repeating: "x", count: 3000),
        ] {
            let error = #expect(throws: SignallingError.self) { try RoomURL(parsing: text) }
            #expect((error?.message.utf8.count ?? .max) < 300)
        }
    }

    @Test func neverRepeatsAPassword() {
        let error = #expect(throws: SignallingError.self) {
            try RoomURL(parsing: "socketio+https://recorder:secret@rtc.example.org/1")
        }
        #expect(error?.message.contains("user information") == true)
        #expect(error?.message.contains("secret") == false)
    }

    @Test func everyExampleIsRight() throws {
        for query in [
            "", "?transport=websocket", "?eio=4", "?dialect=join:enter,message:signal,room:object", "?path=/socket.io/",
            "?insecure",
        ] {
            _ = try RoomURL(parsing: "socketio+https://rtc.example.org/123123\(query)")
        }
        for scheme in RoomURL.SocketIO.schemes {
            #expect(throws: Never.self) { try RoomURL(parsing: "\(scheme)://rtc.example.org/1") }
        }
    }

    @Test func survivesEveryCutAndEveryByte() {
        let text =
            "socketio+https://[2001:db8::1]:8443/a%20b?transport=polling&eio=3&path=/rtc/&dialect=leave:x&insecure"
        var parsed = 0
        for end in text.indices {
            if (try? RoomURL(parsing: String(text[..<end]))) != nil { parsed += 1 }
            for character in ["\u{0}", "%", "[", ":", "é", "?", "&"] {
                var altered = text
                altered.replaceSubrange(end...end, with: character)
                guard let url = try? RoomURL(parsing: altered) else { continue }
                #expect((try? RoomURL(parsing: url.description)) == url)
            }
        }
        #expect(parsed > 0)
    }

    @Test func whatIsTooLongWhenEncodedIsRefused() {
        let path = String(repeating: "/客厅", count: 120)
        #expect(throws: SignallingError.self) { try RoomURL(parsing: "apprtc+https://h\(path)/r/1") }
        #expect(throws: Never.self) { try RoomURL(parsing: "apprtc+https://h/客厅/r/1") }
    }
}
