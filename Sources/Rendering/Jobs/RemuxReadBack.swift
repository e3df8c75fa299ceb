// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import Export
internal import Matroska
internal import Model
internal import Storage

/// Reads a file that ffmpeg made before it gets its final name.
enum RemuxReadBack {
    /// Counts what is in the file, with code that did not write it.
    ///
    /// GStreamer's `qtdemux` is no help: it leaves out video that is shorter than a fifth of the file.
    ///
    /// - Parameters:
    ///   - path: the file.
    ///   - report: the contents put into it; G.711 was encoded to another codec, and has other units then.
    /// - Throws: `verificationFailed` unless every track has all of its units.
    static func check(_ path: String, _ container: ExportSpec.Container, _ report: ExportReport) throws {
        let counts: [UInt64]
        do {
            let file = try File(path, .read)
            counts = container == .mp4 ? try Self.mp4(file) : try Self.webm(file)
        } catch let error as StorageError {
            throw ExportError(.storage, error.message, cause: error)
        } catch {
            throw Self.thrownAway("cannot be read back: \(error)")
        }
        guard counts.count == report.tracks.count else {
            throw Self.thrownAway("has \(counts.count) of \(report.tracks.count) tracks")
        }
        for (track, units) in zip(report.tracks, counts) {
            if let codec = MediaCodec(rawValue: track.codec), FFmpegMux.isCodedAnew(codec) { continue }
            guard units == track.units else {
                throw Self.thrownAway("has \(units) of \(track.units) units of \(track.name)'s \(track.media.rawValue)")
            }
        }
    }

    private static func mp4(_ file: File) throws -> [UInt64] {
        try MP4Index(file).tracks.filter { ["vide", "soun"].contains($0.handler) }.map(\.units)
    }

    private static func webm(_ file: File) throws -> [UInt64] {
        var reader = try Reader(file)
        var counts = [UInt64](repeating: 0, count: reader.tracks.count)
        while let head = try reader.nextHead() {
            if counts.indices.contains(head.track - 1) { counts[head.track - 1] += 1 }
        }
        return counts
    }

    private static func thrownAway(_ finding: String) -> ExportError {
        ExportError(.verificationFailed, "the file was thrown away: it \(finding)")
    }
}
