// SPDX-License-Identifier: Apache-2.0

import Signalling
import Testing

@testable import RoomServer

@Suite struct EngineIORequestTests {
    @Test func queriesAreRead() throws {
        let four = try EngineIORequest(target: HTTPTarget("/socket.io/?EIO=4&transport=polling&t=x"), isGET: true)
        #expect(four.transport == .polling)
        #expect(four.version == .four)
        #expect(four.sessionID == nil)
        let three = try EngineIORequest(target: HTTPTarget("/socket.io/?transport=websocket"), isGET: true)
        #expect(three.transport == .webSocket)
        #expect(three.version == .three, "a client of version 3 need not say so")
        let later = try EngineIORequest(target: HTTPTarget("/socket.io/?transport=polling&sid=a%2Db"), isGET: false)
        #expect(later.sessionID == "a-b")
    }

    @Test(arguments: [
        ("/socket.io/", true, EngineIORefusal.unknownTransport),
        ("/socket.io/?EIO=4&transport=flash", true, .unknownTransport),
        ("/socket.io/?EIO=4&transport=polling", false, .badHandshakeMethod),
        ("/socket.io/?EIO=5&transport=polling", true, .unsupportedProtocolVersion),
        ("/socket.io/?EIO=99999999999999999999&transport=polling", true, .unsupportedProtocolVersion),
        ("/socket.io/?EIO=&transport=polling", true, .unsupportedProtocolVersion),
    ])
    func refusalsAreNamed(target: String, isGET: Bool, refusal: EngineIORefusal) {
        #expect(throws: refusal) { try EngineIORequest(target: HTTPTarget(target), isGET: isGET) }
    }

    @Test func refusalsAreNumberedAsOnTheWire() {
        #expect(
            EngineIORefusal.allCases.map(\.body) == [
                #"{"code":0,"message":"Transport unknown"}"#, #"{"code":1,"message":"Session ID unknown"}"#,
                #"{"code":2,"message":"Bad handshake method"}"#, #"{"code":3,"message":"Bad request"}"#,
                #"{"code":4,"message":"Too many sessions"}"#, #"{"code":5,"message":"Unsupported protocol version"}"#,
            ]
        )
        #expect(EngineIORefusal.allCases.map(\.status) == [400, 400, 400, 400, 403, 400])
    }

    @Test(arguments: [
        ("/?room=a%20b", "a b"), ("/?room=a+b", "a b"), ("/?x=1&room=%C3%BC", "ü"), ("/?room", ""),
        ("/?room=%zz%2", "%zz%2"),
        ("/?%72oom=1&room=2", "1"), ("/?room=%FF", "\u{fffd}"), ("/?room=a?b=c", "a?b=c"), ("/?room=%+1", "% 1"),
    ])
    func queryItemsAreDecoded(target: String, value: String) {
        #expect(HTTPTarget(target).value(of: "room") == value)
        #expect(HTTPTarget(target).path == "/")
    }

    @Test(arguments: ["", "?", "/?", "/", "/?&&=", "/?rooms=1"])
    func missingQueryItemsAreNil(target: String) {
        #expect(HTTPTarget(target).value(of: "room") == nil)
    }
}

@Suite struct RoomServerConfigurationTests {
    @Test func defaultsAreValidAndLoopback() throws {
        let configuration = RoomServerConfiguration()
        try configuration.validate()
        #expect(configuration.host == "127.0.0.1")
        #expect(configuration.roomCapacity == 2)
    }

    @Test func everyWrongPartIsNamed() {
        var configuration = RoomServerConfiguration(host: "", port: 65536, roomCapacity: 0)
        configuration.maximumRooms = 0
        configuration.maximumSockets = 0
        configuration.pingInterval = .zero
        configuration.pingTimeout = .seconds(4000)
        configuration.requestTimeout = .milliseconds(99)
        configuration.maximumUnsentBytes = 10
        let error = #expect(throws: RoomServerError.self) { try configuration.validate() }
        #expect(error?.code == .invalidConfiguration)
        for part in [
            "host", "port", "roomCapacity", "maximumRooms", "maximumSockets", "pingInterval", "pingTimeout",
            "requestTimeout", "maximumUnsentBytes",
        ] {
            #expect(error?.message.contains(part + " must") == true)
        }
    }
}
