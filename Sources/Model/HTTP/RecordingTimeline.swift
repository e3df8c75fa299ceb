// SPDX-License-Identifier: Apache-2.0

/// When each participant of a recording was there, spoke and was missing, and what happened; as the API shows it.
///
/// Times are seconds from the recording's first unit, which is the beginning of what is exported of it as a whole.
public struct RecordingTimeline: Sendable, Hashable, Codable {
    /// A stretch of time.
    public struct Span: Sendable, Hashable, Codable {
        /// Where it begins, in seconds.
        public var from: Double
        /// Where it ends, in seconds.
        public var to: Double

        /// A stretch with both ends given.
        public init(from: Double, to: Double) {
            self.from = from
            self.to = to
        }
    }

    /// A participant who was there.
    public struct Participant: Sendable, Hashable, Codable {
        /// The room server's name for the participant.
        public var id: String
        /// How people see the participant.
        public var name: String
        /// When the participant was there, in order.
        public var present: [Span]
        /// When the participant spoke, in order; nil before a grid or the audio of everyone was exported, whose job hears it.
        public var speaks: [Span]?
        /// When nothing of a track came that should have, in order; empty before the first export.
        public var gaps: [Span]

        /// A participant with each part given.
        public init(id: String, name: String, present: [Span], speaks: [Span]? = nil, gaps: [Span] = []) {
            self.id = id
            self.name = name
            self.present = present
            self.speaks = speaks
            self.gaps = gaps
        }
    }

    /// Something that happened.
    public struct Event: Sendable, Hashable, Codable {
        /// When, in seconds.
        public var at: Double
        /// What it was: `mark`, `joined`, `left`, `paused`, and so on, as events of exports are called.
        public var kind: String
        /// Whom it concerns, as people see the participant.
        public var name: String?
        /// A mark's text, or the number of a part.
        public var text: String?

        /// An event with each part given.
        public init(at: Double, kind: String, name: String? = nil, text: String? = nil) {
            self.at = at
            self.kind = kind
            self.name = name
            self.text = text
        }
    }

    /// The recording's length, in seconds.
    public var durationSeconds: Double
    /// All participants, in order of appearance.
    public var participants: [Participant]
    /// What happened, in order of time; at most 10,000.
    public var events: [Event]

    /// A timeline with each part given.
    public init(durationSeconds: Double, participants: [Participant], events: [Event]) {
        self.durationSeconds = durationSeconds
        self.participants = participants
        self.events = events
    }
}
