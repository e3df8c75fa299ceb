// SPDX-License-Identifier: Apache-2.0

import Foundation
import Model
import Testing

@Suite struct MediaSourceTests {
    @Test(arguments: [
        "test", "v4l2:/dev/video0", "v4l2:name=HD Webcam", "file:/a b/\"c\".mp4", "file:a:b", "alsa:hw:1,0",
        "screen", "screen::0", "rtsp://user:word@host/stream", "rtp:/a.sdp", "mine", "mine:x=1",
    ])
    func sourcesAreReadAsTheyAreWritten(text: String) throws {
        let source = try #require(MediaSource(text))
        #expect(source.description == text)
        let line = try JSONEncoder().encode([source])
        #expect(try JSONDecoder().decode([MediaSource].self, from: line) == [source])
    }

    @Test(arguments: ["", "none", "Test", "file:", "v4l2:", ":x", "none:x", "a b", "../x", "x:\0"])
    func otherSourcesAreRefused(text: String) throws {
        #expect(MediaSource(text) == nil)
        #expect(MediaSource(configured: text) == nil)
        let line = try JSONEncoder().encode([text])
        #expect(throws: DecodingError.self) { try JSONDecoder().decode([MediaSource].self, from: line) }
    }

    @Test func addressesAreTheirOwnArguments() throws {
        let source = try #require(MediaSource("rtsps://host/stream"))
        #expect(source.name == "rtsp" && source.argument == "rtsps://host/stream")
    }

    @Test func filesAreTheSameFromEverywhereIfTheirPathsAre() throws {
        for text in ["test", "screen", "v4l2", "v4l2:video0", "file:/a", "image:/a", "rtp:/a", "rtsp://h/s"] {
            #expect(try #require(MediaSource(text)).isAbsolute, "\(text)")
        }
        for text in ["file", "file:a", "image", "image:b", "rtp", "rtp:c"] {
            #expect(try !#require(MediaSource(text)).isAbsolute, "\(text)")
        }
    }

    @Test(
        arguments: [
            ("test", "test"), ("v4l2:/dev/video0", nil), ("v4l2:name=HD Webcam", nil), ("v4l2:serial=1", nil),
            ("file:/a.mp4//", "file:/a.mp4"), ("image:/a.png", nil), ("rtp:/a.sdp", nil), ("rtsp://h/s", nil),
            ("alsa:hw:1,0", nil), ("alsa", nil), ("screen", nil), ("mine:x=1 y", nil),
        ] as [(String, String?)]
    )
    func theConfigurationTakes(text: String, read: String?) {
        #expect(MediaSource(configured: text)?.description == read ?? text)
    }

    @Test(arguments: [
        "file", "image", "rtp", "rtsp", "v4l2", "file:a", "image:b", "rtp:c", "v4l2:video0", "v4l2:name=",
        "v4l2:serial=",
        "alsa:a b", "alsa:\(String(repeating: "a", count: 129))", "mine:\u{7}", "file:/\u{7}",
        "mine:\(String(repeating: "a", count: 1025))",
    ])
    func theConfigurationRefuses(text: String) {
        #expect(MediaSource(configured: text) == nil)
    }
}
