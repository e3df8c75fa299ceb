// SPDX-License-Identifier: Apache-2.0

import Basics
import Matroska
import Storage
import Timeline

/// Metadata of an export and its tracks, apart from their titles.
enum ExportTags {
    /// Longer values are cut: notes are people's, and names are peers'.
    private static let maximumLength = 4_096

    /// Tags of the whole file, then of each track; names are those of Matroska's registry where it has one.
    static func tags(
        _ contents: RecordingContents,
        _ folder: RecordingFolder,
        start: UTCTime?,
        program: String,
        tracks: [(entry: Track, lane: TrackLane)]
    ) -> [Tag] {
        var tags: [Tag] = []
        func add(_ name: String, _ value: String?, to uid: UInt64? = nil) {
            guard let value, !value.isEmpty else { return }
            tags.append(Tag(trackUID: uid, name: name, value: String(value.prefix(Self.maximumLength))))
        }
        add("ROOM", contents.room)
        add("RECORDING_ID", folder.id.rawValue)
        add("HOST", contents.history.started?.host)
        add("DATE_RECORDED", start?.iso8601)
        add("SERIES", contents.series?.id)
        add("PART_NUMBER", contents.series?.segment.map { String($0) })
        add("KEYWORDS", contents.history.tags.joined(separator: ","))
        add("COMMENT", contents.history.notes)
        add("ENCODER", program)
        for (entry, lane) in tracks {
            let source = lane.first
            add("PARTICIPANT_ID", source.participant, to: entry.uid)
            add("PARTICIPANT", source.name, to: entry.uid)
            add("SOURCE_FILE", lane.sources.map(\.file).joined(separator: ", "), to: entry.uid)
            add("CODEC", Self.codec(entry, source), to: entry.uid)
            add("CLOCK", lane.basis?.rawValue ?? "date", to: entry.uid)
        }
        return tags
    }

    /// For example `VP8 at 90000 Hz, payload type 96`.
    private static func codec(_ entry: Track, _ source: TrackSource) -> String {
        var text = entry.codec.title
        if let audio = entry.audio {
            text += ", \(Int(clamping: Int64(audio.sampleRate))) Hz, \(audio.channels) channels"
        }
        if let video = entry.video { text += ", \(video.width)×\(video.height)" }
        if let type = source.opened?.payloadType { text += ", RTP payload type \(type)" }
        return text
    }
}
