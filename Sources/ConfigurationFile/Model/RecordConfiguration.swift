// SPDX-License-Identifier: Apache-2.0

/// What is recorded in a room.
public struct RecordConfiguration: Sendable, Hashable {
    /// What an export holds.
    public enum Layout: String, Sendable, Hashable, CaseIterable {
        /// Every track, on one clock.
        case tracks
    }

    /// Whether pictures are recorded.
    public var video = true
    /// Whether sound is recorded.
    public var audio = true
    /// Whether a recording starts by itself when media come.
    public var automatic = true
    /// Time without anybody in the room after which the recording is finished, 1 s to 1 d.
    public var emptyAfter = Duration.seconds(30)
    /// What is exported when a recording is finished, in this order; without doubles.
    public var exports: [Layout] = [.tracks]

    /// Everything, by itself.
    public init() {}
}
