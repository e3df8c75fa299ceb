// SPDX-License-Identifier: Apache-2.0

/// A playlist of HLS segments (RFC 8216), as `hlssink2` and we write them.
struct SegmentPlaylist: Sendable, Hashable {
    /// A segment that it names.
    struct Segment: Sendable, Hashable {
        /// The name of its file, next to the playlist.
        var name: String
        /// Seconds and title, as behind `#EXTINF:`.
        var information: String
        /// Whether its media do not continue where the one before ended: `#EXT-X-DISCONTINUITY`.
        var isDiscontinuous = false

        fileprivate var seconds: Double { Double(self.information.prefix { $0 != "," }) ?? 0 }
    }

    /// Which of all segments that there ever were the first one is, from 0.
    var sequence = 0
    /// Discontinuities before the first one.
    var discontinuities = 0
    /// The segments that it names.
    var segments: [Segment] = []
    /// The longest duration of a segment, in seconds.
    var targetSeconds = 1

    /// A playlist before its first segment.
    init() {}

    /// Reads a playlist; what is not known here is passed over, and names that lead elsewhere are.
    init(_ text: String) {
        var information: String?
        var isDiscontinuous = false
        for line in text.split(whereSeparator: \.isNewline) {
            if let value = Self.value(of: "#EXT-X-MEDIA-SEQUENCE:", in: line) {
                self.sequence = value
            } else if let value = Self.value(of: "#EXT-X-DISCONTINUITY-SEQUENCE:", in: line) {
                self.discontinuities = value
            } else if let value = Self.value(of: "#EXT-X-TARGETDURATION:", in: line) {
                self.targetSeconds = max(value, 1)
            } else if line == "#EXT-X-DISCONTINUITY" {
                isDiscontinuous = true
            } else if line.hasPrefix("#EXTINF:") {
                information = String(line.dropFirst("#EXTINF:".count))
            } else if !line.hasPrefix("#"), let found = information, !line.contains("/") {
                self.segments.append(
                    Segment(name: String(line), information: found, isDiscontinuous: isDiscontinuous)
                )
                (information, isDiscontinuous) = (nil, false)
            }
        }
    }

    /// The number behind a tag; nil for another line.
    ///
    /// Larger ones than any playlist gets to are none.
    private static func value(of tag: String, in line: Substring) -> Int? {
        guard line.hasPrefix(tag), let value = Int(line.dropFirst(tag.count)) else { return nil }
        return (0...1_000_000_000_000).contains(value) ? value : nil
    }

    /// This playlist, of a pipeline whose first segment it calls 0, as the continuation of what was there before it.
    ///
    /// - Parameter length: how many segments it may name; 0 for any number.
    func continuing(_ earlier: SegmentPlaylist, length: Int) -> SegmentPlaylist {
        let earlierEnd = earlier.sequence + earlier.segments.count
        var result = self
        // It names its first segment as long as there is room: once it does not, nothing from before is in it either.
        if self.sequence == 0 {
            if !result.segments.isEmpty, earlierEnd > 0 { result.segments[0].isDiscontinuous = true }
            result.segments = earlier.segments + result.segments
            (result.sequence, result.discontinuities) = (earlier.sequence, earlier.discontinuities)
        } else {
            result.sequence = earlierEnd + self.sequence
            let before = earlier.segments.count(where: \.isDiscontinuous)
            result.discontinuities = earlier.discontinuities + before + (earlierEnd > 0 ? 1 : 0)
        }
        if length > 0 { result.dropFirst(max(0, result.segments.count - length)) }
        let longest = result.segments.map(\.seconds).max() ?? 0
        result.targetSeconds = max(self.targetSeconds, Int(min(longest, 86_400).rounded()))
        return result
    }

    /// Leaves out its first segments.
    mutating func dropFirst(_ count: Int) {
        self.discontinuities += self.segments.prefix(count).count(where: \.isDiscontinuous)
        self.sequence += min(count, self.segments.count)
        self.segments.removeFirst(min(count, self.segments.count))
    }

    /// The playlist as text.
    ///
    /// - Parameter isEnded: whether no other segment will ever come.
    func text(isEnded: Bool = false) -> String {
        var lines = [
            "#EXTM3U", "#EXT-X-VERSION:3", "#EXT-X-MEDIA-SEQUENCE:\(self.sequence)",
            "#EXT-X-DISCONTINUITY-SEQUENCE:\(self.discontinuities)", "#EXT-X-TARGETDURATION:\(self.targetSeconds)", "",
        ]
        for segment in self.segments {
            if segment.isDiscontinuous { lines.append("#EXT-X-DISCONTINUITY") }
            lines += ["#EXTINF:\(segment.information)", segment.name]
        }
        if isEnded { lines.append("#EXT-X-ENDLIST") }
        return lines.joined(separator: "\n") + "\n"
    }
}
