// SPDX-License-Identifier: Apache-2.0

internal import Basics

/// The keys of a room's `record`.
enum RecordKeys {
    static let video = Key("video", .boolean)
    static let audio = Key("audio", .boolean)
    static let chat = Key("chat", .boolean)
    static let automatic = Key("automatic", .boolean)
    static let emptyAfter = Key("empty_after", .duration(.seconds(1)...(.seconds(86_400)), example: "30s"))
    static let preferredCodec = Key("preferred_codec", ValueType<SendConfiguration.Codec>.choice)
    static let segment = Key("segment", ValueType<RecordConfiguration.Segment>.segment.or("none"))
    static let preroll = Key("preroll", .duration(.zero ... .seconds(60), example: "10s"))
    static let tags = Key("tags", ValueType<String>.line(maximum: 64))
    static let notes = Key("notes", ValueType<String>.line(maximum: 1024))
    static let export = Key("export", ValueType<RecordConfiguration.Layout>.choice)
    static let container = Key("container", ValueType<RecordConfiguration.Container>.choice)
    static let keepDamaged = Key("keep_damaged", .boolean)
    static let project = Key("project", .boolean)

    static let table = KeyTable(
        video.entry,
        audio.entry,
        chat.entry,
        automatic.entry,
        emptyAfter.entry,
        preferredCodec.entry,
        segment.entry,
        preroll.entry,
        tags.entry,
        notes.entry,
        export.entry,
        container.entry,
        keepDamaged.entry,
        project.entry
    )
}

extension ValueType where Value == RecordConfiguration.Segment {
    /// How large a segment is.
    fileprivate static let segment = ValueType(
        accepted: "a time from 10s to 7d or a size from 1MB to 1TB with its unit, such as 30m or 2GB"
    ) { text in
        if let time = DurationText.parse(text) {
            return (.seconds(10) ... .seconds(7 * 86_400)).contains(time) ? .time(time) : nil
        }
        guard let bytes = ByteCountText.parse(text), (1_000_000...1_000_000_000_000).contains(bytes) else { return nil }
        return .bytes(bytes)
    }
}

extension RecordConfiguration {
    /// Reads `record` of a room: nil for `none`, the defaults if there is none.
    static func read(_ room: MappingReader) -> RecordConfiguration? {
        var record = RecordConfiguration()
        guard let node = room.node("record") else { return record }
        if node.isWord("none") { return nil }
        let accepted = "none, or a mapping with \(RecordKeys.table.names.joined(separator: ", "))"
        let reader = MappingReader(
            node,
            RecordKeys.table,
            path: room.path(of: "record"),
            problems: room.problems,
            accepted: accepted
        )
        guard let reader else { return nil }
        record.video = reader.value(RecordKeys.video) ?? record.video
        record.audio = reader.value(RecordKeys.audio) ?? record.audio
        record.chat = reader.value(RecordKeys.chat) ?? record.chat
        record.automatic = reader.value(RecordKeys.automatic) ?? record.automatic
        record.emptyAfter = reader.value(RecordKeys.emptyAfter) ?? record.emptyAfter
        record.preferredCodec = reader.value(RecordKeys.preferredCodec)
        record.segment = reader.value(RecordKeys.segment) ?? record.segment
        record.preroll = reader.value(RecordKeys.preroll) ?? record.preroll
        record.tags = reader.values(RecordKeys.tags, count: 0...32) ?? record.tags
        record.notes = reader.value(RecordKeys.notes)
        if let exports = reader.values(RecordKeys.export, count: 0...Layout.allCases.count) {
            record.exports = exports
        }
        record.container = reader.value(RecordKeys.container) ?? record.container
        record.keepsDamaged = reader.value(RecordKeys.keepDamaged) ?? record.keepsDamaged
        record.writesProject = reader.value(RecordKeys.project) ?? record.writesProject
        if !record.video, !record.audio {
            reader.add(
                RecordKeys.audio.name,
                "without video and audio there is nothing to record",
                accepted: "record: none"
            )
        }
        return record
    }
}
