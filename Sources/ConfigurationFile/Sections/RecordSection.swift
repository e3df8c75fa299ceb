// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import Model

/// What becomes of a room's recordings when they are finished: the keys of `record` that no worker is told.
public struct ExportConfiguration: Sendable, Hashable {
    /// What an export holds.
    public enum Layout: String, Sendable, Hashable, CaseIterable {
        /// Every track, on one clock.
        case tracks
        /// Everybody in one picture.
        case grid
        /// The sound of everybody.
        case audio
    }

    /// The kind of file of the layout `tracks`.
    public enum Container: String, Sendable, Hashable, CaseIterable {
        /// Takes everything.
        case mkv
        /// VP8, VP9 and Opus.
        case webm
        /// H.264, VP9 and Opus.
        case mp4
    }

    /// What is exported, in this order; without doubles.
    public var layouts: [Layout] = [.tracks]
    /// The kind of file of the layout `tracks`; with codecs that it does not take, the export fails.
    public var container = Container.mkv
    /// Whether the layout `tracks` keeps frames that cannot be decoded.
    public var keepsDamaged = false
    /// Whether the layout `tracks` gives each stream its own track.
    public var separatesTracks = false
    /// Whether the layout `tracks` comes with a project of OpenTimelineIO.
    public var writesProject = false

    /// Every track in one MKV.
    public init() {}
}

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
    static let export = Key("export", ValueType<ExportConfiguration.Layout>.choice)
    static let container = Key("container", ValueType<ExportConfiguration.Container>.choice)
    static let keepDamaged = Key("keep_damaged", .boolean)
    static let separateTracks = Key("separate_tracks", .boolean)
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
        separateTracks.entry,
        project.entry
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
    static func readRecord(_ room: MappingReader) -> (record: RecordSpec?, export: ExportConfiguration) {
        guard let node = room.node("record") else { return (RecordSpec(), ExportConfiguration()) }
        if node.isWord("none") { return (nil, ExportConfiguration()) }
        let accepted = "none, or a mapping with \(RecordKeys.table.names.joined(separator: ", "))"
        let reader = MappingReader(
            node,
            RecordKeys.table,
            path: room.path(of: "record"),
            problems: room.problems,
            accepted: accepted
        )
        return (reader.map { RecordSpec($0) }, reader.map { ExportConfiguration($0) } ?? ExportConfiguration())
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

extension ExportConfiguration {
    fileprivate init(_ reader: MappingReader) {
        self.init()
        self.layouts = reader.values(RecordKeys.export, count: 0...Layout.allCases.count) ?? self.layouts
        self.container = reader.value(RecordKeys.container) ?? self.container
        self.keepsDamaged = reader.value(RecordKeys.keepDamaged) ?? self.keepsDamaged
        self.separatesTracks = reader.value(RecordKeys.separateTracks) ?? self.separatesTracks
        self.writesProject = reader.value(RecordKeys.project) ?? self.writesProject
        if Set(self.layouts).count < self.layouts.count {
            reader.add(RecordKeys.export.name, "a layout stands there twice")
        }
        // What is not exported at all may keep the rest of its settings.
        guard !self.layouts.isEmpty, !self.layouts.contains(.tracks) else { return }
        let settings = [
            (RecordKeys.container.name, reader.has(RecordKeys.container.name)),
            (RecordKeys.keepDamaged.name, self.keepsDamaged),
            (RecordKeys.separateTracks.name, self.separatesTracks), (RecordKeys.project.name, self.writesProject),
        ]
        for case (let name, true) in settings {
            reader.add(name, "is of the layout tracks, which is not exported", accepted: "tracks in export")
        }
    }
}
