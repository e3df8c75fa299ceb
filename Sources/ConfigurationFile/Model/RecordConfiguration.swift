// SPDX-License-Identifier: Apache-2.0

/// What is recorded in a room.
public struct RecordConfiguration: Sendable, Hashable {
    /// What an export holds.
    public enum Layout: String, Sendable, Hashable, CaseIterable {
        /// Every track, on one clock.
        case tracks
        /// Everybody in one picture.
        case grid
        /// The sound of everybody.
        case audio
    }

    /// Whether pictures are recorded.
    public var video = true
    /// Whether sound is recorded.
    public var audio = true
    /// Whether what people write into data channels is recorded.
    public var chat = true
    /// Whether a recording starts by itself when media come.
    public var automatic = true
    /// Time without anybody in the room after which the recording is finished, 1 s to 1 d.
    public var emptyAfter = Duration.seconds(30)
    /// The video codec that others are asked to send; `nil`: as what we send, else VP8.
    public var preferredCodec: SendConfiguration.Codec?
    /// How large one recording gets before the next one of its series begins.
    public enum Segment: Sendable, Hashable {
        /// 10 s to 7 d.
        case time(Duration)
        /// 1 MB to 1 TB.
        case bytes(Int64)
    }

    /// How large one recording gets before the next one of its series begins; `nil` for one that is not cut.
    public var segment: Segment?
    /// How much of what came before it is ordered a recording begins with, 0 to 1 min.
    public var preroll = Duration.zero
    /// Words to find the recordings by, at most 32 of 64 characters.
    public var tags: [String] = []
    /// What people should know about the recordings, one line of at most 1024 characters.
    public var notes: String?
    /// What is exported when a recording is finished, in this order; without doubles.
    public var exports: [Layout] = [.tracks]
    /// The kind of file of the layout `tracks`.
    public enum Container: String, Sendable, Hashable, CaseIterable {
        /// Takes everything.
        case mkv
        /// VP8, VP9 and Opus.
        case webm
        /// H.264, VP9 and Opus.
        case mp4
    }

    /// The kind of file of the layout `tracks`; with codecs that it does not take, the export fails.
    public var container = Container.mkv
    /// Whether the layout `tracks` keeps pictures that cannot be decoded.
    public var keepsDamaged = false
    /// Whether the layout `tracks` comes with a project of OpenTimelineIO.
    public var writesProject = false

    /// Everything, by itself.
    public init() {}
}
