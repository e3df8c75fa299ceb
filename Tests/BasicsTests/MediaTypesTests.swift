// SPDX-License-Identifier: Apache-2.0

import Basics
import Testing

@Suite struct MediaTypesTests {
    @Test(
        arguments: [
            ("tracks/001-alice-video.mkv", "video/x-matroska"), ("call.MP4", "video/mp4"),
            ("call-audio.opus", "audio/ogg"), ("a.ogg", "audio/ogg"), ("a.tar", "application/x-tar"),
            ("call-audio.wav", "audio/wav"),
            ("a.b.log", "text/plain; charset=utf-8"), ("mkv", "application/octet-stream"),
            ("", "application/octet-stream"), ("a.", "application/octet-stream"),
            (".otio", "application/octet-stream"),
        ]
    )
    func typesOfFiles(name: String, type: String) {
        #expect(mediaType(ofFile: name) == type)
    }
}
