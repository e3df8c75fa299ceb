// SPDX-License-Identifier: Apache-2.0

internal import Basics

/// Checks what a writer is given before any byte is written.
enum DescriptionCheck {
    static func check(
        info: SegmentInfo,
        tracks: [Track],
        texts: [TextTrack],
        chapters: [Chapter],
        tags: [Tag]
    ) throws(MatroskaError) {
        try Self.require((1_000...1_000_000_000).contains(info.timestampScaleNanoseconds)) {
            "a timestamp scale of \(info.timestampScaleNanoseconds) ns is outside 1000…1000000000"
        }
        try Self.require(info.uid.map { $0.count == 16 } ?? true) { "a segment uid has 16 bytes" }
        let count = tracks.count + texts.count
        try Self.require(!tracks.isEmpty && count <= Writer.maximumTrackNumber) {
            "a file has 1…\(Writer.maximumTrackNumber) tracks, not \(count)"
        }
        let numbers = tracks.map(\.number) + texts.map(\.number)
        let uids = Set(tracks.map(\.uid) + texts.map(\.uid))
        try Self.require(Set(numbers).count == count) { "two tracks have the same number" }
        try Self.require(uids.count == count) { "two tracks have the same uid" }
        for track in tracks { try Self.check(track) }
        for text in texts {
            try Self.require((1...Writer.maximumTrackNumber).contains(text.number) && text.uid != 0) {
                "text track \(text.number) needs a number of 1…\(Writer.maximumTrackNumber) and a uid"
            }
        }
        try Self.require(texts.isEmpty || info.documentType == .matroska) { "WebM has no tracks of plain text" }
        try Self.check(chapters)
        for tag in tags {
            try Self.require(!tag.name.isEmpty) { "a tag has no name" }
            try Self.require(tag.trackUID.map(uids.contains) ?? true) {
                "tag \"\(tag.name)\" is about a track that is not in the file"
            }
        }
    }

    static func check(_ chapters: [Chapter]) throws(MatroskaError) {
        for chapter in chapters {
            try Self.require(chapter.uid != 0 && chapter.startNanoseconds >= 0) {
                "chapter \"\(chapter.title)\" needs a uid and a start that is not negative"
            }
            try Self.require(chapter.endNanoseconds.map { $0 >= chapter.startNanoseconds } ?? true) {
                "chapter \"\(chapter.title)\" ends before it starts"
            }
        }
    }

    private static func check(_ track: Track) throws(MatroskaError) {
        let what = "track \(track.number) (\(track.codec.rawValue))"
        try Self.require((1...Writer.maximumTrackNumber).contains(track.number)) {
            "track number \(track.number) is outside 1…\(Writer.maximumTrackNumber)"
        }
        try Self.require(track.uid != 0) { "\(what) has no uid" }
        switch track.codec.kind {
        case .video:
            try Self.require(track.video.map { $0.width > 0 && $0.height > 0 } ?? false && track.audio == nil) {
                "\(what) needs a video size and no audio properties"
            }
        case .audio:
            try Self.require(
                track.audio.map { $0.channels > 0 && $0.sampleRate.isFinite && $0.sampleRate > 0 } ?? false
                    && track.video == nil
            ) { "\(what) needs a sample rate, channels and no video size" }
        }
        switch track.codec {
        case .vp8: try Self.require(track.codecPrivate.isEmpty) { "\(what) has no codec private data" }
        case .vp9: break
        case .h264:
            try Self.require(H264.parameterSets(decoderConfiguration: track.codecPrivate) != nil) {
                "\(what) needs an avcC record as codec private data"
            }
        case .opus:
            try Self.require(track.codecPrivate.count >= 19 && track.codecPrivate.starts(with: "OpusHead".utf8)) {
                "\(what) needs an OpusHead as codec private data"
            }
        case .pcmu, .pcma:
            try Self.require(G711.codec(privateData: track.codecPrivate) == track.codec) {
                "\(what) needs a WAVEFORMATEX as codec private data"
            }
        }
    }

    private static func require(_ condition: Bool, _ message: () -> String) throws(MatroskaError) {
        guard condition else { throw MatroskaError(.invalidDescription, message()) }
    }
}
