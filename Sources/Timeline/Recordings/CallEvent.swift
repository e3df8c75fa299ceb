// SPDX-License-Identifier: Apache-2.0

public import Basics

/// Something that happened in a call, on the clock of an export.
public struct CallEvent: Sendable, Hashable, Codable {
    /// What happened.
    public enum Kind: String, Sendable, Hashable, Codable, CaseIterable {
        /// A participant came.
        case joined
        /// A participant went.
        case left
        /// A participant's sound stopped.
        case muted
        /// A participant's sound came back.
        case unmuted
        /// A participant's pictures stopped, or became black.
        case cameraOff = "camera-off"
        /// A participant's pictures came back.
        case cameraOn = "camera-on"
        /// The recording was paused.
        case paused
        /// The recording went on after a pause.
        case resumed
        /// The pictures of a track have another size.
        case resolutionChanged = "resolution-changed"
        /// A participant's pictures or sound go on in another codec.
        case codecChanged = "codec-changed"
        /// Nothing of a track came for a second or more.
        case gap
        /// Pictures that could not be decoded were left out.
        case leftOut = "left-out"
        /// The recorder stood still: nothing of anybody was taken.
        case stalled
        /// Another process went on with the recording.
        case part
        /// The next recording of a series begins.
        case segment
        /// Somebody marked the moment.
        case mark
    }

    /// When it began, in nanoseconds from the export's time zero; not negative.
    public var nanoseconds: Int64
    /// How long it lasted, in nanoseconds, for `gap`, `leftOut` and `stalled`.
    public var durationNanoseconds: Int64?
    /// What happened.
    public var kind: Kind
    /// Whom it concerns: the participant's id.
    public var participant: String?
    /// What the participant is called in titles.
    public var name: String?
    /// Which of the export's tracks it concerns, from 1.
    public var track: Int?
    /// Pictures or sound, where it concerns one of them.
    public var media: MediaKind?
    /// The size or codec before, the mark's text, the number of the part or segment.
    public var before: String?
    /// The size or codec from here on.
    public var after: String?
    /// Whether the media alone tell it, and a still picture or a quiet room would look the same.
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
