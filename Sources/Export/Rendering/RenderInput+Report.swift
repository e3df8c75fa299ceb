// SPDX-License-Identifier: Apache-2.0

public import Basics
internal import Timeline

/// One track of a rendered file.
public struct RenderedTrack: Sendable {
    var media: MediaKind
    var codec: String
    var size: (width: Int, height: Int)?
    var units: UInt64
    var bytes: UInt64
    var keyframes: UInt64

    /// A track with each part given; `size` in pixels.
    public init(
        media: MediaKind,
        codec: String,
        size: (width: Int, height: Int)? = nil,
        units: UInt64,
        bytes: UInt64,
        keyframes: UInt64
    ) {
        self.media = media
        self.codec = codec
        self.size = size
        self.units = units
        self.bytes = bytes
        self.keyframes = keyframes
    }
}

extension RenderInput {
    /// How far rendering is, in terms of the bytes that it reads.
    public func progress(_ fraction: Double) -> ExportProgress {
        let done = Double(self.bytes) * min(max(fraction, 0), 1)
        return ExportProgress(bytesDone: min(UInt64(done), self.bytes), bytesTotal: self.bytes)
    }

    /// The report on the file; `note` adds the verdict on the recording.
    ///
    /// - Parameter warnings: what the recording itself has no part in.
    public func report(
        layout: String,
        output: RenderOutput,
        durationNanoseconds: Int64,
        tracks: [RenderedTrack],
        warnings: [String]
    ) -> ExportReport {
        let only = self.participants.count == 1 ? self.participants.first : nil
        var report = ExportReport(
            output: output.path,
            layout: layout,
            start: self.start,
            durationNanoseconds: durationNanoseconds,
            bytes: output.bytes,
            tracks: tracks.enumerated().map { index, rendered in
                var track = ExportReport.Track(
                    number: index + 1,
                    file: output.path,
                    participant: only?.id ?? "everyone",
                    name: only?.name ?? "everyone",
                    media: rendered.media,
                    codec: rendered.codec,
                    isComplete: true
                )
                track.width = rendered.size?.width
                track.height = rendered.size?.height
                track.durationNanoseconds = durationNanoseconds
                track.units = rendered.units
                track.bytes = rendered.bytes
                track.keyframes = rendered.keyframes
                return track
            },
            verdict: warnings.isEmpty ? .complete : .damaged,
            warnings: warnings
        )
        report.isPart = self.isPart
        return report
    }
}
