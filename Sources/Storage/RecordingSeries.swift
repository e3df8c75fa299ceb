// SPDX-License-Identifier: Apache-2.0

import Timeline

/// The recordings that follow each other without a gap, as far as they are still there.
///
/// In a cluster several hosts may have recorded a series, one after the other, each under its own epoch. A host
/// that was cut off does not know of the next one: two epochs may have a segment of the same number, and at the same time.
public struct RecordingSeries: Sendable, Hashable {
    /// One of them.
    public struct Segment: Sendable, Hashable {
        /// Which of the series it is, from 1.
        public var number: Int
        /// The number of the owner of the room that recorded it, from 1; 0 for a room that no cluster shares.
        public var epoch: Int
        /// The host that recorded it.
        public var host: String
        /// Its folder.
        public var folder: RecordingFolder
    }

    /// The id of the first segment, which names the series whether that segment is there or not.
    public let id: String
    /// The segments that are there, by epoch, and by number within one; at least one.
    public let segments: [Segment]
    /// Numbers of segments that are not there, in front of and between those that are; at most `maximumListed`.
    ///
    /// An owner numbers its segments without a hole, whatever numbers the other owners used.
    public let missing: [ClosedRange<Int>]
    /// Folders that claim the epoch and number of another one, which began earlier.
    public let doubles: [RecordingFolder]

    /// Whether several owners of the room recorded it.
    public var isOfSeveralOwners: Bool { self.segments.contains { $0.epoch != self.segments[0].epoch } }

    /// Ranges of missing segments beyond this many are not listed.
    public static let maximumListed = 100
    /// Segments of a minute for a year; a journal may say any number.
    private static let highestNumber = 1_000_000

    /// The position of a segment in a series.
    private struct Place: Hashable, Comparable {
        var epoch: Int
        var number: Int

        static func < (left: Place, right: Place) -> Bool { (left.epoch, left.number) < (right.epoch, right.number) }
    }

    /// The series of which a recording is a segment; `nil` if it is of none.
    ///
    /// The segments of a series are all in the folder of their room. This reads the first line of the journal of each
    /// recording there.
    ///
    /// - Throws: what the system says about the folder of the room.
    public static func find(_ folder: RecordingFolder) throws(StorageError) -> RecordingSeries? {
        guard let id = Journal.beginning(of: folder)?.series else { return nil }
        return Self.find(id, in: try folder.ofSameRoom(), preferred: folder)
    }

    /// The series with an id, as far as it is in a room's folder; `nil` if nothing is.
    ///
    /// - Throws: what the system says about the folder of the room.
    public static func find(_ id: String, storage: String, room: String) throws(StorageError) -> RecordingSeries? {
        let folders = try RecordingFolder.list(storage: storage, room: room)
        return Self.find(id, in: folders.sorted { $0.compactStart < $1.compactStart }, preferred: nil)
    }

    private static func find(
        _ id: String,
        in folders: [RecordingFolder],
        preferred: RecordingFolder?
    ) -> RecordingSeries? {
        var segments: [Place: Segment] = [:]
        var doubles: [RecordingFolder] = []
        for other in folders {
            guard let record = Journal.beginning(of: other), record.series == id else { continue }
            let place = Place(epoch: max(0, record.claim?.epoch ?? 0), number: record.segment ?? 1)
            guard (1...Self.highestNumber).contains(place.number) else { continue }
            // The requested recording counts, even if it is a copy.
            if segments[place] == nil || other == preferred {
                let segment = Segment(number: place.number, epoch: place.epoch, host: record.host, folder: other)
                if let earlier = segments.updateValue(segment, forKey: place) { doubles.append(earlier.folder) }
            } else {
                doubles.append(other)
            }
        }
        guard !segments.isEmpty else { return nil }
        return RecordingSeries(id: id, segments: segments, doubles: doubles)
    }

    private init(id: String, segments: [Place: Segment], doubles: [RecordingFolder]) {
        self.id = id
        self.doubles = doubles
        self.segments = segments.sorted { $0.key < $1.key }.map(\.value)
        self.missing = Self.missing(self.segments)
    }

    /// The segments that an export of the series lacks, because they were not there when it was made.
    public func segments(missingIn export: Manifest.Export) -> [Segment] {
        guard let recordings = export.recordings else { return [] }
        return self.segments.filter { !recordings.contains($0.folder.id.rawValue) }
    }

    /// The numbers that no segment has, and those between two segments of one epoch.
    private static func missing(_ segments: [Segment]) -> [ClosedRange<Int>] {
        var holes = Self.holes([0] + Set(segments.map(\.number)).sorted())
        for ofEpoch in Dictionary(grouping: segments, by: \.epoch).values {
            holes += Self.holes(ofEpoch.map(\.number).sorted())
        }
        var missing: [ClosedRange<Int>] = []
        for hole in holes.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if let last = missing.last, hole.lowerBound <= last.upperBound {
                missing[missing.count - 1] = last.lowerBound...max(last.upperBound, hole.upperBound)
            } else if missing.count < Self.maximumListed {
                missing.append(hole)
            }
        }
        return missing
    }

    /// The ranges between numbers that rise.
    private static func holes(_ numbers: [Int]) -> [ClosedRange<Int>] {
        zip(numbers, numbers.dropFirst()).compactMap { $0 + 1 < $1 ? ($0 + 1)...($1 - 1) : nil }
    }
}
