// SPDX-License-Identifier: Apache-2.0

import Storage

extension RecordingContents {
    /// The manifest after an export: what the folder holds, and the exports so far, the new one last.
    func manifest(_ folder: RecordingFolder, report: ExportReport) -> Manifest {
        var manifest = Manifest(
            room: self.room,
            id: folder.id,
            start: self.started?.utc,
            host: self.host,
            verdict: report.isComplete ? .complete : .incomplete
        )
        manifest.participants = self.participants
        for track in report.tracks where !manifest.participants.contains(where: { $0.id == track.participant }) {
            manifest.participants.append(Manifest.Participant(id: track.participant))
        }
        manifest.tracks = report.tracks.map { track in
            Manifest.Track(
                number: track.sourceTrack,
                participant: track.participant,
                media: track.media,
                codec: track.codec,
                file: track.file,
                units: track.units,
                bytes: track.bytes,
                keyframes: track.keyframes
            )
        }
        let inside = folder.path + "/"
        let file = report.output.hasPrefix(inside) ? String(report.output.dropFirst(inside.count)) : report.output
        // A manifest that cannot be read is rebuilt: all but older exports comes from the journal and the tracks.
        let earlier = ((try? Manifest.read(folder)) ?? nil)?.exports ?? []
        manifest.exports = earlier.filter { $0.file != file }
        manifest.exports.append(
            Manifest.Export(
                file: file,
                layout: report.layout,
                durationNanoseconds: report.durationNanoseconds,
                bytes: report.bytes
            )
        )
        return manifest
    }
}
