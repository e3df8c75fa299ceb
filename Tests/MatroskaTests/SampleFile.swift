// SPDX-License-Identifier: Apache-2.0

import Basics

@testable import Matroska

/// A file as the writer's caller would have it on disk.
struct SampleFile {
    struct Unit: Equatable {
        var track: Int
        var time: Int64
        var isKeyframe: Bool
        var payload: [UInt8]
    }

    var writer: Writer
    /// The file so far, not completed.
    var bytes: [UInt8]
    var units: [Unit] = []
    /// Where each cluster begins.
    var clusterStarts: [Int] = []
    /// Where each block ends.
    var blockEnds: [Int] = []

    init(
        info: SegmentInfo = SegmentInfo(),
        tracks: [Track],
        chapters: [Chapter] = [],
        tags: [Tag] = []
    ) throws {
        self.writer = try Writer(info: info, tracks: tracks, chapters: chapters, tags: tags)
        self.bytes = self.writer.header()
    }

    mutating func append(_ payload: [UInt8], track: Int = 1, time: Int64, isKeyframe: Bool = false) throws {
        let head = try self.writer.blockHead(
            track: track,
            timeNanoseconds: time,
            isKeyframe: isKeyframe,
            payloadSize: payload.count
        )
        if head.starts(with: [0x1F, 0x43, 0xB6, 0x75]) { self.clusterStarts.append(self.bytes.count) }
        self.bytes += head + payload
        self.units.append(Unit(track: track, time: time, isKeyframe: isKeyframe, payload: payload))
        self.blockEnds.append(self.bytes.count)
    }

    /// The file after a clean end.
    var finished: [UInt8] {
        let finish = self.writer.finish()
        return Self.applying(finish.patches, to: self.bytes + finish.append)
    }

    static func applying(_ patches: [Patch], to bytes: [UInt8]) -> [UInt8] {
        var bytes = bytes
        for patch in patches {
            bytes.replaceSubrange(Int(patch.offset)..<(Int(patch.offset) + patch.bytes.count), with: patch.bytes)
        }
        return bytes
    }

    static func applying(_ plan: RepairPlan, to bytes: [UInt8]) -> [UInt8] {
        Self.applying(plan.patches, to: Array(bytes.prefix(Int(plan.truncateTo))) + plan.append)
    }

    /// All blocks of a file and where it is torn.
    static func read(_ bytes: [UInt8]) throws -> (units: [Unit], tornTailOffset: UInt64?) {
        var reader = try Reader(MemorySource(bytes))
        var units: [Unit] = []
        while let block = try reader.next() {
            units.append(
                Unit(
                    track: block.track,
                    time: block.timeNanoseconds,
                    isKeyframe: block.isKeyframe,
                    payload: block.payload
                )
            )
        }
        return (units, reader.tornTailOffset)
    }

    /// A file of one VP8 and one Opus track with made-up payloads, `seconds` long, ten frames a second.
    static func synthetic(seconds: Int, size: Int = 40) throws -> SampleFile {
        var file = try SampleFile(
            info: SegmentInfo(title: "Sample", dateUTCNanosecondsSince2001: 700_000_000_000_000_000),
            tracks: [
                .video(number: 1, uid: 11, codec: .vp8, width: 640, height: 360, name: "Camera"),
                .opus(number: 2, uid: 22),
            ],
            chapters: [Chapter(uid: 5, startNanoseconds: 0, endNanoseconds: 1_000_000_000, title: "Join")],
            tags: [Tag(name: "TITLE", value: "Sample"), Tag(trackUID: 22, name: "ARTIST", value: "Ann")]
        )
        for index in 0..<(seconds * 10) {
            let time = Int64(index) * 100_000_000
            let payload = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ index) }
            try file.append(payload, track: 1, time: time, isKeyframe: index % 15 == 0)
            try file.append(
                [0xF8, UInt8(truncatingIfNeeded: index)],
                track: 2,
                time: time + 7_000_000,
                isKeyframe: true
            )
        }
        return file
    }
}
