// SPDX-License-Identifier: Apache-2.0

public import Basics
internal import Matroska
public import Timeline

/// A received track, as far as it is known before its first unit.
public struct TrackDescription: Sendable, Hashable {
    /// The unit of the block times in a track's file, in nanoseconds.
    ///
    /// Much finer than the distance of frames, and clusters of 1 s still fit its 16-bit offsets (RFC 9559, 10.2).
    /// ffmpeg, mkvmerge and matroskademux take it as well as 1 ms.
    public static let timestampScaleNanoseconds: UInt64 = 100_000

    /// The track's number in this recording, from 1.
    public var number: Int
    /// The room server's name for the sending peer; untrusted.
    public var participant: String
    /// How people see the participant, for titles and the file's name; untrusted.
    public var participantName: String?
    /// The codec.
    public var codec: MediaCodec
    /// Ticks of the RTP clock in a second.
    public var clockRateHz: Int
    /// Audio channels; no meaning for video.
    public var channels: Int
    /// The sender's synchronisation source.
    public var ssrc: UInt32?
    /// The RTP payload type.
    public var payloadType: Int?
    /// The media section's identification tag.
    public var mid: String?
    /// Which layer of the camera it is, where the peer offers several.
    public var layer: TrackLayer?
    /// The peer connection, by a number that is unique in this part of the recording.
    public var connection: UInt64?

    /// A track with each part given; `channels` is 2 for Opus and 1 for G.711 when left out.
    public init(
        number: Int,
        participant: String,
        participantName: String? = nil,
        codec: MediaCodec,
        clockRateHz: Int,
        channels: Int? = nil,
        ssrc: UInt32? = nil,
        payloadType: Int? = nil,
        mid: String? = nil,
        layer: TrackLayer? = nil,
        connection: UInt64? = nil
    ) {
        self.number = number
        self.participant = participant
        self.participantName = participantName
        self.codec = codec
        self.clockRateHz = clockRateHz
        self.channels = channels ?? (codec == .opus ? 2 : 1)
        self.ssrc = ssrc
        self.payloadType = payloadType
        self.mid = mid
        self.layer = layer
        self.connection = connection
    }

    /// Video or audio.
    public var media: MediaKind { self.codec.kind }

    /// The number that the track's file carries and no other file does: it shows when another file took its place.
    public static func uid(number: Int, in folder: RecordingFolder) -> UInt64 {
        fnv1a("\(folder.id)/\(number)".utf8) | 1
    }

    /// The file's name in the recording's `tracks` folder, for example `001-Ann-video.mkv`.
    ///
    /// It has the participant's name, else the id: the number distinguishes files.
    public var fileName: String {
        let number = String(self.number)
        let padded = String(repeating: "0", count: max(0, 3 - number.utf8.count)) + number
        let id = Sanitiser.pathComponent(self.participant, fallback: "peer")
        let participant = self.participantName.flatMap(Sanitiser.readableComponent) ?? id
        return "\(padded)-\(participant)-\(self.media.rawValue).\(self.media == .video ? "mkv" : "mka")"
    }
}
