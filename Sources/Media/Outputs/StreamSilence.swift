// SPDX-License-Identifier: Apache-2.0

/// Whether one stream of a participant sends nothing while the other one continues, for example after a camera was
/// unplugged.
///
/// Silence of both means that the call is redialled, and changes nothing.
struct StreamSilence: Sendable, Hashable {
    /// How long nothing must come.
    private static let patience: Int64 = 6_000_000_000
    /// A stream with packets within this time continues.
    private static let recent: Int64 = 1_000_000_000
    /// How long packets must come again: each change is another beginning for receivers.
    private static let proof: Int64 = 2_000_000_000

    private(set) var isSilent = false
    /// Or when the stream began.
    private var lastPacket: Int64?
    private var backSince: Int64?

    /// Takes the time of the last packet, nil without any.
    mutating func note(_ time: Int64?, now: Int64) {
        self.lastPacket = max(self.lastPacket ?? now, time ?? .min)
    }

    /// Decides together with the participant's stream of the other kind; both must be noted before.
    mutating func decide(beside other: StreamSilence?, now: Int64) {
        guard self.isSilent else {
            guard let other, !other.isSilent, other.age(now) < Self.recent else { return }
            self.isSilent = self.age(now) >= Self.patience
            return
        }
        guard self.age(now) < Self.recent else {
            self.backSince = nil
            return
        }
        let since = self.backSince ?? now
        self.backSince = since
        guard now - since >= Self.proof else { return }
        (self.isSilent, self.backSince) = (false, nil)
    }

    private func age(_ now: Int64) -> Int64 {
        self.lastPacket.map { now - $0 } ?? 0
    }
}
