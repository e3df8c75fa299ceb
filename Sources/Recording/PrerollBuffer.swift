// SPDX-License-Identifier: Apache-2.0

public import Basics
public import Matroska

/// Keeps the newest units of a room that is not recorded, so that a recording can begin in the past.
///
/// Video is kept from a keyframe on, which is why some of it is older than the span; audio is dropped about a second at
/// a time. Pure: times are nanoseconds of one monotonic clock, given by the caller.
public struct PrerollBuffer: Sendable {
    /// One unit that is kept.
    public struct Unit: Sendable, Hashable {
        /// The track, by the caller's number.
        public var track: UInt64
        /// Unwrapped RTP time, in units of the track's RTP clock.
        public var rtpTime: Int64
        /// When it came.
        public var arrivalNanoseconds: Int64
        /// RTP packets missing since the unit before.
        public var lostPackets: Int
        /// Whether packets of the unit itself are missing.
        public var isTruncated: Bool
        /// Packets of the track that had come by then.
        public var packets: UInt64
        /// Packets among them that had been lost and came again.
        public var repairedPackets: UInt64
        /// The bytes.
        public var bytes: [UInt8]
        /// Result of inspecting the bytes; nil if they are no unit of the track's codec.
        public var inspection: UnitInspection?
        /// The parameter sets of H.264 that were known with it.
        public var sets: H264KnownSets
        /// RTP packets that it came in.
        public var unitPackets: Int
        /// How its frame is turned; nil if its sender never said.
        public var rotation: VideoRotation?

        /// A unit with each part given.
        public init(
            track: UInt64,
            rtpTime: Int64,
            arrivalNanoseconds: Int64,
            lostPackets: Int,
            isTruncated: Bool,
            packets: UInt64,
            repairedPackets: UInt64 = 0,
            bytes: [UInt8],
            inspection: UnitInspection? = nil,
            sets: H264KnownSets = H264KnownSets(),
            unitPackets: Int = 1,
            rotation: VideoRotation? = nil
        ) {
            self.track = track
            self.rtpTime = rtpTime
            self.arrivalNanoseconds = arrivalNanoseconds
            self.lostPackets = lostPackets
            self.isTruncated = isTruncated
            self.packets = packets
            self.repairedPackets = repairedPackets
            self.bytes = bytes
            self.inspection = inspection
            self.sets = sets
            self.unitPackets = unitPackets
            self.rotation = rotation
        }
    }

    /// Units that are dropped together: video from one keyframe to the next, or a second of audio.
    private struct Group {
        var units: [Unit]
        var bytes: Int
        var start: Int64 { self.units.first?.arrivalNanoseconds ?? .max }
    }

    private struct Track {
        /// Oldest first; none of them empty.
        var groups: [Group] = []
        var lastKeyframe: Int64?
        var lastRequest: Int64?
    }

    /// Memory of a unit in addition to its bytes, in bytes.
    private static let overhead = 192
    private static let audioGroup: Int64 = 1_000_000_000
    private static let maximumKeyframeDistance: Int64 = 10_000_000_000

    private let span: Int64
    private let maximumBytes: Int
    private var tracks: [UInt64: Track] = [:]
    private var bytes = 0

    /// An empty buffer.
    ///
    /// - Parameters:
    ///   - span: nanoseconds that are kept, more than 0.
    ///   - maximumBytes: memory for the units of all tracks; above it the oldest go first.
    public init(span: Int64, maximumBytes: Int) {
        self.span = max(1, span)
        self.maximumBytes = maximumBytes
    }

    /// Whether there is nothing to begin with.
    public var isEmpty: Bool { self.tracks.values.allSatisfy(\.groups.isEmpty) }

    /// When the oldest unit came.
    public var start: Int64? { self.tracks.values.compactMap(\.groups.first?.start).min() }

    /// Keeps a unit, and lets go what is too old or too much.
    ///
    /// - Parameters:
    ///   - isVideo: whether the track is video.
    ///   - isWholeKeyframe: whether a decoder can begin with the unit; ignored for audio.
    public mutating func keep(_ unit: Unit, isVideo: Bool, isWholeKeyframe: Bool) {
        var track = self.tracks.removeValue(forKey: unit.track) ?? Track()
        let size = unit.bytes.count + Self.overhead
        let beginsGroup: Bool
        if isVideo {
            if isWholeKeyframe { track.lastKeyframe = unit.arrivalNanoseconds }
            beginsGroup = isWholeKeyframe
        } else {
            beginsGroup = track.groups.last.map { unit.arrivalNanoseconds &- $0.start >= Self.audioGroup } ?? true
        }
        if beginsGroup {
            track.groups.append(Group(units: [unit], bytes: size))
            self.bytes += size
        } else if let last = track.groups.indices.last {
            track.groups[last].units.append(unit)
            track.groups[last].bytes += size
            self.bytes += size
        }
        self.tracks[unit.track] = track
        self.trim(now: unit.arrivalNanoseconds)
    }

    private mutating func trim(now: Int64) {
        let oldest = now &- self.span
        for (id, track) in self.tracks {
            // A group is dropped when the next one alone covers the span; audio that stopped is dropped by its age.
            let gone = track.groups.indices.prefix { index in
                guard index + 1 < track.groups.count else {
                    return track.groups[index].units.last.map { $0.arrivalNanoseconds < oldest } ?? true
                }
                return track.groups[index + 1].start <= oldest
            }
            self.drop(gone.count, of: id)
        }
        while self.bytes > self.maximumBytes {
            let first = self.tracks.filter { !$0.value.groups.isEmpty }.min {
                ($0.value.groups.first?.start ?? .max, $0.key) < ($1.value.groups.first?.start ?? .max, $1.key)
            }
            guard let id = first?.key else { return }
            self.drop(1, of: id)
        }
    }

    private mutating func drop(_ count: Int, of id: UInt64) {
        guard count > 0, let groups = self.tracks[id]?.groups else { return }
        self.bytes -= groups.prefix(count).reduce(0) { $0 + $1.bytes }
        self.tracks[id]?.groups.removeFirst(min(count, groups.count))
    }

    /// Whether a keyframe must be requested: video is only dropped up to a keyframe.
    ///
    /// If so, the request counts as sent.
    public mutating func keyframeIsDue(track id: UInt64, now: Int64) -> Bool {
        let track = self.tracks[id] ?? Track()
        let hasVideo = !track.groups.isEmpty
        let distance = hasVideo ? min(self.span, Self.maximumKeyframeDistance) : 1_000_000_000
        let last = hasVideo ? max(track.lastKeyframe ?? .min, track.lastRequest ?? .min) : track.lastRequest
        if let last, last != .min, now &- last < distance { return false }
        self.tracks[id, default: Track()].lastRequest = now
        return true
    }

    /// Forgets a track that is gone.
    public mutating func remove(track id: UInt64) {
        self.drop(.max, of: id)
        self.tracks[id] = nil
    }

    /// Takes out everything, in the order in which it came.
    public mutating func take() -> [Unit] {
        defer {
            self.tracks = [:]
            self.bytes = 0
        }
        return self.tracks.values.flatMap(\.groups).flatMap(\.units).sorted {
            ($0.arrivalNanoseconds, $0.track, $0.rtpTime) < ($1.arrivalNanoseconds, $1.track, $1.rtpTime)
        }
    }
}
