// SPDX-License-Identifier: Apache-2.0

import Catalogue
import Control
import Storage
import Timeline

extension CatalogueError {
    /// The same kind of failure as the interface names it.
    var controlCode: ControlError.Code {
        switch self.code {
        case .notFound: .notFound
        case .invalid: .invalid
        case .storage: .failed
        }
    }
}

extension RecordingResource {
    /// A row of the catalogue, without tracks and files.
    init(_ entry: RecordingEntry) {
        self.init(
            id: entry.id.rawValue,
            room: entry.room,
            start: entry.start.iso8601,
            durationSeconds: entry.durationSeconds,
            bytes: entry.bytes,
            state: entry.state.rawValue,
            verdict: entry.verdict?.rawValue,
            participants: entry.participants.map { $0.name ?? $0.id }
        )
    }
}

extension RecordingResource.Track {
    init(_ track: RecordingEntry.Track) {
        self.init(
            number: track.number,
            participant: track.participant,
            kind: track.media.rawValue,
            codec: track.codec,
            units: track.units,
            bytes: track.bytes
        )
    }
}

extension ExportResource {
    /// A row of the catalogue.
    init(_ entry: ExportEntry) {
        self.init(
            id: entry.id,
            recording: entry.recording.rawValue,
            layout: entry.layout,
            state: State(entry.state),
            progress: entry.progress,
            file: entry.file,
            error: entry.error
        )
    }
}

extension ExportResource.State {
    fileprivate init(_ state: ExportEntry.State) {
        switch state {
        case .queued: self = .queued
        case .running: self = .running
        case .done: self = .done
        case .failed: self = .failed
        }
    }
}
