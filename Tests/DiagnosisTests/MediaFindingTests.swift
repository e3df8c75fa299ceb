// SPDX-License-Identifier: Apache-2.0

import BundledPipelines
import GStreamer
import Testing

@testable import Diagnosis

@Suite(.timeLimit(.minutes(5))) struct MediaFindingTests {
    @Test func `nothing missing is fine`() {
        for needed in NeededElements.all {
            #expect(needed.finding(missing: ["unheardof"]).level == .ok)
        }
    }

    @Test func `each missing element names its package, and what it stops`() throws {
        for needed in NeededElements.all {
            for element in needed.elements {
                let finding = needed.finding(missing: [element])
                #expect(finding.level == needed.ifMissing)
                #expect(finding.found.contains(element))
                #expect(finding.packages.count == 1)
                #expect(finding.meaning == needed.meaning)
            }
        }
        let connections = try #require(NeededElements.all.first)
        #expect(connections.finding(missing: ["nicesrc", "webrtcbin"]).packages.count == 2)
    }

    @Test func `no element is asked for twice`() {
        let elements = NeededElements.all.flatMap(\.elements)
        #expect(Set(elements).count == elements.count)
    }

    @Test func `an encoder that works is enough, and one that fails is told`() throws {
        let h264 = try #require(Encoders.all.first)
        let finding = h264.finding(["x264enc": .works, "vah264enc": .fails("no device")])
        #expect(finding.level == .ok)
        #expect(finding.found == "x264enc encoded a test picture; vah264enc fails: no device")
        #expect(h264.finding(["vah264enc": .works]).found == "vah264enc (hardware) encoded a test picture")
    }

    @Test func `the encoders are those that have pipeline files`() {
        let files = BundledPipelines.files.filter { $0.folder == "encode" && $0.name != "opusenc" }.map(\.name)
        #expect(Encoders.all.flatMap { $0.encoders.map(\.element) }.sorted() == files.sorted())
    }

    @Test func `no encoder names the package that brings one`() throws {
        let h264 = try #require(Encoders.all.first)
        #expect(h264.finding([:]).packages == ["gstreamer1.0-plugins-ugly"])
        let failing = h264.finding(["x264enc": .fails("crashed")])
        #expect(failing.level == .warning)
        #expect(failing.found == "none; x264enc fails: crashed")
        #expect(Encoders.all.last?.finding([:]).level == .ok, "VP9 is not sent")
    }

    @Test func `the last line of a failed trial is the reason`() {
        #expect(EncoderTrial.judge(true, "warning: slow\n") == .works)
        #expect(EncoderTrial.judge(false, "first\nlast\n") == .fails("last"))
        #expect(EncoderTrial.judge(false, "") == .fails("its process ended without a word"))
        #expect(EncoderTrial.judge(false, nil) == .fails("its process ended without a word"))
        #expect(
            EncoderTrial.judge(false, String(repeating: "x", count: 500)) == .fails(String(repeating: "x", count: 200))
        )
    }

    @Test func `encoders of this host encode`() async throws {
        try await EncoderTrial.encode(with: "vp8enc")
        try await EncoderTrial.encode(with: "openh264enc")
    }

    @Test func `only encoders are tried`() async {
        await #expect(throws: GStreamerError.self) { try await EncoderTrial.encode(with: "filesink location=/tmp/x") }
    }
}
