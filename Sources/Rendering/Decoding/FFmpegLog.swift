// SPDX-License-Identifier: Apache-2.0

public import Basics
public import Timeline

/// The output of ffmpeg while it decodes one track, line by line.
///
/// Made with `-loglevel level+info` and the filters of `FFmpeg`. Numbers and lines may be any: unexpected ones are
/// skipped.
public struct FFmpegLog: Sendable, Hashable {
    private(set) var decoding: Certificate.Decoding
    private let isDecoded: Bool
    private let startNanoseconds: Int64
    private var freezeStart: Int64?
    private var silenceStart: Int64?

    private static let longestError = 200
    /// 100 years: sums of such times do not overflow.
    private static let greatestSeconds = 3.2e9

    /// A log of a track that begins so long after the recording's first unit; without media, of a file that is read only.
    public init(media: MediaKind?, startNanoseconds: Int64) {
        self.isDecoded = media != nil
        self.startNanoseconds = startNanoseconds
        self.decoding = Certificate.Decoding(
            errors: 0,
            freezes: media == .video ? Certificate.Spans() : nil,
            black: media == .video ? Certificate.Spans() : nil,
            silences: media == .audio ? Certificate.Spans() : nil
        )
    }

    /// Takes the next line.
    public mutating func take(_ line: some StringProtocol) {
        let line = String(line.prefix(1_000))
        // The muxer that drops the frames rounds their times: its complaints say nothing of what was decoded.
        if self.isDecoded, line.hasPrefix("[null @") { return }
        if line.contains("[error]") || line.contains("[fatal]") || line.contains("[panic]") {
            self.decoding.errors += 1
            if self.decoding.firstError == nil {
                self.decoding.firstError = Self.message(of: line)
            }
        } else if let start = Self.time("freeze_start:", in: line) {
            self.freezeStart = start
        } else if let end = Self.time("freeze_end:", in: line) {
            self.endFreeze(at: end)
        } else if let start = Self.time("silence_start:", in: line) {
            self.silenceStart = max(0, start)
        } else if let end = Self.time("silence_end:", in: line) {
            self.endSilence(at: end)
        } else if let start = Self.time("black_start:", in: line), let end = Self.time("black_end:", in: line) {
            let span = self.span(start, end)
            self.decoding.black?.note(span)
        }
    }

    /// The result; a stretch that is open at the track's end ends there.
    public consuming func finish(durationNanoseconds: Int64) -> Certificate.Decoding {
        self.endFreeze(at: durationNanoseconds)
        self.endSilence(at: durationNanoseconds)
        return self.decoding
    }

    private mutating func endFreeze(at end: Int64) {
        guard let start = self.freezeStart else { return }
        self.freezeStart = nil
        let span = self.span(start, end)
        self.decoding.freezes?.note(span)
    }

    private mutating func endSilence(at end: Int64) {
        guard let start = self.silenceStart else { return }
        self.silenceStart = nil
        let span = self.span(start, end)
        self.decoding.silences?.note(span)
    }

    private func span(_ start: Int64, _ end: Int64) -> Certificate.Span {
        Certificate.Span(
            startNanoseconds: self.startNanoseconds &+ start,
            durationNanoseconds: max(0, end &- start)
        )
    }

    /// The seconds behind a word, in nanoseconds.
    private static func time(_ word: String, in line: String) -> Int64? {
        guard let place = line.firstRange(of: word) else { return nil }
        let text = line[place.upperBound...].drop { $0 == " " }.prefix { !$0.isWhitespace && $0 != "|" }
        guard let seconds = Double(text), abs(seconds) <= Self.greatestSeconds else { return nil }
        return Int64((seconds * 1e9).rounded())
    }

    /// A complaint without the addresses that make every run's another.
    private static func message(of line: String) -> String {
        let parts = line.split(separator: "]").map { $0.drop { $0 == " " } }
        let text = parts.filter { !$0.hasPrefix("[") }.joined(separator: "]")
        return String((text.isEmpty ? line : text).prefix(Self.longestError))
    }
}
