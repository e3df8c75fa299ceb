// SPDX-License-Identifier: Apache-2.0

internal import Codecs
internal import Export
internal import GStreamer
internal import Media

/// Reads an MP4 file of tracks before anybody else sees it.
enum RemuxReadBack {
    /// Counts what is in the file, by the demuxer that players use; blocks.
    ///
    /// - Parameters:
    ///   - path: the file.
    ///   - report: what was put into it; G.711 was coded anew, and has other units then.
    ///   - limit: what takes longer hangs.
    /// - Throws: `verificationFailed` unless every track has all of its units.
    static func check(_ path: String, _ report: ExportReport, limit: Duration) throws {
        let codecs = report.tracks.compactMap { MediaCodec(rawValue: $0.codec) }
        let end = StreamEnd()
        let pipeline = try Pipeline(launch: Self.launch(codecs)) { end.take($0) }
        try pipeline.element(named: "in").set("location", verbatim: path)
        let passages = try codecs.indices.map { try MediaPassage(into: pipeline.element(named: "track\($0)")) }
        do {
            defer { pipeline.stop() }
            try pipeline.play()
            guard end.wait(atMost: limit) else { throw Self.thrownAway("could not be read back in time") }
        }
        if let failure = end.failure { throw Self.thrownAway("cannot be read back: \(failure.message)") }
        for ((track, codec), passage) in zip(zip(report.tracks, codecs), passages)
        where !BrowserRemux.isCodedAnew(codec) {
            let units = passage.count().units
            guard units == track.units else {
                throw Self.thrownAway("has \(units) of \(track.units) units of \(track.name)'s \(track.media.rawValue)")
            }
        }
    }

    private static func thrownAway(_ finding: String) -> ExportError {
        ExportError(.verificationFailed, "the MP4 file was thrown away: it \(finding)")
    }

    private static func launch(_ codecs: [MediaCodec]) -> String {
        let branches = BrowserRemux.pads(codecs).enumerated().map { index, pad in
            "demux.\(pad) ! fakesink sync=false async=false name=track\(index)"
        }
        return "filesrc name=in ! qtdemux name=demux " + branches.joined(separator: " ")
    }
}
