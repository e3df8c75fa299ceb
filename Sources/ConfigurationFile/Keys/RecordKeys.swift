// SPDX-License-Identifier: Apache-2.0

/// The keys of a room's `record`.
enum RecordKeys {
    static let video = Key("video", .boolean)
    static let audio = Key("audio", .boolean)
    static let automatic = Key("automatic", .boolean)
    static let emptyAfter = Key("empty_after", .duration(.seconds(1)...(.seconds(86_400)), example: "30s"))
    static let segment = Key("segment", ValueType<String>.unsupported(but: "none"))
    static let preroll = Key("preroll", ValueType<String>.unsupported(but: "0s"))
    static let export = Key("export", ValueType<RecordConfiguration.Layout>.choice)

    static let table = KeyTable(
        video.entry,
        audio.entry,
        automatic.entry,
        emptyAfter.entry,
        segment.entry,
        preroll.entry,
        export.entry
    )
}

extension ValueType where Value == String {
    /// Something that only later versions do: one word means that it is not wanted.
    fileprivate static func unsupported(but word: String) -> ValueType {
        ValueType(accepted: word) { scalar throws(WrongValue) in
            guard scalar.text == word else {
                throw WrongValue(reason: "not supported by this version; accepted: \(word)")
            }
            return word
        }
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
        record.automatic = reader.value(RecordKeys.automatic) ?? record.automatic
        record.emptyAfter = reader.value(RecordKeys.emptyAfter) ?? record.emptyAfter
        _ = reader.value(RecordKeys.segment)
        _ = reader.value(RecordKeys.preroll)
        if let exports = reader.values(RecordKeys.export, count: 0...Layout.allCases.count) {
            record.exports = exports
        }
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
