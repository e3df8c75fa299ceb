// SPDX-License-Identifier: Apache-2.0

internal import Export
internal import GStreamer
internal import Model

/// Reads a rendered file before it gets its final name.
enum ReadBack {
    /// The result.
    struct Findings {
        var video: PassageCount?
        var audio: PassageCount
    }

    /// Counts what is in the file, by the demuxer that players use; blocks.
    ///
    /// - Throws: `verificationFailed` unless all frames are there and video and audio end with the range, to a frame.
    static func check(
        _ output: RenderOutput,
        _ grid: ExportSpec.Grid?,
        frames: Int64,
        nanoseconds: Int64,
        _ wait: () throws -> Void
    ) throws -> Findings {
        let end = StreamEnd()
        let pipeline = try Pipeline(launch: Self.launch(grid)) { end.take($0) }
        try pipeline.element(named: "in").set("location", verbatim: output.partialPath)
        let video = try grid.map { _ in try MediaPassage(into: pipeline.element(named: "video")) }
        let audio = try MediaPassage(into: pipeline.element(named: "audio"))
        do {
            defer { pipeline.stop() }
            try pipeline.play()
            guard try end.wait(atMost: StreamEnd.limit(forBytes: output.bytes), wait) else {
                throw Self.thrownAway(output, "could not be read back in time")
            }
        }
        if let failure = end.failure {
            throw Self.thrownAway(output, "cannot be read back: \(failure.message)")
        }
        let findings = Findings(video: video?.count(), audio: audio.count())
        if let grid, let video = findings.video {
            guard video.units == UInt64(frames) else {
                throw Self.thrownAway(output, "has \(video.units) of \(frames) frames")
            }
            try Self.require(video, output, ends: nanoseconds, within: 1_000_000_000 / Int64(grid.framesPerSecond))
        }
        // A frame of AAC is 21 ms, and the last is filled up with silence.
        try Self.require(findings.audio, output, ends: nanoseconds, within: 60_000_000)
        return findings
    }

    private static func require(
        _ count: PassageCount,
        _ output: RenderOutput,
        ends nanoseconds: Int64,
        within tolerance: Int64
    ) throws(ExportError) {
        let end = count.endNanoseconds ?? 0
        guard abs(end - nanoseconds) <= tolerance else {
            throw Self.thrownAway(output, "ends after \(end / 1_000_000) ms instead of \(nanoseconds / 1_000_000) ms")
        }
    }

    private static func thrownAway(_ output: RenderOutput, _ finding: String) -> ExportError {
        ExportError(.verificationFailed, "the export to \(output.path) was thrown away: it \(finding)")
    }

    private static func launch(_ grid: ExportSpec.Grid?) -> String {
        let sink = "fakesink sync=false async=false"
        guard let grid else { return "filesrc name=in ! oggdemux ! opusparse ! \(sink) name=audio" }
        let demux = grid.container == .mp4 ? "qtdemux" : "matroskademux"
        return "filesrc name=in ! \(demux) name=demux demux.video_0 ! \(sink) name=video "
            + "demux.audio_0 ! \(sink) name=audio"
    }
}
