// SPDX-License-Identifier: Apache-2.0

import Basics
import Testing

@testable import Matroska

@Suite struct WriterTests {
    static func writer(_ tracks: [Track] = [.video(uid: 1, codec: .vp8, width: 2, height: 2)]) throws -> Writer {
        try Writer(info: SegmentInfo(), tracks: tracks)
    }

    @Test func headerIsByteExact() throws {
        let info = SegmentInfo(title: "T", dateUTCNanosecondsSince2001: 1, writingApp: "w", muxingApp: "m")
        let writer = try Writer(info: info, tracks: [.video(uid: 9, codec: .vp8, width: 640, height: 360, name: "N")])
        let expected =
            "1a45dfa3a3" + "42868101" + "42f78101" + "42f28104" + "42f38108" + "4282886d6174726f736b61"
            + "42878104" + "42858102" + "18538067" + "01ffffffffffffff" + "ecfe" + String(repeating: "00", count: 126)
            + "1549a966a9" + "2ad7b1830f4240" + "ec89000000000000000000" + "4461880000000000000001"
            + "7ba98154" + "4d80816d" + "57418177"
            + "1654ae6bb1" + "aeaf" + "d78101" + "73c58109" + "838101" + "888101" + "9c8100"
            + "22b59c83756e64" + "536e814e" + "8685565f565038" + "e08b" + "9a8102" + "b0820280" + "ba820168"
        #expect(EBMLTests.hex(writer.header()) == expected)
        #expect(writer.offset == UInt64(writer.header().count))
    }

    @Test func blockHeadsAreByteExact() throws {
        var writer = try Self.writer()
        func head(_ time: Int64, _ isKeyframe: Bool, _ size: Int, discardable: Bool = false) throws -> String {
            EBMLTests.hex(
                try writer.blockHead(
                    track: 1,
                    timeNanoseconds: time,
                    isKeyframe: isKeyframe,
                    isDiscardable: discardable,
                    payloadSize: size
                )
            )
        }
        #expect(try head(5_000_000_000, true, 5_000) == "1f43b67501ffffffffffffff" + "e7821388" + "a3538c" + "81000080")
        #expect(try head(5_033_400_000, false, 10) == "a38e" + "81002100")
        #expect(try head(4_999_000_000, false, 0, discardable: true) == "a384" + "81ffff01")
        #expect(try head(5_999_400_000, false, 10) == "a38e" + "8103e700")
        #expect(try head(6_000_000_000, false, 10) == "1f43b67501ffffffffffffff" + "e7821770" + "a38e" + "81000000")
    }

    @Test func clustersFollowTimeBackwards() throws {
        var file = try SampleFile(tracks: [.video(uid: 1, codec: .vp8, width: 2, height: 2)])
        let times: [Int64] = [100_000, 67_232, 67_231, 0, 32_768, 5].map { $0 * 1_000_000 }
        for time in times { try file.append([1], time: time) }
        #expect(file.clusterStarts.count == 4)  // 67 232 ms and 5 ms fit into the cluster before
        #expect(try SampleFile.read(file.finished).units == file.units)
    }

    @Test func nonsenseIsRefusedAndChangesNothing() throws {
        var writer = try Self.writer()
        let offset = writer.offset
        let bad: [(Int, Int64, Int, MatroskaError.Code)] = [
            (0, 0, 1, .unknownTrack), (2, 0, 1, .unknownTrack), (-1, 0, 1, .unknownTrack), (500, 0, 1, .unknownTrack),
            (1, -1, 1, .timeOutOfRange), (1, .max, 1, .timeOutOfRange), (1, 0, -1, .payloadTooLarge),
            (1, 0, Writer.maximumPayloadSize + 1, .payloadTooLarge),
        ]
        for (track, time, size, code) in bad {
            let error = #expect(throws: MatroskaError.self) {
                try writer.blockHead(track: track, timeNanoseconds: time, isKeyframe: true, payloadSize: size)
            }
            #expect(error?.code == code)
        }
        #expect(writer.offset == offset)
        let largest = try writer.blockHead(
            track: 1,
            timeNanoseconds: Int64.max - 1_000_000,
            isKeyframe: true,
            payloadSize: Writer.maximumPayloadSize
        )
        #expect(writer.offset == offset + UInt64(largest.count + Writer.maximumPayloadSize))
    }

    static let vp8 = Track.video(uid: 1, codec: .vp8, width: 2, height: 2)
    static func changed(_ track: Track, _ body: (inout Track) -> Void) -> Track {
        var track = track
        body(&track)
        return track
    }

    @Test(
        arguments: [
            [], [Self.vp8, Self.vp8], [Self.vp8, Self.changed(Self.vp8) { $0.number = 2 }],
            [Self.changed(Self.vp8) { $0.number = 1_001 }], [Self.changed(Self.vp8) { $0.number = 0 }],
            [Self.changed(Self.vp8) { $0.uid = 0 }], [Self.changed(Self.vp8) { $0.video = nil }],
            [Self.changed(Self.vp8) { $0.codecPrivate = [1] }],
            [.video(uid: 1, codec: .vp9, width: 0, height: 2)], [.video(uid: 1, codec: .h264, width: 2, height: 2)],
            [Self.changed(.opus(uid: 1)) { $0.codecPrivate = [] }], [Self.changed(.opus(uid: 1)) { $0.audio = nil }],
            [Self.changed(.opus(uid: 1)) { $0.audio?.sampleRate = .nan }],
            [Self.changed(.g711(uid: 1, codec: .pcmu)) { $0.codec = .pcma }],
        ] as [[Track]]
    )
    func badTracksAreRefused(tracks: [Track]) {
        let error = #expect(throws: MatroskaError.self) { try Self.writer(tracks) }
        #expect(error?.code == .invalidDescription)
    }

    @Test func badDescriptionsAreRefused() {
        #expect(throws: MatroskaError.self) {
            try Writer(info: SegmentInfo(timestampScaleNanoseconds: 0), tracks: [Self.vp8])
        }
        #expect(throws: MatroskaError.self) { try Writer(info: SegmentInfo(uid: [1]), tracks: [Self.vp8]) }
        let chapters = [
            Chapter(uid: 0, startNanoseconds: 0, title: ""), Chapter(uid: 1, startNanoseconds: -1, title: ""),
            Chapter(uid: 1, startNanoseconds: 5, endNanoseconds: 4, title: ""),
        ]
        for chapter in chapters {
            #expect(throws: MatroskaError.self) {
                try Writer(info: SegmentInfo(), tracks: [Self.vp8], chapters: [chapter])
            }
        }
        for tag in [Tag(name: "", value: "v"), Tag(trackUID: 7, name: "N", value: "v")] {
            #expect(throws: MatroskaError.self) { try Writer(info: SegmentInfo(), tracks: [Self.vp8], tags: [tag]) }
        }
    }

    @Test func sizesTakenAsClustersEndLeaveLittleForTheEnd() throws {
        let whole = try SampleFile.synthetic(seconds: 300)
        var file = whole
        var patches: [Patch] = []
        while let patch = file.writer.takeClusterPatch() { patches.append(patch) }
        #expect(patches.count == 299)
        #expect(file.writer.finish().patches.count == 4)
        // A file cut off anywhere is read as far as it goes.
        let sized = SampleFile.applying(patches, to: file.bytes)
        for cut in stride(from: file.blockEnds[0], through: sized.count, by: 997) {
            let units = try SampleFile.read(Array(sized.prefix(cut))).units
            #expect(units == Array(whole.units.prefix(file.blockEnds.count { $0 <= cut })))
        }
        file.bytes = sized
        #expect(file.finished == whole.finished)
        let torn = Array(sized.dropLast(3))
        let plan = try Repair.plan(MemorySource(torn))
        #expect(
            SampleFile.applying(plan, to: torn)
                == SampleFile.applying(
                    try Repair.plan(MemorySource(Array(whole.bytes.dropLast(3)))),
                    to: Array(whole.bytes.dropLast(3))
                )
        )
    }

    @Test func finishFillsInPlacesWithoutMovingAnything() throws {
        let file = try SampleFile.synthetic(seconds: 3)
        let finish = file.writer.finish()
        #expect(finish == file.writer.finish())
        #expect(file.writer.offset == UInt64(file.bytes.count))
        #expect(finish.append.starts(with: [0x1C, 0x53, 0xBB, 0x6B]))
        // Three clusters, Duration, SeekHead and, last, the Segment's size.
        #expect(file.clusterStarts.count == 3)
        #expect(finish.patches.count == 6)
        #expect(finish.patches.map(\.bytes.count) == [8, 8, 8, 11, 128, 8])
        #expect(finish.patches.last?.offset == 44)
        let finished = file.finished
        #expect(finished.count == file.bytes.count + finish.append.count)
        var reader = try Reader(MemorySource(finished))
        #expect(reader.head.end == UInt64(finished.count))
        // The last frame is at 2.9 s and lasts as long as the one before it.
        #expect(reader.durationNanoseconds == 3_007_000_000)
        var sizes: [UInt64?] = []
        while let event = try reader.nextEvent() {
            if case .clusterOpened(let cluster) = event { sizes.append(cluster.end.map { $0 - cluster.start }) }
        }
        let ends = file.clusterStarts.dropFirst() + [file.bytes.count]
        #expect(sizes == zip(file.clusterStarts, ends).map { UInt64($1 - $0) })
    }

    @Test func cuesPointAtKeyframes() throws {
        let file = try SampleFile.synthetic(seconds: 4)
        let finished = file.finished
        let cues = try Self.cues(finished)
        #expect(cues.map(\.time) == [0, 1_500, 3_000])
        let dataStart = 52
        for cue in cues {
            #expect(cue.track == 1)
            let cluster = dataStart + cue.cluster
            #expect(Array(finished[cluster..<(cluster + 4)]) == [0x1F, 0x43, 0xB6, 0x75])
            let block = cluster + 12 + cue.relative
            #expect(finished[block] == 0xA3)
            #expect(finished[block + 2] == 0x81)
            #expect(finished[block + 5] == 0x80)
        }
    }

    @Test func soundHasOneCueForEachCluster() throws {
        var file = try SampleFile(tracks: [.opus(uid: 1)])
        for index in 0..<200 { try file.append([0xF8], time: Int64(index) * 20_000_000, isKeyframe: true) }
        #expect(file.clusterStarts.count == 4)
        #expect(try Self.cues(file.finished).map(\.time) == [0, 1_000, 2_000, 3_000])
    }

    struct Cue {
        var time = 0
        var track = 0
        var cluster = 0
        var relative = 0
    }

    static func cues(_ bytes: [UInt8]) throws -> [Cue] {
        var reader = try Reader(MemorySource(bytes))
        var start: Int?
        var last = 0
        while let event = try reader.nextEvent() {
            if case .clusterClosed(let end) = event { last = Int(end) }
            if case .passed(ElementID.cues, _) = event { start = last }
        }
        var cues: [Cue] = []
        var top = ElementCursor(bytes[(try #require(start))...])
        let element = top.next()
        var points = ElementCursor(try #require(element).content)
        while let point = points.next() {
            var cue = Cue()
            var fields = ElementCursor(point.content)
            while let field = fields.next() {
                if field.id == ElementID.cueTime { cue.time = Int(field.content.ebmlUnsigned ?? 0) }
                var positions = ElementCursor(field.id == ElementID.cueTrackPositions ? field.content : [])
                while let position = positions.next() {
                    let value = Int(position.content.ebmlUnsigned ?? 0)
                    switch position.id {
                    case ElementID.cueTrack: cue.track = value
                    case ElementID.cueClusterPosition: cue.cluster = value
                    case ElementID.cueRelativePosition: cue.relative = value
                    default: break
                    }
                }
            }
            cues.append(cue)
        }
        return cues
    }

    @Test func seekHeadLeadsToEveryTopElement() throws {
        let finished = try SampleFile.synthetic(seconds: 2).finished
        var top = ElementCursor(finished[52...])
        let first = top.next()
        let seekHead = try #require(first)
        #expect(seekHead.id == ElementID.seekHead)
        var found: [UInt32] = []
        var seeks = ElementCursor(seekHead.content)
        while let seek = seeks.next() {
            var fields = ElementCursor(seek.content)
            let id = UInt32(fields.next()?.content.ebmlUnsigned ?? 0)
            let position = Int(fields.next()?.content.ebmlUnsigned ?? 0)
            #expect(ElementHead(finished[(52 + position)...])?.id == id)
            found.append(id)
        }
        let all = [ElementID.info, ElementID.tracks, ElementID.chapters, ElementID.tags, ElementID.cues]
        #expect(found == all)
    }

    @Test func anEmptyRecordingIsAFile() throws {
        let file = try SampleFile(tracks: [Self.vp8])
        let finish = file.writer.finish()
        #expect(finish.append.isEmpty)
        let read = try SampleFile.read(file.finished)
        #expect(read.units.isEmpty)
        #expect(read.tornTailOffset == nil)
    }

    @Test func cuesOfALongRecordingStayBounded() {
        var index = SegmentIndex(tracks: [(1, true)], timestampScaleNanoseconds: 1_000_000)
        for second in 0..<400_000 {
            for step in 0..<2 {
                index.note(
                    track: 0,
                    ticks: Int64(second) * 1_000 + Int64(step) * 500,
                    isKeyframe: true,
                    clusterStart: UInt64(second) * 100_000,
                    relativePosition: 4
                )
            }
            if second == 86_399 { #expect(index.cues.count == 86_400) }
        }
        #expect(index.cues.count <= SegmentIndex.maximumCueCount)
        #expect(index.cues.count > SegmentIndex.maximumCueCount / 4)
        #expect(MemoryLayout<SegmentIndex.Cue>.stride == 24)
        let gaps = zip(index.cues.dropFirst(), index.cues).map { $0.ticks - $1.ticks }
        #expect(gaps.allSatisfy { $0 <= 8_000 })
        #expect(index.endTicks == 399_999_600)
    }

    @Test func clustersOfALongRecordingStayBounded() throws {
        var writer = try Self.writer()
        let count = Writer.maximumClusterCount + 10
        for index in 0..<count {
            _ = try writer.blockHead(
                track: 1,
                timeNanoseconds: Int64(index) * 1_000_000_000,
                isKeyframe: false,
                payloadSize: 100
            )
        }
        let finish = writer.finish()
        #expect(finish.patches.count == Writer.maximumClusterCount + 3)
        #expect(Set(finish.patches.prefix(256).map(\.bytes)).count <= 3)
    }
}
