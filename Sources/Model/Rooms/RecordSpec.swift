// SPDX-License-Identifier: Apache-2.0

public import Timeline

/// What is recorded in a room.
public struct RecordSpec: Sendable, Hashable, Codable {
    /// Whether a recording starts automatically when media come.
    public var isAutomatic = true
    /// Whether video is recorded.
    public var video = true
    /// Whether audio is recorded.
    public var audio = true
    /// Whether what people write into data channels is recorded.
    public var chat = true
    /// What is posted into the room's chat when a recording starts, one line; `nil` for nothing.
    public var announcement: String?
    /// Seconds without anybody in the room after which the recording is finished; the next media start another.
    public var emptyAfterSeconds = 30
    /// The video codec that others are asked to send; `nil`: as what we send, else VP8.
    public var preferredCodec: PreferredCodec?
    /// Seconds after which a recording is cut into the next of its series; `nil` for no such limit.
    public var segmentSeconds: Int?
    /// Bytes after which a recording is cut, where `segmentSeconds` is `nil`; 1 and up.
    public var segmentBytes: Int64?
    /// Milliseconds of what came before `.record` that are recorded.
    public var prerollMilliseconds = 0
    /// How often written data are forced to the disk, in milliseconds.
    public var synchroniseMilliseconds = 1000
    /// Words to find the recordings by.
    public var tags: [String] = []
    /// What people wrote about them.
    public var notes: String?
    /// The recording of another host that the next one continues; of a room that a cluster shares only.
    public var follows: SeriesPlace?

    /// What `emptyAfterSeconds` takes.
    public static let emptyAfterRange = 1...86_400
    /// What `segmentSeconds` takes: up to a week.
    public static let segmentRange = 1...604_800
    /// What `prerollMilliseconds` takes.
    public static let prerollRange = 0...60_000
    /// What `synchroniseMilliseconds` takes.
    public static let synchroniseRange = 100...60_000

    /// Everything, automatically.
    public init() {}

    /// Reads what is there; what is missing has its default.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        try values.read(.isAutomatic, into: &self.isAutomatic)
        try values.read(.video, into: &self.video)
        try values.read(.audio, into: &self.audio)
        try values.read(.chat, into: &self.chat)
        try values.read(.announcement, into: &self.announcement)
        try values.read(.emptyAfterSeconds, into: &self.emptyAfterSeconds)
        try values.read(.preferredCodec, into: &self.preferredCodec)
        try values.read(.segmentSeconds, into: &self.segmentSeconds)
        try values.read(.segmentBytes, into: &self.segmentBytes)
        try values.read(.prerollMilliseconds, into: &self.prerollMilliseconds)
        try values.read(.synchroniseMilliseconds, into: &self.synchroniseMilliseconds)
        try values.read(.tags, into: &self.tags)
        try values.read(.notes, into: &self.notes)
        try values.read(.follows, into: &self.follows)
    }

    /// Why something cannot be recorded like this.
    public enum Problem: Sendable, Hashable, CustomStringConvertible {
        /// A number is outside of its range.
        case range(RangeProblem)
        /// `segmentBytes` is so many.
        case segmentBytes(Int64)
        /// There is neither `video` nor `audio`.
        case nothing

        /// One sentence for a person.
        public var description: String {
            switch self {
            case .range(let problem): problem.description
            case .segmentBytes(let bytes): "segmentBytes takes 1 and more, not \(bytes)"
            case .nothing: "without video and audio there is nothing to record"
            }
        }
    }

    /// Everything that is wrong.
    public var problems: [Problem] {
        let ranges = [
            RangeProblem("emptyAfterSeconds", self.emptyAfterSeconds, in: Self.emptyAfterRange),
            self.segmentSeconds.flatMap { RangeProblem("segmentSeconds", $0, in: Self.segmentRange) },
            RangeProblem("prerollMilliseconds", self.prerollMilliseconds, in: Self.prerollRange),
            RangeProblem("synchroniseMilliseconds", self.synchroniseMilliseconds, in: Self.synchroniseRange),
        ]
        var problems = ranges.compactMap { $0.map { Problem.range($0) } }
        if let bytes = self.segmentBytes, bytes < 1 { problems.append(.segmentBytes(bytes)) }
        if !self.video, !self.audio { problems.append(.nothing) }
        return problems
    }
}
