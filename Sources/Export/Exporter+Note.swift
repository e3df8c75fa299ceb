// SPDX-License-Identifier: Apache-2.0

internal import Storage
internal import Timeline

/// Work that follows every export: noting the verdict on the recording in its manifest and in the report.
extension Exporter {
    /// Notes an export that was made in another way; hashes it, and reads the recording's files once.
    ///
    /// - Returns: the report, with the verdict and what is missing in the recording.
    /// - Throws: `ExportError` with code `storage`, or `notNoted`.
    public static func note(_ report: ExportReport, of subject: ExportSubject) throws(ExportError) -> ExportReport {
        try Self.note(report, of: subject, contents: nil)
    }

    /// - Parameter contents: those of the recording, if they were read before; none for a series.
    static func note(
        _ report: ExportReport,
        of subject: ExportSubject,
        contents: RecordingContents?
    ) throws(ExportError) -> ExportReport {
        var digest: Certificate.FileDigest?
        do throws(StorageError) {
            let count = try File(report.output, .read).count
            digest = try HashingFile.sha256(report.output, first: count).map {
                .init(name: subject.folder.name(ofExport: report.output), bytes: count, sha256: $0)
            }
        } catch {
            throw ExportError(error)
        }
        return try Self.note(report, of: subject, contents: contents, digest)
    }

    /// - Parameters:
    ///   - digest: the export as it was read back just now.
    ///   - readings: what was gathered of the recording's track files while they were read for it.
    static func note(
        _ report: ExportReport,
        of subject: ExportSubject,
        contents known: RecordingContents?,
        _ digest: Certificate.FileDigest?,
        readings: [String: TrackReading] = [:]
    ) throws(ExportError) -> ExportReport {
        var report = report
        var warnings: [String] = []
        for (index, folder) in subject.folders.enumerated() {
            let contents: RecordingContents
            if let known { contents = known } else { contents = try RecordingContents(folder) }
            // A manifest that cannot be read is replaced, and the old file is kept next to it.
            let (earlier, aside) = (try? Manifest.readOrPutAside(folder)) ?? (nil, nil)
            if let aside {
                report.isOfDamaged = true
                warnings.append(subject.sentence("manifest.json could not be read, and is \(aside) now", index))
            }
            var certificate = RecordingExamination.certificate(
                contents,
                folder,
                earlier: earlier,
                readings: readings,
                export: index == 0 ? digest : nil
            )
            if index == 0, case .series(let series) = subject, series.isOfSeveralOwners {
                certificate.note(.init(.note, .seriesParts, file: digest?.name, series.parts(of: report.recordings)))
            }
            for join in index == 0 ? report.joined ?? [] : [] {
                certificate.note(.init(.note, .clocksJoined, file: digest?.name, join.text))
            }
            for gap in index == 0 ? report.gaps : [] { certificate.note(.ofSeries(gap, in: digest?.name)) }
            let prefix = subject.prefix(index)
            let damaged = Set(certificate.findings(.damage).compactMap { $0.file.map { prefix + $0 } })
            for index in report.tracks.indices {
                let files = report.tracks[index].files ?? [report.tracks[index].file]
                if !damaged.isDisjoint(with: files) { report.tracks[index].isComplete = false }
            }
            report.verdict = report.verdict.worse(certificate.verdict)
            let isLoss: (Certificate.Finding) -> Bool = {
                [.mediaRefused, .payloadUndecodable, .clockContradicts].contains($0.kind)
            }
            let losses = certificate.findings(.gap).contains(where: isLoss)
            report.losesMedia = report.losesMedia || losses
            if index == 0 { report.sources = certificate.sources }
            if certificate.findings(.damage).contains(where: { $0.kind != .notClosed }) { report.isOfDamaged = true }
            warnings += certificate.warnings.map { subject.sentence($0, index) }
            guard index == 0 else { continue }
            var manifest = contents.manifest(folder, certificate, earlier: earlier)
            manifest.note(report, folder)
            do throws(StorageError) {
                try manifest.write(folder, with: certificate)
            } catch {
                let text = "\(report.output) is whole, but its recording does not tell of it: \(error.message)"
                throw ExportError(.notNoted, text, cause: error)
            }
        }
        if case .series(let series) = subject, !series.missing.isEmpty {
            report.verdict = report.verdict.worse(.completeWithGaps)
        }
        report.warnings = warnings + report.warnings
        return report
    }
}

extension ExportSubject {
    /// The path from the first folder to the files of another one.
    fileprivate func prefix(_ index: Int) -> String {
        guard case .series(let series) = self, index > 0 else { return "" }
        return series.prefix(of: series.segments[index])
    }

    /// A sentence that says of which of several recordings it is.
    fileprivate func sentence(_ text: String, _ index: Int) -> String {
        guard case .series(let series) = self else { return text }
        return "segment \(series.segments[index].number): \(text)"
    }
}

extension Certificate.Verdict {
    /// The one of the two that says less good.
    fileprivate func worse(_ other: Certificate.Verdict) -> Certificate.Verdict {
        let order: [Certificate.Verdict] = [.complete, .completeWithGaps, .damaged]
        return order.last { $0 == self || $0 == other } ?? .damaged
    }
}
