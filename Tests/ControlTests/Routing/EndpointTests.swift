// SPDX-License-Identifier: Apache-2.0

import EmbeddedFiles
import Foundation
import HTTPTypes
import HummingbirdTesting
import Model
import NIOCore
import Testing

@testable import Control

@Suite struct EndpointTests {
    @Test(arguments: [
        ("/v1/rooms", 200), ("/v1/rooms/standup", 200), ("/v1/rooms/nobody", 404), ("/v1/recordings", 200),
        ("/v1/recordings/r1", 200), ("/v1/recordings/r2", 404), ("/v1/recordings/r1/exports", 200),
        ("/v1/recordings/r2/exports", 404), ("/v1/recordings/r1/timeline", 200),
        ("/v1/recordings/r2/timeline", 404), ("/v1/recordings/r1/thumbnail.jpg", 200),
        ("/v1/recordings/r1/thumbnail.jpg?at=59", 200), ("/v1/recordings/r1/thumbnail.jpg?at=60", 404),
        ("/v1/recordings/r1/thumbnail.jpg?at=-1", 400), ("/v1/recordings/r1/thumbnail.jpg?at=1.5", 400),
        ("/v1/recordings/r1/thumbnail.jpg?to=1", 400),
        ("/v1/recordings/r1/levels", 200), ("/v1/recordings/r2/levels", 404), ("/v1/recordings/r1/levels?at=1", 400),
        ("/v1/recordings/r2/thumbnail.jpg", 404), ("/v1/recordings/r2/archive.tar", 404),
        ("/v1/recordings/r1/exports/e1", 405),
        ("/v1/recordings/r1/exports/", 404), ("/v1/recordings/r1/exports/e1/x", 404), ("/v1/overview", 200),
        ("/v1/cluster", 200), ("/v1/cluster?x=1", 400), ("/v1/cluster/", 404), ("/v1/cluster/drain", 405),
        ("/v1/cluster/undrain", 405),
        ("/v1/cluster/drain/now", 404),
        ("/healthz", 200), ("/readyz", 200), ("/metrics", 200), ("/", 200), ("/v1/openapi.yaml", 200),
        ("/v1/session", 200),
        ("/v1/rooms/standup/graphs", 200), ("/v1/rooms/standup/participants/alice/thumbnail.jpg", 200),
        ("/v1/rooms/standup/participants/bob/thumbnail.jpg", 404), ("/nothing", 404), ("/v1", 404), ("/v1/", 404),
        ("/v1/rooms/", 404), ("/v1//rooms", 404), ("//", 404), ("/v2/rooms", 404), ("/healthz/", 404),
        ("/v1/rooms/standup/", 404), ("/v1/rooms/standup/dance", 404), ("/v1/rooms/standup/record", 405),
        ("/v1/rooms/standup?x=1", 400), ("/v1/rooms?limit=1", 400), ("/v1/recordings?limit=0", 400),
    ])
    func gets(_ path: String, _ status: Int) async throws {
        try await Fixture().test { client in
            let response = try await client.send(.get, path)
            #expect(response.status.code == status)
            if status >= 400 { try Self.checkProblem(response) }
            let head = try await client.send(.head, path)
            #expect(head.status.code == status)
            #expect(head.body.readableBytes == 0)
            #expect(head.headers[.contentLength] == response.headers[.contentLength])
        }
    }

    /// A problem document has all its parts, and they agree with the answer.
    private static func checkProblem(_ response: TestResponse) throws {
        #expect(response.headers[.contentType] == "application/problem+json")
        #expect(response.headers[.cacheControl] == "no-store")
        let document = try #require(
            try JSONSerialization.jsonObject(with: Data(response.body.readableBytesView)) as? [String: Any]
        )
        #expect(document["status"] as? Int == response.status.code)
        #expect((document["type"] as? String)?.hasPrefix("urn:tapedeck:problem:") == true)
        #expect(document["title"] is String && document["detail"] is String)
    }

    @Test(arguments: [
        ("record", nil, "perform record on standup"), ("record", "{}", "perform record on standup"),
        ("pause", nil, "perform pause on standup"), ("resume", nil, "perform resume on standup"),
        ("stop", nil, "perform stop on standup"),
        ("keyframe", nil, "perform requestKeyframe(participant: nil) on standup"),
        ("keyframe", #"{"participant":"a"}"#, #"perform requestKeyframe(participant: Optional("a")) on standup"#),
        ("mark", #"{"text":"now"}"#, #"perform mark("now") on standup"#),
        ("camera", #"{"camera":null}"#, "perform camera(nil) on standup"),
    ])
    func actions(_ verb: String, _ body: String?, _ call: String) async throws {
        let fixture = try Fixture()
        try await fixture.test { client in
            let response = try await client.send(.post, "/v1/rooms/standup/\(verb)", json: body)
            #expect(response.status == .ok)
        }
        #expect(fixture.backend.calls.first == call)
    }

    @Test(
        arguments: [
            ("drain", nil, 200, "drain 7200.0 seconds"), ("drain", "{}", 200, "drain 7200.0 seconds"),
            ("drain", #"{"deadlineSeconds":0}"#, 200, "drain 0.0 seconds"),
            ("drain", #"{"deadlineSeconds":-1}"#, 422, nil), ("drain", #"{"deadlineSeconds":1.5}"#, 422, nil),
            ("drain", #"{"deadlineSeconds":5,"untilRestart":true}"#, 200, "drain 5.0 seconds until restart"),
            ("drain", #"{"untilRestart":1}"#, 422, nil), ("drain", #"{"deadline":"2h"}"#, 422, nil),
            ("undrain", nil, 200, "drain -"), ("undrain", #"{"untilRestart":true}"#, 422, nil),
        ] as [(String, String?, Int, String?)]
    )
    func hostsDrain(_ verb: String, _ body: String?, _ status: Int, _ call: String?) async throws {
        let fixture = try Fixture()
        try await fixture.test { client in
            let response = try await client.send(.post, "/v1/cluster/\(verb)", json: body)
            #expect(response.status.code == status)
        }
        #expect(fixture.backend.calls.first == call)
    }

    @Test func aCameraIsReadWhole() throws {
        let body =
            #"{"camera":{"video":"v4l2:/dev/video0","audio":null,"preferredCodec":"h264","width":640,"#
            + #""height":360,"framesPerSecond":15,"bitsPerSecond":500000,"minimumBitsPerSecond":90000,"#
            + #""audioBitsPerSecond":24000,"audioFEC":false,"audioDTX":true,"keepsOpen":true,"#
            + #""videoMuted":true,"audioMuted":true,"frozen":true,"#
            + #""parameters":{"a":"b","c":7,"d":true}}}"#
        let reader = BodyReader(limit: 1000)
        let members = try reader.object(.init(string: body), type: "application/json", rule: .json)
        var order = SendSpec(video: .camera("/dev/video0"), audio: nil)
        order.preferredCodec = .h264
        order.parameters = ["a": "b", "c": "7", "d": "true"]
        (order.width, order.height) = (640, 360)
        (order.framesPerSecond, order.bitsPerSecond, order.minimumBitsPerSecond) = (15, 500_000, 90_000)
        (order.audioBitsPerSecond, order.usesAudioFEC, order.usesAudioDTX) = (24_000, false, true)
        order.keepsOpen = true
        (order.isVideoMuted, order.isAudioMuted, order.isFrozen) = (true, true, true)
        #expect(try RequestBodies.action(.camera, members) == .camera(order))
    }

    @Test(arguments: ["none", "Test", "test:", "file", "file:a", "image:b", "rtp:", "", "a b"])
    func whatCannotBeACaptureIsRefused(capture: String) throws {
        let body = ByteBuffer(string: #"{"camera":{"video":"\#(capture)","audio":null}}"#)
        let members = try BodyReader(limit: 1000).object(body, type: "application/json", rule: .json)
        #expect(throws: Problem.self) { try RequestBodies.action(.camera, members) }
    }

    @Test(arguments: ["application/json", "application/merge-patch+json"])
    func partsOfACameraAreChanged(type: String) async throws {
        let fixture = try Fixture()
        try await fixture.test { client in
            let patch: HTTPFields = [.contentType: type]
            let response = try await client.send(
                .patch,
                "/v1/rooms/standup/camera",
                json: #"{"video":"test","width":640,"videoMuted":true,"frozen":false}"#,
                headers: patch
            )
            #expect(response.status == .ok)
            for body in [
                #"{"video":null}"#, #"{"audio":"none"}"#, #"{"width":321}"#, #"{"frozen":"yes"}"#, #"{"camera":{}}"#,
                #"{"preferredCodec":"h264"}"#, "[]",
            ] {
                let refused = try await client.send(.patch, "/v1/rooms/standup/camera", json: body, headers: patch)
                #expect(refused.status == .unprocessableContent, "\(body)")
            }
        }
        var change = CameraChange()
        (change.video, change.width, change.isVideoMuted, change.isFrozen) = (.test, 640, true, false)
        let performed = fixture.backend.calls.filter { $0.hasPrefix("perform") }
        #expect(performed == ["perform \(RoomAction.changeCamera(change)) on standup"])
    }

    @Test func roomsComeAndGo() async throws {
        let fixture = try Fixture()
        try await fixture.test { client in
            let body = #"{"name":"a b","definition":{"url":"socketio+http://x/1"}}"#
            let added = try await client.send(.post, "/v1/rooms", json: body)
            #expect(added.status == .created)
            #expect(added.headers[.location] == "/v1/rooms/a%20b")
            #expect(try await client.send(.post, "/v1/rooms", json: body).status == .conflict)
            let patch: HTTPFields = [.contentType: "application/merge-patch+json; charset=utf-8"]
            let changed = try await client.send(
                .patch,
                "/v1/rooms/a%20b",
                json: #"{"join":"always"}"#,
                headers: patch
            )
            #expect(changed.status == .ok)
            let removed = try await client.send(.delete, "/v1/rooms/a%20b")
            #expect(removed.status == .noContent)
            #expect(removed.body.readableBytes == 0)
            #expect(try await client.send(.delete, "/v1/rooms/a%20b").status == .notFound)
        }
        #expect(fixture.backend.calls.first == #"add a b {"url":"socketio+http://x/1"}"#)
        #expect(fixture.backend.calls.contains(#"change a b {"join":"always"}"#))
    }

    @Test func recordingsArePaged() async throws {
        let fixture = try Fixture()
        fixture.backend.set { state in
            state.recordings += (2...5).map { number in
                RecordingResource(id: "r\(number)", room: "x", start: "", bytes: 0, state: "finished")
            }
        }
        try await fixture.test { client in
            let page = try await client.send(.get, "/v1/recordings?limit=2&room=a%20b&text=x")
            #expect(page.text.hasSuffix(#""next":"c&1","recordings":"#) == false)
            #expect(
                page.headers[.link]
                    == "</v1/recordings?limit=2&cursor=c%261&room=a%20b&text=x>; rel=\"next\""
            )
            let last = try await client.send(.get, "/v1/recordings?limit=200&cursor=c%261")
            #expect(last.headers[.link] == nil)
            #expect(!last.text.contains("next"))
            #expect(try await client.send(.delete, "/v1/recordings/r5").status == .noContent)
            #expect(try await client.send(.delete, "/v1/recordings/r5").status == .notFound)
        }
        #expect(fixture.backend.calls.prefix(2) == ["recordings 2 - a b x", "recordings 200 c&1 - -"])
    }

    @Test func anExportThatWaitsIsCancelled() async throws {
        let fixture = try Fixture(tokens: [Fixture.reader, Fixture.operatorToken])
        let (reader, operatorToken) = ("read-secret", "control-secret")
        try await fixture.test { client in
            for number in 1...2 {
                let asked = try await client.send(.post, "/v1/recordings/r1/exports", token: operatorToken)
                #expect(asked.status == .accepted, "\(number)")
            }
            fixture.backend.set { $0.exports[1].state = .running }
            let path = "/v1/recordings/r1/exports/e1"
            #expect(try await client.send(.delete, path, token: reader).status == .forbidden)
            let cancelled = try await client.send(.delete, path, token: operatorToken)
            #expect(cancelled.status == .noContent)
            #expect(cancelled.body.readableBytes == 0)
            for (target, status) in [
                (path, 404), ("/v1/recordings/r2/exports/e2", 404), ("/v1/recordings/r1/exports/e2", 409),
                ("/v1/recordings/r1/exports/e2?force=1", 400),
            ] {
                let response = try await client.send(.delete, target, token: operatorToken)
                #expect(response.status.code == status, "\(target)")
            }
        }
        #expect(fixture.backend.exports.map(\.id) == ["e2"])
    }

    @Test func healthHasReasons() async throws {
        let fixture = try Fixture()
        fixture.backend.set { $0.health = Health(isLive: true, isReady: false, problems: ["Two rooms are starting."]) }
        try await fixture.test { client in
            #expect(try await client.send(.get, "/healthz").status == .ok)
            let ready = try await client.send(.get, "/readyz")
            #expect(ready.status == .serviceUnavailable)
            #expect(ready.text.contains("Two rooms are starting."))
        }
        fixture.backend.set { $0.health = Health(isLive: false, isReady: true, problems: ["The disk is read-only."]) }
        try await fixture.test { client in
            for path in ["/healthz", "/readyz"] {
                let response = try await client.send(.get, path)
                #expect(response.status == .serviceUnavailable)
                #expect(response.text.contains("The disk is read-only."))
            }
        }
    }

    @Test(arguments: [
        (ControlError.Code.notFound, 404), (.conflict, 409), (.invalid, 422), (.unavailable, 503), (.failed, 500),
    ])
    func failuresOfTheBackendAreProblems(_ code: ControlError.Code, _ status: Int) async throws {
        let fixture = try Fixture()
        fixture.backend.set { $0.failure = ControlError(code, "It is so.", problems: ["one", "two"]) }
        try await fixture.test { client in
            let response = try await client.send(.get, "/v1/rooms/standup")
            #expect(response.status.code == status)
            #expect(response.text.contains(#""problems":["one","two"]"#))
            try Self.checkProblem(response)
        }
    }

    @Test func thePageMayLoadOnlyItsOwn() async throws {
        try await Fixture().test { client in
            let page = try await client.send(.get, "/")
            #expect(page.headers[.contentType] == "text/html; charset=utf-8")
            #expect(page.headers[.contentSecurityPolicy]?.hasPrefix("default-src 'self'") == true)
            #expect(page.headers[.xContentTypeOptions] == "nosniff")
            let tag = try #require(page.headers[.eTag])
            let again = try await client.send(.get, "/", headers: [.ifNoneMatch: tag])
            #expect(again.status == .notModified)
            #expect(again.body.readableBytes == 0)
        }
    }

    @Test func answersAreNotKeptByCaches() async throws {
        try await Fixture().test { client in
            for path in ["/v1/rooms", "/v1/overview", "/metrics", "/nothing"] {
                let response = try await client.send(.get, path)
                #expect(response.headers[.cacheControl] == "no-store")
            }
        }
    }
}

@Suite struct DescriptionTests {
    /// Paths and methods of the OpenAPI document, by its indentation.
    private static let operations: [(path: String, method: String)] = {
        var path = ""
        var found: [(String, String)] = []
        for line in String(decoding: EmbeddedFile.description.bytes, as: UTF8.self).split(separator: "\n") {
            if line.hasPrefix("  /"), line.hasSuffix(":") { path = String(line.dropFirst(2).dropLast()) }
            if line == "components:" { path = "" }
            let word = line.hasPrefix("    ") ? String(line.dropFirst(4).dropLast()) : ""
            if !path.isEmpty, ["get", "post", "patch", "put", "delete"].contains(word) {
                found.append((path, word.uppercased()))
            }
        }
        return found
    }()

    private static func route(_ template: String) throws -> Route? {
        Route(try PathSegments.decode(template.replacing("{", with: "").replacing("}", with: "")))
    }

    @Test func everyOperationThatIsDescribedExists() throws {
        #expect(Self.operations.count == 41)
        for (path, method) in Self.operations {
            let route = try #require(try Self.route(path), "\(path)")
            let name = try #require(HTTPRequest.Method(rawValue: method))
            #expect(route.endpoint(for: name) != nil, "\(method) \(path)")
        }
    }

    @Test func everyMethodThatExistsIsDescribed() throws {
        for path in Set(Self.operations.map(\.path)) {
            let described = Set(Self.operations.filter { $0.path == path }.map(\.method))
            let allowed = try #require(try Self.route(path)).allow.split(separator: ", ").map(String.init)
            #expect(Set(allowed).subtracting(["HEAD"]) == described, "\(path)")
        }
    }

    @Test func everyVerbIsDescribed() {
        for verb in RoomVerb.allCases {
            #expect(Self.operations.contains { $0.path == "/v1/rooms/{name}/\(verb.rawValue)" })
        }
    }

    @Test func everyProblemIsDescribed() {
        let text = String(decoding: EmbeddedFile.description.bytes, as: UTF8.self)
        for kind in Problem.Kind.allCases { #expect(text.contains("`\(kind.rawValue)`"), "\(kind)") }
    }

    @Test(arguments: ["PUT", "OPTIONS", "TRACE", "CONNECT", "QUERY", "PROPFIND"])
    func otherMethodsAreRefused(_ method: String) async throws {
        let method = try #require(HTTPRequest.Method(rawValue: method))
        try await Fixture().test { client in
            for (path, _) in Self.operations {
                let plain = path.replacing("{", with: "").replacing("}", with: "")
                let response = try await client.send(method, plain)
                #expect(response.status == .methodNotAllowed, "\(method) \(path)")
                let allow = try Self.route(path)?.allow
                #expect(allow != nil)
                #expect(response.headers[.allow] == allow)
            }
        }
    }
}
