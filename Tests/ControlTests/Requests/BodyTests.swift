// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import HummingbirdTesting
import NIOCore
import Testing

@testable import Control

@Suite struct BodyTests {
    @Test(arguments: [
        ("", 400), ("{", 400), ("{\"text\":}", 400), ("\u{0}", 400), ("NaN", 400),
        ("[]", 422), ("null", 422), ("\"a\"", 422), ("1", 422), ("{}", 422), ("{\"text\":1}", 422),
        ("{\"text\":\"\"}", 422), ("{\"text\":\"a\\u0000\"}", 422), ("{\"text\":null}", 422),
        ("{\"text\":\"a\",\"colour\":1}", 422), ("{\"Text\":\"a\"}", 422), ("{\"text\":[\"a\"]}", 422),
        ("{\"text\":{\"a\":1}}", 422), (String(repeating: "[", count: 50), 400),
        ("{\"text\":\"" + String(repeating: "a", count: 513) + "\"}", 422),
    ])
    func wrongBodiesAreRefused(_ body: String, _ status: Int) async throws {
        let fixture = try Fixture()
        try await fixture.test { client in
            let response = try await client.send(.post, "/v1/rooms/standup/mark", json: body)
            #expect(response.status.code == status)
            #expect(response.headers[.contentType] == "application/problem+json")
        }
        #expect(fixture.backend.calls.isEmpty)
    }

    @Test func everythingIsSaidAtOnce() async throws {
        try await Fixture().test { client in
            let body = #"{"camera":{"video":"X","width":321,"height":1,"framesPerSecond":"30","zoom":2},"a":1}"#
            let response = try await client.send(.post, "/v1/rooms/standup/camera", json: body)
            #expect(response.status == .unprocessableContent)
            for name in [
                "camera.video", "camera.width", "camera.height", "camera.framesPerSecond", "camera.zoom", "a ",
            ] {
                #expect(response.text.contains("\"\(name)"), "\(name)")
            }
        }
    }

    @Test(arguments: [
        nil, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "", ";",
        "application/jsonx", "application/merge-patch+json",
    ])
    func otherTypesAreRefused(_ type: String?) async throws {
        try await Fixture().test { client in
            let response = try await client.execute(
                uri: "/v1/rooms/standup/mark",
                method: .post,
                headers: type.map { [.contentType: $0] } ?? [:],
                body: ByteBuffer(string: #"{"text":"a"}"#)
            )
            #expect(response.status == .unsupportedMediaType)
        }
    }

    @Test(arguments: ["application/json", "Application/JSON; charset=utf-8", "application/json;charset=UTF-8"])
    func jsonIsTaken(_ type: String) async throws {
        try await Fixture().test { client in
            let response = try await client.send(
                .post,
                "/v1/rooms/standup/mark",
                json: #"{"text":"a"}"#,
                headers: [.contentType: type]
            )
            #expect(response.status == .ok)
        }
    }

    @Test func textThatIsNotUTF8IsRefused() async throws {
        try await Fixture().test { client in
            let response = try await client.execute(
                uri: "/v1/rooms/standup/mark",
                method: .post,
                headers: [.contentType: "application/json"],
                body: ByteBuffer(bytes: Array(#"{"text":""#.utf8) + [0xc0, 0xae] + Array(#""}"#.utf8))
            )
            #expect(response.status == .badRequest)
        }
    }

    @Test(arguments: [(64 * 1024, 400), (64 * 1024 + 1, 413), (1_000_000, 413)])
    func theBodyIsBounded(_ bytes: Int, _ status: Int) async throws {
        try await Fixture().test { client in
            let body = String(repeating: "x", count: bytes)
            let response = try await client.send(.post, "/v1/rooms", json: body)
            #expect(response.status.code == status)
        }
    }

    @Test(arguments: [
        (#"{"layout":"mosaic"}"#, 422), (#"{"from":-1}"#, 422), (#"{"from":"1"}"#, 422), (#"{"from":5,"to":5}"#, 422),
        (#"{"to":0}"#, 422), (#"{"from":1.5,"to":2}"#, 202), (#"{"layout":"browser","participant":"a"}"#, 202),
        (#"{"layout":"grid","size":"640x360","fps":30,"codec":"vp8"}"#, 202),
        (#"{"layout":"audio","format":"wav","loudness":-23}"#, 202), (#"{"layout":"grid","size":"641x360"}"#, 422),
        (#"{"layout":"audio","fps":30}"#, 422), (#"{"layout":"tracks","fps":30}"#, 422),
        (#"{"layout":"grid","size":"--output=x"}"#, 422), (#"{"layout":"audio","loudness":"-16"}"#, 422),
        (#"{"series":true,"container":"webm","keepDamaged":true}"#, 202), (#"{"project":true}"#, 202),
        (#"{"series":1}"#, 422), (#"{"container":"avi"}"#, 422), (#"{"project":true,"to":5}"#, 422),
        (#"{"project":true,"series":true}"#, 422), (#"{"layout":"grid","series":true}"#, 422),
        (#"{"layout":"audio","container":"mp4"}"#, 422), (#"{"layout":"browser","keepDamaged":false}"#, 422),
        (#"{"separateTracks":true,"series":true}"#, 202), (#"{"separateTracks":"yes"}"#, 422),
        (#"{"layout":"grid","separateTracks":true}"#, 422),
        ("", 202), ("{}", 202),
    ])
    func exports(_ body: String, _ status: Int) async throws {
        try await Fixture().test { client in
            let response = try await client.send(.post, "/v1/recordings/r1/exports", json: body)
            #expect(response.status.code == status)
        }
    }

    @Test(arguments: [
        #"{"name":"","definition":{}}"#, #"{"name":"a"}"#, #"{"definition":{}}"#, #"{"name":"a","definition":[]}"#,
        #"{"name":"a","definition":null}"#, #"{"name":1,"definition":{}}"#, #"{"name":"a\n","definition":{}}"#,
        #"{"name":"a","definition":{},"url":"x"}"#,
    ])
    func rooms(_ body: String) async throws {
        let fixture = try Fixture()
        try await fixture.test { client in
            let response = try await client.send(.post, "/v1/rooms", json: body)
            #expect(response.status == .unprocessableContent)
        }
        #expect(fixture.backend.calls.isEmpty)
    }

    @Test func patchesMustBeObjects() async throws {
        let fixture = try Fixture()
        try await fixture.test { client in
            for (body, status) in [("[]", 422), ("", 400), ("{", 400)] {
                let response = try await client.send(.patch, "/v1/rooms/standup", json: body)
                #expect(response.status.code == status)
            }
        }
        #expect(fixture.backend.calls.isEmpty)
    }
}
