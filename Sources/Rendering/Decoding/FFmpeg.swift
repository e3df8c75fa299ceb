// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import Subprocess
internal import SystemPackage
public import Timeline

/// Decodes our files with a program that did not write them: ffmpeg, in a separate process, at the lowest priority.
///
/// Files are given to it by path behind `file:`, so that no name is taken for a protocol or an option.
public struct FFmpeg: Sendable {
    /// Why nothing was decoded.
    public enum Failure: Error, Sendable, Hashable, CustomStringConvertible {
        /// There is no ffmpeg on this host.
        case notInstalled
        /// It took longer than it may.
        case timedOut(file: String)
        /// It could not be run to its end.
        case failed(String)

        /// One human-readable sentence.
        public var description: String {
            switch self {
            case .notInstalled: "ffmpeg is not installed: apt install ffmpeg"
            case .timedOut(let file): "ffmpeg took too long over \(file)"
            case .failed(let reason): "ffmpeg could not be run: \(reason)"
            }
        }
    }

    /// The program and its version, for the certificate.
    public let version: String
    /// Whether this build of it has libvpx: the decoder of browsers, which refuses frames that ffmpeg's own shows as noise.
    private let hasLibvpx: Bool

    private static let longestLine = 16 * 1024
    /// From here on exit codes are those of who starts it, and of signals: `nice` as shells.
    private static let firstShellCode: Int32 = 126
    /// A still image of an idle screen is frozen too; less than this is a hiccup.
    private static let videoFilter = "freezedetect=n=-60dB:d=2,blackdetect=d=1:pic_th=0.98:pix_th=0.10"
    private static let audioFilter = "silencedetect=n=-60dB:d=2"

    /// Finds ffmpeg.
    ///
    /// - Throws: `Failure.notInstalled`.
    public init() async throws(Failure) {
        let result = try? await Subprocess.run(
            .name("ffmpeg"),
            arguments: ["-version"],
            output: .string(limit: 64 * 1024),
            error: .discarded
        )
        guard let result, result.terminationStatus.isSuccess,
            let line = result.standardOutput.split(separator: "\n").first
        else { throw .notInstalled }
        self.version = line.split(separator: " ").prefix(3).joined(separator: " ")
        self.hasLibvpx = result.standardOutput.contains("--enable-libvpx ")
    }

    /// Decodes the tracks of a recording, and reads its exports; the certificate with what it found, and none of it if it
    /// throws.
    ///
    /// - Parameters:
    ///   - certificate: of the recording or file.
    ///   - path: where a file of the certificate is.
    /// - Throws: `Failure`, or `CancellationError`.
    public func examine(_ certificate: Certificate, path: (String) -> String) async throws -> Certificate {
        var certificate = certificate
        certificate.decoder = self.version
        for index in certificate.tracks.indices {
            let track = certificate.tracks[index]
            // Track files hold one track each; any other file is in the certificate with all of its tracks.
            let number = certificate.tracks[..<index].count { $0.file == track.file && $0.media == track.media }
            var log = FFmpegLog(media: track.media, startNanoseconds: track.startNanoseconds)
            let map = ["-map", "0:\(track.media == .video ? "v" : "a"):\(number)"]
            let filter =
                track.media == .video ? ["-vf", Self.videoFilter] : ["-af", Self.audioFilter]
            // Software decoders are ten times faster than this on the slowest host.
            let limit = Duration.seconds(60 + max(0, track.durationNanoseconds) / 500_000_000)
            let decoder = self.hasLibvpx && track.codec == .vp8 ? ["-c:v", "libvpx"] : []
            try await self.run(path(track.file), decoder: decoder, map + filter, limit: limit) { log.take($0) }
            let decoding = log.finish(durationNanoseconds: track.durationNanoseconds)
            certificate.tracks[index].decoding = decoding
            if decoding.errors > 0 {
                // Frames that refer to missing ones cannot be decoded without a complaint.
                let isExplained = track.leftOut > 0 || (track.packetsLost ?? 0) > 0
                certificate.note(
                    .init(
                        isExplained ? .gap : .damage,
                        .decodeErrors,
                        file: track.file,
                        "the decoder complained \(decoding.errors) times: \(decoding.firstError ?? "")"
                    )
                )
            }
        }
        for export in certificate.exports {
            var log = FFmpegLog(media: nil, startNanoseconds: 0)
            // Reads the whole file; its units are those that were decoded above.
            let limit = Duration.seconds(60 + max(0, export.durationNanoseconds ?? 0) / 1_000_000_000)
            try await self.run(path(export.file), ["-map", "0", "-c", "copy"], limit: limit) { log.take($0) }
            let found = log.finish(durationNanoseconds: 0)
            guard found.errors > 0 else { continue }
            let text = "ffmpeg complained \(found.errors) times: \(found.firstError ?? "")"
            certificate.note(.init(.damage, .decodeErrors, file: export.file, text))
        }
        return certificate
    }

    private func run(
        _ path: String,
        decoder: [String] = [],
        _ arguments: [String],
        limit: Duration,
        onLine: (String) -> Void
    ) async throws {
        let command =
            ["-n", "19", "ffmpeg", "-nostdin", "-hide_banner", "-nostats", "-loglevel", "level+info", "-threads", "1"]
            + decoder + ["-i", "file:" + path] + arguments + ["-f", "null", "-"]
        // The lines are taken by this task; a second one only counts the time.
        let (lines, continuation) = AsyncStream.makeStream(of: String.self, bufferingPolicy: .bufferingOldest(10_000))
        async let status = Self.status(command, limit: limit, continuation)
        for await line in lines { onLine(line) }
        switch try await status {
        case .success: return
        case .failure(.timedOut): throw Failure.timedOut(file: path)
        case .failure(let failure): throw failure
        }
    }

    /// Runs to its end or to the limit; ffmpeg's exit status is no failure, because the log gives the reason.
    ///
    /// A signal from outside leaves a log that breaks off, and the unread rest would count as read.
    private static func status(
        _ command: [String],
        limit: Duration,
        _ lines: AsyncStream<String>.Continuation
    ) async throws -> Result<Void, Failure> {
        defer { lines.finish() }
        let result = try await within(limit) { () -> Result<Void, Failure> in
            do {
                let result = try await Subprocess.run(
                    .name("nice"),
                    arguments: Arguments(command),
                    input: .none,
                    output: .discarded,
                    error: .sequence
                ) { execution in
                    let strings = execution.standardError.strings(bufferingPolicy: .maxLineLength(Self.longestLine))
                    for try await line in strings { lines.yield(line) }
                }
                switch result.terminationStatus {
                case .exited(let code) where code < Self.firstShellCode: return .success(())
                case .exited(let code): return .failure(.failed("exit code \(code)"))
                case .signaled(let signal): return .failure(.failed("signal \(signal) ended it"))
                }
            } catch {
                return .failure(.failed("\(error)"))
            }
        }
        return result ?? .failure(.timedOut(file: ""))
    }
}
