// SPDX-License-Identifier: Apache-2.0

/// Where the decoded packets of one track go among the samples of the mix.
///
/// Packets that follow each other are put end to end. A sender's clock that is fast or slow shows as a distance that
/// grows: then packets are stretched by up to half a percent, which is inaudible. A larger step is a gap.
struct AudioPlacement {
    /// The placement of a packet.
    struct Place: Hashable {
        /// Its first sample in the mix.
        var start: Int64
        /// How many samples of it are left out at its beginning.
        var dropped: Int
        /// How many samples it becomes.
        var length: Int
        /// Whether it follows the one before without a gap.
        var isContinuous: Bool
    }

    /// More than this is a gap, in samples: 5 ms.
    static let tolerance: Int64 = 240

    private var end: Int64?

    /// Places a packet.
    ///
    /// - Parameters:
    ///   - start: its first sample by its time.
    ///   - count: its samples.
    mutating func place(at start: Int64, count: Int) -> Place {
        // 700 years: only a damaged file goes beyond, and distances of such times must not overflow.
        let start = max(-(1 << 50), min(1 << 50, start))
        guard let end = self.end else {
            self.end = start &+ Int64(count)
            return Place(start: start, dropped: 0, length: count, isContinuous: false)
        }
        let distance = start &- end
        let place: Place
        if distance > Self.tolerance {
            place = Place(start: start, dropped: 0, length: count, isContinuous: false)
        } else if distance < -Self.tolerance {
            let dropped = Int(min(Int64(count), 0 &- distance))
            place = Place(start: end, dropped: dropped, length: count - dropped, isContinuous: false)
        } else {
            let most = Int64(max(1, count / 200))
            let stretch = max(-most, min(most, distance / 8))
            place = Place(start: end, dropped: 0, length: count + Int(stretch), isContinuous: true)
        }
        self.end = place.start &+ Int64(place.length)
        return place
    }
}
