// SPDX-License-Identifier: Apache-2.0

/// How loud each participant of a recording is over its length; as the API shows it.
public struct RecordingLevels: Sendable, Hashable, Codable {
    /// Digital silence and everything below it, in decibels.
    public static let silence = -90
    /// The most steps that a curve has.
    public static let maximumSteps = 500
    /// The most participants that have a curve.
    public static let maximumParticipants = 200

    /// A participant who sent audio.
    public struct Participant: Sendable, Hashable, Codable {
        /// The room server's name for the participant.
        public var id: String
        /// The loudest packet of each step from the recording's first unit on, in decibels below full scale: `silence` to 0.
        public var levels: [Int]
        /// Whether audio that was recorded cannot be read or decoded any more, and is silent in `levels`; `nil` if not.
        public var isDamaged: Bool?

        /// A participant with each part given.
        public init(id: String, levels: [Int], isDamaged: Bool? = nil) {
            self.id = id
            self.levels = levels
            self.isDamaged = isDamaged
        }

        private enum CodingKeys: String, CodingKey {
            case id, levels
            case isDamaged = "damaged"
        }
    }

    /// How long a step is, in seconds.
    public var stepSeconds: Double
    /// Those who sent audio, in the order of their first tracks.
    public var participants: [Participant]

    /// Levels with both parts given.
    public init(stepSeconds: Double, participants: [Participant]) {
        self.stepSeconds = stepSeconds
        self.participants = participants
    }
}
