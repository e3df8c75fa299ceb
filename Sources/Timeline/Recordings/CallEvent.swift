// SPDX-License-Identifier: Apache-2.0

public import Basics

/// Something that happened in a call, on the clock of an export.
public struct CallEvent: Sendable, Hashable, Codable {
    /// The kind of an event.
    public enum Kind: String, Sendable, Hashable, Codable, CaseIterable {
        /// A participant came.
        case joined
        /// A participant went.
        case left
        /// A participant's audio stopped.
        case muted
        /// A participant's audio came back.
        case unmuted
        /// A participant's video stopped, or became black.
        case cameraOff = "camera-off"
        /// A participant's video came back.
        case cameraOn = "camera-on"
        /// The recording was paused.
        case paused
        /// The recording resumed after a pause.
        case resumed
        /// The video of a track has another size.
        case resolutionChanged = "resolution-changed"
        /// A participant's video or audio continues in another codec.
        case codecChanged = "codec-changed"
        /// Nothing of a track came for a second or more.
        case gap
        /// Frames that could not be decoded were left out.
        case leftOut = "left-out"
        /// The recorder stood still: nothing of any participant was taken.
        case stalled
        /// Another process continued the recording.
        case part
        /// The next recording of a series begins.
        case segment
        /// A person or a program marked the moment.
        case mark
    }

    /// When it began, in nanoseconds from the export's time zero; not negative.
    public var nanoseconds: Int64
    /// How long it lasted, in nanoseconds, for `gap`, `leftOut` and `stalled`.
    public var durationNanoseconds: Int64?
    /// The kind of the event.
    public var kind: Kind
    /// Whom it concerns: the participant's id.
    public var participant: String?
    /// The participant's name in titles.
    public var name: String?
    /// Which of the export's tracks it concerns, from 1.
    public var track: Int?
    /// Video or audio, if it concerns one of them.
    public var media: MediaKind?
    /// The size or codec before, the mark's text, the number of the part or segment.
    public var before: String?
    /// The size or codec from here on.
    public var after: String?
    /// Whether it was inferred from the media alone: a still image or a quiet room would look the same.
    public var isGuess: Bool

    /// An event with each part given.
    public init(
        _ kind: Kind,
        at nanoseconds: Int64,
        durationNanoseconds: Int64? = nil,
        participant: String? = nil,
        name: String? = nil,
        track: Int? = nil,
        media: MediaKind? = nil,
        before: String? = nil,
        after: String? = nil,
        isGuess: Bool = false
    ) {
        self.nanoseconds = nanoseconds
        self.durationNanoseconds = durationNanoseconds
        self.kind = kind
        self.participant = participant
        self.name = name
        self.track = track
        self.media = media
        self.before = before
        self.after = after
        self.isGuess = isGuess
    }

    private enum CodingKeys: String, CodingKey {
        case kind, participant, name, track, media, before, after
        case nanoseconds = "at_ns"
        case durationNanoseconds = "duration_ns"
        case isGuess = "guess"
    }
}
