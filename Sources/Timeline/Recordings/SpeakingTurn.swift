// SPDX-License-Identifier: Apache-2.0

/// A stretch in which one participant spoke, from the recording's first unit; as JSON it is as manifests have it.
public struct SpeakingTurn: Sendable, Hashable, Codable {
    /// The participant's id.
    public var participant: String
    /// Where it begins, in nanoseconds.
    public var startNanoseconds: Int64
    /// How long it is, in nanoseconds.
    public var durationNanoseconds: Int64

    /// A turn with each part given.
    public init(participant: String, startNanoseconds: Int64, durationNanoseconds: Int64) {
        self.participant = participant
        self.startNanoseconds = startNanoseconds
        self.durationNanoseconds = durationNanoseconds
    }

    private enum CodingKeys: String, CodingKey {
        case participant
        case startNanoseconds = "start_ns"
        case durationNanoseconds = "duration_ns"
    }
}
