// SPDX-License-Identifier: Apache-2.0

import Basics
import Media
import Model
import PipelineCatalogue
import Recording
import Signalling
import Testing

@testable import Worker

@Suite struct RoomPlanTests {
    private static func order(_ change: (inout RoomSpec) -> Void = { _ in }) -> RoomSpec {
        var order = RoomSpec(name: "standup", url: "socketio+http://127.0.0.1:1/standup", storage: "/tmp")
        change(&order)
        return order
    }

    @Test func takesAnOrder() throws {
        let plan = try RoomPlan(
            Self.order {
                $0.secret = Secret("p w")
                $0.record = RecordSpec()
                $0.send = SendSpec(video: .test, audio: nil)
                $0.continues = "/tmp/recordings/x"
                $0.ice.portRange = 40_000...40_100
            }
        )
        let recorder = plan.recorder(host: "here")
        #expect(recorder.isAutomatic && recorder.emptyLimit == .seconds(30))
        #expect(recorder.continues == "/tmp/recordings/x" && recorder.host == "here")
        #expect(plan.spec.secret?.value == "p w")
    }

    /// What somebody ordered counts more than what the room does by itself.
    @Test func whatWasOrderedIsGoneOnWith() throws {
        var byHand = RecordSpec()
        byHand.isAutomatic = false
        let starts: [RoomSpec.Recording: [Bool]] = [
            .automatic: [false, false, true], .on: [false, true, true], .paused: [false, true, true],
            .off: [false, false, false],
        ]
        for recording in RoomSpec.Recording.allCases {
            let found = try [nil, byHand, RecordSpec()].map { record in
                try RoomPlan(Self.order { ($0.record, $0.recording) = (record, recording) }).recorder(host: "")
            }
            #expect(found.map(\.isAutomatic) == starts[recording])
            #expect(found.map(\.continuesPaused) == [false, recording == .paused, recording == .paused])
        }
    }

    @Test func filesAreSynchronisedAsOftenAsOrdered() throws {
        func interval(_ milliseconds: Int) throws -> Duration {
            let order = Self.order {
                $0.record = RecordSpec()
                $0.record?.synchroniseMilliseconds = milliseconds
            }
            return try RoomPlan(order).recorder(host: "").synchroniseEvery
        }
        #expect(try interval(RecordSpec().synchroniseMilliseconds) == .seconds(1))
        #expect(try interval(250) == .milliseconds(250))
        #expect(throws: RoomPlanError(message: "synchroniseMilliseconds takes 100 to 60000, not 99")) {
            try interval(99)
        }
    }

    @Test func outputsAreChecked() throws {
        var right = OutputSpec(host: "192.0.2.7")
        (right.videoPort, right.sdpFile, right.timeToLive) = (5004, "/run/a.sdp", 3)
        let plan = try RoomPlan(Self.order { $0.outputs = [right] })
        #expect(plan.outputs == [RTPOutputSettings(right)])
        #expect(throws: RoomPlanError(message: "output rtp://h:0: there is neither a video nor an audio port")) {
            try RoomPlan(Self.order { $0.outputs = [OutputSpec(host: "h")] })
        }
        #expect(throws: RoomPlanError(message: "a room takes 16 outputs at most")) {
            try RoomPlan(Self.order { $0.outputs = Array(repeating: right, count: 17) })
        }
    }

    /// What is wrong with a pipeline is told by its status: the room goes on.
    @Test func pipelinesHaveNamesAndPlans() throws {
        func output(_ file: String, _ parameters: [String: String]) -> OutputSpec {
            var order = OutputSpec(host: "127.0.0.1")
            order.pipeline = PipelineOutputSpec(file: file)
            order.pipeline?.parameters = parameters.mapValues { Secret($0) }
            return order
        }
        let orders = [
            output("hls", ["folder": "/srv/a"]), output("hls", ["folder": "/srv/b", "bitrate": "s3cret"]),
            output("hls", ["colour": "red"]), output("hls", [:]), output("nothing", [:]),
        ]
        let outputs = try RoomPlan(Self.order { $0.outputs = orders }).outputs
        #expect(outputs.map(\.spec.name) == ["", ":2", ":3", ":4"].map { "pipeline:hls\($0)" } + ["pipeline:nothing"])
        let plans = outputs.compactMap(\.pipeline?.plan)
        guard case .ready(let plan) = plans.first else {
            Issue.record("\(plans)")
            return
        }
        #expect(plan.folders == ["/srv/a"])
        let reasons = plans.dropFirst().map { plan in
            if case .refused(let reason) = plan { reason } else { "" }
        }
        #expect(reasons[0] == "output/hls: the parameter bitrate takes a whole number from 50 to 50000 kbit/s")
        #expect(reasons[1].hasPrefix("output/hls: parameters.colour: there is no such parameter"))
        #expect(reasons[2] == "output/hls: parameters.folder: is needed")
        #expect(reasons[3].hasPrefix("there is no pipeline file output/nothing; there are hls, rtmp"))
    }

    @Test func withoutARecordOrderNothingIsRecordedByItself() throws {
        #expect(try !RoomPlan(Self.order()).recorder(host: "").isAutomatic)
    }

    @Test func takesServersAndWhatTheyAreUsedFor() throws {
        let plan = try RoomPlan(
            Self.order {
                $0.ice.servers = [
                    NetworkSpec.Server(urls: ["stun:stun.example.org:3478", "stun:second.example.org"]),
                    NetworkSpec.Server(
                        urls: ["turn:192.0.2.7:3478?transport=udp", "turns:192.0.2.7"],
                        username: "a:b",
                        credential: Secret("p@ss/ü")
                    ),
                ]
                $0.ice.relaysOnly = true
                $0.ice.usesOffered = false
                $0.ice.offeredHosts = ["*.example.org"]
            }
        )
        let servers = try plan.spec.ice.webRTCServers()
        #expect(
            servers.map(\.url.description) == [
                "stun:stun.example.org:3478", "stun:second.example.org:3478", "turn:192.0.2.7:3478",
                "turns:192.0.2.7:5349",
            ]
        )
        #expect(servers.map(\.username) == ["", "", "a:b", "a:b"])
        #expect(plan.spec.ice.relaysOnly && !plan.spec.ice.usesOffered)
        #expect(plan.spec.ice.offeredHosts == ["*.example.org"])
    }

    private static let wrong: [(String, @Sendable (inout RoomSpec) -> Void)] = [
        ("no name", { $0.name = "" }),
        ("absolute path", { $0.storage = "relative" }),
        ("not a room scheme", { $0.url = Secret("http://x/y") }),
        (
            "emptyAfterSeconds",
            {
                $0.record = RecordSpec()
                $0.record?.emptyAfterSeconds = 0
            }
        ),
        ("neither video nor audio", { $0.send = SendSpec(video: nil, audio: nil) }),
        ("stun:HOST", { $0.ice.servers = [NetworkSpec.Server(urls: ["stun"])] }),
        ("is like stun", { $0.ice.servers = [NetworkSpec.Server(urls: ["http:x"])] }),
        ("username and credential", { $0.ice.servers = [NetworkSpec.Server(urls: ["turn:x"])] }),
    ]

    @Test(arguments: Self.wrong.indices)
    func saysWhatIsWrong(index: Int) throws {
        let (what, change) = Self.wrong[index]
        let error = #expect(throws: RoomPlanError.self) { try RoomPlan(Self.order(change)) }
        #expect(error?.message.contains(what) == true, "\(error?.message ?? "")")
    }
}
