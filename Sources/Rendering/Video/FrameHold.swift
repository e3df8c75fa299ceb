// SPDX-License-Identifier: Apache-2.0

/// How long the newest frame of a track stays on its tile.
///
/// Slides and still screens come as one frame in many seconds: the frame stays while its source is alive.
struct FrameHold {
    /// A frame stays for this long in any case, in nanoseconds.
    private static let shortest: Int64 = 2_000_000_000

    /// The track's last sign of life: its last frame, or its sender's last report of it.
    let aliveUntilNanoseconds: Int64
    /// When the participant, or the operator, wants nothing to be seen.
    let pauses: [Range<Int64>]

    /// Whether a frame that was shown at one time is still shown at another.
    func holds(_ shownNanoseconds: Int64, at nanoseconds: Int64) -> Bool {
        if nanoseconds &- shownNanoseconds <= Self.shortest { return true }
        if self.pauses.contains(where: { $0.contains(nanoseconds) }) { return false }
        return nanoseconds &- self.aliveUntilNanoseconds <= Self.shortest
    }
}
