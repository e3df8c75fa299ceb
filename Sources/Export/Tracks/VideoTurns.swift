// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import Timeline

/// How the frames of a track are turned, and from when on, as its journal says.
struct VideoTurns {
    /// People turn a phone a few times a minute; one that is shaken all day costs no more memory.
    private static let most = 10_000

    private var lastRTPTime: Int64?
    private var turns: [(rtpTime: Int64, rotation: VideoRotation)] = []

    /// Whether the journal says of no frame how it is turned.
    private(set) var isEmpty = true

    /// The format of the track's frames changed, and says how they are turned.
    mutating func note(_ change: FormatChanged) {
        self.isEmpty = false
        let rotation = change.rotation ?? .upright
        guard rotation != self.turns.last?.rotation ?? .upright, self.turns.count < Self.most else { return }
        self.turns.append((change.rtpTime, rotation))
    }

    /// The track has frames up to that RTP time at least.
    mutating func reached(_ rtpTime: Int64) {
        self.lastRTPTime = max(self.lastRTPTime ?? rtpTime, rtpTime)
    }

    /// How the frame of that RTP time is turned.
    func rotation(at rtpTime: Int64) -> VideoRotation {
        let next = self.turns.partitioningIndex { $0.rtpTime > rtpTime }
        return next == 0 ? .upright : self.turns[next - 1].rotation
    }

    /// How long frames are turned in each way, in ticks of the RTP clock, from the first one on.
    func spans(from firstRTPTime: Int64) -> [VideoRotation: Int64] {
        var spans: [VideoRotation: Int64] = [:]
        var (start, rotation) = (firstRTPTime, self.rotation(at: firstRTPTime))
        let last = max(self.lastRTPTime ?? firstRTPTime, self.turns.last?.rtpTime ?? firstRTPTime)
        for turn in self.turns + [(last, .upright)] where turn.rtpTime > start {
            spans[rotation, default: 0] &+= turn.rtpTime &- start
            (start, rotation) = (turn.rtpTime, turn.rotation)
        }
        return spans
    }
}
