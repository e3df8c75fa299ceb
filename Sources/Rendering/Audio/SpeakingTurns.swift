// SPDX-License-Identifier: Apache-2.0

internal import Export
internal import Timeline

/// Turns of speech, gathered frame by frame.
struct SpeakingTurns {
    /// The most that are kept: a day of a lively call.
    private static let maximumTurns = 10_000

    private let participants: [String]
    private(set) var turns: [SpeakingTurn] = []
    private var current: (index: Int, since: Int64)?

    init(_ input: RenderInput) {
        self.participants = input.participants.map(\.id)
    }

    /// Takes who speaks from a time on; nil while no one does.
    mutating func note(_ speaker: Int?, at nanoseconds: Int64) {
        guard speaker != self.current?.index else { return }
        if let current, self.participants.indices.contains(current.index), self.turns.count < Self.maximumTurns {
            self.turns.append(
                SpeakingTurn(
                    participant: self.participants[current.index],
                    startNanoseconds: current.since,
                    durationNanoseconds: nanoseconds - current.since
                )
            )
        }
        self.current = speaker.map { (index: $0, since: nanoseconds) }
    }
}
