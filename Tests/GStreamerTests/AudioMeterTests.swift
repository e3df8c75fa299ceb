// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import GStreamer

extension AllGStreamer {
    @Suite(.serialized)
    struct AudioMeterTests {
        /// A sine of an amplitude is 3.01 dB softer than a square wave of it.
        @Test(arguments: [("sine", 1.0, -3.01), ("sine", 0.1, -23.01), ("square", 0.5, -6.02), ("silence", 1, -127)])
        func measures(wave: String, volume: Double, level: Double) async throws {
            try Runtime.initialise()
            let pipeline = try Pipeline(
                launch: """
                    audiotestsrc is-live=true wave=\(wave) volume=\(volume) samplesperbuffer=960
                    ! audio/x-raw,format=S16LE,rate=48000,channels=2 ! identity name=sound ! fakesink
                    """
            ) { _ in }
            let meter = AudioMeter()
            try meter.attach(to: try pipeline.element(named: "sound"))
            #expect(meter.level == nil)
            try pipeline.play()
            #expect(await eventually { meter.level?.decibels != nil })
            let measured = try #require(meter.level)
            #expect(abs((measured.decibels ?? 0) - level) < 0.1)
            #expect((measured.silence > .milliseconds(900)) == (wave == "silence"))
            pipeline.stop()
        }
    }
}
