// SPDX-License-Identifier: Apache-2.0

import Basics
import Testing

@testable import Signalling

@Suite struct JanusAddressTests {
    @Test(arguments: [
        "janus+ws://h/?room=1234", "janus+wss://h/?room=1234", "janus+http://h/?room=1234",
        "janus+https://[2001:db8::1]:444/?room=1234", "janus+ws://h:9000/gateway?room=a%20b&ids=string&insecure",
        "janus+http://h/rtc/janus?room=5&token=t%26t&apisecret=s", "janus+http://h/.?room=7",
    ])
    func urlsRoundTrip(_ text: String) throws {
        let url = try RoomURL(parsing: text)
        #expect(url.description == text)
        #expect(try RoomURL(parsing: url.description) == url)
    }

    @Test(arguments: [
        ("janus+ws://h?room=1", "ws://h:8188/"), ("janus+wss://h/?room=1", "wss://h:8989/"),
        ("janus+http://h/?room=1", "http://h:8088/janus"), ("janus+https://h/?room=1", "https://h:8089/janus"),
        ("janus+https://h:443/a/janus/?room=1", "https://h/a/janus"), ("janus+http://h:80/.?room=1", "http://h/"),
    ])
    func portsAndPathsAreThoseOfJanus(_ text: String, _ expected: String) throws {
        let address = try #require(try RoomURL(parsing: text).address as? RoomURL.Janus)
        #expect(address.url.description == expected)
    }

    @Test func roomsOfDigitsAreNumbersUnlessTheServerHasStrings() throws {
        func id(_ query: String) throws -> JSONValue {
            try #require(try RoomURL(parsing: "janus+ws://h/?\(query)").address as? RoomURL.Janus).roomID.json
        }
        #expect(try id("room=1234") == .integer(1234))
        #expect(try id("room=0") == .integer(0))
        #expect(try id("room=1234&ids=string") == "1234")
        #expect(try id("room=0123") == "0123")
        #expect(try id("room=99999999999999999999") == "99999999999999999999")
        #expect(try id("room=demo") == "demo")
    }

    @Test(arguments: [
        ("janus+ws://h/", "room"), ("janus+ws://h/?room=", "room"), ("janus+ws://h/?room=1&pin=2", "PIN"),
        ("janus+ws://h/?room=1&ids=text", "ids"), ("janus+ws://h/?room=1&insecure=1", "insecure"),
        ("janus+ws://h/?room=1&x=1", "unknown"), ("janus+ws://u@h/?room=1", "user information"),
        ("janus+ws://h/?room=1&token", "token"), ("janus+ws://h/?room=%0a", "room"), ("janus+ws://h/é?room=1", "path"),
    ])
    func wrongPartsAreNamed(_ text: String, _ part: String) {
        #expect { try RoomURL(parsing: text) } throws: { error in
            (error as? SignallingError)?.message.contains(part) == true
        }
    }
}
