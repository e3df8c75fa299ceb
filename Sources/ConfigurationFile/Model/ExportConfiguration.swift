// SPDX-License-Identifier: Apache-2.0

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
    /// Whether the layout `tracks` keeps pictures that cannot be decoded.
    public var keepsDamaged = false
    /// Whether the layout `tracks` comes with a project of OpenTimelineIO.
    public var writesProject = false

    /// Every track in one MKV.
    public init() {}
}
