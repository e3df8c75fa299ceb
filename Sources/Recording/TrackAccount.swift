// SPDX-License-Identifier: Apache-2.0

internal import Timeline

/// Outcomes of the packets of one track's units in one recording.
///
/// Each unit that the session gets is noted once.
struct TrackAccount: Sendable, Hashable {
    /// Longer pauses between units count as this.
    private static let longestStep: Int64 = 1_000_000_000

    /// Packets of units that are in its files.
    private(set) var recorded: UInt64 = 0
    private(set) var refused: [RefusalReason: RefusedPackets] = [:]
    /// The numbers of its files.
    private(set) var files: [Int] = []
    private var lastRefused: Int64?

    /// Packets of all units that were noted.
    var noted: UInt64 { self.refused.values.reduce(self.recorded) { $0 &+ $1.packets } }

    /// A unit is in a file.
    mutating func recorded(_ packets: Int, in file: Int) {
        self.recorded &+= UInt64(clamping: packets)
        if self.files.last != file { self.files.append(file) }
        self.lastRefused = nil
    }

    /// A unit is in no file.
    mutating func refused(_ packets: Int, _ reason: RefusalReason, at now: Int64) {
        let step = self.lastRefused.map { min(max(0, now &- $0), Self.longestStep) } ?? 0
        self.lastRefused = now
        self.refused[reason, default: RefusedPackets()] +=
            RefusedPackets(packets: UInt64(clamping: packets), nanoseconds: step)
    }
}

/// A track's part of a recording: what the session noted, and what happened before.
struct TrackShare: Sendable, Hashable {
    var account = TrackAccount()
    var outcomes = PacketOutcomes()
}

extension PacketOutcomes {
    /// The packets of all but those that are in units, or wait.
    var settled: UInt64 {
        self.empty &+ self.late &+ self.beforeKeyframe &+ self.incomplete &+ self.undecodable &+ self.queueFull
    }

    /// Outcomes settled since an earlier instant, without the packets in units and those that wait.
    func settled(since earlier: PacketOutcomes) -> PacketOutcomes {
        var result = PacketOutcomes()
        result.empty = self.empty &- min(self.empty, earlier.empty)
        result.late = self.late &- min(self.late, earlier.late)
        result.beforeKeyframe = self.beforeKeyframe &- min(self.beforeKeyframe, earlier.beforeKeyframe)
        result.incomplete = self.incomplete &- min(self.incomplete, earlier.incomplete)
        result.undecodable = self.undecodable &- min(self.undecodable, earlier.undecodable)
        result.doubtful = self.doubtful &- min(self.doubtful, earlier.doubtful)
        result.skipped = self.skipped &- min(self.skipped, earlier.skipped)
        result.queueFull = self.queueFull &- min(self.queueFull, earlier.queueFull)
        return result
    }

    /// Refused packets, by reason.
    var refused: [(reason: RefusalReason, packets: UInt64)] {
        [
            (.late, self.late), (.noKeyframe, self.beforeKeyframe), (.incompleteFrame, self.incomplete),
            (.undecodable, self.undecodable), (.queueFull, self.queueFull),
        ]
    }
}
