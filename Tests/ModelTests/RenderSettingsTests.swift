// SPDX-License-Identifier: Apache-2.0

import Basics
import Model
import Testing

@Suite struct RenderSettingsTests {
    @Test func whatIsLeftOutFollowsFromTheRest() throws {
        let grid = try RenderSettings(layout: .grid)
        #expect(grid.width == 1280 && grid.height == 720 && grid.framesPerSecond == 25)
        #expect(grid.container == .mp4 && grid.codec == .h264 && grid.loudness == nil)
        #expect(
            grid.fileName(part: "") == "call-grid.mp4" && grid.fileName(part: "-bob") == "call-grid-bob.mp4"
        )
        let audio = try RenderSettings(layout: .audio)
        #expect(audio.container == .opus && audio.loudness == -16 && audio.fileName(part: "") == "call-audio.opus")
        #expect(try RenderSettings(layout: .grid, codec: .vp8).container == .webm)
        #expect(try RenderSettings(layout: .grid, output: "/a.b/x.WebM").codec == .vp8)
        #expect(try RenderSettings(layout: .grid, codec: .vp8, output: "x.mkv").container == .mkv)
        #expect(try RenderSettings(layout: .audio, output: "x.wav").container == .wav)
        #expect(try RenderSettings(layout: .audio, format: .wav).mediaType == "audio/wav")
    }

    @Test(arguments: [(0, 720), (1281, 720), (158, 160), (3842, 2160), (-2, 720), (.max, .max)])
    func refusesSizes(_ size: (Int, Int)) {
        #expect(throws: RenderSettings.Invalid.self) {
            try RenderSettings(layout: .grid, size: PictureSize(width: size.0, height: size.1))
        }
    }

    @Test func refusesWhatDoesNotGoTogether() {
        #expect(throws: RenderSettings.Invalid.self) { try RenderSettings(layout: .grid, framesPerSecond: 0) }
        #expect(throws: RenderSettings.Invalid.self) { try RenderSettings(layout: .grid, framesPerSecond: 61) }
        #expect(throws: RenderSettings.Invalid.self) { try RenderSettings(layout: .grid, format: .wav) }
        #expect(throws: RenderSettings.Invalid.self) {
            try RenderSettings(layout: .audio, size: PictureSize(width: 1280, height: 720))
        }
        #expect(throws: RenderSettings.Invalid.self) { try RenderSettings(layout: .audio, codec: .vp8) }
        #expect(throws: RenderSettings.Invalid.self) { try RenderSettings(layout: .audio, loudness: 0) }
        #expect(throws: RenderSettings.Invalid.self) { try RenderSettings(layout: .audio, loudness: .nan) }
        #expect(throws: RenderSettings.Invalid.self) {
            try RenderSettings(layout: .grid, codec: .h264, output: "x.webm")
        }
        #expect(throws: RenderSettings.Invalid.self) { try RenderSettings(layout: .grid, codec: .vp8, output: "x.mp4") }
        #expect(throws: RenderSettings.Invalid.self) { try RenderSettings(layout: .grid, output: "x") }
        #expect(throws: RenderSettings.Invalid.self) { try RenderSettings(layout: .audio, output: "x.mp4") }
        #expect(throws: RenderSettings.Invalid.self) {
            try RenderSettings(layout: .audio, format: .wav, output: "x.opus")
        }
    }
}
