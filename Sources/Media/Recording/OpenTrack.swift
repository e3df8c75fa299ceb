// SPDX-License-Identifier: Apache-2.0

internal import GStreamer
internal import Matroska
internal import Session
internal import Storage

/// A track that is received at present, and the file that it goes to.
///
/// Its recorder's alone, which holds its lock for every access.
final class OpenTrack {
    let tap: TrackTap
    let received: ReceivedTrack
    let connection: UInt64
    /// Holds the pad to ask, and with it the whole peer connection.
    private let sendKeyframeRequest: @Sendable () -> Void
    private(set) var keyframeRequests: UInt64 = 0
    var keyframes: KeyframePolicy
    /// The file; nil while nothing of the track is recorded.
    var writer: TrackFileWriter?
    /// The recording that the file is in.
    var recording: RecordingID?
    /// Which units of the file cannot be decoded.
    var damage = TrackDamage()
    /// After a failed write: when to go on in a new file, on the clock of arrivals.
    var resumesAt: Int64?
    /// A write failed, and none has succeeded since.
    var hasFailed = false
    /// Units were left out: pictures go on with a keyframe.
    var awaitsKeyframe = false
    /// The newest sender report; a file that begins later begins with it.
    var lastReport: ReceivedItem.Report?
    var firstUnitDelay: Duration?
    /// What the tap had counted when the file was begun; nothing for the first.
    var countedBefore: (packets: UInt64, lost: UInt64, repaired: UInt64) = (0, 0, 0)
    /// The newest keyframe, kept while somebody wants stills.
    var lastKeyframe: [UInt8]?

    init(
        tap: TrackTap,
        received: ReceivedTrack,
        connection: UInt64,
        now: Int64,
        requestKeyframe: @escaping @Sendable () -> Void
    ) {
        self.tap = tap
        self.received = received
        self.connection = connection
        self.sendKeyframeRequest = requestKeyframe
        self.keyframes = KeyframePolicy(trackAppearedAt: UInt64(clamping: now))
    }

    var isVideo: Bool { self.received.codec.kind == .video }

    /// Whether a decoder can begin with a unit of pictures, and knows by it all that it has to.
    func isWholeKeyframe(_ unit: ReceivedItem.Unit, _ bytes: UnsafeRawBufferPointer) -> Bool {
        guard !unit.isTruncated, let inspection = Bitstream.inspect(self.received.codec, bytes), inspection.isKeyframe
        else { return false }
        // The depayloaders of VP8 and VP9 give out a picture only if they have its beginning. That of H.264 does not look,
        // but what is lost at the beginning of a keyframe are its parameter sets.
        return self.received.codec != .h264 || unit.lostPackets == 0 || inspection.parameterSets != nil
    }

    /// Sends a PLI.
    func requestKeyframe() {
        self.keyframeRequests += 1
        self.sendKeyframeRequest()
    }

    /// RTP packets received, lost and repaired for the present file.
    var packets: (received: UInt64, lost: Int64, repaired: UInt64) {
        let counters = self.tap.counters
        return (
            counters.packets &- min(counters.packets, self.countedBefore.packets),
            Int64(clamping: counters.lostPackets) - Int64(clamping: self.countedBefore.lost),
            counters.repairedPackets &- min(counters.repairedPackets, self.countedBefore.repaired)
        )
    }

    /// What a new file of the track says about it.
    func description(number: Int, name: String?) -> TrackDescription {
        TrackDescription(
            number: number,
            participant: self.received.participant,
            participantName: name,
            codec: self.received.codec,
            clockRateHz: self.received.clockRateHz,
            channels: self.received.channels,
            ssrc: self.received.ssrc,
            payloadType: self.received.payloadType,
            mid: self.received.mid,
            connection: self.connection
        )
    }
}
