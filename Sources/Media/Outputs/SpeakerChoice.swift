// SPDX-License-Identifier: Apache-2.0

/// Who speaks, by how much sound comes from everybody.
///
/// Codecs with a variable rate, such as Opus in browsers, take less for silence than for speech. Nothing is decoded. Where
/// everybody sends the same all the time (G.711), who was first stays.
struct SpeakerChoice: Sendable {
    /// Somebody else has to send so many times as much, in hundredths.
    private static let lead: UInt64 = 130
    /// For so many looks, one after the other.
    private static let patience = 2

    /// The participant who speaks; nil while nobody is there.
    private(set) var speaker: String?
    private var before: [String: UInt64] = [:]
    private var rival: (participant: String, looks: Int)?

    /// Takes how many bytes of sound came from everybody so far; once a second.
    mutating func note(_ bytes: [String: UInt64]) {
        var rates: [String: UInt64] = [:]
        for (participant, total) in bytes {
            // A track that came anew counts from zero.
            let before = self.before[participant] ?? total
            rates[participant] = total >= before ? total - before : 0
        }
        self.before = bytes
        let loudest = rates.max { ($0.value, $1.key) < ($1.value, $0.key) }
        guard let loudest else {
            (self.speaker, self.rival) = (nil, nil)
            return
        }
        guard let speaker = self.speaker, let own = rates[speaker] else {
            (self.speaker, self.rival) = (loudest.key, nil)
            return
        }
        guard loudest.key != speaker, loudest.value / Self.lead > own / 100
        else {
            self.rival = nil
            return
        }
        let looks = self.rival?.participant == loudest.key ? (self.rival?.looks ?? 0) + 1 : 1
        if looks >= Self.patience {
            (self.speaker, self.rival) = (loudest.key, nil)
        } else {
            self.rival = (loudest.key, looks)
        }
    }
}
