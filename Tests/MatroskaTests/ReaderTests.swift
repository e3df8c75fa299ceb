// SPDX-License-Identifier: Apache-2.0

import Basics
import TestSupport
import Testing

@testable import Matroska

@Suite struct ReaderTests {
    @Test(arguments: [false, true])
    func everythingComesBack(isFinished: Bool) throws {
        let file = try SampleFile.synthetic(seconds: 5)
        let bytes = isFinished ? file.finished : file.bytes
        let read = try SampleFile.read(bytes)
        #expect(read.units == file.units)
        #expect(read.tornTailOffset == nil)
        let reader = try Reader(MemorySource(bytes))
        #expect(reader.info == file.writerInfo)
        #expect(reader.tracks == file.writerTracks)
        #expect(reader.unsupportedTracks.isEmpty)
        #expect(reader.chapters.map(\.title) == ["Join"])
        #expect(reader.chapters.first?.endNanoseconds == 1_000_000_000)
        #expect(reader.tags == [Tag(name: "TITLE", value: "Sample"), Tag(trackUID: 22, name: "ARTIST", value: "Ann")])
        #expect((reader.durationNanoseconds != nil) == isFinished)
    }

    /// Counter-clockwise degrees as other writers put them, and as we do (RFC 9559 section 5.1.4.1.28.46).
    @Test(arguments: [
        (-90.0, VideoRotation.quarter), (270, .quarter), (180, .half), (-180, .half), (90, .threeQuarters),
        (0, .upright), (45, .upright), (.nan, .upright), (.infinity, .upright),
    ])
    func rotationsAreRead(roll: Double, rotation: VideoRotation) throws {
        var track = Track.video(uid: 1, codec: .vp8, width: 320, height: 180, rotation: .quarter)
        var file = try SampleFile(info: SegmentInfo(), tracks: [track])
        try file.append([9], track: 1, time: 0, isKeyframe: true)
        var bytes = file.finished
        var own: [UInt8] = []
        own.appendFloat(ElementID.projectionPoseRoll, -90)
        var other: [UInt8] = []
        other.appendFloat(ElementID.projectionPoseRoll, roll)
        let place = try #require(bytes.firstRange(of: own))
        bytes.replaceSubrange(place, with: other)
        track.video?.rotation = rotation
        #expect(try Reader(MemorySource(bytes)).tracks == [track])
    }

    @Test func everyTrackKindComesBack() throws {
        let sets = H264ParameterSets(sequence: [CodecTests.SPS().bytes], picture: [CodecTests.pps])
        let avcC = try #require(H264.decoderConfiguration(sets))
        var coloured = Track.video(number: 3, uid: 3, codec: .h264, width: 1_280, height: 720, codecPrivate: avcC)
        coloured.video?.colour = Colour(
            matrixCoefficients: 1,
            transferCharacteristics: 13,
            primaries: 9,
            isFullRange: true
        )
        coloured.isDefault = false
        coloured.language = "ger"
        let tracks: [Track] = [
            .video(number: 1, uid: 1, codec: .vp8, width: 2, height: 4, rotation: .threeQuarters),
            .video(number: 2, uid: .max, codec: .vp9, width: 65_535, height: 1, codecPrivate: [1, 1, 0]),
            coloured, .opus(number: 4, uid: 4, channels: 1, preSkip: 0, name: "Ünï"),
            .g711(number: 5, uid: 5, codec: .pcmu), .g711(number: 126, uid: 6, codec: .pcma, channels: 2),
            .g711(number: 127, uid: 7, codec: .pcmu), .g711(number: 1_000, uid: 8, codec: .pcmu),
        ]
        let info = SegmentInfo(
            title: "",
            dateUTCNanosecondsSince2001: -5,
            timestampScaleNanoseconds: 100_000,
            writingApp: "a",
            muxingApp: "b",
            uid: Array(1...16)
        )
        var file = try SampleFile(info: info, tracks: tracks)
        for track in tracks { try file.append([9], track: track.number, time: 300_000, isKeyframe: true) }
        let reader = try Reader(MemorySource(file.finished))
        #expect(reader.info == info)
        #expect(reader.tracks == tracks)
        #expect(try SampleFile.read(file.finished).units == file.units)
    }

    @Test func headsAndPayloadsWithoutLoading() throws {
        let file = try SampleFile.synthetic(seconds: 2)
        var reader = try Reader(MemorySource(file.bytes))
        var heads: [BlockHead] = []
        while let head = try reader.nextHead() { heads.append(head) }
        #expect(heads.map(\.payloadSize) == file.units.map(\.payload.count))
        #expect(try reader.payload(of: heads[7]) == file.units[7].payload)
        let end = Int(heads[7].payloadOffset) + heads[7].payloadSize
        #expect(end == file.blockEnds[7])
        #expect(try reader.next() == nil)
        reader.rewind()
        #expect(try reader.next()?.payload == file.units[0].payload)
        var beyond = heads[0]
        beyond.payloadOffset = UInt64(file.bytes.count) - 1
        let error = #expect(throws: MatroskaError.self) { try reader.payload(of: beyond) }
        #expect(error?.code == .sourceFailed)
    }

    /// Large enough that no chunk holds two blocks.
    @Test func blocksLargerThanTheWindow() throws {
        var file = try SampleFile(tracks: [WriterTests.vp8])
        for index in 0..<4 {
            try file.append([UInt8](repeating: UInt8(index), count: 300_000 + index), time: Int64(index) * 600_000_000)
        }
        #expect(try SampleFile.read(file.bytes).units == file.units)
    }

    @Test func readsInChunksOnly() throws {
        final class Counter { var largest = 0; var total = 0 }
        struct CountingSource: Source {
            let bytes: [UInt8]
            let counter: Counter
            var count: UInt64 { UInt64(self.bytes.count) }
            func read(offset: UInt64, count: Int) -> [UInt8] {
                self.counter.largest = max(self.counter.largest, count)
                self.counter.total += count
                return Array(self.bytes[Int(offset)..<(Int(offset) + count)])
            }
        }
        let file = try SampleFile.synthetic(seconds: 100, size: 4_000)
        let counter = Counter()
        var reader = try Reader(CountingSource(bytes: file.bytes, counter: counter))
        var count = 0
        while try reader.next() != nil { count += 1 }
        #expect(count == file.units.count)
        #expect(counter.largest <= 256 << 10)
        #expect(counter.total < file.bytes.count * 11 / 10)
    }

    @Test func failingSourcesAreReported() throws {
        struct Broken: Error {}
        struct FailingSource: Source {
            let bytes: [UInt8]
            let failsFrom: UInt64
            var isShort = false
            var count: UInt64 { UInt64(self.bytes.count) }
            func read(offset: UInt64, count: Int) throws -> [UInt8] {
                if offset >= self.failsFrom {
                    if self.isShort { return [] }
                    throw Broken()
                }
                return Array(self.bytes[Int(offset)..<(Int(offset) + count)])
            }
        }
        let bytes = try SampleFile.synthetic(seconds: 20, size: 4_000).bytes
        for isShort in [false, true] {
            let early = #expect(throws: MatroskaError.self) {
                try Reader(FailingSource(bytes: bytes, failsFrom: 0, isShort: isShort))
            }
            #expect(early?.code == .sourceFailed)
            var reader = try Reader(FailingSource(bytes: bytes, failsFrom: 1_000, isShort: isShort))
            let late = #expect(throws: MatroskaError.self) { while try reader.next() != nil {} }
            #expect(late?.code == .sourceFailed)
            #expect((late?.cause is Broken) == !isShort)
        }
    }

    @Test func everyCutOfTheLastTwoClusters() throws {
        let file = try SampleFile.synthetic(seconds: 3)
        let start = file.clusterStarts[file.clusterStarts.count - 2]
        var boundaries = Set(file.blockEnds)
        boundaries.insert(start)
        for cut in start...file.bytes.count {
            let whole = file.blockEnds.filter { $0 <= cut }
            let read = try SampleFile.read(Array(file.bytes.prefix(cut)))
            #expect(read.units == Array(file.units.prefix(whole.count)))
            // The torn part begins where the last whole block ends.
            let isWhole = boundaries.contains(cut)
            #expect(read.tornTailOffset == (isWhole ? nil : UInt64(max(start, whole.last ?? 0))))
        }
    }

    @Test func everyCutOfAFinishedFileNeverTraps() throws {
        let bytes = try SampleFile.synthetic(seconds: 2).finished
        let full = try SampleFile.read(bytes).units
        for cut in 0..<bytes.count {
            do {
                let units = try SampleFile.read(Array(bytes.prefix(cut))).units
                #expect(units == Array(full.prefix(units.count)))
            } catch let error as MatroskaError {
                #expect(error.code == .notMatroska)
            }
        }
    }

    @Test(arguments: [UInt8(0x00), 0xFF])
    func filledTailIsTorn(filler: UInt8) throws {
        let file = try SampleFile.synthetic(seconds: 2)
        let read = try SampleFile.read(file.bytes + [UInt8](repeating: filler, count: 4_096))
        #expect(read.units == file.units)
        #expect(read.tornTailOffset == UInt64(file.bytes.count))
    }

    @Test func mutationsNeverTrap() throws {
        let file = try SampleFile.synthetic(seconds: 2)
        let originals = [file.bytes, file.finished]
        var random = SeededGenerator(seed: 1)
        var delivered = 0
        var refused = 0
        for round in 0..<4_000 {
            var bytes = originals[round % 2]
            for _ in 0..<(1 + round % 4) {
                let position = Int(random.next() % UInt64(bytes.count))
                switch random.next() % 4 {
                case 0: bytes[position] = UInt8(truncatingIfNeeded: random.next())
                case 1: bytes[position] ^= 1 << UInt8(random.next() % 8)
                case 2: bytes.removeSubrange(position..<min(bytes.count, position + Int(random.next() % 20)))
                default: bytes.insert(contentsOf: [0xFF, 0x01, UInt8(truncatingIfNeeded: random.next())], at: position)
                }
            }
            do {
                delivered += try SampleFile.read(bytes).units.count
                let plan = try Repair.plan(MemorySource(bytes))
                #expect(plan.truncateTo <= UInt64(bytes.count))
            } catch let error as MatroskaError {
                #expect(error.code == .notMatroska)
                refused += 1
            }
        }
        #expect(delivered > 10_000)
        #expect(refused > 0)
    }

    @Test(
        arguments: [
            [], [0x1A], Array("RIFF....WAVE".utf8), [0x1A, 0x45, 0xDF, 0xA3, 0x80, 0x18, 0x53, 0x80, 0x67, 0xFF],
            [0x1A, 0x45, 0xDF, 0xA3, 0x01, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFE],
            [UInt8](repeating: 0, count: 1_000),
        ] as [[UInt8]]
    )
    func otherFilesAreRefused(bytes: [UInt8]) {
        let error = #expect(throws: MatroskaError.self) { try Reader(MemorySource(bytes)) }
        #expect(error?.code == .notMatroska)
        #expect(error?.description.contains("byte") == true)
    }

    /// The head of a file of another writer: 1-byte unknown Segment size, one Opus track, number 300.
    static func foreignHead(trackNumber: UInt64 = 300, extra: (inout [UInt8]) -> Void = { _ in }) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.appendMaster(ElementID.ebml) { $0.appendString(ElementID.docType, "webm") }
        bytes.appendElementID(ElementID.segment)
        bytes.appendUnknownElementSize(width: 1)
        bytes.appendMaster(ElementID.info) { $0.appendUnsigned(ElementID.timestampScale, 1_000_000) }
        bytes.appendBinary(0x1122_3344, [1, 2, 3])  // an unknown element
        bytes.appendMaster(ElementID.tracks) { tracks in
            tracks.appendMaster(ElementID.trackEntry) { entry in
                entry.appendUnsigned(ElementID.trackNumber, trackNumber)
                entry.appendUnsigned(ElementID.trackUID, 1)
                entry.appendUnsigned(ElementID.trackType, 2)
                entry.appendString(ElementID.codecID, "A_OPUS")
                extra(&entry)
            }
            tracks.appendMaster(ElementID.trackEntry) { entry in
                entry.appendUnsigned(ElementID.trackNumber, 2)
                entry.appendString(ElementID.codecID, "V_AV1")
            }
        }
        return bytes
    }

    /// A block's content: track 300, time +5, flags, payload.
    static func block(flags: UInt8, _ payload: [UInt8]) -> [UInt8] { [0x41, 0x2C, 0, 5, flags] + payload }

    static func foreignFile(_ body: (inout [UInt8]) -> Void) -> [UInt8] {
        Self.foreignHead()
            + {
                var bytes: [UInt8] = []
                bytes.appendMaster(ElementID.cluster) { cluster in
                    cluster.appendUnsigned(ElementID.timestamp, 1_000)
                    body(&cluster)
                }
                return bytes
            }()
    }

    @Test func foreignElementsArePassedOver() throws {
        let bytes = Self.foreignFile { cluster in
            cluster.appendBinary(0xAB, [9])  // PrevSize
            cluster.appendBinary(ElementID.simpleBlock, [0x82, 0, 0, 0x80, 1, 2, 3])  // AV1
            cluster.appendBinary(0x7EEE, [1, 2])  // unknown
            cluster.appendBinary(ElementID.simpleBlock, Self.block(flags: 0, [0xF8, 1]))
        }
        let reader = try Reader(MemorySource(bytes))
        #expect(reader.unsupportedTracks == [UnsupportedTrack(number: 2, codecID: "V_AV1")])
        #expect(reader.tracks.first?.language == "eng")
        let read = try SampleFile.read(bytes)
        #expect(read.units == [.init(track: 300, time: 1_005_000_000, isKeyframe: true, payload: [0xF8, 1])])
        #expect(read.tornTailOffset == nil)
    }

    @Test func compressedTracksAreNotSupported() throws {
        let bytes = Self.foreignHead { $0.appendBinary(0x6D80, []) }
        #expect(try Reader(MemorySource(bytes)).tracks.isEmpty)
    }

    @Test func blockGroupsTellKeyframes() throws {
        var head = try SampleFile(tracks: [WriterTests.vp8]).bytes
        head.appendMaster(ElementID.cluster) { cluster in
            cluster.appendUnsigned(ElementID.timestamp, 0)
            for isKeyframe in [true, false] {
                cluster.appendMaster(ElementID.blockGroup) { group in
                    group.appendBinary(ElementID.block, [0x81, 0, 1, 0, 7])
                    group.appendUnsigned(ElementID.blockDuration, 40)
                    if !isKeyframe { group.appendSigned(ElementID.referenceBlock, -40) }
                }
            }
        }
        #expect(try SampleFile.read(head).units.map(\.isKeyframe) == [true, false])
    }

    @Test(
        arguments: [
            // Xiph, EBML and fixed lacing of three 20 ms packets.
            (UInt8(0x02), [2, 1, 2, 0xF8, 0xF8, 1, 0xF8, 2, 3], [1, 2, 3]),
            (0x06, [2, 0x81, 0xC0, 0xF8, 0xF8, 1, 0xF8, 2, 3], [1, 2, 3]),
            (0x04, [2, 0xF8, 1, 0xF8, 2, 0xF8, 3], [2, 2, 2]),
        ] as [(UInt8, [UInt8], [Int])]
    )
    func lacesAreSplit(flags: UInt8, payload: [UInt8], sizes: [Int]) throws {
        let bytes = Self.foreignFile { $0.appendBinary(ElementID.simpleBlock, Self.block(flags: flags, payload)) }
        let units = try SampleFile.read(bytes).units
        #expect(units.map(\.payload.count) == sizes)
        #expect(units.map(\.time) == [1_005_000_000, 1_025_000_000, 1_045_000_000])
        #expect(units.allSatisfy { $0.payload.first == 0xF8 })
    }

    @Test func lacedFramesLastAsTheFileSays() throws {
        let laced = Self.block(flags: 0x04, [1, 0, 0])
        var bytes = Self.foreignHead { $0.appendUnsigned(ElementID.defaultDuration, 3_000_000) }
        bytes.appendMaster(ElementID.cluster) { cluster in
            cluster.appendUnsigned(ElementID.timestamp, 0)
            cluster.appendBinary(ElementID.simpleBlock, laced)
        }
        #expect(try SampleFile.read(bytes).units.map(\.time) == [5_000_000, 8_000_000])
        let grouped = Self.foreignFile { cluster in
            cluster.appendMaster(ElementID.blockGroup) { group in
                group.appendUnsigned(ElementID.blockDuration, 30)
                group.appendBinary(ElementID.block, laced)
            }
        }
        #expect(try SampleFile.read(grouped).units.map(\.time) == [1_005_000_000, 1_020_000_000])
    }

    @Test(
        arguments: [
            Self.block(flags: 0x02, []), Self.block(flags: 0x02, [3, 255, 255]), Self.block(flags: 0x02, [1, 9, 0]),
            Self.block(flags: 0x04, [2, 0, 0]), Self.block(flags: 0x06, [2, 0x81]),
            Self.block(flags: 0x06, [2, 0x81, 0x80, 0]),
            Self.block(flags: 0x06, [1, 0x01, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFE]), [0x41, 0x2C, 0],
            [0x80, 0, 0, 0], [],
        ] as [[UInt8]]
    )
    func brokenBlocksEndTheWalk(content: [UInt8]) throws {
        let bytes = Self.foreignFile { cluster in
            cluster.appendBinary(ElementID.simpleBlock, Self.block(flags: 0, [0xF8]))
            cluster.appendBinary(ElementID.simpleBlock, content)
            cluster.appendBinary(ElementID.simpleBlock, Self.block(flags: 0, [0xF8]))
        }
        let read = try SampleFile.read(bytes)
        #expect(read.units.count == 1)
        #expect(read.tornTailOffset == UInt64(bytes.count - 8 - content.count - 2))
    }

    @Test(
        arguments: [
            (UInt64.max, 1_000_000), (UInt64(Int64.max) / 1_000_000, 1_000_000), (5, 0), (5, 1 << 60),
        ] as [(UInt64, UInt64)]
    )
    func hugeTimesAreRefused(ticks: UInt64, scale: UInt64) {
        var bytes: [UInt8] = []
        bytes.appendMaster(ElementID.ebml) { $0.appendString(ElementID.docType, "matroska") }
        bytes.appendElementID(ElementID.segment)
        bytes.appendUnknownElementSize()
        bytes.appendMaster(ElementID.info) { $0.appendUnsigned(ElementID.timestampScale, scale) }
        bytes.appendMaster(ElementID.tracks) { tracks in
            tracks.appendMaster(ElementID.trackEntry) { entry in
                entry.appendUnsigned(ElementID.trackNumber, 1)
                entry.appendString(ElementID.codecID, "V_VP8")
            }
        }
        bytes.appendMaster(ElementID.cluster) { cluster in
            cluster.appendUnsigned(ElementID.timestamp, ticks)
            cluster.appendBinary(ElementID.simpleBlock, [0x81, 0x7F, 0xFF, 0, 1])
        }
        let read = try? SampleFile.read(bytes)
        #expect(read?.units.isEmpty ?? true)
        #expect(read == nil || read?.tornTailOffset != nil)
    }
}

extension SampleFile {
    /// The description that `synthetic` used.
    var writerInfo: SegmentInfo {
        SegmentInfo(title: "Sample", dateUTCNanosecondsSince2001: 700_000_000_000_000_000)
    }

    var writerTracks: [Track] {
        [.video(number: 1, uid: 11, codec: .vp8, width: 640, height: 360, name: "Camera"), .opus(number: 2, uid: 22)]
    }
}
