// SPDX-License-Identifier: Apache-2.0

internal import Basics

/// What we send into a room, and how it is coded.
public struct SendSpec: Sendable, Hashable, Codable {
    /// Where video comes from; `nil` sends none.
    public var video: MediaSource?
    /// Where audio comes from; `nil` sends none.
    ///
    /// The same file as for video is read once, so that lips match.
    public var audio: MediaSource?
    /// Values for parameters of the capture files, by name.
    public var parameters: [String: String] = [:]
    /// Absolute path of the operator's folder of pipeline files; `nil` for none.
    public var pipelines: String?
    /// The codec offered first.
    public var preferredCodec = PreferredCodec.vp8
    /// Video width in pixels: even, 320 to 7680.
    public var width = 1280
    /// Video height in pixels: even, 180 to 4320.
    public var height = 720
    /// Frames a second.
    public var framesPerSecond = 30
    /// Video bits a second that are sent where the network takes them.
    public var bitsPerSecond = 1_500_000
    /// Video bits a second that are sent where the network takes no more, at most `bitsPerSecond`; as much fixes the
    /// rate.
    public var minimumBitsPerSecond = 100_000
    /// Audio bits a second.
    public var audioBitsPerSecond = 64_000
    /// Whether Opus repeats speech in its next packet at a lower rate, so that one lost packet is not heard; mono then.
    public var usesAudioFEC = true
    /// Whether Opus sends next to nothing while it is silent.
    public var usesAudioDTX = false
    /// Whether sources stay open while no participant receives them.
    public var keepsOpen = false
    /// Whether the video is black; a camera device is closed then.
    public var isVideoMuted = false
    /// Whether there is silence; an audio device is closed then.
    public var isAudioMuted = false
    /// Whether the last frame stands still.
    public var isFrozen = false

    /// What `framesPerSecond` takes.
    public static let framesPerSecondRange = 1...60
    /// What `bitsPerSecond` and `minimumBitsPerSecond` take.
    public static let bitsPerSecondRange = 50_000...50_000_000
    /// What `audioBitsPerSecond` takes.
    public static let audioBitsPerSecondRange = 6000...510_000

    private enum CodingKeys: String, CodingKey {
        case video, audio, parameters, pipelines, preferredCodec, width, height, framesPerSecond, bitsPerSecond
        case minimumBitsPerSecond, audioBitsPerSecond, usesAudioFEC = "audioFEC", usesAudioDTX = "audioDTX", keepsOpen
        case isVideoMuted = "videoMuted", isAudioMuted = "audioMuted", isFrozen = "frozen"
    }

    /// The test pattern in 720p30 at 1.5 Mbit/s and the test tone.
    public init(video: MediaSource? = .test, audio: MediaSource? = .test) {
        self.video = video
        self.audio = audio
    }

    /// Reads what is there; without `video` or `audio` there is none, what else is missing has its default.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        self.init(video: nil, audio: nil)
        try values.read(.video, into: &self.video)
        try values.read(.audio, into: &self.audio)
        try values.read(.parameters, into: &self.parameters)
        try values.read(.pipelines, into: &self.pipelines)
        try values.read(.preferredCodec, into: &self.preferredCodec)
        try values.read(.width, into: &self.width)
        try values.read(.height, into: &self.height)
        try values.read(.framesPerSecond, into: &self.framesPerSecond)
        try values.read(.bitsPerSecond, into: &self.bitsPerSecond)
        self.minimumBitsPerSecond = min(self.minimumBitsPerSecond, self.bitsPerSecond)
        try values.read(.minimumBitsPerSecond, into: &self.minimumBitsPerSecond)
        try values.read(.audioBitsPerSecond, into: &self.audioBitsPerSecond)
        try values.read(.usesAudioFEC, into: &self.usesAudioFEC)
        try values.read(.usesAudioDTX, into: &self.usesAudioDTX)
        try values.read(.keepsOpen, into: &self.keepsOpen)
        try values.read(.isVideoMuted, into: &self.isVideoMuted)
        try values.read(.isAudioMuted, into: &self.isAudioMuted)
        try values.read(.isFrozen, into: &self.isFrozen)
    }

    /// Why something cannot be sent like this.
    public enum Problem: Sendable, Hashable, CustomStringConvertible {
        /// There is neither `video` nor `audio`.
        case nothing
        /// The video's sides are not what a camera may send.
        case size
        /// A number is outside of its range.
        case range(RangeProblem)
        /// `minimumBitsPerSecond` is more than `bitsPerSecond`, or out of range.
        case minimum(Int)

        /// One sentence for a person.
        public var description: String {
            switch self {
            case .nothing: "the camera has neither video nor audio"
            case .size: "the video takes \(VideoSize.sendable)"
            case .range(let problem): problem.description
            case .minimum(let bits):
                "minimumBitsPerSecond takes \(SendSpec.bitsPerSecondRange.lowerBound) to bitsPerSecond, not \(bits)"
            }
        }
    }

    /// Everything that is wrong; whether files and devices work shows when they are opened.
    public var problems: [Problem] {
        var problems: [Problem] = []
        if self.video == nil, self.audio == nil { problems.append(.nothing) }
        if !VideoSize(width: self.width, height: self.height).isSendable { problems.append(.size) }
        let ranges = [
            RangeProblem("framesPerSecond", self.framesPerSecond, in: Self.framesPerSecondRange),
            RangeProblem("bitsPerSecond", self.bitsPerSecond, in: Self.bitsPerSecondRange),
            RangeProblem("audioBitsPerSecond", self.audioBitsPerSecond, in: Self.audioBitsPerSecondRange),
        ]
        problems += ranges.compactMap { $0.map { .range($0) } }
        let minimum = self.minimumBitsPerSecond
        if minimum > self.bitsPerSecond || !Self.bitsPerSecondRange.contains(minimum) {
            problems.append(.minimum(minimum))
        }
        return problems
    }
}
