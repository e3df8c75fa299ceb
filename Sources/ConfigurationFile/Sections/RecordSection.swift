// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import Model

/// The keys of a room's `record`.
enum RecordKeys {
    static let video = Key("video", .boolean)
    static let audio = Key("audio", .boolean)
    static let chat = Key("chat", .boolean)
    static let automatic = Key("automatic", .boolean)
    static let emptyAfter = Key("empty_after", .seconds(RecordSpec.emptyAfterRange, example: "30s"))
    static let preferredCodec = Key("preferred_codec", ValueType<PreferredCodec>.choice)
    static let segment = Key("segment", ValueType<Segment>.segment.or("none"))
    static let preroll = Key("preroll", .milliseconds(RecordSpec.prerollRange, example: "10s"))
    static let tags = Key("tags", ValueType<String>.line(maximum: 64))
    static let notes = Key("notes", ValueType<String>.line(maximum: 1024))
    static let layouts: [ExportSpec.Layout.Name] = [.tracks, .grid, .audio]
    static let export = Key("export", .choice(of: Self.layouts))
    static let container = Key("container", ValueType<ExportSpec.Container>.choice)
    static let switches = ExportSpec.Tracks.Switch.allCases.map {
        ($0, Key($0.rawValue.words(separator: "_"), .boolean))
    }

    static let table = KeyTable(
        [
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
        ] + switches.map(\.1.entry)
    )
}

/// How large one recording gets before the next one of its series begins.
enum Segment: Sendable, Hashable {
    /// Seconds, 10 to 7 d.
    case time(Int)
    /// 1 MB to 1 TB.
    case bytes(Int64)
}

extension ValueType where Value == Segment {
    /// How large a segment is.
    fileprivate static let segment = ValueType(
        accepted: "a time from 10s to 7d or a size from 1MB to 1TB with its unit, such as 30m or 2GB"
    ) { text in
        if let time = DurationText.parse(text) {
            let range = Duration.seconds(10)...(.seconds(RecordSpec.segmentRange.upperBound))
            return range.contains(time) ? .time(Int(time.components.seconds)) : nil
        }
        guard let bytes = ByteCountText.parse(text), (1_000_000...1_000_000_000_000).contains(bytes) else { return nil }
        return .bytes(bytes)
    }
}

extension RoomConfiguration {
    /// Reads `record` of a room: nothing is recorded for `none`, and everything if there is none.
    static func readRecord(_ room: MappingReader) -> (record: RecordSpec?, exports: [ExportSpec]) {
        guard let node = room.node("record") else { return (RecordSpec(), [ExportSpec()]) }
        if node.isWord("none") { return (nil, [ExportSpec()]) }
        let accepted = "none, or a mapping with \(RecordKeys.table.names.joined(separator: ", "))"
        let reader = MappingReader(
            node,
            RecordKeys.table,
            path: room.path(of: "record"),
            problems: room.problems,
            accepted: accepted
        )
        return (reader.map { RecordSpec($0) }, reader.map { [ExportSpec]($0) } ?? [ExportSpec()])
    }
}

extension RecordSpec {
    fileprivate init(_ reader: MappingReader) {
        self.init()
        self.video = reader.value(RecordKeys.video) ?? self.video
        self.audio = reader.value(RecordKeys.audio) ?? self.audio
        self.chat = reader.value(RecordKeys.chat) ?? self.chat
        self.isAutomatic = reader.value(RecordKeys.automatic) ?? self.isAutomatic
        self.emptyAfterSeconds = reader.value(RecordKeys.emptyAfter) ?? self.emptyAfterSeconds
        self.preferredCodec = reader.value(RecordKeys.preferredCodec)
        switch reader.value(RecordKeys.segment) ?? nil {
        case .time(let seconds): self.segmentSeconds = seconds
        case .bytes(let bytes): self.segmentBytes = bytes
        case nil: break
        }
        self.prerollMilliseconds = reader.value(RecordKeys.preroll) ?? self.prerollMilliseconds
        self.tags = reader.values(RecordKeys.tags, count: 0...32) ?? self.tags
        self.notes = reader.value(RecordKeys.notes)
        // Ranges are those of the keys.
        if self.problems.contains(.nothing) {
            reader.add(RecordKeys.audio.name, "\(Problem.nothing)", accepted: "record: none")
        }
    }
}

extension [ExportSpec] {
    fileprivate init(_ reader: MappingReader) {
        let layouts = reader.values(RecordKeys.export, count: 0...RecordKeys.layouts.count) ?? [.tracks]
        var tracks = ExportSpec.Tracks()
        tracks.container = reader.value(RecordKeys.container) ?? tracks.container
        let switches = RecordKeys.switches.filter { reader.value($0.1) ?? false }
        tracks.switches = Set(switches.map(\.0))
        self = layouts.map { $0 == .tracks ? ExportSpec(.tracks(tracks)) : ExportSpec(.init($0)) }
        if Set(layouts).count < layouts.count { reader.add(RecordKeys.export.name, "a layout stands there twice") }
        // What is not exported at all may keep the rest of its settings.
        guard !layouts.isEmpty, !layouts.contains(.tracks) else { return }
        let container = reader.has(RecordKeys.container.name) ? [RecordKeys.container.name] : []
        for name in container + switches.map(\.1.name) {
            reader.add(name, "is of the layout tracks, which is not exported", accepted: "tracks in export")
        }
    }
}
