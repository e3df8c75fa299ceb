// SPDX-License-Identifier: Apache-2.0

import Basics

extension Certificate.Verdict {
    /// The verdict as people say it.
    public var title: String {
        switch self {
        case .complete: "complete"
        case .completeWithGaps: "with gaps"
        case .damaged: "damaged"
        }
    }
}

extension Certificate {
    /// The human-readable certificate: the verdict, the findings, a table of tracks, and the hash of each file.
    ///
    /// Names of peers come without what could steer a terminal. The same certificate gives the same text.
    public var text: String {
        var lines = ["verdict:    \(self.verdict.title)"]
        if let recording { lines.append("recording:  \(printableName(recording))") }
        if let room { lines.append("room:       \(printableName(room))") }
        if let start { lines.append("began:      \(start.iso8601)") }
        let wall = self.wallClockNanoseconds.map { ", \(seconds($0)) by the wall clock" } ?? ""
        lines.append("duration:   \(seconds(self.durationNanoseconds))\(wall)")
        if let journal { lines.append("journal:    \(journal.text)") }
        if let signature { lines.append("signed by:  key \(signature.key), \(signature.files) files are as signed") }
        if let decoder { lines.append("decoded by: \(decoder)") }
        for (title, severity) in [("damage", Severity.damage), ("gaps", .gap), ("notes", .note)] {
            let found = self.findings(severity)
            if found.isEmpty { continue }
            lines += ["", "\(title):"] + found.map { "  \($0.file.map { "\($0): " } ?? "")\(printableText($0.text))" }
        }
        if !self.tracks.isEmpty { lines += ["", "tracks:"] + self.trackTable }
        if let sources, !sources.isEmpty { lines += ["", "packets:"] + Self.table(self.rows(of: sources)) }
        if !self.alignments.isEmpty {
            lines += ["", "video against audio:"]
            lines += self.alignments.map { alignment in
                let basis = alignment.basis == .arrival ? "arrivals" : "sender reports"
                return "  \(self.shown(alignment.participant)): moved by "
                    + "\(milliseconds(alignment.pictureCorrectionNanoseconds)), by \(basis)"
            }
        }
        lines += self.decodingLines
        if !self.files.isEmpty {
            // The form of sha256sum, which can check the lines.
            lines += ["", Self.hashesTitle] + self.files.map { "\($0.sha256)  \(printableName($0.name))" }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static let hashesTitle = "SHA-256:"

    /// The files and their hashes that the text of a certificate lists; names are as they are printed.
    public static func hashes(inText text: String) -> [(file: String, sha256: String)] {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard let title = lines.lastIndex(where: { $0 == Self.hashesTitle }) else { return [] }
        return lines[(title + 1)...].compactMap { line in
            let hash = line.prefix(64)
            guard hash.utf8.count == 64, hash.allSatisfy(\.isHexDigit), line.dropFirst(64).hasPrefix("  ") else {
                return nil
            }
            return (String(line.dropFirst(66)), String(hash))
        }
    }

    /// A participant by the name that the tracks have, or else by id.
    private func shown(_ participant: String) -> String {
        printableName(self.tracks.first { $0.participant == participant }?.name ?? participant, limit: 48)
    }

    /// `received` is what came for the recording; it is the sum of the columns behind it.
    private func rows(of sources: [SourceCounted]) -> [[String]] {
        [["source", "participant", "kind", "tracks", "received", "recorded", "empty", "waiting", "refused", "why"]]
            + sources.map { source in
                [
                    String(source.ssrc),
                    self.shown(source.participant),
                    source.media ?? "-",
                    source.tracks.isEmpty ? "-" : source.tracks.prefix(8).map(String.init).joined(separator: ","),
                    String(source.ofRecording),
                    String(source.recorded),
                    String(source.empty),
                    String(source.waiting),
                    String(source.refusedPackets),
                    source.refusedText,
                ]
            }
    }

    private var trackTable: [String] {
        var rows = [
            [
                "#", "participant", "kind", "codec", "start", "duration", "units", "keyframes", "lost", "repaired",
                "left out", "gaps", "longest", "skew",
            ]
        ]
        for track in self.tracks {
            rows.append([
                track.number.map(String.init) ?? "-",
                printableName(track.name, limit: 32),
                track.media.rawValue,
                track.codec.rawValue,
                seconds(track.startNanoseconds),
                seconds(track.durationNanoseconds),
                String(track.units),
                track.media == .video ? String(track.keyframes) : "-",
                track.packetsLost.map(String.init) ?? "-",
                track.packetsRepaired.map(String.init) ?? "-",
                String(track.leftOut),
                track.gaps.count == 0 ? "0" : "\(track.gaps.count) (\(seconds(track.gaps.totalNanoseconds)))",
                track.gaps.count == 0 ? "-" : seconds(track.gaps.longestNanoseconds),
                track.skewPartsPerMillion.map { "\(tenths($0)) ppm" } ?? "-",
            ])
        }
        return Self.table(rows)
    }

    private static func table(_ rows: [[String]]) -> [String] {
        let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.map { row in
            let line = zip(row, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }
                .joined(separator: "  ")
            return "  " + String(line.reversed().drop { $0 == " " }.reversed())
        }
    }

    private var decodingLines: [String] {
        let lines = self.tracks.flatMap { track -> [String] in
            guard let decoding = track.decoding else { return [] }
            var found = ["decode errors: \(decoding.errors)"]
            for (name, spans) in [
                ("frozen", decoding.freezes), ("black", decoding.black), ("silent", decoding.silences),
            ] {
                guard let spans else { continue }
                let list = spans.first.prefix(5).map {
                    "\(seconds($0.startNanoseconds)) for \(seconds($0.durationNanoseconds))"
                }
                let more = spans.count > list.count ? ", …" : ""
                found.append("\(name): " + (list.isEmpty ? "never" : "at \(list.joined(separator: ", "))\(more)"))
            }
            return ["  \(printableName(track.file)): \(found.joined(separator: "; "))"]
        }
        return lines.isEmpty ? [] : ["", "decoded:"] + lines
    }
}

extension Certificate.Journal {
    fileprivate var text: String {
        let skipped = self.skippedLines == 0 ? "" : ", \(self.skippedLines) that cannot be read"
        let chain =
            if let line = self.chainBreak {
                "the chain breaks at line \(line)"
            } else if let end = self.chainEnd {
                "chained, ends in \(end)"
            } else {
                "not chained"
            }
        return "\(self.lines) lines\(skipped), \(chain)"
    }
}

/// The beginning of a name that may come from any source, without what could steer a terminal or break a line.
public func printableName(_ name: String, limit: Int = 200) -> String {
    let scalars = name.unicodeScalars.prefix(limit).map { $0.isUnfitForNames ? "?" : $0 }
    return String(String.UnicodeScalarView(scalars))
}

/// A sentence that may quote a name from any source.
private func printableText(_ text: String) -> String {
    printableName(text, limit: 1_000)
}

/// For example `12.345 s`.
private func seconds(_ nanoseconds: Int64) -> String {
    let milliseconds = nanoseconds / 1_000_000
    let fraction = String(milliseconds.magnitude % 1000)
    let sign = milliseconds < 0 ? "-" : ""
    return "\(sign)\(milliseconds.magnitude / 1000).\(String(repeating: "0", count: 3 - fraction.count))\(fraction) s"
}

/// For example `-12.3 ms`.
private func milliseconds(_ nanoseconds: Int64) -> String {
    "\(tenths(Double(nanoseconds) / 1e6)) ms"
}

/// A number with one digit behind the point.
private func tenths(_ value: Double) -> String {
    guard value.isFinite, abs(value) < 1e15 else { return "?" }
    let tenths = Int64((value * 10).rounded())
    return "\(tenths < 0 ? "-" : "")\(tenths.magnitude / 10).\(tenths.magnitude % 10)"
}
