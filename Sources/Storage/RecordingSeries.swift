// SPDX-License-Identifier: Apache-2.0

import Timeline

/// The recordings that follow each other without a gap, as far as they are still there.
public struct RecordingSeries: Sendable, Hashable {
    /// One of them.
    public struct Segment: Sendable, Hashable {
        /// Which of the series it is, from 1.
        public var number: Int
        /// Its folder.
        public var folder: RecordingFolder
    }

    /// The id of the first segment, which names the series whether that segment is there or not.
    public let id: String
    /// The segments that are there, by number; at least one.
    public let segments: [Segment]
    /// Numbers of segments that are not there, in front of and between those that are; at most `maximumListed`.
    public let missing: [ClosedRange<Int>]
    /// Folders that claim the number of another one, which began earlier.
    public let doubles: [RecordingFolder]

    /// Ranges of missing segments beyond this many are not listed.
    public static let maximumListed = 100
    /// Segments of a minute for a year; a journal may say any number.
    private static let highestNumber = 1_000_000

    /// The series of which a recording is a segment; `nil` if it is of none.
    ///
    /// The segments of a series are all in the folder of their room. This reads the first line of the journal of each
    /// recording there.
    ///
    /// - Throws: what the system says about the folder of the room.
    public static func find(_ folder: RecordingFolder) throws(StorageError) -> RecordingSeries? {
        guard let id = Journal.beginning(of: folder)?.series else { return nil }
        var segments: [Int: RecordingFolder] = [:]
        var doubles: [RecordingFolder] = []
        for other in try folder.ofSameRoom() {
            guard let record = Journal.beginning(of: other), record.series == id else { continue }
            let number = record.segment ?? 1
            guard (1...Self.highestNumber).contains(number) else { continue }
            // The requested recording counts, even if it is a copy.
            if segments[number] == nil || other == folder {
                if let earlier = segments.updateValue(other, forKey: number) { doubles.append(earlier) }
            } else {
                doubles.append(other)
            }
        }
        guard !segments.isEmpty else { return nil }
        return RecordingSeries(id: id, segments: segments, doubles: doubles)
    }

    private init(id: String, segments: [Int: RecordingFolder], doubles: [RecordingFolder]) {
        self.id = id
        self.doubles = doubles
        self.segments = segments.sorted { $0.key < $1.key }.map { Segment(number: $0.key, folder: $0.value) }
        var missing: [ClosedRange<Int>] = []
        var next = 1
        for segment in self.segments {
            if segment.number > next, missing.count < Self.maximumListed {
                missing.append(next...(segment.number - 1))
            }
            next = segment.number + 1
        }
        self.missing = missing
    }
}
