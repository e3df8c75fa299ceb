// SPDX-License-Identifier: Apache-2.0

import Basics
import Catalogue
import Control
import Model
import Storage
import Timeline

extension CatalogueError {
    /// The same kind of failure as the HTTP API names it.
    var controlCode: ControlError.Code {
        switch self.code {
        case .notFound: .notFound
        case .invalid: .invalid
        case .storage, .denied: .failed
        }
    }
}

extension RecordingResource {
    /// A row of the catalogue, without tracks and files.
    init(_ entry: RecordingEntry) {
        let shown = ParticipantRoster(entry.participants).shown
        self.init(
            id: entry.id.rawValue,
            room: entry.room,
            start: entry.start.iso8601,
            durationSeconds: entry.state == .recording ? nil : entry.durationSeconds,
            bytes: entry.bytes,
            state: entry.state.rawValue,
            verdict: entry.verdict?.rawValue,
            participants: entry.participants.map { shown[$0.id] },
            tags: entry.tags,
            notes: entry.notes
        )
    }
}

extension RecordingResource.Certificate {
    /// What a manifest says; `nil` if it is of a version without certificates.
    init?(_ manifest: Manifest) {
        guard let certificate = manifest.certificate else { return nil }
        func sentences(_ severity: Certificate.Severity) -> [String] {
            certificate.findings(severity).prefix(Self.maximumFindings).map { finding in
                finding.file.map { "\($0): \(finding.text)" } ?? finding.text
            }
        }
        self.init(
            verdict: certificate.verdict.rawValue,
            durationSeconds: Double(certificate.durationNanoseconds) / 1e9,
            wallClockSeconds: certificate.wallClockNanoseconds.map { Double($0) / 1e9 },
            gaps: sentences(.gap),
            damage: sentences(.damage),
            files: manifest.files ?? []
        )
    }
}

extension ExportResource {
    /// A row of the catalogue.
    init(_ entry: ExportEntry) {
        self.init(
            id: entry.id,
            recording: entry.recording.rawValue,
            layout: entry.spec.layout.name.rawValue,
            state: entry.state,
            progress: entry.progress,
            file: entry.file,
            error: entry.error,
            attempts: entry.attempts,
            nextAttempt: entry.state == .queued ? entry.due?.iso8601 : nil
        )
    }
}
