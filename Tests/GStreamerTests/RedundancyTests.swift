// SPDX-License-Identifier: Apache-2.0

import CGStreamer
import CTapedeck
import Testing

@testable import GStreamer

extension AllGStreamer {
    struct RedundancyTests {
        /// The setting of `rtpulpfecdec` inside a webrtcbin once webrtcbin has it: 1 for unchanged packets.
        private func passthrough(ofDecoderFor payloadType: Int) async throws -> Int32 {
            try Runtime.initialise()
            let bin = try WebRTCBin(
                id: 1,
                settings: WebRTCSettings(),
                certificate: try Certificate.generate(),
                queue: nil,
                baseTimeNanoseconds: 0,
                onEvent: { _ in },
                onBus: { _ in }
            )
            let decoder = try Element(factory: "rtpulpfecdec")
            try decoder.set("pt", "\(payloadType)")
            let rtpbin = try #require(bin.element.child(named: "rtpbin"))
            gst_bin_add(UnsafeMutableRawPointer(rtpbin.pointer).assumingMemoryBound(to: GstBin.self), decoder.pointer)
            let passthrough = CGst_get_int(decoder.pointer, "passthrough")
            try await ControlThread(name: "test").run("stop", deadline: .seconds(60)) { bin.stop() }
            return passthrough
        }

        /// Otherwise it renumbers packets, which hides losses.
        @Test
        func aDecoderWithNothingToDecodeLeavesThePacketsAlone() async throws {
            #expect(try await self.passthrough(ofDecoderFor: 0) == 1)
        }

        @Test
        func aDecoderOfRedundancyDecodes() async throws {
            #expect(try await self.passthrough(ofDecoderFor: 116) == 0)
        }
    }
}
