// SPDX-License-Identifier: Apache-2.0

public import Basics

/// A track of a recording, and what its file holds.
///
/// As JSON it is as manifests have it.
public struct RecordedTrack: Sendable, Hashable, Codable {
    /// Its number in the journal; `nil` if the journal does not know the file.
    public var number: Int?
    /// The sending participant's id.
    public var participant: String
    /// Video or audio.
    public let media: MediaKind
    /// The codec.
    public let codec: MediaCodec
    /// The file, relative to the recording's folder.
    public var file: String
    /// Units in the file.
    public var units: UInt64
    /// Bytes of payload.
    public var bytes: UInt64
    /// Keyframes; `nil` in the catalogue, which does not keep them.
    public var keyframes: UInt64?
    /// The sizes that its frames had, each once, in the order in which they came first, the first sixteen; `nil` in
    /// manifests of older versions.
    public var sizes: [VideoSize]?
    /// Bits of payload per second on average, from its first unit to its last; `nil` in manifests of older versions, and
    /// of a single unit.
    public var bitsPerSecond: UInt64?

    private enum CodingKeys: String, CodingKey {
        case number, participant, media, codec, file, units, bytes, keyframes, sizes
        case bitsPerSecond = "bitrate_bps"
    }

    /// A track with each part given.
    public init(
        number: Int?,
        participant: String,
        codec: MediaCodec,
        file: String,
        units: UInt64,
        bytes: UInt64,
        keyframes: UInt64? = nil,
        sizes: [VideoSize]? = nil,
        bitsPerSecond: UInt64? = nil
    ) {
        self.number = number
        self.participant = participant
        self.media = codec.kind
        self.codec = codec
        self.file = file
        self.units = units
        self.bytes = bytes
        self.keyframes = keyframes
        self.sizes = sizes
        self.bitsPerSecond = bitsPerSecond
    }
}

extension RecordingHistory {
    /// The tracks, with zero for what is in a file that was never closed; without those of codecs that are not known.
    public var recordedTracks: [RecordedTrack] {
        self.tracks.map(\.record).compactMap { record in
            guard let codec = MediaCodec(rawValue: record.codec) else { return nil }
            let closed = self.closed[record.track]
            return RecordedTrack(
                number: record.track,
                participant: record.participant,
                codec: codec,
                file: record.file,
                units: closed?.units ?? 0,
                bytes: closed?.bytes ?? 0,
                keyframes: closed?.keyframes ?? 0
            )
        }
    }
}
