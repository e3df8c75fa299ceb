// SPDX-License-Identifier: Apache-2.0

internal import Basics
import Foundation
import TestSupport
import Testing

@testable import Matroska

/// Files written from real media, read back by ffmpeg, MKVToolNix and GStreamer.
@Suite(.serialized, .timeLimit(.minutes(5))) struct ForeignToolTests {
    static let names: [MediaCodec: String] = [
        .vp8: "vp8", .vp9: "vp9", .h264: "h264", .opus: "opus", .pcmu: "pcm_mulaw", .pcma: "pcm_alaw",
    ]

    /// The output of `mkvmerge --identify`.
    struct Identification: Decodable {
        struct Container: Decodable {
            struct Properties: Decodable {
                var duration: Int?
                var title: String?
            }
            var recognized: Bool
            var supported: Bool
            var properties: Properties
        }
        struct Track: Decodable {
            struct Properties: Decodable { var codec_id: String }
            var properties: Properties
        }
        var container: Container
        var errors: [String]
        var warnings: [String]
        var tracks: [Track]
    }

    static func identify(_ path: String) throws -> Identification {
        let result = try Command.run("mkvmerge", ["--identify", "-F", "json", path])
        #expect(result.status == 0)
        return try JSONDecoder().decode(Identification.self, from: result.standardOutput)
    }

    static func pad(_ codec: MediaCodec) -> String { codec.kind == .video ? "video_0" : "audio_0" }

    @Test func inspectionAgreesWithTheEncoders() throws {
        let media = try EncodedMedia.shared()
        for (codec, units) in [(MediaCodec.vp8, media.vp8), (.vp9, media.vp9), (.h264, media.h264)] {
            let inspections = units.map { CodecTests.inspect(codec, $0) }
            #expect(inspections.allSatisfy { $0 != nil })
            let keyframes = inspections.indices.filter { inspections[$0]?.isKeyframe == true }
            #expect(keyframes == (codec == .h264 ? [0, 25, 50] : [0, 25]))
            #expect(units.allSatisfy { unit in unit.withUnsafeBytes { Bitstream.mayBeDecoded(codec, $0) } })
            #expect(inspections.first??.width == 320)
            #expect(inspections.first??.height == 240)
        }
        let large = try #require(CodecTests.inspect(.h264, media.h264[50]))
        #expect(large.width == 640)
        #expect(large.height == 360)
        let high = try #require(media.h264High.first.flatMap { CodecTests.inspect(.h264, $0) })
        #expect(high.width == 320)
        #expect(high.height == 240)
        let sets = try #require(high.parameterSets)
        #expect(try #require(H264.decoderConfiguration(sets)).suffix(4) == [0xFE, 0xFA, 0xFA, 0])
        #expect(media.opus.count >= 100)
        #expect(media.opus.allSatisfy { CodecTests.inspect(.opus, $0)?.durationNanoseconds == 20_000_000 })
        let bytes = (media.pcmu + media.pcma).map(\.count).reduce(0, +)
        #expect(bytes == 2 * 2 * 8_000)
    }

    @Test(arguments: MediaCodec.allCases)
    func aFinishedRecordingIsReadByAll(codec: MediaCodec) throws {
        let file = try SampleFile.recording(codec)
        let folder = try TemporaryFolder()
        let path = try folder.file("track.mkv", file.finished)

        #expect(try Command.complaints(about: path) == "")
        let probe = try Probe(path)
        #expect(probe.streams.map(\.codec_name) == [Self.names[codec]])
        #expect(probe.packets.map { Int($0.size) } == file.units.map(\.payload.count))
        #expect(
            probe.packets.map { $0.flags.hasPrefix("K") } == file.units.map { $0.isKeyframe || codec.kind == .audio }
        )
        let reader = try Reader(MemorySource(file.finished))
        let duration = try #require(reader.durationNanoseconds)
        let stated = try #require(probe.format.duration.flatMap(Double.init))
        #expect(abs(stated - Double(duration) / 1e9) < 0.002)

        let identification = try Self.identify(path)
        #expect(identification.container.recognized && identification.container.supported)
        #expect(identification.errors.isEmpty && identification.warnings.isEmpty)
        #expect(identification.tracks.map(\.properties.codec_id) == [codec.codecID])
        #expect(identification.container.properties.duration.map { Int64($0) / 1_000_000 } == duration / 1_000_000)

        let info = try Command.run("mkvinfo", ["-a", path])
        #expect(info.status == 0)
        for part in ["Seek head", "Cues", "Cluster", "Duration"] { #expect(info.text.contains(part)) }
        #expect(!info.text.contains("EBMLUnknown") && !info.text.contains("size unknown"))

        let remuxed = folder.path + "/remuxed.mkv"
        let merge = try Command.run("mkvmerge", ["-o", remuxed, path])
        #expect(merge.status == 0, "mkvmerge: \(merge.text)")
        #expect(try Tool.gstreamerBuffers(path, pads: [Self.pad(codec)]) == file.units.count)
        // And what mkvmerge made of it, laces and block groups included, comes back through our reader.
        let read = try SampleFile.read(try Tool.read(remuxed))
        #expect(read.tornTailOffset == nil)
        if codec == .h264 {
            // mkvmerge drops access unit delimiters.
            #expect(read.units.map(\.isKeyframe) == file.units.map(\.isKeyframe))
        } else {
            // PCM is cut differently, hence one long string of bytes.
            let isSame = read.units.map(\.payload).joined().elementsEqual(file.units.map(\.payload).joined())
            #expect(isSame)
        }
    }

    @Test(arguments: [MediaCodec.vp8, .h264, .opus])
    func anUnfinishedRecordingIsReadByAll(codec: MediaCodec) throws {
        let file = try SampleFile.recording(codec)
        let folder = try TemporaryFolder()
        let path = try folder.file("track.mkv", file.bytes)
        #expect(try Command.complaints(about: path) == "")
        #expect(try Probe(path).packets.count == file.units.count)
        let identification = try Self.identify(path)
        #expect(identification.errors.isEmpty && identification.warnings.isEmpty)
        #expect(try Tool.gstreamerBuffers(path, pads: [Self.pad(codec)]) == file.units.count)
    }

    /// Our reader takes every cut of the audio and many of the video (`ReaderTests` takes every one of made-up frames),
    /// the programs a sample, before and after repair.
    @Test(arguments: [MediaCodec.vp8, .opus])
    func cutRecordingsAreReadByAll(codec: MediaCodec) throws {
        let file = try SampleFile.recording(codec)
        let start = file.clusterStarts[file.clusterStarts.count - 2]
        for cut in stride(from: start, through: file.bytes.count, by: codec == .opus ? 1 : 211) {
            var reader = try Reader(MemorySource(Array(file.bytes.prefix(cut))))
            var count = 0
            while try reader.nextHead() != nil { count += 1 }
            #expect(count == file.blockEnds.firstIndex { $0 > cut } ?? file.units.count)
        }
        let folder = try TemporaryFolder()
        var random = SeededGenerator(seed: 3)
        let last = try #require(file.clusterStarts.last)
        var cuts = [last - 1, last + 1, last + 12, last + 15, file.bytes.count - 1, (start + last) / 2]
        for _ in 0..<2 { cuts.append(last + Int(random.next() % UInt64(file.bytes.count - last))) }
        for cut in cuts {
            let bytes = Array(file.bytes.prefix(cut))
            let whole = file.blockEnds.count { $0 <= cut }
            let torn = try folder.file("torn-\(cut).mkv", bytes)
            // Foreign readers may add the torn block, or lose the one before it.
            let packets = try Probe(torn, isDamaged: true).packets.count
            #expect((whole - 1...whole + 1).contains(packets), "cut at \(cut)")
            let repaired = SampleFile.applying(try Repair.plan(MemorySource(bytes)), to: bytes)
            let path = try folder.file("repaired-\(cut).mkv", repaired)
            #expect(try Command.complaints(about: path) == "", "cut at \(cut)")
            #expect(try Probe(path).packets.count == whole, "cut at \(cut)")
            #expect(try Tool.gstreamerBuffers(path, pads: [Self.pad(codec)]) == whole, "cut at \(cut)")
            let identification = try Self.identify(path)
            #expect(identification.errors.isEmpty && identification.warnings.isEmpty)
            #expect(identification.container.properties.duration != nil)
        }
    }

    @Test func anExportOfManyTracksIsReadByAll() throws {
        let media = try EncodedMedia.shared()
        let codecs: [(MediaCodec, [[UInt8]], Int64)] = [
            (.vp8, media.vp8, 40_000_000), (.h264, media.h264, 40_000_000), (.opus, media.opus, 20_000_000),
            (.vp9, media.vp9, 40_000_000),
        ]
        var tracks: [Track] = []
        var units: [(time: Int64, track: Int, codec: MediaCodec, unit: [UInt8])] = []
        for (index, entry) in codecs.enumerated() {
            let inspection = try #require(entry.1.first.flatMap { CodecTests.inspect(entry.0, $0) })
            var track = try SampleFile.track(entry.0, number: index + 1, inspection)
            track.name = "Ann \(index)"
            track.isDefault = index == 0
            tracks.append(track)
            for (position, unit) in entry.1.enumerated() {
                units.append((Int64(position) * entry.2 + Int64(index) * 500_000_000, index + 1, entry.0, unit))
            }
        }
        units.sort { ($0.time, $0.track) < ($1.time, $1.track) }
        var file = try SampleFile(
            info: SegmentInfo(title: "Stand-up", dateUTCNanosecondsSince2001: 694_224_000_000_000_000),
            tracks: tracks,
            chapters: [
                Chapter(uid: 1, startNanoseconds: 0, endNanoseconds: 500_000_000, title: "Ann joins"),
                Chapter(uid: 2, startNanoseconds: 500_000_000, title: "Bob joins"),
            ],
            tags: [Tag(name: "ROOM", value: "standup"), Tag(trackUID: tracks[2].uid, name: "ARTIST", value: "Ann")]
        )
        for unit in units { try file.append(unit: unit.unit, codec: unit.codec, track: unit.track, time: unit.time) }
        let folder = try TemporaryFolder()
        let path = try folder.file("call.mkv", file.finished)

        #expect(try Command.complaints(about: path) == "")
        let probe = try Probe(path)
        #expect(probe.streams.map(\.codec_name) == ["vp8", "h264", "opus", "vp9"])
        #expect(probe.packets.count == units.count)
        for (index, entry) in codecs.enumerated() {
            #expect(probe.packets.count { $0.stream_index == index } == entry.1.count)
        }
        #expect(probe.chapters.map { $0.tags?["title"] } == ["Ann joins", "Bob joins"])
        #expect(probe.format.tags?["title"] == "Stand-up")
        #expect(probe.format.tags?["ROOM"] == "standup")
        #expect(probe.format.tags?["creation_time"]?.hasPrefix("2023-01-01T00:00:00") == true)
        let identification = try Self.identify(path)
        #expect(identification.errors.isEmpty && identification.warnings.isEmpty)
        #expect(identification.container.properties.title == "Stand-up")
        let pads = ["video_0", "video_1", "audio_0", "video_2"]
        #expect(try Tool.gstreamerBuffers(path, pads: pads) == units.count)
        // Seeking uses the cues: the first packet after a seek to 1.4 s is the keyframe at 1 s.
        let seek = try Command.run(
            "ffprobe",
            [
                "-v", "error", "-select_streams", "v:0", "-read_intervals", "1.4%+#1", "-show_entries",
                "packet=pts_time,flags", "-of", "csv=p=0", path,
            ]
        )
        #expect(seek.text.hasPrefix("1.000000,K"))
    }

    /// Files of other muxers: known sizes, checksums, block groups, laces, cues in front.
    @Test func filesOfOthersAreRead() throws {
        let media = try EncodedMedia.shared()
        let folder = try TemporaryFolder()
        let vp8 = try folder.file("vp8.mkv", try SampleFile.recording(.vp8).finished)
        let opus = try folder.file("opus.mkv", try SampleFile.recording(.opus).finished)
        let outputs: [(String, String, [String])] = [
            ("ffmpeg", "f.mkv", ["-v", "error", "-i", vp8, "-i", opus, "-map", "0", "-map", "1", "-c", "copy"]),
            (
                "ffmpeg", "l.mkv",
                ["-v", "error", "-i", vp8, "-i", opus, "-map", "0", "-map", "1", "-c", "copy", "-live", "1"]
            ),
            ("mkvmerge", "m.mkv", [vp8, opus, "--output"]),
        ]
        for (program, name, arguments) in outputs {
            let path = folder.path + "/" + name
            let result = try Command.run(program, arguments + [path])
            #expect(result.status == 0, "\(program): \(result.text)\(result.standardError)")
            let bytes = try Tool.read(path)
            let reader = try Reader(MemorySource(bytes))
            #expect(reader.tracks.map(\.codec) == [.vp8, .opus])
            let read = try SampleFile.read(bytes)
            #expect(read.tornTailOffset == nil)
            for (track, units) in zip(reader.tracks, [media.vp8, media.opus]) {
                let isSame = read.units.filter { $0.track == track.number }.map(\.payload) == units
                #expect(isSame, "\(name), track \(track.number)")
            }
            // Cut in the middle of the last cluster, they can be repaired as far as they have room.
            let torn = Array(bytes.prefix(bytes.count * 3 / 4))
            let repaired = SampleFile.applying(try Repair.plan(MemorySource(torn)), to: torn)
            #expect(try SampleFile.read(repaired).tornTailOffset == nil)
            #expect(try SampleFile.read(repaired).units.count > 50)
            #expect(try Repair.plan(MemorySource(repaired)).isEmpty)
            let identification = try Self.identify(try folder.file("repaired-" + name, repaired))
            #expect(identification.errors.isEmpty)
        }
    }
}
