// SPDX-License-Identifier: Apache-2.0

import Foundation
import Storage
import Testing

@testable import Media

/// A playlist as `hlssink2` 1.22 writes it.
private func written(
    from sequence: Int = 0,
    _ names: [String],
    seconds: String = "2",
    isEnded: Bool = false
) -> String {
    let head = "#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-MEDIA-SEQUENCE:\(sequence)\n#EXT-X-TARGETDURATION:2\n\n"
    return head + names.map { "#EXTINF:\(seconds),\n\($0)\n" }.joined() + (isEnded ? "#EXT-X-ENDLIST" : "")
}

@Suite struct SegmentPlaylistTests {
    @Test func theFirstIsWhatThePipelineWrites() {
        let playlist = SegmentPlaylist(written(["a0", "a1"])).continuing(SegmentPlaylist(), length: 5)
        #expect(
            playlist.text() == """
                #EXTM3U
                #EXT-X-VERSION:3
                #EXT-X-MEDIA-SEQUENCE:0
                #EXT-X-DISCONTINUITY-SEQUENCE:0
                #EXT-X-TARGETDURATION:2

                #EXTINF:2,
                a0
                #EXTINF:2,
                a1

                """
        )
        #expect(SegmentPlaylist(playlist.text()) == playlist)
        #expect(playlist.text(isEnded: true) == playlist.text() + "#EXT-X-ENDLIST\n")
    }

    /// Sequence numbers continue, whatever falls out of the window, and no end is in between.
    @Test func thePipelineAfterItGoesOn() {
        let earlier = SegmentPlaylist(written(from: 13, ["a13", "a14", "a15"], isEnded: true))
        var last = earlier
        var own: [String] = []
        for number in 0..<6 {
            own.append("b\(number)")
            let window = Array(own.suffix(3))
            last = SegmentPlaylist(written(from: own.count - window.count, window)).continuing(earlier, length: 3)
            #expect(last.sequence + last.segments.count == 16 + own.count && last.segments.count == 3)
            #expect(!last.text().contains("ENDLIST"))
            // The discontinuity is in front of b0, or is counted once b0 is not there any more.
            let marked = last.segments.filter(\.isDiscontinuous).map(\.name)
            #expect(marked == (window.first == "b0" || own.count < 3 ? ["b0"] : []))
            #expect(last.discontinuities == (marked.isEmpty ? 1 : 0))
        }
        #expect(last.segments.map(\.name) == ["b3", "b4", "b5"])
        // And a third one.
        let third = SegmentPlaylist(written(["c0"])).continuing(last, length: 3)
        #expect(third.sequence == 20 && third.discontinuities == 1)
        #expect(third.segments.map(\.name) == ["b4", "b5", "c0"] && third.segments[2].isDiscontinuous)
    }

    @Test func whatIsLongerThanTheTargetIsAllowedFor() {
        let earlier = SegmentPlaylist(written(["a0"], seconds: "7.6"))
        #expect(SegmentPlaylist(written(["b0"])).continuing(earlier, length: 5).targetSeconds == 8)
    }

    @Test(arguments: [
        "", "#EXTINF:1,", "\u{0}\n\r", "#EXT-X-MEDIA-SEQUENCE:-1\n#EXTINF:x,\n../a",
        "#EXT-X-MEDIA-SEQUENCE:99999999999999999",
        "#EXTM3U\n#EXTINF:2,\n/etc/passwd\nb", "a\nb\nc", "#EXT-X-TARGETDURATION:0",
    ])
    func whatIsNoPlaylistIsNone(text: String) {
        let playlist = SegmentPlaylist(text)
        #expect(playlist.sequence == 0 && playlist.segments.allSatisfy { !$0.name.contains("/") })
        #expect(playlist.targetSeconds == 1)
    }
}

@Suite struct PlaylistKeeperTests {
    private let folder: String

    init() throws {
        self.folder = FileManager.default.temporaryDirectory.path + "/tapedeck-playlist-\(RecordingID.random())"
        try FileManager.default.createDirectory(atPath: self.folder, withIntermediateDirectories: true)
    }

    private func keeper() -> PlaylistKeeper {
        PlaylistKeeper(folder: self.folder, playlist: "index.m3u8", location: "segment%05d.ts")
    }

    private var playlist: String {
        get throws { try String(contentsOfFile: self.folder + "/index.m3u8", encoding: .utf8) }
    }

    private var segments: Set<String> {
        get throws { Set(try FileManager.default.contentsOfDirectory(atPath: self.folder)).subtracting(["index.m3u8"]) }
    }

    /// Runs a pipeline that writes this many segments, of which the playlist names three and four are kept.
    private func run(_ keeper: PlaylistKeeper, _ count: Int, at milliseconds: Int64) throws -> [String] {
        let location = keeper.begin(segments: 3, files: 4, milliseconds: milliseconds)
        let name = URL(filePath: location).lastPathComponent
        let names = (0..<count).map { String(format: name, $0) }
        for number in 0..<count {
            try Data().write(to: URL(filePath: self.folder + "/" + names[number]))
            let window = Array(names[...number].suffix(3))
            #expect(keeper.write(written(from: number + 1 - window.count, window)) == 0)
            if number >= 4 { try FileManager.default.removeItem(atPath: self.folder + "/" + names[number - 4]) }
        }
        #expect(keeper.write(written(from: max(0, count - 3), Array(names.suffix(3)), isEnded: true)) == 0)
        return names
    }

    @Test func namesNeverRepeatAndOldFilesGo() throws {
        defer { try? FileManager.default.removeItem(atPath: self.folder) }
        // Files of a version before, and of another program.
        for name in ["segment00007.ts", "segment-a.ts", "note.txt"] {
            try Data().write(to: URL(filePath: self.folder + "/" + name))
        }
        let keeper = self.keeper()
        let first = try self.run(keeper, 2, at: 1000)
        #expect(try self.segments == Set(first + ["segment00007.ts", "segment-a.ts", "note.txt"]))
        // The clock was set back.
        let second = try self.run(keeper, 3, at: 500)
        #expect(Set(first).isDisjoint(with: second))
        #expect(try self.segments == Set(first.suffix(1) + second + ["segment-a.ts", "note.txt"]))
        #expect(try !self.playlist.contains("ENDLIST") && self.playlist.contains("#EXT-X-MEDIA-SEQUENCE:2\n"))
        keeper.end()
        #expect(try self.playlist.hasSuffix("#EXT-X-ENDLIST\n"))
        // Another life of the program.
        let third = try self.run(self.keeper(), 1, at: 2000)
        let text = try self.playlist
        #expect(text.contains("#EXT-X-MEDIA-SEQUENCE:3\n") && !text.contains("ENDLIST"))
        #expect(text.contains("#EXT-X-DISCONTINUITY\n#EXTINF:2,\n\(third[0])\n") && text.contains(second[2]))
    }

    @Test func whatSomebodyRemovedIsNamedNoMore() throws {
        defer { try? FileManager.default.removeItem(atPath: self.folder) }
        let first = try self.run(self.keeper(), 3, at: 1000)
        try FileManager.default.removeItem(atPath: self.folder + "/" + first[1])
        let second = try self.run(self.keeper(), 1, at: 2000)
        let playlist = SegmentPlaylist(try self.playlist)
        #expect(playlist.segments.map(\.name) == [first[2], second[0]] && playlist.sequence == 2)
    }

    @Test func aFolderThatIsGoneIsAnError() throws {
        let keeper = self.keeper()
        _ = keeper.begin(segments: 3, files: 4, milliseconds: 1)
        try FileManager.default.removeItem(atPath: self.folder)
        #expect(keeper.write(written(["a"])) == ENOENT)
    }
}
