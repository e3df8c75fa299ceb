// SPDX-License-Identifier: Apache-2.0

import Basics
import ConfigurationFile
import PipelineCatalogue
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

    /// The bundled files, as the doctor has them.
    private func bundled() throws -> PipelineCatalogue { try PipelineCatalogue.load(directory: nil) }

    @Test func `whatever our pipeline files require has a package`() throws {
        let elements = NeededElements.all.flatMap(\.elements) + (try self.bundled()).entries.flatMap(\.file.requires)
        for element in elements { #expect(DebianPackage.bringing(element) != nil, "\(element)") }
    }

    @Test func `a file is missed by what it requires`() throws {
        let captures = try self.bundled().files(.capture)
        let fine = PipelineFile.Kind.capture.finding(captures, missing: ["unheardof"])
        #expect(fine.level == .ok)
        #expect(captures.allSatisfy { fine.found.contains($0.name) })
        let finding = PipelineFile.Kind.capture.finding(captures, missing: ["ximagesrc"])
        #expect(finding.level == .warning)
        #expect(finding.found.hasSuffix("; capture/screen lacks ximagesrc (gstreamer1.0-plugins-good)"))
        #expect(finding.meaning == "capture/screen cannot be used")
        #expect(finding.packages == ["gstreamer1.0-plugins-good"])
        // An operator's file may require what no package of the table brings.
        var own = PipelineFile(kind: .output, name: "own", description: "Ours.", launch: "odd name=in_video")
        own.requires = ["odd"]
        let odd = PipelineFile.Kind.output.finding([own], missing: ["odd"])
        #expect(odd.found == "none can be used; output/own lacks odd")
        #expect(odd.packages.isEmpty)
    }

    private func encoders(_ codec: MediaCodec) throws -> Encoders {
        try #require(Encoders.all(in: try self.bundled()).first { $0.codec == codec })
    }

    @Test func `an encoder that works is enough, and one that fails is told`() throws {
        let h264 = try self.encoders(.h264)
        let finding = h264.finding(["x264enc": .works, "vah264enc": .fails("no device")])
        #expect(finding.level == .ok)
        #expect(finding.found == "x264enc encoded a test frame; vah264enc fails: no device")
        #expect(h264.finding(["vah264enc": .works]).found == "vah264enc (hardware) encoded a test frame")
    }

    @Test func `no encoder names the package that brings one`() throws {
        let h264 = try self.encoders(.h264)
        #expect(h264.finding([:]).packages.contains("gstreamer1.0-plugins-ugly"))
        let failing = h264.finding(["x264enc": .fails("crashed")])
        #expect(failing.level == .warning)
        #expect(failing.found == "none; x264enc fails: crashed")
        #expect(try self.encoders(.vp9).finding([:]).level == .ok, "VP9 is sent only where somebody asks for it")
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
}
