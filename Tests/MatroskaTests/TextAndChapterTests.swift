// SPDX-License-Identifier: Apache-2.0

import Basics
import Matroska
import Testing

@Suite struct TextAndChapterTests {
    private static let video = Track.video(uid: 7, codec: .vp8, width: 320, height: 240)

    @Test func putsLateChaptersBehindTheClusters() throws {
        var writer = try Writer(info: SegmentInfo(), tracks: [Self.video])
        let late = [
            Chapter(uid: 1, startNanoseconds: 0, title: "Start"),
            Chapter(uid: 2, startNanoseconds: 40_000_000, endNanoseconds: 60_000_000, title: "Alice joined"),
        ]
        var bytes = writer.header()
        for frame in 0..<3 {
            bytes += try writer.blockHead(
                track: 1,
                timeNanoseconds: Int64(frame) * 33_000_000,
                isKeyframe: frame == 0,
                payloadSize: 4
            )
            bytes += [1, 2, 3, 4]
        }
        try writer.setChapters(late)
        let finish = writer.finish()
        bytes += finish.append
        for patch in finish.patches {
            bytes.replaceSubrange(Int(patch.offset)..<(Int(patch.offset) + patch.bytes.count), with: patch.bytes)
        }
        var reader = try Reader(MemorySource(bytes))
        #expect(reader.chapters.isEmpty)
        var count = 0
        while try reader.nextHead() != nil { count += 1 }
        #expect(count == 3)
        #expect(reader.chapters == late)
        #expect(reader.tornTailOffset == nil)
    }

    /// SegmentUUID and EditionFlagDefault are not among WebM's elements.
    @Test(arguments: [SegmentInfo.DocumentType.webm, .matroska])
    func webmHasOnlyWhatItMayHave(documentType: SegmentInfo.DocumentType) throws {
        var info = SegmentInfo(uid: [UInt8](repeating: 0xAB, count: 16))
        info.documentType = documentType
        let chapter = Chapter(uid: 1, startNanoseconds: 0, title: "Start")
        let bytes = try Writer(info: info, tracks: [Self.video], chapters: [chapter]).header()
        #expect((bytes.firstRange(of: [0x73, 0xA4, 0x90]) != nil) == (documentType == .matroska))
        #expect(bytes.firstRange(of: [0x45, 0xDB, 0x81]) == nil && bytes.firstRange(of: [0x45, 0xB9]) != nil)
    }

    @Test func refusesChaptersTwiceAndBrokenOnes() throws {
        let chapter = Chapter(uid: 1, startNanoseconds: 0, title: "a")
        var early = try Writer(info: SegmentInfo(), tracks: [Self.video], chapters: [chapter])
        #expect(throws: MatroskaError.self) { try early.setChapters([chapter]) }
        var writer = try Writer(info: SegmentInfo(), tracks: [Self.video])
        #expect(throws: MatroskaError.self) {
            try writer.setChapters([Chapter(uid: 0, startNanoseconds: 0, title: "a")])
        }
        #expect(throws: MatroskaError.self) {
            try writer.setChapters([Chapter(uid: 1, startNanoseconds: 9, endNanoseconds: 8, title: "a")])
        }
    }

    @Test(arguments: [2, 500])
    func writesTextBesideTheTracks(number: Int) throws {
        let text = TextTrack(number: number, uid: 9, name: "Chat")
        var writer = try Writer(info: SegmentInfo(), tracks: [Self.video], texts: [text])
        var bytes = writer.header()
        bytes += try writer.blockHead(track: 1, timeNanoseconds: 0, isKeyframe: true, payloadSize: 1) + [0]
        bytes += try writer.textBlock(
            text: number,
            timeNanoseconds: 5_000_000,
            durationNanoseconds: 2_000_000_000,
            "Alice: grüezi"
        )
        bytes += try writer.blockHead(track: 1, timeNanoseconds: 33_000_000, isKeyframe: false, payloadSize: 1) + [0]
        #expect(UInt64(bytes.count) == writer.offset)
        var reader = try Reader(MemorySource(bytes))
        #expect(reader.unsupportedTracks.map(\.codecID) == ["S_TEXT/UTF8"])
        #expect(try reader.nextHead()?.timeNanoseconds == 0)
        #expect(try reader.nextHead()?.timeNanoseconds == 33_000_000)
        #expect(throws: MatroskaError.self) {
            try writer.textBlock(text: 1, timeNanoseconds: 0, durationNanoseconds: 0, "")
        }
        #expect(throws: MatroskaError.self) {
            try writer.textBlock(text: number, timeNanoseconds: -1, durationNanoseconds: 0, "")
        }
    }

    @Test func refusesTextsThatDoNotFit() {
        var webm = SegmentInfo()
        webm.documentType = .webm
        let wrong: [(SegmentInfo, [TextTrack])] = [
            (webm, [TextTrack(number: 2, uid: 9)]), (SegmentInfo(), [TextTrack(number: 1, uid: 9)]),
            (SegmentInfo(), [TextTrack(number: 2, uid: 7)]), (SegmentInfo(), [TextTrack(number: 1_001, uid: 9)]),
            (SegmentInfo(), [TextTrack(number: 2, uid: 0)]),
        ]
        for (info, texts) in wrong {
            #expect(throws: MatroskaError.self) { try Writer(info: info, tracks: [Self.video], texts: texts) }
        }
    }
}
