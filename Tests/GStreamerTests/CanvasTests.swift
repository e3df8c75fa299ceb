// SPDX-License-Identifier: Apache-2.0

import Basics
import Testing

@testable import GStreamer

extension AllGStreamer {
    @Suite(.serialized)
    struct CanvasTests {
        /// A decoder of H.264 says of some frames that their lines are of two fields.
        @Test(arguments: ["progressive", "interleaved", "mixed"], [VideoRotation.upright, .quarter])
        func framesOfTwoFieldsAreDrawnAsOthers(mode: String, rotation: VideoRotation) throws {
            let chain = try CodecChain(
                launch: "identity",
                caps: "video/x-raw,format=I420,width=64,height=48,framerate=25/1,interlace-mode=\(mode)"
            )
            #expect(chain.push([UInt8](repeating: 128, count: 64 * 48 * 3 / 2), nanoseconds: 0))
            let frame = try #require(chain.pull())
            let canvas = try Canvas(width: 64, height: 48)
            #expect(canvas.draw(frame, slot: 0, rotation: rotation, x: 0, y: 0, width: 32, height: 24))
        }
    }
}
