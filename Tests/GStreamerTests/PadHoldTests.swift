// SPDX-License-Identifier: Apache-2.0

import CGStreamer
import Testing

@testable import GStreamer

extension AllGStreamer {
    @Suite(.serialized)
    struct PadHoldTests {
        /// A pad whose stream nobody took stayed for ever, and with it, by its transceiver, a whole connection.
        @Test
        func aStreamThatNobodyTookIsFreedWithItsPipeline() async throws {
            try Runtime.startCountingObjects()
            let before = Runtime.liveObjectCount
            do {
                let pipeline = try Pipeline(
                    launch: "fakesrc is-live=true sizetype=fixed ! identity name=held ! fakesink name=sink"
                ) { _ in }
                let held = PadHold(try pipeline.element(named: "held").staticPad("src"))
                try pipeline.play()
                #expect(Runtime.liveObjectCount > before)
                try await ControlThread(name: "test").run("stop") { pipeline.stop() }
                withExtendedLifetime(held) {}
            }
            #expect(await eventually { Runtime.liveObjectCount <= before })
        }
    }
}
