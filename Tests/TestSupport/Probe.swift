// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A part of what ffprobe prints as JSON about a media file; the names are ffprobe's.
public struct Probe: Decodable, Sendable {
    /// ffprobe refuses a file, or complains about it.
    public struct Failure: Error {
        /// Its exit status.
        public let status: Int32
        /// Its complaints.
        public let complaints: String
    }

    /// A track.
    public struct Stream: Decodable, Sendable {
        /// Its number in the file, from 0.
        public let index: Int
        /// The codec, such as `vp8`.
        public let codec_name: String
        /// `video`, `audio` or `subtitle`.
        public let codec_type: String
        /// Pixels in a row.
        public let width: Int?
        /// Rows.
        public let height: Int?
        /// Samples in a second.
        public let sample_rate: String?
        /// Channels of audio.
        public let channels: Int?
        /// Tags of the track.
        public let tags: [String: String]?
    }

    /// A unit of a track.
    public struct Packet: Decodable, Sendable {
        /// The track.
        public let stream_index: Int
        /// When it is shown, in seconds.
        public let pts_time: String?
        /// Its length in bytes.
        public let size: String
        /// `K` in front marks a keyframe.
        public let flags: String

        /// When it is shown; NaN if the file does not say so.
        public var seconds: Double { self.pts_time.flatMap(Double.init) ?? .nan }
    }

    /// A chapter.
    public struct Chapter: Decodable, Sendable {
        /// Where it begins, in seconds.
        public let start_time: String
        /// Its tags.
        public let tags: [String: String]?
    }

    /// The file.
    public struct Format: Decodable, Sendable {
        /// The container.
        public let format_name: String
        /// Seconds.
        public let duration: String?
        /// Tags of the file.
        public let tags: [String: String]?
    }

    /// The tracks, in the order of the file.
    public let streams: [Stream]
    /// The units of all tracks, in the order of the file.
    public let packets: [Packet]
    /// The chapters.
    public let chapters: [Chapter]
    /// The file.
    public let format: Format

    /// Reads a whole file.
    ///
    /// - Parameter isDamaged: whether ffprobe may complain.
    public init(_ path: String, isDamaged: Bool = false) throws {
        let arguments = [
            "-v", "error", "-of", "json", "-show_streams", "-show_packets", "-show_format", "-show_chapters",
        ]
        let output = try Command.run("ffprobe", arguments + [path])
        guard output.status == 0, isDamaged || output.standardError.isEmpty else {
            throw Failure(status: output.status, complaints: output.standardError)
        }
        self = try JSONDecoder().decode(Probe.self, from: output.standardOutput)
    }

    /// When the units of a track are shown, in seconds.
    public func times(_ stream: Int) -> [Double] {
        self.packets.filter { $0.stream_index == stream }.map(\.seconds)
    }
}
