// SPDX-License-Identifier: Apache-2.0

import Basics
import Storage
import Testing

@Suite struct StillTests {
    private func file(of recording: SimulatedRecording) throws -> String {
        try #require(try recording.folder.files().map(\.name).first { $0.hasPrefix("tracks/") })
    }

    @Test func aStillIsTheLastKeyframeBeforeItsTime() throws {
        let media = try EncodedMedia.shared.get()
        let recording = try SimulatedRecording([.video("alice", .vp8, media.vp8)])
        let file = try self.file(of: recording)
        let wanted: [(milliseconds: Int64, unit: Int)] = [
            (-500, 0), (0, 0), (999, 0), (1_000, 30), (2_500, 60), (60_000, 90),
        ]
        for (milliseconds, unit) in wanted {
            let still = try recording.folder.still(of: file, at: milliseconds * 1_000_000)
            #expect(still?.codec == .vp8 && still?.bytes == media.vp8[unit], "\(milliseconds) ms")
        }
        // Without a time it is the one that has the most to show.
        let keyframes = stride(from: 0, to: 120, by: 30).map { media.vp8[$0] }
        #expect(try recording.folder.still(of: file)?.bytes.count == keyframes.map(\.count).max())
    }

    @Test func soundHasNone() throws {
        let media = try EncodedMedia.shared.get()
        let recording = try SimulatedRecording([.audio("alice", media.opus)])
        #expect(try recording.folder.still(of: self.file(of: recording), at: 0) == nil)
    }
}
