// SPDX-License-Identifier: Apache-2.0

internal import Basics
public import Export
internal import GStreamer
internal import Model
internal import Storage
internal import Timeline

/// A Matroska file of which ffmpeg makes another one.
struct MuxSource {
    /// Contents of the file.
    let report: ExportReport
    /// Where it is, hidden, until the export ends.
    let path: String
    /// The last progress of its export: ffmpeg reports none.
    let progress: ExportProgress?

    /// The codecs of its tracks.
    var codecs: [MediaCodec] { self.report.tracks.compactMap { MediaCodec(rawValue: $0.codec) } }

    /// Exports to a file next to `file` and blocks.
    ///
    /// No manifest and no certificate names that file. See `Exporter.run` for the parameters.
    init(
        _ subject: ExportSubject,
        _ spec: ExportSpec,
        program: String,
        beside file: RenderOutput,
        progress: (ExportProgress) throws -> Void,
        begins: ([MediaCodec]) throws -> Void = { _ in }
    ) throws {
        // The name is the same each time: what a job leaves that is killed, the next one takes over.
        let path = file.scratchPath("tracks")
        var last: ExportProgress?
        self.report = try Exporter.run(
            subject,
            spec,
            program: program,
            output: path,
            isNoted: false,
            progress: {
                last = $0
                try progress($0)
            },
            begins: begins
        )
        self.path = path
        self.progress = last
    }
}

/// Puts the tracks of a Matroska file of ours into MP4, and into WebM where audio must become Opus: by the program ffmpeg.
///
/// Video is never encoded again. ffmpeg runs in a separate process, with limits, and ends when we end.
public enum FFmpegMux {
    /// The container that ffmpeg makes of a file with these codecs for browsers; nil if the file already is playable
    /// WebM.
    static func rendition(_ codecs: [MediaCodec]) -> ExportSpec.Container? {
        if codecs.contains(.h264) { return .mp4 }
        return codecs.contains(where: Self.isCodedAnew) ? .webm : nil
    }

    /// Whether a track of this codec becomes Opus, with other units than it had.
    static func isCodedAnew(_ codec: MediaCodec) -> Bool {
        [.pcmu, .pcma].contains(codec)
    }

    /// Fails where the host has no ffmpeg: called before there is any work.
    ///
    /// - Throws: `ExportError` with code `notInstalled`.
    public static func requireProgram() throws(ExportError) {
        guard ChildProgram.path(of: "ffmpeg") == nil else { return }
        throw ExportError(.notInstalled, "this export needs ffmpeg, which is not installed: apt install ffmpeg")
    }

    /// Makes the file, reads it back, and moves it to its final path; blocks.
    ///
    /// - Parameters:
    ///   - source: a Matroska file next to the new one.
    ///   - file: where the new one goes.
    ///   - output: its path.
    ///   - progress: called about every second; what it throws ends the export.
    /// - Returns: the contents of the new file.
    /// - Throws: `ExportError`, `GStreamerError`, or what `progress` throws.
    static func make(
        _ container: ExportSpec.Container,
        of source: MuxSource,
        into file: RenderOutput,
        as output: String,
        progress: (ExportProgress) throws -> Void
    ) throws -> ExportReport {
        var report = source.report
        let units = report.tracks.reduce(0) { $0 &+ $1.units }
        let limit = StreamEnd.limit(forBytes: report.bytes)
        let command = Self.arguments(container, source.codecs, from: source.path, to: file.partialPath)
        let (end, words) = try ChildProgram.run(command, memory: Self.memory(units: units), limit: limit) {
            if let last = source.progress { try progress(last) }
        }
        if let failure = Self.failure(end, words, output) { throw failure }
        try RemuxReadBack.check(file.partialPath, container, report)
        report.bytes = file.bytes
        try file.commit(as: output)
        report.output = output
        return report
    }

    /// Bytes of address space that ffmpeg may have: it keeps an index of all units.
    static func memory(units: UInt64) -> UInt64 { (2 << 30) + min(units, 1 << 32) * 256 }

    /// The command.
    ///
    /// Files are named behind `file:`, so that no name is taken for a protocol or an option.
    static func arguments(
        _ container: ExportSpec.Container,
        _ codecs: [MediaCodec],
        from input: String,
        to output: String
    ) -> [String] {
        var arguments = ["ffmpeg", "-nostdin", "-hide_banner", "-nostats", "-loglevel", "error", "-y"]
        // Times stay as they are: without it the earliest one, which the delay of Opus makes negative, becomes zero. And a
        // track may begin days after the others.
        arguments += ["-copyts", "-dts_error_threshold", "100000000"]
        // The first frame of each video track is at the beginning; everything before the last of them is kept in
        // memory.
        arguments += ["-protocol_whitelist", "file", "-threads", "1", "-probesize", "256M"]
        arguments += ["-f", "matroska", "-i", "file:" + input, "-map", "0", "-c", "copy", "-disposition", "default"]
        // MP4 has chapters as a track of text, which editors and scripts take for media.
        arguments += ["-map_chapters", "-1"]
        for (index, codec) in codecs.enumerated() where Self.isCodedAnew(codec) {
            arguments += ["-c:\(index)", "libopus", "-b:\(index)", "48k"]
            // Gaps become silence; without it everything behind them would be played too early.
            arguments += ["-filter:\(index)", "aresample=48000:async=1:min_hard_comp=0.03"]
        }
        if container == .mp4 {
            // The index goes to the front. Time scales in which our times, and the delay of Opus, are whole numbers.
            arguments += ["-movflags", "+faststart", "-movie_timescale", "10000", "-video_track_timescale", "90000"]
        }
        return arguments + ["-avoid_negative_ts", "disabled", "-f", container.rawValue, "file:" + output]
    }

    /// Why there is no file; nil if there is one.
    static func failure(_ end: ChildProgram.End, _ words: String, _ output: String) -> ExportError? {
        let line = words.split(separator: "\n").first.map { ": " + printableName(String($0)) } ?? ""
        switch end {
        case .exited(0): return nil
        case .timedOut: return ExportError(.programFailed, "ffmpeg took too long over \(output)")
        case .notStarted: return ExportError(.programFailed, "ffmpeg could not be started")
        case .signalled(let number):
            let message = "ffmpeg was ended by signal \(number) while it wrote \(output)\(line)"
            // From outside: by an operator, or for want of memory.
            return ExportError(.programFailed, message, cause: StorageError(.system, message, path: output))
        case .exited(let code):
            let message = "ffmpeg could not write \(output), exit code \(code)\(line)"
            let disk: [(String, StorageError.Code)] = [
                ("No space left on device", .noSpace), ("Disk quota exceeded", .noSpace),
                ("Input/output error", .inputOutput), ("Read-only file system", .denied),
            ]
            let cause = disk.first { words.contains($0.0) }.map { StorageError($0.1, message, path: output) }
            return ExportError(cause == nil ? .programFailed : .storage, message, cause: cause)
        }
    }
}
