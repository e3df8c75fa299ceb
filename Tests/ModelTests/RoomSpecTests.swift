// SPDX-License-Identifier: Apache-2.0

import Basics
import Foundation
import Model
import Testing
import Timeline

@Suite struct RoomSpecTests {
    private static func spec(_ change: (inout RoomSpec) -> Void = { _ in }) -> RoomSpec {
        var spec = RoomSpec(name: "standup", url: "socketio+http://192.0.2.1/a", storage: "/srv")
        change(&spec)
        return spec
    }

    private static let changes: [(part: RoomPart, change: @Sendable (inout RoomSpec) -> Void)] = [
        (.address, { $0.url = Secret("socketio+http://192.0.2.1/b") }), (.displayName, { $0.displayName = "x" }),
        (.secret, { $0.secret = Secret("x") }), (.record, { $0.record = RecordSpec() }),
        (.send, { $0.send = SendSpec() }),
        (.outputs, { $0.outputs = [OutputSpec(pipeline: PipelineOutputSpec(file: "hls"))] }),
        (.rejoin, { $0.whenFullSeconds = 7 }), (.rejoin, { $0.afterKickSeconds = 7 }), (.priority, { $0.priority = 7 }),
        (.host, { $0.storage = "/x" }), (.host, { $0.continues = "/x" }), (.recording, { $0.recording = .paused }),
        (.host, { $0.ice.relaysOnly = true }),
        (.host, { $0.claim = RecordingClaim(cluster: "calls", epoch: 7) }),
    ]

    @Test(arguments: Self.changes.indices)
    func everyPartChangesByItself(index: Int) {
        let (part, change) = Self.changes[index]
        #expect(Self.spec(change).changes(from: Self.spec()) == [part])
        #expect(Self.spec().changes(from: Self.spec(change)) == [part])
        #expect(Self.spec().changes(from: Self.spec()).isEmpty)
    }

    /// Every part is read and compared, and none but three has to be there.
    @Test func survivesALineWhole() throws {
        let spec = Self.spec { spec in for (_, change) in Self.changes { change(&spec) } }
        let usual = Mirror(reflecting: RoomSpec(name: "standup", url: "", storage: "")).children
        for (part, usual) in zip(Mirror(reflecting: spec).children, usual) where !["name", "url"].contains(part.label) {
            #expect("\(part.value)" != "\(usual.value)", "\(part.label ?? "") is not tried")
        }
        let line = try JSONEncoder().encode(spec)
        #expect(try JSONDecoder().decode(RoomSpec.self, from: line) == spec)
        let short = Data(#"{"name":"standup","url":"socketio+http://192.0.2.1/a","storage":"/srv"}"#.utf8)
        #expect(try JSONDecoder().decode(RoomSpec.self, from: short) == Self.spec())
    }

    @Test func recordersAreNamedSo() {
        #expect(Self.spec().shownName(records: true) == "Recording")
        #expect(Self.spec().shownName(records: false) == "tapedeck")
        #expect(Self.spec { $0.displayName = "Ann" }.shownName(records: true) == "Ann")
    }

    @Test func showsNoSecret() {
        let spec = Self.spec { ($0.url, $0.secret) = (Secret("s3cret"), Secret("s3cret")) }
        #expect(!"\(spec)".contains("s3cret"))
    }

    @Test func everythingWrongIsSaid() {
        #expect(Self.spec().problems.isEmpty)
        var spec = Self.spec { ($0.name, $0.storage, $0.whenFullSeconds, $0.afterKickSeconds) = ("", "srv", 0, 86_401) }
        spec.record = RecordSpec()
        spec.record?.emptyAfterSeconds = 0
        spec.send = SendSpec(video: nil, audio: nil)
        spec.outputs = [OutputSpec(host: "h")]
        #expect(
            spec.problems == [
                "the room has no name", "the storage directory is not an absolute path",
                "whenFullSeconds takes 1 to 86400, not 0", "afterKickSeconds takes 1 to 86400, not 86401",
                "emptyAfterSeconds takes 1 to 86400, not 0", "the camera has neither video nor audio",
                "output rtp://h:0: there is neither a video nor an audio port",
            ]
        )
    }
}
