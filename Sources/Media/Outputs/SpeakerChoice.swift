// SPDX-License-Identifier: Apache-2.0

/// Chooses the speaker, by how much audio comes from each participant.
///
/// Codecs with a variable rate, such as Opus in browsers, take less for silence than for speech. Nothing is decoded.
/// Where all participants send the same amount all the time (G.711), the first one stays.
struct SpeakerChoice: Sendable {
    /// Another participant must send this many times as much, in hundredths.
    private static let lead: UInt64 = 130
    /// For this many looks, one after the other.
    private static let patience = 2

    /// The participant that speaks; nil without participants.
    private(set) var speaker: String?
    private var before: [String: UInt64] = [:]
    private var rival: (participant: String, looks: Int)?

    /// Takes how many bytes of audio came from each participant so far; once a second.
    mutating func note(_ bytes: [String: UInt64]) {
        var rates: [String: UInt64] = [:]
        for (participant, total) in bytes {
            // A track that came back counts from zero.
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
