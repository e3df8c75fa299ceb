// SPDX-License-Identifier: Apache-2.0

import Basics
import Foundation
import Model
import Testing

@Suite struct OutputSpecTests {
    private static func spec(_ change: (inout OutputSpec) -> Void) -> OutputSpec {
        var spec = OutputSpec(host: "192.0.2.7")
        spec.videoPort = 5004
        spec.audioPort = 5006
        change(&spec)
        return spec
    }

    @Test func rightOnes() {
        #expect(Self.spec { _ in }.problems.isEmpty)
        #expect(Self.spec { $0.audioPort = nil }.problems.isEmpty)
        #expect(Self.spec { ($0.videoPort, $0.audioPort) = (nil, 65_534) }.problems.isEmpty)
        #expect(Self.spec { $0.participants = 64 }.problems.isEmpty)
        #expect(Self.spec { $0.sdpFile = "/run/a.sdp" }.sdpFile(place: 3) == "/run/a.sdp")
        #expect(Self.spec { $0.sdpFile = "/run/{place}.sdp" }.sdpFile(place: 3) == "/run/4.sdp")
        #expect(Self.spec { $0.host = "::1" }.name == "rtp://[::1]:5004")
        #expect(Self.spec { $0.videoPort = nil }.name == "rtp://192.0.2.7:5006")
    }

    @Test func wrongOnesSayWhy() {
        let wrong: [(OutputSpec, String)] = [
            (Self.spec { ($0.videoPort, $0.audioPort) = (nil, nil) }, "neither"),
            (Self.spec { ($0.followsSpeaker, $0.participants) = (true, 2) }, "one speaks at a time"),
            (Self.spec { $0.audioPort = 5004 }, "two streams want port 5004"),
            (Self.spec { $0.audioPort = 5005 }, "two streams want port 5005"),
            (Self.spec { $0.audioPort = 5003 }, "two streams"),
            (Self.spec { ($0.participants, $0.portStep) = (2, 2) }, "two streams want port"),
            (Self.spec { $0.videoPort = 65_535 }, "beyond 65534"),
            (Self.spec { ($0.videoPort, $0.participants) = (65_500, 20) }, "beyond 65534"),
            (Self.spec { $0.participants = 0 }, "1 to 64"), (Self.spec { $0.participants = 65 }, "1 to 64"),
            (Self.spec { $0.portStep = 1 }, "2 to 1024"), (Self.spec { $0.timeToLive = 256 }, "1 to 255"),
            (Self.spec { $0.videoPayloadType = 128 }, "0 to 127"),
            (Self.spec { $0.sourcePort = 65_534 }, "source ports"),
            (Self.spec { ($0.participants, $0.sdpFile) = (2, "/run/a.sdp") }, "{place}"),
            (Self.spec { $0.isEncrypted = true }, "srtp needs the description's file"),
        ]
        for (spec, words) in wrong {
            let problems = spec.problems.map(\.description)
            #expect(problems.count == 1 && problems[0].contains(words), "\(words): \(problems)")
        }
    }

    /// Counting its ports must not take for ever, nor overflow.
    @Test func numbersMayBeAny() {
        let spec = Self.spec { ($0.participants, $0.portStep, $0.sourcePort) = (.max, .max, 1) }
        #expect(spec.problems.count == 2)
        #expect(Self.spec { ($0.participants, $0.sourcePort) = (.min, 1) }.problems.count == 1)
    }

    @Test func aRoomTakesSomeOutputsAndThoseOfOurs() {
        var feed = Self.spec { _ in }
        feed.label = "feed"
        let full = Array(repeating: Self.spec { _ in }, count: 16)
        #expect(OutputSpec.problems(of: full + [feed, feed]).isEmpty)
        #expect(OutputSpec.problems(of: full + [Self.spec { _ in }]) == ["a room takes 16 outputs at most"])
        let nowhere = "output rtp://h:0: there is neither a video nor an audio port"
        #expect(OutputSpec.problems(of: [OutputSpec(host: "h")]) == [nowhere])
        let playlist = OutputSpec(pipeline: PipelineOutputSpec(file: "hls"), participant: "Ada")
        #expect(OutputSpec.problems(of: [playlist]).isEmpty)
    }

    @Test func survivesALineWhole() throws {
        var spec = Self.spec { ($0.participants, $0.portStep, $0.participant) = (3, 2, "Ada") }
        (spec.sourcePort, spec.interface, spec.timeToLive) = (7000, "eth0", 9)
        (spec.videoPayloadType, spec.audioPayloadType) = (101, 102)
        (spec.sdpFile, spec.isEncrypted, spec.followsSpeaker, spec.label) = ("/run/a.sdp", true, true, "feed")
        spec.pipeline = PipelineOutputSpec(file: "hls")
        spec.pipeline?.parameters = ["key": Secret("s3cret")]
        spec.pipeline?.pipelines = "/p"
        for (part, usual) in zip(Mirror(reflecting: spec).children, Mirror(reflecting: OutputSpec(host: "")).children) {
            #expect("\(part.value)" != "\(usual.value)", "\(part.label ?? "") is not tried")
        }
        let line = try JSONEncoder().encode(spec)
        #expect(try JSONDecoder().decode(OutputSpec.self, from: line) == spec)
        let short = Data(#"{"host":"h","pipeline":{"file":"hls"}}"#.utf8)
        var expected = OutputSpec(host: "h")
        expected.pipeline = PipelineOutputSpec(file: "hls")
        #expect(try JSONDecoder().decode(OutputSpec.self, from: short) == expected)
    }
}
