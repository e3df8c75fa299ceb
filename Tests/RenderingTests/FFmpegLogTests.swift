// SPDX-License-Identifier: Apache-2.0

import Basics
import Testing
import Timeline

@testable import Rendering

@Suite struct FFmpegLogTests {
    @Test func readsWhatTheFiltersTell() {
        var log = FFmpegLog(media: .video, startNanoseconds: 1_000_000_000)
        for line in [
            "[freezedetect @ 0x55d0] [info] lavfi.freezedetect.freeze_start: 2.5",
            "[freezedetect @ 0x55d0] [info] lavfi.freezedetect.freeze_duration: 3",
            "[freezedetect @ 0x55d0] [info] lavfi.freezedetect.freeze_end: 5.5",
            "[blackdetect @ 0x55d1] [info] black_start:6 black_end:7.25 black_duration:1.25",
            "[freezedetect @ 0x55d0] [info] lavfi.freezedetect.freeze_start: 9",
        ] { log.take(line) }
        let found = log.finish(durationNanoseconds: 10_000_000_000)
        #expect(found.errors == 0 && found.silences == nil)
        #expect(
            found.freezes?.first == [
                .init(startNanoseconds: 3_500_000_000, durationNanoseconds: 3_000_000_000),
                .init(startNanoseconds: 10_000_000_000, durationNanoseconds: 1_000_000_000),
            ]
        )
        #expect(found.black?.first == [.init(startNanoseconds: 7_000_000_000, durationNanoseconds: 1_250_000_000)])
    }

    @Test func readsSilence() {
        var log = FFmpegLog(media: .audio, startNanoseconds: 0)
        log.take("[silencedetect @ 0x1] [info] silence_start: -0.006")
        log.take("[silencedetect @ 0x1] [info] silence_end: 2.5 | silence_duration: 2.506")
        let found = log.finish(durationNanoseconds: 4_000_000_000)
        #expect(found.silences?.first == [.init(startNanoseconds: 0, durationNanoseconds: 2_500_000_000)])
        #expect(found.freezes == nil && found.black == nil)
    }

    @Test func countsComplaints() {
        var log = FFmpegLog(media: .video, startNanoseconds: 0)
        log.take("[h264 @ 0x55d0aa] [error] error while decoding MB 3 4")
        log.take("[error] Error while decoding stream #0:0")
        log.take("[info] nothing")
        let found = log.finish(durationNanoseconds: 0)
        #expect(found.errors == 2 && found.firstError == "error while decoding MB 3 4")
    }

    /// Frames of Chromium whose times the muxer rounds to one; packets that are copied have the times of the file.
    @Test(arguments: [MediaKind.video, .audio, nil])
    func hearsTheMuxerOnlyOfWhatIsCopied(media: MediaKind?) {
        var log = FFmpegLog(media: media, startNanoseconds: 0)
        log.take("[null @ 0x5602] [error] Application provided invalid, non monotonically increasing dts to muxer")
        #expect(log.finish(durationNanoseconds: 0).errors == (media == nil ? 1 : 0))
    }

    @Test(arguments: ["freeze_start:", "freeze_start: nan", "freeze_end: 1e300", "black_start:1", "silence_end: x", ""])
    func passesOverNonsense(line: String) {
        var log = FFmpegLog(media: .video, startNanoseconds: .max)
        log.take(line)
        log.take("freeze_start: 3100000000")
        #expect(log.finish(durationNanoseconds: .min).errors == 0)
    }
}
