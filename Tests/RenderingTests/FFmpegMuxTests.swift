// SPDX-License-Identifier: Apache-2.0

import Basics
import Export
import GStreamer
import Model
import Testing

@testable import Rendering

@Suite(.timeLimit(.minutes(5))) struct FFmpegMuxTests {
    @Test(
        arguments: [
            ([.vp8, .opus], nil), ([.vp9], nil), ([.opus], nil), ([.h264, .opus], .mp4), ([.h264, .pcmu], .mp4),
            ([.vp8, .pcma], .webm), ([.pcmu], .webm),
        ] as [([MediaCodec], ExportSpec.Container?)]
    )
    func aBrowserPlaysIt(codecs: [MediaCodec], container: ExportSpec.Container?) {
        #expect(FFmpegMux.rendition(codecs) == container)
    }

    @Test func onlyG711IsCodedAnew() {
        let command = FFmpegMux.arguments(.webm, [.vp8, .pcmu, .opus], from: "-a b", to: "http://c")
        #expect(command.contains("file:-a b") && command.last == "file:http://c")
        #expect(command.contains("-c:1") && !command.contains("-c:0") && !command.contains("-c:2"))
        #expect(!FFmpegMux.arguments(.mp4, [.h264, .opus], from: "a", to: "b").contains("libopus"))
    }

    @Test(
        arguments: [
            (.exited(1), "av_interleaved_write_frame(): No space left on device\n", true),
            (.exited(1), "Input/output error", true), (.exited(187), "Invalid data found\nsecond line", false),
            (.signalled(9), "", true), (.timedOut, "", false), (.notStarted, "", false),
        ] as [(ChildProgram.End, String, Bool)]
    )
    func aFailureIsOneSentence(end: ChildProgram.End, words: String, isRetriable: Bool) throws {
        let failure = try #require(FFmpegMux.failure(end, words, "/x/call.mp4"))
        #expect(failure.isRetriable == isRetriable, "\(failure)")
        #expect(failure.message.contains("ffmpeg") && !failure.message.contains("second"))
        #expect(!failure.message.contains("\n"))
    }

    @Test func successIsNoFailure() {
        #expect(FFmpegMux.failure(.exited(0), "a warning", "/x/call.mp4") == nil)
    }
}
