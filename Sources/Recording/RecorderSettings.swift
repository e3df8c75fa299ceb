// SPDX-License-Identifier: Apache-2.0

internal import Basics
public import Timeline

/// How a room is recorded.
public struct RecorderSettings: Sendable, Hashable {
    /// The storage directory: recordings go to `<storage>/recordings/<room>/…`.
    public var storage: String
    /// The room's name as the peers know it; untrusted.
    public var room: String
    /// This host's name, for recordings whose parts come from several machines.
    public var host: String
    /// The name under which others see us in the room, if it has one.
    public var displayName: String?
    /// How often written data are forced to the disk, against a power cut; a slow disk is asked less often.
    public var synchroniseEvery: Duration = .seconds(1)
    /// Whether the first media start a recording; otherwise `record()` does.
    public var isAutomatic = true
    /// Whether video is recorded.
    public var recordsVideo = true
    /// Whether audio is recorded.
    public var recordsAudio = true
    /// Whether what people write into data channels is recorded.
    public var recordsChat = true
    /// How long the room must be empty for a recording to end; nil for a recorder whose owner ends it.
    public var emptyLimit: Duration?
    /// How large one recording gets before the next one of its series begins; nil for one that only its end ends.
    public var segment: SegmentPolicy.Limit?
    /// How much of what came before `record()` is recorded, 0 to 60 s.
    public var preroll = Duration.zero
    /// Words to find the recordings by.
    public var tags: [String] = []
    /// Notes that operators or participants wrote about the recordings.
    public var notes: String?
    /// The claim of this host to the room; nil for a room that no cluster shares.
    public var claim: RecordingClaim?
    /// The recording of another host that the next one continues, as the next of its series.
    public var follows: SeriesPlace?
    /// The folder of an unfinished recording to continue as its next part.
    public var continues: String?
    /// Whether that one is paused until `resume()`.
    public var continuesPaused = false

    /// Settings for one room: record everything, automatically, until `finish`.
    public init(storage: String, room: String, host: String) {
        self.storage = storage
        self.room = room
        self.host = host
    }

    /// Memory for what came before `record()`.
    private static let prerollBytes = 64 << 20

    /// The buffer of media that came before a recording; nil to keep none.
    var prerollBuffer: PrerollBuffer? {
        guard self.preroll > .zero else { return nil }
        return PrerollBuffer(span: self.preroll.nanoseconds, maximumBytes: Self.prerollBytes)
    }

    /// The state to begin with.
    func machine(goesOn: Bool, now: Int64) -> RecordingStateMachine {
        RecordingStateMachine(
            startsByItself: self.isAutomatic,
            goesOn: goesOn,
            isPaused: self.continuesPaused,
            emptyLimit: self.emptyLimit.map { UInt64(clamping: $0.nanoseconds) },
            now: UInt64(clamping: now)
        )
    }
}
